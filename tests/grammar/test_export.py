"""What we export, judged by the engines that it is for: llama.cpp, llguidance, xgrammar."""

import json

import pytest
from tests import dialects
from tests.grammar.peer_llama import GbnfEngine
from tests.grammar.peer_llguidance import LarkEngine
from tests.grammar.peer_xgrammar import EbnfEngine, StructuralTagEngine

from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import Tool, ToolChoice

WEATHER = Tool(
    "get_weather",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 80},
            "days": {"type": "integer", "minimum": -3, "maximum": 120},
            "unit": {"type": "string", "enum": ["C", "F"]},
        },
        "required": ["city"],
    },
)
PLAIN = Tool(
    "get_weather",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
DECLARED = GrammarOptions(key_order="declared")


NOTATIONS = {
    "gbnf": GbnfEngine,
    "lark": LarkEngine,
    "ebnf": EbnfEngine,
    "structural_tag": StructuralTagEngine,
}


@pytest.fixture(params=NOTATIONS)
def exported(request):
    """Compiles the export of a grammar in the engine that it is for."""

    def compile_export(dialect, tools=(WEATHER,), choice=None, **given):
        grammar = build_grammar(dialect, tools, choice, options=DECLARED, **given)
        export = getattr(grammar, request.param)()
        assert export.notes == ()
        return NOTATIONS[request.param](export.text)

    return compile_export


def hermes_call(arguments):
    return f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'


CALL = hermes_call('{"city": "Paris"}')


@pytest.mark.parametrize("name", dialects.ALL)
def test_every_dialect_compiles(exported, name):
    with exported(dialects.ALL[name], [PLAIN]) as engine:
        assert engine.allowed()


@pytest.mark.parametrize(
    ("text", "is_written"),
    [
        ("", True),
        ("Just text, 5 < 6, <tool_cal", True),
        ("é 😀 <", True),
        ("a <tool_call> b", False),
        ("text <|im_end|>", False),
        (CALL, True),
        (f"I look.\n{CALL}\n{CALL}", True),
        (f"I look.{CALL}", True),
        (f"{CALL} text", False),
        (CALL[:-1], False),
        (hermes_call("{}"), False),
        (hermes_call('{"city":"x","days":120,"unit":"F"}'), True),
        (hermes_call('{"city": "x", "unit": "F"}'), True),
        (hermes_call('{\n  "city": "x",\n  "days": -3\n}'), True),
        (hermes_call('{"unit": "F", "city": "x"}'), False),
        (hermes_call('{"city": "\\u00E9\\u001f\\ud83D\\uDE00\\/"}'), False),
        (hermes_call('{"city": "\\u00E9\\u001f\\ud83D\\uDE00"}'), True),
        (hermes_call('{"c\\u0069ty": "x"}'), False),
        (hermes_call('{"city": "\\u0069"}'), False),
        (hermes_call('{"city": "x", "days": -0}'), True),
        (hermes_call('{"city": "x", "days": 121}'), False),
        (hermes_call('{"city": "x", "days": -4}'), False),
        (hermes_call('{"city": "x", "days": 1.0}'), False),
        (hermes_call('{"city": "x", "unit": "K"}'), False),
        (hermes_call('{"city": "x", "more": 1}'), False),
        (hermes_call(json.dumps({"city": 'q"\\\n\t\u00e9\u2028😀'})), True),
        (hermes_call(json.dumps({"city": "😀" * 80}, ensure_ascii=False)), True),
        (hermes_call(json.dumps({"city": "😀" * 80})), True),
        (hermes_call(json.dumps({"city": "x" * 81})), False),
        (hermes_call('{"city": "\\ud83d"}'), False),
        (hermes_call('{"city": "a\nb"}'), False),
    ],
)
def test_hermes(exported, text, is_written):
    with exported(dialects.HERMES) as engine:
        assert engine.accepts(text.encode()) is is_written


@pytest.mark.parametrize(
    ("text", "is_written"),
    [
        ("thinking</think>\n\nDone.", True),
        ("thinking\n</think>\n\n" + CALL, True),
        ("thinking </thin", False),
        ("<tool_call>", False),
        ("</think>", True),
    ],
)
def test_reasoning_opened_by_the_prompt(exported, text, is_written):
    with exported(dialects.QWEN3, prompt=dialects.QWEN3.prompts[2]) as engine:
        assert engine.accepts(text.encode()) is is_written


@pytest.mark.parametrize(
    ("choice", "nothing", "one", "two"),
    [
        (ToolChoice("auto"), True, True, True),
        (ToolChoice("none"), True, False, False),
        (ToolChoice("required"), False, True, True),
        (ToolChoice("required", "get_weather"), False, True, True),
        (ToolChoice("auto", parallel=False), True, True, False),
        (ToolChoice("required", parallel=False), False, True, False),
    ],
)
def test_law_13_choice(exported, choice, nothing, one, two):
    with exported(dialects.HERMES, choice=choice) as engine:
        assert engine.accepts(b"text") is nothing
        assert engine.accepts(CALL.encode()) is one
        assert engine.accepts(f"{CALL}\n{CALL}".encode()) is two


def test_a_raw_value_goes_up_to_its_closer(exported):
    before = "<tool_call>\n<function=get_weather>\n<parameter=city>\n"
    after = "\n</parameter>\n</function>\n</tool_call>"
    with exported(dialects.CODER, [PLAIN]) as engine:
        assert engine.accepts(f'{before}a "b" </param\n\n<{after}'.encode())
        assert not engine.accepts(f"{before}a{after}{after}".encode())


def test_llguidance_takes_markers_by_token_id():
    names = ("<tool_call>", "</tool_call>", "<|im_end|>")
    special = {name: 257 + n for n, name in enumerate(names)}
    grammar = build_grammar(dialects.HERMES, [WEATHER], options=DECLARED)
    opened, closed = [special["<tool_call>"]], [special["</tool_call>"]]
    inner = b'\n{"name": "get_weather", "arguments": {"city": "</tool_call>"}}\n'
    with LarkEngine(grammar.lark(special).text, special=names) as engine:
        assert engine.accepts(b"text")
        assert engine.accepts([*opened, *inner, *closed])
        assert engine.accepts(
            [*b"text ", *opened, *inner, *closed, *b"\n", *opened, *inner, *closed]
        )
        assert not engine.accepts(CALL.encode())
        assert not engine.accepts(b"text <tool_call>")
        assert not engine.accepts([*b"text", *closed])


@pytest.mark.parametrize("most", [1999, 2000, 5000])
def test_long_strings_are_counted(exported, most):
    schema = {"type": "object", "properties": {"x": {"type": "string", "maxLength": most}}}
    with exported(dialects.HERMES, [Tool("get_weather", parameters=schema)]) as engine:
        assert engine.accepts(hermes_call(json.dumps({"x": "é" * most})).encode())
        assert not engine.accepts(hermes_call(json.dumps({"x": "é" * most + "a"})).encode())
