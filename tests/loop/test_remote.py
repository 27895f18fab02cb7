"""Models behind servers, with their habits."""

import asyncio
import contextlib
import json

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tool_loop import USER, check_history, complete, play, statuses
from untemplate.errors import EngineError
from untemplate.loop import ArgumentDelta, CallReady, RemoteModel, ToolLoop, ToolStarted, tool
from untemplate.message import Tool, ToolChoice
from untemplate.wire.openai.client import AnswerReader, request_body


@tool(effect="read")
def add(a: int, b: int) -> int:
    return a + b


def call(index=None, call_id=None, name=None, arguments=None):
    function = {"name": name, "arguments": arguments}
    out = {"function": {k: v for k, v in function.items() if v is not None}}
    if index is not None:
        out["index"] = index
    if call_id is not None:
        out |= {"id": call_id, "type": "function"}
    return out


def chunk(*calls, content=None, finish=None, **more):
    delta = {"tool_calls": list(calls)} if calls else {}
    if content is not None:
        delta["content"] = content
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


def sse(*chunks):
    lines = [f"data: {json.dumps(c)}\n\n" for c in chunks]
    return ": ping\n\n" + "".join(lines) + "data: [DONE]\n\n"


def server(*answers, seen=None):
    """A model at a server that gives these answers: chunks of a stream, or a whole response."""
    left = list(answers)

    def answer(request):
        if seen is not None:
            seen.append(json.loads(request.content))
        given = left.pop(0)
        if isinstance(given, httpx2.Response):
            return given
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, text=sse(*given))

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    return RemoteModel("http://here/v1/", "m", client=client)


DONE = [chunk(content="do"), chunk(content="ne"), chunk(finish="stop")]


def test_a_run_over_http():
    seen = []
    first = [
        chunk(content=""),
        chunk(content="Let me see."),
        chunk(call(0, "call_a", "add", "")),
        chunk(call(0, arguments='{"a": 1')),
        chunk(call(0, arguments=', "b": 2}')),
        chunk(finish="tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
    ]
    events, result = play(ToolLoop(server(first, DONE, seen=seen), [add], max_tokens=99))
    assert [m["content"] for m in result.messages] == ["go", "Let me see.", "3", "done"]
    assert "".join(e.text for e in events if isinstance(e, ArgumentDelta)) == '{"a": 1, "b": 2}'
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (7, 3)
    assert seen[0]["stream"] is True
    assert seen[0]["max_tokens"] == 99
    assert seen[0]["tools"][0]["function"]["name"] == "add"
    assert seen[1]["messages"][-1] == {"role": "tool", "tool_call_id": "call_a", "content": "3"}


@pytest.mark.parametrize(
    "pieces",
    [
        [call(0, "a", "add", '{"a":1,"b":1}'), call(1, "b", "add", '{"a":2,"b":2}')],
        [call(0, "a", "add", '{"a":1,"b":1}'), call(0, "b", "add", '{"a":2,"b":2}')],
        [call(1, "a", "add", '{"a":1,"b":1}'), call(2, "b", "add", '{"a":2,"b":2}')],
        [
            call(None, "a", "add", '{"a":1,'),
            call(None, None, None, '"b":1}'),
            call(None, "b", "add", '{"a":2,"b":2}'),
        ],
        [call(None, None, "add", '{"a":1,"b":1}'), call(None, None, "add", '{"a":2,"b":2}')],
        [
            call(0, "x", "add"),
            call(1, "x", "add"),
            call(0, None, None, '{"a":1,"b":1}'),
            call(1, None, None, '{"a":2,"b":2}'),
        ],
        [call(0, "a", "add", {"a": 1, "b": 1}), call(1, "b", "add", {"a": 2, "b": 2})],
    ],
    ids=["index", "id", "from 1", "no index", "nothing", "headers first", "objects"],
)
def test_ways_of_telling_calls_apart(pieces):
    chunks = [chunk(p) for p in pieces]
    result = complete(ToolLoop(server([*chunks, chunk(finish="stop")], DONE), [add]))
    assert [o.text for o in result.steps[0].outcomes] == ["2", "4"]


def test_an_answer_that_is_not_streamed():
    calls = [call(None, "same", "add", '{"a":1,"b":1}'), call(None, "same", "add", '{"a":2,"b":2}')]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    whole = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    result = complete(ToolLoop(server(httpx2.Response(200, json=whole), DONE), [add]))
    assert [o.text for o in result.steps[0].outcomes] == ["2", "4"]


def test_a_call_is_sealed_when_the_next_begins():
    reader = AnswerReader()
    reader.feed(chunk(call(0, "a", "add", '{"a":1,"b":1}')))
    news = reader.feed(chunk(call(1, "b", "add")))
    assert [type(n).__name__ for n in news] == ["ToolCall"]


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_the_last_call_of_a_cut_answer_is_cut_whatever_it_looks_like(finish):
    ran = []

    def pay(to: str, amount: int = 0):
        ran.append((to, amount))

    chunks = [
        chunk(call(0, "a", "pay", '{"to": "x", "amount": 5}')),
        chunk(call(1, "b", "pay", '{"to": "y", "amount": 12}')),
        chunk(finish=finish),
    ]
    result = complete(ToolLoop(server(chunks, DONE), [pay]))
    assert ran == [("x", 5)]
    assert statuses(result) == ["ok", "incomplete"]


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "length"])
def test_law_17_every_cut_of_a_call(finish):
    """Whatever a server calls it, a call that was cut does not run with what was received."""
    whole = '{"to": "a,\\"b", "n": [1, {"x": 2}], "amount": -12.50}'
    for end in range(len(whole)):
        reader = AnswerReader()
        reader.feed(chunk(call(0, "a", "pay", whole[:end])))
        reader.feed(chunk(finish=finish))
        (made,) = reader.finish()[0].tool_calls
        given = json.loads(made.arguments + made.closing)
        if end == 0 and finish != "length":
            assert made.state == "complete"
            continue
        assert made.state == "cut"
        assert given.items() <= json.loads(whole).items()
        assert "amount" not in given


