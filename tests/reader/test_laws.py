"""The reading laws on valid outputs of five dialects, and on prose; soup is in test_chunking."""

import json
import random

import pytest

from dialects import ALL, CODER
from reader.feeding import grammar_of, read_all
from untemplate.dialect import END, Hole, fill
from untemplate.reader import Reader, TextDelta

VALUES = ["", "Zürich", 'a "b"\n\\c', "<b>&", "😀", "true", " x "]


def written(dialect, rng):
    """A turn of some calls as the dialect writes it, and their arguments."""
    block = dialect.blocks["call"]
    literal = {(e.source, e.target): e.literal for e in dialect.edges}
    arguments = [
        {"a": rng.choice(VALUES), "n": rng.randrange(-9, 999)} for _ in range(rng.randrange(1, 4))
    ]
    calls = [
        fill(
            block.pattern,
            {Hole.NAME: "f", Hole.ID: f"id{i:07}", Hole.ARGUMENTS: block.arguments.write(a)},
        )
        for i, a in enumerate(arguments)
    ]
    text = "Sure: " + rng.choice(VALUES[1:3]) + "." + literal["content", "call"]
    return text + literal["call", "call"].join(calls) + literal["call", END], arguments


@pytest.mark.parametrize("name", ALL)
def test_law_02_03_05_07_08_any_chunking_reads_calls_alike(name):
    rng = random.Random(1)
    for seed in range(25):
        text, arguments = written(ALL[name], rng)
        message, _ = read_all(grammar_of(ALL[name]), text, seed=seed)
        assert [json.loads(c.arguments) for c in message.tool_calls] == arguments
        assert {c.state for c in message.tool_calls} == {"complete"}


@pytest.mark.parametrize("name", ALL)
def test_law_04_text_waits_only_while_it_may_become_a_marker(name):
    dialect = ALL[name]
    longest = max(len(s.encode()) for s in (*dialect.stops, *(e.literal for e in dialect.edges)))
    first = dialect.blocks["call"].pattern[0]
    bound = max(longest, len(first.encode())) + 4
    data = "If a < b and é > <tool> then [TOOL\n\n or <|im 😀 <｜tool end.".encode()
    reader = Reader(grammar_of(dialect))
    told = 0
    for at in range(len(data)):
        events = reader.feed(data[at : at + 1])
        told += sum(len(e.text.encode()) for e in events if isinstance(e, TextDelta))
        assert at + 1 - told <= bound
    assert reader.finish().content == data.decode()


def test_law_18_an_argument_is_told_as_complete_where_its_closer_is_decided():
    text = "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n"
    reader = Reader(grammar_of(CODER))
    reader.feed(text.encode())
    (call,) = reader.finish("length").tool_calls
    assert call.state == "cut"
    assert call.arguments_state["/a"] in ("undecided", "complete")
    reader = Reader(grammar_of(CODER))
    reader.feed((text + "<parameter=n>\n1").encode())
    (call,) = reader.finish("length").tool_calls
    assert call.arguments_state["/a"] == "complete"
    assert json.loads(call.arguments + call.closing) == {"a": "x"}
