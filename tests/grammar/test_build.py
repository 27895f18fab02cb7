import pytest

from dialects import ALL, HERMES, NEMO, QWEN3
from untemplate.errors import RequestError
from untemplate.grammar import build_grammar, nodes
from untemplate.grammar.envelope import Envelope, find_envelope
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.message import Tool, ToolChoice

TOOLS = (Tool("ping"), Tool("get_weather"))


def test_marks_are_split_at_space_and_at_brackets():
    assert marks("\n<a>\n<b=") == ("<a>", "<b=")
    assert marks('[CALLS][{"name": "') == ("[CALLS]", '[{"name":', '"')
    assert marks('<invoke name="') == ('<invoke name="',)
    assert marks("") == ()


def test_only_marks_that_are_not_prose_or_json_are_distinctive():
    assert is_distinctive("<function=")
    assert is_distinctive("[TOOL_CALLS]")
    assert not is_distinctive('{"name":')
    assert not is_distinctive("Action:")
    assert not is_distinctive("<a>")


def test_the_envelope_of_json_calls_is_found():
    assert find_envelope(HERMES.blocks["call"].pattern) == Envelope(
        "<tool_call>\n", "\n</tool_call>", ("arguments",), ("name",), None, ()
    )
    assert find_envelope(NEMO.blocks["call"].pattern).id == ("id",)
    assert find_envelope(ALL["coder"].blocks["call"].pattern) is None
    assert find_envelope(ALL["deepseek"].blocks["call"].pattern) is None


def test_auto_may_end_without_a_call():
    grammar = build_grammar(HERMES, TOOLS)
    targets = {e.target for e in grammar.rules["content:0"].exits}
    assert targets == {"call:0", "end"}


def test_required_can_not_end_before_a_call():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("required"))
    assert "content:0" not in grammar.rules
    grammar = build_grammar(QWEN3, TOOLS, ToolChoice("required"))
    assert {e.target for e in grammar.rules["reasoning:0"].exits} == {"call:0"}


def test_without_parallel_there_is_one_call():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice(parallel=False))
    assert grammar.rules["after:call:1"] == nodes.Choice((nodes.Reference("end"),))


def test_none_has_no_call_but_its_marker_stays_forbidden_in_text():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("none"))
    assert not any(name.startswith("call") for name in grammar.rules)
    assert b"<tool_call>" in grammar.rules["content:0"].forbidden


def test_a_named_tool_is_the_only_one():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("required", "ping"))
    assert grammar.rules["call:0"].items[0].tools == (TOOLS[0],)


@pytest.mark.parametrize(
    ("tools", "choice", "message"),
    [
        (TOOLS, ToolChoice("required", "pong"), "tool_choice: no tool is named 'pong'"),
        ((), ToolChoice("required"), "tool_choice: a call is required, but no tools"),
    ],
)
def test_a_choice_that_can_not_be_met_is_refused(tools, choice, message):
    with pytest.raises(RequestError) as caught:
        build_grammar(HERMES, tools, choice)
    assert str(caught.value).startswith(message)


def test_the_same_input_has_the_same_key_and_another_has_another():
    grammar = build_grammar(HERMES, TOOLS)
    assert grammar.key == build_grammar(HERMES, TOOLS).key
    assert grammar.key != build_grammar(HERMES, TOOLS, ToolChoice("none")).key
    assert build_grammar(HERMES, TOOLS, ToolChoice("none")).unrestricted() == grammar.unrestricted()


def test_without_tools_no_call_may_be_written_but_one_is_read():
    grammar = build_grammar(HERMES)
    assert not any(name.startswith("call") for name in grammar.rules)
    assert "call:0" in grammar.unrestricted().rules


def test_a_grammar_is_kept_and_does_not_change_with_the_schema_of_its_caller():
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    first = build_grammar(HERMES, [Tool("pay", "", schema)])
    assert build_grammar(HERMES, [Tool("pay", "", dict(schema))]) is first
    schema["properties"]["days"] = {"type": "integer"}
    assert list(first.tools[0].parameters["properties"]) == ["to"]
    assert build_grammar(HERMES, [Tool("pay", "", schema)]) != first