def test_a_server_of_ours_is_believed():
    notes = {"state": "cut", "closing": "}", "arguments_state": {"/a": "complete", "/b": "cut"}}
    end = {"end": "cut", "tool_calls": [{"index": 0, "id": "a", **notes}]}
    reader = AnswerReader()
    reader.feed(chunk(call(0, "a", "add", '{"a":1')))
    reader.feed(chunk(finish="length", untemplate=end))
    message, _ = reader.finish()
    (made,) = message.tool_calls
    assert (made.state, made.closing, message.end) == ("cut", "}", "cut")
    assert made.arguments_state == {"/a": "complete", "/b": "cut"}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (httpx2.Response(500, json={"error": {"message": "out of\nmemory"}}), "500.*out of memory"),
        (httpx2.Response(404, text="<html>"), "404.*Not Found"),
        (httpx2.Response(200, text="<html>"), "text/event-stream"),
        (httpx2.Response(200, json=[1]), "expected an object"),
        ([chunk(content="so "), {"error": {"message": "gone"}}], "gone"),
        ([chunk(content="so far")], "ended the answer in the middle"),
    ],
    ids=["500", "404", "html", "list", "in the stream", "no end"],
)
def test_what_servers_fail_with(answer, text):
    model = server(answer)
    with pytest.raises(EngineError, match=text):
        complete(ToolLoop(model))


def test_no_server():
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:9"):
        complete(ToolLoop(RemoteModel("http://127.0.0.1:9/v1")))


def test_leaving_closes_the_connection():
    closed = []

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self):
            yield sse(chunk(call(0, "a", "add", '{"a":1,"b":1}')), chunk(call(1, "b", "add")))[
                :-14
            ].encode()
            await asyncio.sleep(1000)

        async def aclose(self):
            closed.append(1)

    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Endless())

    async def main():
        async with ToolLoop(server(response), [add]).run(USER) as run:
            async for event in run:
                if isinstance(event, ToolStarted):
                    break
        return run.result

    result = asyncio.run(main())
    assert closed == [1]
    assert result.reason == "cancelled"
    check_history(result.messages)


def test_calls_are_ready_in_order():
    chunks = [
        chunk(call(0, "a", "add", '{"a":1,"b":1}')),
        chunk(call(1, "b", "add", '{"a":2,"b":2}')),
        chunk(finish="tool_calls"),
    ]
    events, _ = play(ToolLoop(server(chunks, DONE), [add]))
    ready = [e.call.id for e in events if isinstance(e, CallReady)]
    assert ready == ["a", "b"]


def test_the_body_of_a_request():
    tools = [Tool("f", "does", {"type": "object"}, strict=True)]
    schema = {"type": "integer"}
    body = request_body(USER, tools, ToolChoice("required", "f", parallel=False), model="m")
    assert body["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert body["parallel_tool_calls"] is False
    assert body["tools"][0]["function"]["strict"] is True
    assert "response_format" not in request_body(USER, tools, model="m", schema=schema)
    none = request_body(USER, tools, ToolChoice("none"), model="m", schema=schema)
    assert none["response_format"]["json_schema"]["schema"] == schema
    assert "tool_choice" not in request_body(USER, model="m")


KEYS = """choices delta message tool_calls function index id name arguments content usage untemplate
state closing arguments_state finish_reason ambiguous written_id end prompt_tokens reasoning"""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "{", '{"a":1}']),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5)
    ),
    max_leaves=30,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(VALUES, max_size=4))
def test_whatever_a_server_sends_is_read_or_refused(chunks):
    reader = AnswerReader()
    for value in chunks:
        for given_chunk in (value, {"choices": [{"delta": value}]}, {"choices": [value]}):
            with contextlib.suppress(EngineError):
                reader.feed(given_chunk)
    message, _ = reader.finish()
    assert [c.index for c in message.tool_calls] == list(range(len(message.tool_calls)))
    for made in message.tool_calls:
        if made.state == "complete" and not reader._notes:
            assert isinstance(json.loads(made.arguments), dict)
