"""Law 6: reading is linear, for a consumer that takes the deltas of every chunk."""

import gc
import json
import sys
import time

import pytest

from dialects import CODER, HERMES
from untemplate.grammar import build_grammar
from untemplate.message import Tool
from untemplate.reader import Reader, deltas

CODE = 'def f(x):\n    return "é" + x  # <b>\n'
WRITE = Tool(
    "write_file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    },
)


def json_call(content):
    call = {"name": "write_file", "arguments": {"path": "a.py", "content": content}}
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


def tagged_call(content):
    return (
        "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n"
        f"<parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"
    )


FORMATS = {"json": (HERMES, json_call), "tagged": (CODER, tagged_call)}


def outputs(name, kilobytes):
    dialect, write = FORMATS[name]
    content = CODE * (kilobytes * 1024 // len(CODE.encode()))
    return build_grammar(dialect, [WRITE]), write(content).encode(), content


def read(reader, data):
    for at in range(0, len(data), 4):
        for _ in deltas(reader.feed(data[at : at + 4])):
            pass
    return reader.finish()


def steps(name, kilobytes):
    """Calls of functions, Python's and C's, while reading; counted, not timed."""
    grammar, data, content = outputs(name, kilobytes)
    count = 0

    def step(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    reader = Reader(grammar)
    sys.setprofile(step)
    try:
        message = read(reader, data)
    finally:
        sys.setprofile(None)
    assert json.loads(message.tool_calls[0].arguments)["content"] == content
    return count


@pytest.mark.parametrize("name", FORMATS)
def test_law_06_twice_the_argument_takes_at_most_twice_the_steps(name):
    assert steps(name, 32) <= 2.2 * steps(name, 16)


@pytest.mark.laws
@pytest.mark.parametrize("name", FORMATS)
def test_law_06_64_kilobytes_in_4_byte_chunks_are_read_in_a_moment(name):
    grammar, data, _ = outputs(name, 64)
    times = []
    for _ in range(5):
        reader = Reader(grammar)
        gc.collect()
        started = time.process_time()
        read(reader, data)
        times.append(time.process_time() - started)
    assert min(times) < 0.15
