"""Tools for templates that know only the plainest schemas."""

import pytest

from untemplate.message import Tool
from untemplate.template import plain_tools
from untemplate.turn import ChatTemplate

# Writes schemas itself, as some templates in the field do: one type a value, with a description.
PLAIN = """\
{%- set types = {'string': 'str', 'integer': 'int', 'object': 'dict', 'array': 'list'} -%}
{%- macro kind(s) -%}
{{- types[s.type] -}}{%- if s.type == 'array' -%}[{{ kind(s['items']) }}]{%- endif -%}
{%- endmacro -%}
{%- if tools -%}<|sys|>
{%- for t in tools -%}{{ t.function.name }}(
{%- for k, s in t.function.parameters.properties.items() -%}
{{ k }}: {{ kind(s) }} # {{ s.description + ';' }}
{%- endfor -%})
{%- endfor -%}<|end|>{%- endif -%}
{%- for m in messages -%}
<|{{ m.role }}|>{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
<call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</call>
{%- endfor -%}<|end|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
"""

ODD = {
    "a": ({"type": ["integer", "null"]}, "int"),
    "b": ({"anyOf": [{"type": "null"}, {"type": "integer"}], "default": None}, "int"),
    "c": ({"$ref": "#/$defs/Color"}, "str"),
    "d": ({}, "str"),
    "e": (True, "str"),
    "f": ({"enum": [None, 1]}, "int"),
    "g": ({"type": "array"}, "list[str]"),
    "h": ({"type": "array", "items": {"$ref": "#/$defs/Node"}}, "list[dict]"),
    "j": ({"type": "string", "description": None}, "str"),
}
DEFINITIONS = {
    "Color": {"enum": ["red", "blue"]},
    "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}},
}


@pytest.mark.parametrize("key", ODD)
def test_a_template_that_refuses_a_schema_gets_a_plainer_one(key):
    schema, shown = ODD[key]
    tool = Tool("f", "d", {"properties": {key: schema}, "$defs": DEFINITIONS})
    template = ChatTemplate(PLAIN)
    turn = template.turn([{"role": "user", "content": "hi"}], tools=[tool])
    assert turn.prompt.startswith(f"<|sys|>f({key}: {shown} # ;)")
    assert any(change.startswith("tools: ") for change in turn.changes)
    assert template.render([{"role": "user", "content": "hi"}], [tool]) in turn.prompt


def test_a_template_that_takes_the_tools_gets_them_as_they_are():
    tool = Tool("f", "d", {"properties": {"a": {"type": "string", "description": "x"}}})
    turn = ChatTemplate(PLAIN).turn([{"role": "user", "content": "hi"}], tools=[tool])
    assert turn.prompt.startswith("<|sys|>f(a: str # x;)")
    assert not turn.changes


def test_schemas_that_grow_without_end_are_cut():
    node = {"type": "object", "properties": {k: {"$ref": "#/$defs/Node"} for k in "abcdefgh"}}
    parameters = {"properties": {"x": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    (plain,) = plain_tools([tool])
    assert len(str(plain)) < 1_000_000
