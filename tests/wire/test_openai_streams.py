"""Streams of upstreams, in the forms that servers send: assembled call by call.

Each file of `streams/` holds the chunks of one answer, a line each: the same two calls, told by
OpenAI, vLLM, llama.cpp, and by proxies that leave out or repeat what these do not.
"""

import json
from pathlib import Path

import pytest

from untemplate.message import ToolCall
from untemplate.wire.openai.client import AnswerReader

FOLDER = Path(__file__).parent / "streams"
CALLS = [("get_weather", {"city": "Zürich", "days": 3}), ("get_time", {"zone": "CET"})]


def chunks(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def add_up(news):
    """Calls by index; a header comes once, before any arguments."""
    calls = {}
    for delta in (n for n in news if not isinstance(n, ToolCall)):
        for call in delta.tool_calls:
            if call.name is not None:
                assert call.index not in calls
                calls[call.index] = [call.name, ""]
            calls[call.index][1] += call.arguments
    return calls


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda p: p.stem)
def test_calls_are_assembled_one_by_one(path):
    reader, news = AnswerReader(), []
    for chunk in chunks(path):
        news += reader.feed(chunk)
    message, _ = reader.finish()
    assert [(c.name, json.loads(c.arguments)) for c in message.tool_calls] == CALLS
    assert {c.state for c in message.tool_calls} == {"complete"}
    assert all(c.id for c in message.tool_calls)
    assert len({c.id for c in message.tool_calls}) == 2
    told = add_up(news)
    assert [(told[i][0], json.loads(told[i][1])) for i in sorted(told)] == CALLS
    sealed = [n for n in news if isinstance(n, ToolCall)]
    assert all(c in message.tool_calls for c in sealed)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda p: p.stem)
def test_law_17_a_stream_that_breaks_off_anywhere_seals_nothing_wrong(path):
    told = chunks(path)
    for size in range(len(told)):
        reader = AnswerReader()
        sealed = [n for c in told[:size] for n in reader.feed(c) if isinstance(n, ToolCall)]
        message, _ = reader.finish()
        for call in [*sealed, *(c for c in message.tool_calls if c.state == "complete")]:
            assert (call.name, json.loads(call.arguments)) in CALLS
