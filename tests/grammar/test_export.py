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
    with exported(dialects.ALL[name]) as engine:
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
        (hermes_call('{"city": "x", "days": 121}'), False),
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
    with exported(dialects.CODER) as engine:
        assert engine.accepts(f'{before}a "b" </param\n\n<{after}'.encode())
        assert not engine.accepts(f"{before}a{after}{after}".encode())
