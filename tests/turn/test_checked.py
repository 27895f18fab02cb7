"""What a mask could not enforce is held against what was written, however its schema is spelt."""

import json

import pytest

from corpus import corpus_dir
from serving import TEMPLATE
from untemplate import ChatTemplate, GrammarOptions, SchemaError, Tool

TWICE = {"type": "string", "pattern": "^(a)\\1$"}
ASK = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def template():
    return ChatTemplate(TEMPLATE)


def codes(template, parameters, arguments, **options):
    tools = [Tool("f", "", parameters)]
    turn = template.turn(ASK, tools=tools, options=GrammarOptions(**options))
    assert turn.grammar.report().checked
    call = json.dumps({"name": "f", "arguments": arguments})
    turn.feed(f"<tool_call>\n{call}\n</tool_call>".encode())
    return [d.code for d in turn.finish("stop").diagnostics]


@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"minimum": 1, "exclusiveMinimum": True},
        {"maximum": 1, "exclusiveMaximum": False},
        {"items": [{"type": "string"}], "additionalItems": False},
        {"items": [{"type": "string"}], "prefixItems": [True]},
        {"required": True},
        {"title": 5, "description": None},
        {"required": ["a", "a"], "type": ["object", "object"]},
        {"pattern": "{"},
        {"patternProperties": {"a{": True}},
    ],
)
@pytest.mark.parametrize("draft", [None, "http://x.example/unknown", "draft-03", "draft-07"])
def test_odd_words_beside_it_do_not_keep_a_keyword_from_being_checked(template, beside, draft):
    named = {} if draft is None else {"$schema": f"http://json-schema.org/{draft}/schema#"}
    schema = {**named, "type": "object", "properties": {"a": TWICE, "b": beside}}
    assert codes(template, schema, {"a": "aa"}) == []
    assert codes(template, schema, {"a": "ab"}) == ["against_schema"]


def test_nullable_is_a_keyword_of_tools(template):
    schema = {"type": "object", "properties": {"a": {**TWICE, "nullable": True}}}
    assert codes(template, schema, {"a": None}) == []
    assert codes(template, schema, {"a": "ab"}) == ["against_schema"]
    assert codes(template, schema, {"a": None}, open_objects=True) == ["against_schema"]


@pytest.mark.parametrize("name", ["Qwen3-Coder", "google-gemma-4-31B-it", "GLM-4.6"])
def test_a_broken_schema_is_refused_before_a_template_reads_it(name):
    template = ChatTemplate((corpus_dir() / "templates" / f"{name}.jinja").read_text())
    for schema in ({"properties": []}, {"properties": {"a": 5}}, {"type": {"a": 1}}):
        with pytest.raises(SchemaError, match=r"^tool f #/"):
            template.turn(ASK, tools=[Tool("f", "", {"type": "object", **schema})])
