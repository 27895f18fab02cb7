"""What a reader tells, in which order, and what looking at it costs."""

import json

import pytest

from counting import steps
from dialects import ALL, CODER, HERMES, QWEN3
from reader.feeding import TOOLS, feed, grammar_of
from untemplate.reader import (
    ArgumentEnd,
    ArgumentsDelta,
    ArgumentStart,
    CallEnd,
    CallStart,
    Part,
    Reader,
    TextDelta,
    TextEnd,
    TextStart,
    deltas,
)
from untemplate.turn import Turn

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "x", "n": 12}}\n</tool_call>'
TAGGED = (
    "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=n>\n12\n</parameter>\n"
    "</function>\n</tool_call>"
)


def told(dialect, text, prompt=0):
    """The events without spans and ids, and the text that each span covers."""
    _, events = feed(grammar_of(dialect, prompt=prompt), [text.encode()])
    for event in events:
        match event:
            case TextStart(kind) | TextEnd(kind):
                yield type(event), kind
            case TextDelta(kind, said, _):
                yield TextDelta, said
            case CallStart(index, _, name):
                yield CallStart, index, name
            case CallEnd(index, state):
                yield CallEnd, index, state
            case ArgumentStart(_, name):
                yield ArgumentStart, name
            case ArgumentEnd(_, name, value, _):
                yield ArgumentEnd, name, value
            case ArgumentsDelta(_, written, _):
                yield ArgumentsDelta, written
            case Part(kind, (start, end)):
                yield Part, kind, text[start:end]


def test_blocks_calls_arguments_and_markers_begin_and_end():
    text = f"Why.\n</think>\n\nSure.\n{CALL}\n"
    assert list(told(QWEN3, text, prompt=2)) == [
        (TextStart, "reasoning"),
        (TextDelta, "Why."),
        (TextEnd, "reasoning"),
        (Part, "marker", "\n</think>"),
        (Part, "space", "\n\n"),
        (TextStart, "content"),
        (TextDelta, "Sure."),
        (TextEnd, "content"),
        (Part, "marker", "\n<tool_call>"),
        (CallStart, 0, "f"),
        (Part, "structure", '\n{"name": '),
        (Part, "name", '"f"'),
        (Part, "structure", ', "arguments": '),
        (ArgumentsDelta, "{"),
        (ArgumentStart, "a"),
        (ArgumentsDelta, '"a": "x"'),
        (ArgumentEnd, "a", "x"),
        (ArgumentStart, "n"),
        (ArgumentsDelta, ', "n": 12'),
        (ArgumentEnd, "n", 12),
        (ArgumentsDelta, "}"),
        (Part, "structure", "}"),
        (Part, "marker", "\n</tool_call>"),
        (CallEnd, 0, "complete"),
        (Part, "space", "\n"),
    ]


def test_tagged_arguments_begin_and_end_too():
    events = [e for e in told(CODER, TAGGED) if e[0] in (ArgumentStart, ArgumentEnd)]
    assert events == [
        (ArgumentStart, "a"),
        (ArgumentEnd, "a", "x"),
        (ArgumentStart, "n"),
        (ArgumentEnd, "n", 12),
    ]


@pytest.mark.parametrize("name", ALL)
def test_an_argument_that_is_cut_or_kept_out_never_ends(name):
    dialect = ALL[name]
    written = dialect.blocks["call"].arguments.write({"a": "xyz"})
    whole = feed(grammar_of(dialect), [_call(dialect, written).encode()])[0].raw
    cut = whole[: whole.index("yz")]
    _, events = feed(grammar_of(dialect), [cut.encode()], "length")
    assert [e.name for e in events if isinstance(e, ArgumentStart)] == ["a"]
    assert not [e for e in events if isinstance(e, ArgumentEnd)]


def _call(dialect, arguments):
    from untemplate.dialect import Hole, fill

    block = dialect.blocks["call"]
    return fill(block.pattern, {Hole.NAME: "f", Hole.ID: "id1234567", Hole.ARGUMENTS: arguments})


# -------------------------------------------------------------------------------------- on_argument


@pytest.mark.parametrize(("dialect", "text"), [(HERMES, CALL), (CODER, TAGGED)])
def test_on_argument_fires_as_each_argument_completes(dialect, text):
    fired = []
    reader = Reader(grammar_of(dialect), on_argument=lambda *told: fired.append((at, *told)))
    for at in range(len(text)):
        reader.feed(text[at : at + 1].encode())
    reader.finish()
    reader.finish_events()
    assert [call for _, *call in fired] == [[0, "a", "x"], [0, "n", 12]]
    assert fired[0][0] < fired[1][0] < len(text) - 1


@pytest.mark.parametrize(("reason", "values"), [("stop", [(0, "a", "x")]), ("length", [])])
def test_on_argument_fires_at_the_end_for_what_only_the_end_decides(reason, values):
    """The closer may still turn out to be text, unless the model ended its turn there."""
    fired = []
    reader = Reader(grammar_of(CODER), on_argument=lambda *told: fired.append(told))
    reader.feed(TAGGED[: TAGGED.index("<parameter=n>")].encode())
    assert fired == []
    reader.finish(reason)
    reader.finish_events()
    assert fired == values


