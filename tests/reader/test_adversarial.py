"""Texts made to hurt a reader: it stays linear, loses no byte, and says briefly what was wrong."""

import copy
import json
import time
import tracemalloc

import pytest

from counting import steps
from dialects import ALL, CODER, HERMES
from reader.feeding import check_tiling, grammar_of
from untemplate.dialect import END, Hole, fill
from untemplate.reader import Reader, deltas
from untemplate.reader.record import MOST_ALIKE


def call(dialect, arguments):
    block = dialect.blocks["call"]
    words = {Hole.NAME: "f", Hole.ID: "id1234567", Hole.ARGUMENTS: block.arguments.write(arguments)}
    return fill(block.pattern, words)


def opening(dialect):
    literal = {(e.source, e.target): e.literal for e in dialect.edges}
    return literal["content", "call"] + dialect.blocks["call"].pattern[0]


def in_string(dialect, text):
    """A call that ends inside a string of this text."""
    head, _ = call(dialect, {"a": "@@"}).split("@@")
    return opening(dialect).removesuffix(dialect.blocks["call"].pattern[0]) + head + text


def nested(dialect, bracket, close, n):
    """An argument that is nested so deep, and the rest of the turn."""
    whole = call(dialect, {"a": "x", "l": []})
    return whole.replace("[]", bracket * n + close * n)


