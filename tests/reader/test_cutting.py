"""43 documents as arguments, cut after every byte: nothing wrong or lost, what is cut marked.

`python -m bench cuts` shows the same for other libraries.
"""

import json

import pytest

from cutting import DOCUMENTS, MISSING, judge, score
from dialects import HERMES, NEMO
from reader.feeding import grammar_of
from untemplate.message import Tool
from untemplate.reader import Reader

TOOLS = (Tool("f", parameters={"type": "object"}),)
HEADS = {
    "hermes": (grammar_of(HERMES, TOOLS), b'<tool_call>\n{"name": "f", "arguments": '),
    "nemo": (grammar_of(NEMO, TOOLS), b'[TOOL_CALLS][{"name": "f", "arguments": '),
}


def shown(arguments, closing):
    return json.loads(arguments + closing) if arguments else MISSING


def live(name):
    """What the live view shows, byte by byte."""

    def read(document):
        grammar, head = HEADS[name]
        reader = Reader(grammar)
        reader.feed(head)
        data = document.encode()
        for at in range(len(data)):
            reader.feed(data[at : at + 1])
            call = reader.live.calls[-1] if reader.live.calls else None
            if call is None:
                yield MISSING, None
            else:
                yield shown(call.arguments, call.closing), call.open_pointer

    return read


def at_once(name):
    """What the message of a turn that ends there says."""

    def read(document):
        grammar, head = HEADS[name]
        data = document.encode()
        for cut in range(1, len(data) + 1):
            reader = Reader(grammar)
            reader.feed(head + data[:cut])
            message = reader.finish("length")
            if not message.tool_calls:
                yield MISSING, None
                continue
            (call,) = message.tool_calls
            assert call.state == "cut"
            marked = [p for p, state in call.arguments_state.items() if state == "cut"]
            assert len(marked) <= 1
            yield shown(call.arguments, call.closing), "".join(marked) or None

    return read


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("read", [live, at_once])
def test_law_17_18_19_documents_cut_after_every_byte(read, name):
    total = score(read(name))
    assert total.cuts == sum(len(d.encode()) for d in DOCUMENTS) > 2500
    assert (total.raised, total.wrong, total.lost, total.goes_back) == (0, 0, 0, 0)
    assert total.cut_strings > 900
    assert total.unmarked == 0


def test_the_judge_sees_what_is_wrong():
    document = '{"a": 120, "b": "xyz", "c": [1, 2]}'
    assert judge({"a": 12}, document, 8).wrong == [("a",)]
    assert judge({}, document, 10).lost == [("a",)]
    assert judge({"a": 120, "b": None}, document, 15).wrong == [("b",)]
    assert judge({"a": 120, "b": "xy"}, document, 19).cut_string == ("b",)
    assert judge({"a": 120, "b": "x\\"}, document, 19).wrong == [("b",)]
    assert judge({"a": 120, "b": "xyz", "c": [1, 2, 3]}, document, 34).wrong == [("c",)]
    assert judge({"a": 120, "z": 1}, document, 12).wrong == [("z",)]
