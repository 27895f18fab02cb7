"""Turns that are cut, gone on with, and closed by a limit."""

from dataclasses import FrozenInstanceError

import pytest

from dialects import DEEPSEEK, HERMES, QWEN3
from serving import TEMPLATE
from untemplate.errors import RequestError, VocabularyError
from untemplate.grammar import build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.reader import deltas
from untemplate.turn import ChatTemplate, Turn
from untemplate.turn.limits import end_of_reasoning
from untemplate.vocabulary import byte_vocabulary

ASK = [{"role": "user", "content": "What is the weather in Größe?"}]
TOOL = Tool(
    "weather",
    "",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"enum": ["C", "F"], "default": "C"},
        },
        "required": ["city", "days"],
        "additionalProperties": False,
    },
)
CALL = (
    'Sure.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Größe 東京", "days": 12}}'
    "\n</tool_call>"
)
UNIT = {"/unit": "defaulted"}
VOCABULARY = byte_vocabulary(["<|im_start|>", "<|im_end|>"], eos="<|im_end|>")


@pytest.fixture(scope="module")
def template():
    return ChatTemplate(TEMPLATE)


def written(turn, data):
    """The turn after an engine has written these bytes, one token each."""
    turn.prompt_tokens(VOCABULARY)
    turn.feed(data)
    turn.tokens += data
    turn.batches[:] = [(0, 7)]
    return turn


def test_law_20_a_turn_cut_anywhere_and_resumed_is_the_whole_turn(template):
    whole = template.turn(ASK, tools=[TOOL])
    whole.feed(CALL.encode())
    expected = whole.finish("stop")
    data = CALL.encode()
    for cut in range(len(data) + 1):
        turn = written(template.turn(ASK, tools=[TOOL]), data[:cut])
        turn.finish("length")
        later = Turn.resumed(turn.resume_point())
        assert later.tokens == list(data[:cut])
        assert later.batches == [(0, 7)]
        assert later.prompt == turn.prompt
        assert later.prompt_tokens(VOCABULARY) == turn.prompt_tokens(VOCABULARY)
        told = [*later.before, *later.feed(data[cut:])]
        assert later.finish("stop") == expected
        told += later.finish_events()
        assert "".join(d.content for d in deltas(told)) == "Sure."
        arguments = "".join(c.arguments for d in deltas(told) for c in d.tool_calls)
        assert arguments == expected.tool_calls[0].arguments


def test_law_20_the_constraint_is_where_it_was(template):
    data = CALL.encode()
    turn = template.turn(ASK, tools=[TOOL], tool_choice=ToolChoice("required"))
    data = data[data.index(b"<tool_call>") :]
    before = turn.constraint(VOCABULARY)
    for position, byte in enumerate(data):
        if position % 7 == 0:
            later = Turn.resumed(written_so_far(turn, data[:position]))
            assert later.constraint(VOCABULARY).min_tokens() == before.min_tokens()
            assert later.constraint(VOCABULARY).forced() == before.forced()
        assert before.advance(byte)


def written_so_far(turn, data):
    turn.tokens[:] = data
    return turn.resume_point()


def test_a_point_is_a_value(template):
    first, second = (written(template.turn(ASK, tools=[TOOL]), b"Su").resume_point() for _ in "12")
    assert first == second
    assert hash(first) == hash(second)
    with pytest.raises(FrozenInstanceError):
        first.tokens = ()
    one, other = Turn.resumed(first), Turn.resumed(first)
    one.feed(b"re.")
    other.feed(b"ch")
    assert (one.finish().content, other.finish().content) == ("Sure.", "Such")
    assert Turn.resumed(first).finish().content == "Su"


def test_an_engine_without_token_ids_gets_the_text(template):
    turn = template.turn(ASK, tools=[TOOL])
    turn.feed("Größ".encode()[:-1])
    later = Turn.resumed(turn.resume_point())
    assert later.prompt == turn.prompt + "Grö"


def test_ids_of_another_vocabulary_are_refused(template):
    later = Turn.resumed(written(template.turn(ASK), b"Su").resume_point())
    with pytest.raises(VocabularyError, match="the vocabulary it began with"):
        later.prompt_tokens(byte_vocabulary(["<|im_end|>"]))


def test_what_was_written_without_a_mask_may_not_be_what_one_allows(template):
    turn = template.turn(ASK, tools=[TOOL], tool_choice=ToolChoice("required"))
    later = Turn.resumed(written(turn, b"Never.").resume_point())
    with pytest.raises(RequestError, match="is not what tools"):
        later.constraint(VOCABULARY)


def test_defaults_of_a_cut_call_are_marked(template):
    turn = template.turn(ASK, tools=[TOOL])
    turn.feed(CALL[: CALL.index(" 12")].encode())
    (call,) = turn.finish("length").tool_calls
    assert call.state == "cut"
    assert call.arguments_state["/unit"] == "defaulted"
    assert call.arguments_state["/city"] == "complete"
    assert "unit" not in call.arguments