def test_on_argument_never_fires_for_what_is_cut():
    fired = []
    reader = Reader(grammar_of(HERMES), on_argument=lambda *told: fired.append(told))
    reader.feed(CALL[: CALL.index("12") + 1].encode())
    reader.finish("length")
    assert fired == [(0, "a", "x")]


def test_a_turn_tells_arguments_that_are_new():
    fired = []
    half = CALL.index('", "n"') + 1
    turn = Turn(
        "prompt",
        grammar_of(HERMES),
        render=None,
        written=CALL[:half],
        on_argument=lambda *told: fired.append(told),
    )
    assert turn.live.calls[0].values == {"a": "x"}
    assert fired == []
    turn.feed(CALL[half:].encode())
    assert fired == [(0, "n", 12)]
    assert turn.live.calls[0].arguments == '{"a": "x", "n": 12}'


# ---------------------------------------------------------------------------------- what looks cost


def reader_in_string(pieces, depth=0):
    """A reader inside a string of so many pieces, so deep."""
    reader = Reader(grammar_of(HERMES))
    reader.feed(b'<tool_call>\n{"name": "f", "arguments": {"a": ' + b"[" * depth + b'"')
    for _ in range(pieces):
        reader.feed(b"abcd")
    return reader


def test_law_08_a_snapshot_costs_what_is_open_not_what_was_read():
    short, long = reader_in_string(100), reader_in_string(20_000)
    cost = steps(short.snapshot)
    assert steps(long.snapshot) <= cost
    point = long.snapshot()
    assert steps(lambda: long.restore(point)) <= 2 * cost
    deep, deeper = reader_in_string(1, depth=100), reader_in_string(1, depth=200)
    assert steps(deeper.snapshot) <= 2.2 * steps(deep.snapshot)


def test_a_snapshot_after_every_piece_costs_the_same_each_time():
    reader = reader_in_string(0)
    costs = []
    for _ in range(3000):
        costs.append(steps(reader.snapshot))
        reader.feed(b"abcd")
    assert max(costs[1000:]) <= max(costs[1:1000])


def test_a_look_at_the_live_turn_costs_what_is_new():
    reader = reader_in_string(0)

    def look():
        call = reader.live.calls[-1]
        return call.pieces, call.closing, call.open_pointer

    costs = []
    for _ in range(3000):
        reader.feed(b"abcd")
        costs.append(steps(look))
    assert max(costs[1000:]) <= max(costs[1:1000])
    pieces, closing, pointer = look()
    assert "".join(pieces) == '{"a": "' + "abcd" * 3000
    assert (closing, pointer) == ('"}', "/a")


def test_the_live_turn_grows_in_place_and_can_not_be_written():
    reader = Reader(grammar_of(HERMES))
    live = reader.live
    reader.feed(b"Well, ")
    assert live.content == "Well, "
    assert live.kind == "content"
    reader.feed(b"now.\n" + CALL[:-30].encode())
    call = live.calls[0]
    assert (call.name, call.is_open) == ("f", True)
    reader.feed(CALL[-30:].encode())
    assert not live.calls[0].is_open
    assert call.values == {"a": "x", "n": 12}
    assert live.content == "Well, now."
    for name in ("content", "calls", "kind"):
        with pytest.raises(AttributeError):
            setattr(live, name, None)
    with pytest.raises(TypeError):
        call.values["a"] = "y"


def test_a_frozen_message_costs_its_size():
    def turn(calls):
        reader = Reader(grammar_of(HERMES))
        reader.feed(((CALL + "\n") * calls).encode())
        return steps(reader.finish)

    assert turn(200) <= 2.2 * turn(100)
    assert turn(200) <= 200 * 20


def test_a_value_that_a_consumer_changes_is_its_own():
    seen = []
    reader = Reader(
        grammar_of(HERMES, TOOLS), on_argument=lambda _call, _name, value: seen.append(value)
    )
    reader.feed(b'<tool_call>\n{"name": "f", "arguments": {"l": ["a"]}}')
    seen[0].append("b")
    assert json.loads(reader.finish("length").tool_calls[0].arguments) == {"l": ["a"]}


@pytest.mark.parametrize(("dialect", "text"), [(HERMES, CALL), (CODER, TAGGED)])
def test_a_call_ends_with_the_piece_that_ends_it(dialect, text):
    """Whichever piece that is: nothing of it may wait for another one."""
    for cut in range(1, len(text)):
        reader = Reader(grammar_of(dialect))
        reader.feed(text[:cut].encode())
        reader.feed(text[cut:].encode())
        assert [c.is_open for c in reader.live.calls] == [False]


@pytest.mark.parametrize("text", [CALL, f"Hi.\n{CALL}\n{CALL}", TAGGED])
def test_events_one_by_one_give_the_deltas_that_they_give_together(text):
    _, events = feed(grammar_of(CODER if text == TAGGED else HERMES), [text.encode()])

    def sums(found):
        said, calls = "", {}
        for delta in found:
            said += delta.content
            for news in delta.tool_calls:
                call = calls.setdefault(news.index, {"id": None, "arguments": "", "state": None})
                call["id"] = call["id"] or news.id
                call["arguments"] += news.arguments
                call["state"] = call["state"] or news.state
        return said, calls

    alone = [delta for event in events for delta in deltas([event])]
    assert sums(alone) == sums(deltas(events))
    assert all(c["id"] and c["state"] == "complete" for c in sums(alone)[1].values())
