"""Laws 2 to 8 on valid outputs of every dialect; damaged ones are in `test_fuzzing`.

`make test` takes one dialect for each shape of call; `make laws` takes all of them.
"""

import json
import random

import pytest

from families import FAMILIES, family
from reader.feeding import grammar_of, read_all
from reader.outputs import call_blocks, draw
from reader.soup import literals
from untemplate.reader import Reader

EACH = pytest.mark.parametrize("name", FAMILIES)
MISSING = {"missing_argument"}
"""What a drawn call may lack."""


@EACH
def test_law_01_02_03_05_07_08_any_chunking_reads_an_output_alike(name):
    dialect, rng = family(name), random.Random(name)
    for seed in range(10):
        output = draw(dialect, rng)
        message, _ = read_all(grammar_of(dialect, prompt=output.prompt), output.data, seed=seed)
        assert {d.code for d in message.diagnostics} <= MISSING
        assert message.end == "complete"
        assert len(message.tool_calls) == len(output.calls)
        for call, written in zip(message.tool_calls, output.calls, strict=True):
            assert (call.name, call.state) == ("f", "complete")
            received = json.loads(call.arguments)
            assert received.keys() == written.keys()
            for key in written:
                assert received[key] == written[key] or f"/{key}" in call.ambiguous


LOOKS = "If a < b and é > <tool> then [TOOL\n\n or <|im 😀 <｜tool end </par ]]> &am."


def longest_mark(dialect):
    """Bytes of the longest literal of the dialect, and of the white space before it."""
    found = [m.encode() for text in literals(dialect) for m in (text, text.strip() + "```json")]
    return max(map(len, found)) + 4


def most_held(reader, data, first, last):
    """The most bytes that were fed but not told while data[first:last] arrived."""
    told = most = 0
    for at in range(last):
        spans = [e.span for e in reader.feed(data[at : at + 1]) if hasattr(e, "span")]
        told = max([told, *(end for _, end in spans)])
        if at >= first:
            most = max(most, at + 1 - told)
    return most


@EACH
def test_law_04_text_waits_only_while_it_may_become_a_marker(name):
    dialect = family(name)
    openings = [(n, o) for n, p in enumerate(dialect.prompts) for o in p.openings]
    texts = [(n, o.literal) for n, o in openings if o.block not in call_blocks(dialect)]
    number, literal = texts[0] if texts else (0, "")
    data = (literal + LOOKS).encode()
    reader = Reader(grammar_of(dialect, prompt=number))
    first = len(data) - len(LOOKS.encode())
    assert most_held(reader, data, first + 1, len(data)) <= longest_mark(dialect)
    message = reader.finish()
    assert message.content + message.reasoning_content == LOOKS


@EACH
def test_law_04_a_string_argument_waits_only_while_it_may_end(name):
    dialect, value = family(name), "If a < b and <tool> then [TOOL or <|im </par >." * 3
    output = draw(dialect, random.Random(0), calls=1, values=lambda _: {"a": value})
    first = output.data.index(value.encode())
    last = first + len(value)
    reader = Reader(grammar_of(dialect, prompt=output.prompt))
    assert most_held(reader, output.data, first + 1, last) <= longest_mark(dialect)