def at_limit(template, data, rest):
    """A turn in which the limit decides everything after `data`."""
    turn = template.turn(ASK, tools=[TOOL])
    turn.feed(data.encode())
    turn.limit_decides()
    turn.feed(rest.encode())
    turn.limit_decides()
    return turn.finish("stop")


def test_a_call_that_the_limit_closed_names_what_was_cut(template):
    cut = CALL.index("東京")
    message = at_limit(template, CALL[:cut], CALL[cut:])
    (call,) = message.tool_calls
    assert (message.end, message.finish_reason) == ("forced", "length")
    assert call.state == "forced"
    assert call.arguments_state == {"/city": "cut", "/days": "forced", **UNIT}
    assert not call.closing


def test_what_was_complete_before_the_limit_stays_complete(template):
    cut = CALL.index(' "days')
    message = at_limit(template, CALL[:cut], CALL[cut:])
    states = {"/city": "complete", "/days": "forced"}
    assert message.tool_calls[0].arguments_state == states | UNIT
    more = "\n" + CALL.removeprefix("Sure.\n")
    message = at_limit(template, CALL + more[: -len("2}}\n</tool_call>")], "2}}\n</tool_call>")
    assert [c.state for c in message.tool_calls] == ["complete", "forced"]
    assert message.tool_calls[1].arguments_state == {"/city": "complete", "/days": "cut", **UNIT}


def test_a_call_that_the_limit_began_is_forced_whole(template):
    message = at_limit(template, CALL[:3], CALL[3:])
    states = {"/city": "forced", "/days": "forced"}
    assert message.tool_calls[0].arguments_state == states | UNIT


@pytest.mark.parametrize(("decides", "state"), [(False, "complete"), (True, "forced")])
def test_a_stream_tells_how_a_call_ended(template, decides, state):
    turn = template.turn(ASK, tools=[TOOL])
    told = turn.feed(CALL[:-25].encode())
    if decides:
        turn.limit_decides()
    told += turn.feed(CALL[-25:].encode())
    assert turn.finish("stop").tool_calls[0].state == state
    told += turn.finish_events()
    assert [c.state for d in deltas(told) for c in d.tool_calls if c.state] == [state]


@pytest.mark.parametrize("cut", range(5, len(CALL)))
def test_a_turn_knows_whether_something_of_a_call_is_lost(template, cut):
    turn = template.turn(ASK, tools=[TOOL])
    turn.feed(CALL[:cut].encode())
    assert turn.may_call == (CALL[5:cut].strip() != "")


def test_a_call_that_was_not_closed_in_time_is_cut(template):
    turn = template.turn(ASK, tools=[TOOL])
    turn.limit_decides()
    turn.feed(CALL[:-20].encode())
    message = turn.finish("length")
    assert (message.end, message.tool_calls[0].state) == ("cut", "cut")


def test_a_turn_knows_whether_it_is_in_a_call(template):
    turn = template.turn(ASK, tools=[TOOL])
    turn.feed(b"Sure.")
    assert not turn.is_in_call
    turn.feed(CALL[5:60].encode())
    assert turn.is_in_call
    turn.feed(CALL[60:].encode())
    assert not turn.is_in_call


def test_with_a_mask_it_knows_so_from_the_marker_on(template):
    turn = template.turn(ASK, tools=[TOOL])
    constraint = turn.constraint(VOCABULARY)
    known = []
    for byte in CALL.encode():
        turn.feed(bytes([byte]))
        assert constraint.advance(byte)
        known.append(turn.is_in_call)
    first = known.index(True)
    assert CALL.encode()[:first].startswith(b"Sure.\n<tool_call")
    assert all(known[first:-1])
    assert not known[-1]


@pytest.mark.parametrize(
    ("dialect", "choice", "expected"),
    [
        (HERMES, ToolChoice(), ""),
        (QWEN3, ToolChoice(), "\n</think>\n\n"),
        (QWEN3, ToolChoice("required"), "\n</think>\n\n"),
        (DEEPSEEK, ToolChoice(), "</think>"),
        (DEEPSEEK, ToolChoice("required"), "</think><｜tool▁calls▁begin｜>"),
        (DEEPSEEK, ToolChoice("none"), "</think>"),
    ],
)
def test_how_reasoning_is_ended(dialect, choice, expected):
    assert end_of_reasoning(build_grammar(dialect, [TOOL], choice)) == expected


def test_a_turn_ends_its_reasoning_only_where_it_may():
    grammar = build_grammar(QWEN3, [TOOL], prompt=QWEN3.prompts[2])
    turn = Turn("", grammar, render=None)
    assert turn.is_reasoning
    data = "Hm. Größe".encode()
    constraint = turn.constraint(VOCABULARY)
    for size, byte in enumerate(data, 1):
        turn.feed(bytes([byte]))
        assert constraint.advance(byte)
        is_whole = data[:size].decode("utf-8", "ignore").encode() == data[:size]
        ids = turn.end_of_reasoning(VOCABULARY)
        assert bytes(ids) == (b"\n</think>\n\n" if is_whole else b"")
    turn.feed(b"\n</think>\n\nSo")
    assert not turn.is_reasoning
