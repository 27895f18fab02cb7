"""Laws 17 to 19: outputs of every dialect cut after every byte, read at once and as a stream.

`make test` cuts one output of one dialect for each shape of call, `make laws` 20 of every dialect.
"""

import json
import random

import pytest

from families import FAMILIES, SOME, family, names
from reader.cutting import check_cuts
from reader.feeding import grammar_of, read_all
from reader.outputs import draw
from untemplate.dialect import CallBlock, JsonText
from untemplate.reader import ArgumentEnd, Reader


def check(name, seed, count):
    dialect, rng = family(name), random.Random(f"{name} {seed}")
    for _ in range(count):
        output = draw(dialect, rng)
        check_cuts(grammar_of(dialect, prompt=output.prompt), output.data)


@pytest.mark.parametrize("name", SOME)
def test_law_17_18_19_an_output_cut_after_any_byte(name):
    check(name, 0, 1)


@pytest.mark.laws
@pytest.mark.parametrize("name", names())
def test_law_17_18_19_twenty_outputs_cut_after_any_byte(name):
    check(name, 1, 20)


TWICE = [
    ({"a": "x", "n": 1}, "a", "y"),
    ({"n": 1, "a": "x"}, "n", 22),
    ({"a": "", "l": ["p"]}, "a", ""),
    ({"l": ["a"], "a": "z"}, "l", ["b", "c"]),
    ({"a": "x", "b": True}, "b", False),
]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("values", "key", "second"), TWICE)
def test_law_17_the_first_value_of_a_key_stands_wherever_it_is_cut(name, values, key, second):
    dialect = family(name)
    written = {**values, "twice": second}
    output = draw(dialect, random.Random(3), calls=1, values=lambda _: written)
    data = output.data.replace(b"twice", key.encode())
    grammar = grammar_of(dialect, prompt=output.prompt)
    message, _ = read_all(grammar, data)
    (call,) = message.tool_calls
    assert json.loads(call.arguments) == values
    assert (call.state, call.arguments_state[f"/{key}"]) == ("complete", "complete")
    (note,) = (d for d in message.diagnostics if d.code == "duplicate_key")
    assert json.loads(note.message.partition("kept out:")[2]) == second
    check_cuts(grammar, data)


def ends(text):
    """Where each member's value is decided, by name: behind its closer, a number one later."""
    found, at, scan = {}, 1, json.JSONDecoder().raw_decode
    while text[at:].strip(" \n,}"):
        key, at = scan(text, at + len(text[at:]) - len(text[at:].lstrip(" \n,")))
        at = text.index(":", at) + 1
        value, at = scan(text, at + len(text[at:]) - len(text[at:].lstrip()))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        found[key] = len(text[:at].encode()) + is_number
    return found


VALUES = {"a": "é}", "n": -12, "b": True, "l": ["x", [2]], "o": {"k": {}}, "x": 1.5e3, "u": None}
IN_PAIRS = {"coder", "GLM-4.6", "LFM2.5-8B-A1B", "MiniMax-M3"}
IN_PAIRS |= {"deepseek-ai-DeepSeek-V3.2", "google-gemma-4-31B-it"}


@pytest.mark.parametrize("name", [n for n in SOME if n not in IN_PAIRS])
def test_law_18_json_arguments_are_complete_at_the_byte_that_decides_them(name):
    dialect = family(name)
    output = draw(dialect, random.Random(0), calls=1, values=lambda _: VALUES)
    block = next(b for b in dialect.blocks.values() if isinstance(b, CallBlock))
    assert isinstance(block.arguments.encoding, JsonText)
    text = block.arguments.write(VALUES)
    start = output.data.index(text.encode())
    reader = Reader(grammar_of(dialect, prompt=output.prompt))
    told = {}
    for at in range(len(output.data)):
        events = reader.feed(output.data[at : at + 1])
        told.update({e.name: at + 1 - start for e in events if isinstance(e, ArgumentEnd)})
    assert told == ends(text)


def test_law_18_raw_text_is_undecided_until_what_follows_its_closer():
    dialect = family("coder")
    text = b"<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n"
    reader = Reader(grammar_of(dialect))
    reader.feed(text)
    (call,) = reader.finish("length").tool_calls
    assert (call.state, call.arguments_state["/a"]) == ("cut", "undecided")
    assert json.loads(call.arguments + call.closing) == {"a": "x"}
    reader = Reader(grammar_of(dialect))
    reader.feed(text + b"<parameter=")
    (call,) = reader.finish("length").tool_calls
    assert call.arguments_state["/a"] == "complete"
