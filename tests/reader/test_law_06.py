"""Law 6: reading is linear, for a consumer that takes deltas and looks at every chunk too."""

import gc
import json
import time
from dataclasses import replace

import pytest

from counting import steps
from dialects import HERMES
from families import family
from untemplate.dialect import END, CallBlock, write_calls
from untemplate.grammar import build_grammar
from untemplate.message import Tool, ToolCall
from untemplate.reader import Reader, deltas

CODE = 'def f(x):\n    return "é" + x  # <b>\n'
PROSE = "Well, a < b and <b>bold</b> is so.\nIf x <y or y> z we go on; café is here. "
WRITE = Tool(
    "write_file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    },
)
FORMATS = {
    "json": "hermes",
    "tagged": "coder",
    "array": "nemo",
    "behind a name": "deepseek",
    "python": "LFM2.5-8B-A1B",
    "harmony": "openai-gpt-oss-120b",
    "own quotes": "google-gemma-4-31B-it",
    "keys and values": "GLM-4.6",
    "attributes": "deepseek-ai-DeepSeek-V3.2",
}
HAND_WRITTEN = ["json", "tagged", "array", "behind a name"]


def outputs(name, kilobytes):
    """A grammar, and a call in its format whose argument has so many kilobytes."""
    dialect = replace(family(FORMATS[name]), written={})
    content = CODE * (kilobytes * 1024 // len(CODE.encode()))
    call = next(n for n, b in dialect.blocks.items() if isinstance(b, CallBlock))
    prompt = dialect.prompts[0]
    ways = [o.literal for o in prompt.openings if o.block == call]
    for opening in prompt.openings:
        edges = [e for e in dialect.edges_from(opening.block) if e.target == call]
        ways += [opening.literal + e.literal for e in edges]
    arguments = json.dumps({"path": "a.py", "content": content}, ensure_ascii=False)
    written = write_calls(dialect, call, [ToolCall(0, "abcdefgh0", WRITE.name, arguments)])
    end = next((e.literal for e in dialect.edges_from(call) if e.target == END), "")
    grammar = build_grammar(dialect, [WRITE], prompt=prompt)
    return grammar, (ways[0] + written + end).encode(), content


def consume(reader, pieces, *, looks):
    for piece in pieces:
        for _ in deltas(reader.feed(piece)):
            pass
        if looks and reader.live.calls:
            call = reader.live.calls[-1]
            assert call.pieces is not None
            assert call.closing is not None


def read(reader, data, size=4, *, looks=False):
    """The message, and the CPU time of the first and of the last quarter of the chunks."""
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    quarter = len(pieces) // 4
    clock = [time.process_time()]
    for part in (pieces[:quarter], pieces[quarter:-quarter], pieces[-quarter:]):
        consume(reader, part, looks=looks)
        clock.append(time.process_time())
    return reader.finish(), clock[1] - clock[0], clock[3] - clock[2]


def steps_of(grammar, data, content=None, *, looks=False):
    """Steps of reading all of it, which has to give this content, or argument."""
    reader, got = Reader(grammar), []
    count = steps(lambda: got.append(read(reader, data, looks=looks)[0]))
    (message,) = got
    if content is None:
        assert message.content == data.decode()
    else:
        assert json.loads(message.tool_calls[0].arguments)["content"] == content
    return count


@pytest.mark.parametrize("looks", [False, True], ids=["deltas", "deltas and looks"])
@pytest.mark.parametrize("name", HAND_WRITTEN)
def test_law_06_twice_the_argument_takes_at_most_twice_the_steps(name, looks):
    small, large = outputs(name, 8), outputs(name, 16)
    steps_of(*small)  # what is compiled once does not count
    assert steps_of(*large, looks=looks) <= 2.2 * steps_of(*small, looks=looks)


@pytest.mark.parametrize("name", HAND_WRITTEN)
def test_law_06_twice_the_prose_takes_at_most_twice_the_steps(name):
    grammar, _, _ = outputs(name, 1)
    data = (PROSE * 100).rstrip().encode()
    steps_of(grammar, data)
    assert steps_of(grammar, data + data) <= 2.2 * steps_of(grammar, data)


@pytest.mark.parametrize("name", HAND_WRITTEN)
def test_law_06_a_chunk_takes_few_steps(name):
    """Most chunks take the short way: one look at them, an event, a delta; 20 calls or so."""
    grammar, data, content = outputs(name, 8)
    steps_of(grammar, data, content)
    assert steps_of(grammar, data, content) <= 30 * len(data) / 4


@pytest.mark.laws
@pytest.mark.parametrize("name", FORMATS)
def test_law_06_64_kilobytes_in_4_byte_chunks_are_read_in_a_moment(name):
    grammar, data, content = outputs(name, 64)
    times = []
    for _ in range(7):
        reader = Reader(grammar)
        gc.collect()
        started = time.process_time()
        message, _, _ = read(reader, data)
        times.append(time.process_time() - started)
    assert json.loads(message.tool_calls[0].arguments)["content"] == content
    assert min(times) <= (0.09 if name == "json" else 0.15)


@pytest.mark.laws
@pytest.mark.parametrize(("kilobytes", "size"), [(64, 4), (64, 1), (64, 16), (256, 4)])
@pytest.mark.parametrize("name", FORMATS)
def test_law_06_the_last_chunk_costs_what_the_first_does(name, kilobytes, size):
    grammar, data, _ = outputs(name, kilobytes)
    ratios = []
    for _ in range(5):
        _, first, last = read(Reader(grammar), data, size)
        ratios.append(last / first)
    assert min(ratios) <= 1.3


BLANK_AT = {
    "behind a call": '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    "in front of its closer": '<tool_call>\n{"name": "f", "arguments": {}}',
    "in front of its arguments": '<tool_call>\n{"name": "f",',
}


@pytest.mark.parametrize("begun", BLANK_AT.values(), ids=BLANK_AT)
def test_law_06_white_space_without_end_is_looked_at_once(begun):
    reader = Reader(build_grammar(HERMES, [Tool("f")]))
    reader.feed(begun.encode())
    started = time.process_time()
    for _ in range(20_000):
        reader.feed(b"                    ")
    reader.finish("length")
    assert time.process_time() - started < 2.5