TEXTS = {
    "angles": lambda d, n: "<" * n,
    "braces": lambda d, n: "{" * n,
    "brackets": lambda d, n: "[" * n,
    "backslashes": lambda d, n: "\\" * n,
    "newlines": lambda d, n: "\n" * n,
    "angles in a string": lambda d, n: in_string(d, "<" * n),
    "braces in a string": lambda d, n: in_string(d, "{" * n),
    "backslashes in a string": lambda d, n: in_string(d, "\\" * n),
    "quotes in a string": lambda d, n: in_string(d, '"' * n),
    "newlines in a string": lambda d, n: in_string(d, "\n" * n),
    "half pairs": lambda d, n: in_string(d, "\\ud83d" * (n // 6)),
    "braces behind an opening": lambda d, n: opening(d) + "{" * n,
    "openings": lambda d, n: opening(d) * (n // len(opening(d))),
    "braces on lines": lambda d, n: "{\n" * (n // 2),
    "fences": lambda d, n: "```json\n" * (n // 8),
    "bare calls that never end": lambda d, n: '{"name": "f", "x": "' * (n // 20),
    "stops": lambda d, n: d.stops[0] * (n // len(d.stops[0])),
    "deep lists": lambda d, n: nested(d, "[", "]", n // 2),
    "deep objects": lambda d, n: nested(d, '{"a":', "}", n // 6),
    "digits": lambda d, n: call(d, {"a": "x", "n": 3}).replace("3", "3" * 8 * n),
    "keys": lambda d, n: call(d, {"a": "x", "o": {f"k{i}": i for i in range(n // 12)}}),
}


def read(grammar, data, size):
    """The message, and the number of events that came."""
    reader, count = Reader(grammar), 0
    for at in range(0, len(data), size):
        events = reader.feed(data[at : at + size])
        deltas(events)
        count += len(events)
    message = reader.finish("length")
    return message, count + len(reader.finish_events())


def check_message(message, size):
    """Few diagnostics, and values that json can write and compare."""
    assert len(message.diagnostics) <= size
    for made in message.tool_calls:
        value = json.loads(made.arguments + made.closing)
        assert json.loads(json.dumps(value)) == value
    assert message == copy.deepcopy(message)
    assert repr(message)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("dialect", [HERMES, CODER], ids=["hermes", "coder"])
def test_law_06_07_twice_the_text_takes_at_most_twice_the_steps(dialect, text):
    grammar = grammar_of(dialect)
    small, large = (TEXTS[text](dialect, n).encode() for n in (2500, 5000))
    read(grammar, small, 16)  # what is compiled once does not count
    small_cost = steps(lambda: read(grammar, small, 16))
    assert steps(lambda: read(grammar, large, 16)) <= 2.2 * small_cost + 500
    message, _ = read(grammar, large, 16)
    check_message(message, 60)


@pytest.mark.parametrize("name", ALL)
def test_a_marker_may_come_in_fifty_pieces(name):
    dialect = ALL[name]
    text = "Sure." + opening(dialect).removesuffix(dialect.blocks["call"].pattern[0])
    text += call(dialect, {"a": "x"}) + dialect.edges[-1].literal * (
        dialect.edges[-1].target == END
    )
    data = text.encode()
    reader, events = Reader(grammar_of(dialect)), []
    for at in range(len(data)):
        for _ in range(50):
            events += reader.feed(b"")
        events += reader.feed(data[at : at + 1])
    message = reader.finish()
    check_tiling([*events, *reader.finish_events()], data)
    assert [json.loads(c.arguments) for c in message.tool_calls] == [{"a": "x"}]
    assert message.content == "Sure."


def test_depth_beyond_the_limit_is_a_damaged_call_that_says_so():
    text = nested(HERMES, "[", "]", 100_000) + "\nand on"
    message, _ = read(grammar_of(HERMES), text.encode(), 4096)
    assert [d.code for d in message.diagnostics if d.code != "text_after_call"] == ["too_deep"]
    (made,) = message.tool_calls
    assert made.state == "malformed"
    assert "and on" in message.content


@pytest.mark.parametrize("name", ALL)
def test_a_thousand_calls_are_a_thousand_calls(name):
    dialect = ALL[name]
    literal = {(e.source, e.target): e.literal for e in dialect.edges}
    calls = literal["call", "call"].join([call(dialect, {"a": "x"})] * 1000)
    text = "Hi" + literal["content", "call"] + calls + literal["call", END]
    message, count = read(grammar_of(dialect), text.encode(), 64)
    assert len(message.tool_calls) == 1000
    assert count < 40_000
    assert not [d for d in message.diagnostics if d.code not in ("extra_call", "unknown_tool")]


def test_thousands_of_stray_openers_give_few_diagnostics():
    message, _ = read(grammar_of(HERMES), b"<tool_call> a" * 20_000, 65536)
    assert len(message.diagnostics) == MOST_ALIKE + 1
    assert sum(d.count for d in message.diagnostics) == 20_000


@pytest.mark.laws
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("dialect", [HERMES, CODER], ids=["hermes", "coder"])
def test_law_06_07_memory_is_bounded_by_the_text(dialect, text):
    data = TEXTS[text](dialect, 200_000).encode()
    grammar = grammar_of(dialect)
    tracemalloc.start()
    try:
        message, count = read(grammar, data, 16)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(data)
    assert count < 2 * len(data)
    check_message(message, len(data) // 5)


@pytest.mark.laws
@pytest.mark.parametrize("size", [64, 1 << 30])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("dialect", [HERMES, CODER], ids=["hermes", "coder"])
def test_law_06_07_a_megabyte_of_it_in_pieces_or_in_one(dialect, text, size):
    """Timed, since what one call of a compiled search costs can't be counted; four times is due."""
    grammar = grammar_of(dialect)
    seconds = []
    for length in (250_000, 1_000_000):
        data = TEXTS[text](dialect, length).encode()
        started = time.process_time()
        message, _ = read(grammar, data, size)
        seconds.append(time.process_time() - started)
    assert seconds[1] < 8 * seconds[0] + 0.5
    check_message(message, len(data) // 5)


@pytest.mark.laws
def test_ten_thousand_calls():
    grammar = grammar_of(HERMES)
    data = ((call(HERMES, {"a": "x"}) + "\n") * 10_000).encode()
    message, _ = read(grammar, data, 16)
    assert len(message.tool_calls) == 10_000
