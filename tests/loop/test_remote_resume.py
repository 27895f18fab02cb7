"""Replies of our own server that were cut, and how a client of the loop goes on with them."""

import asyncio
import json

import httpx2
import pytest

from serving import TEMPLATE
from tool_loop import USER, check_history
from untemplate.loop import RemoteModel, ToolLoop, schema_tool, tool
from untemplate.loop.model import Reply, Request
from untemplate.message import Tool, ToolCall
from untemplate.server import Settings, create_app
from untemplate.testing import ScriptedEngine
from untemplate.turn import ChatTemplate
from untemplate.vocabulary import byte_vocabulary

CALL = '\n<tool_call>\n{"name": "pay", "arguments": %s}\n</tool_call>'
CALLS = "Sure." + CALL % '{"to": "Zoë 東京", "amount": 120}' + CALL % '{"to": "b\\"", "amount": 7}'
DATA = CALLS.encode()
TEMPLATES = ChatTemplate(TEMPLATE)
SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}},
    "required": ["to", "amount"],
}
PAY = Tool("pay", "", SCHEMA)


def bytewise(data):
    return [data[i : i + 1] for i in range(len(data))]


def over_http(*scripts, **settings):
    """A model behind a server of ours, in this process; and the bodies of its requests."""
    seen = []

    async def note(request):
        seen.append(json.loads(request.content))

    app = create_app(
        ScriptedEngine(*scripts),
        TEMPLATES,
        model="scripted",
        meta={"context_tokens": 4096},
        settings=Settings(**settings),
    )
    transport = httpx2.ASGITransport(app=app)
    client = httpx2.AsyncClient(transport=transport, event_hooks={"request": [note]})
    return RemoteModel("http://127.0.0.1/v1", "scripted", client=client), seen


async def replied(model, request):
    items = [item async for item in model.reply(request)]
    assert isinstance(items[-1], Reply)
    return items


@pytest.fixture(scope="module")
def whole():
    async def main():
        model, _ = over_http(bytewise(DATA))
        return (await replied(model, Request(tuple(USER), (PAY,))))[-1].message

    return asyncio.run(main())


def gone_on(cut, *, without=()):
    """What came after a reply was cut there and gone on with; None if it was text that was cut."""

    async def main():
        request = Request(tuple(USER), (PAY,), nonce="n", max_tokens=cut)
        model, seen = over_http(bytewise(DATA), bytewise(DATA)[cut:])
        first = (await replied(model, request))[-1]
        point = first.point
        if point is None:
            return None, seen
        for name in without:
            del point.message["untemplate"][name]
        items = await replied(model, Request(tuple(USER), (PAY,), resume=point))
        return items, seen

    return asyncio.run(main())


def told(message):
    """All of a message but the ids of calls, which differ from run to run."""
    calls = [(c.index, c.name, c.arguments, c.state, c.arguments_state) for c in message.tool_calls]
    return message.content, message.end, message.finish_reason, calls


def check_cuts(whole, cuts):
    for cut in cuts:
        items, seen = gone_on(cut)
        if DATA[:cut].rstrip() == b"Sure."[:cut]:
            assert items is None
            continue
        assert seen[1]["continue_final_message"] is True
        assert told(items[-1].message) == told(whole)
        # A call is sealed as soon as the server says so, and never twice.
        sealed = [item for item in items if isinstance(item, ToolCall)]
        assert len({c.index for c in sealed}) == len(sealed)
        assert all(c.arguments == whole.tool_calls[c.index].arguments for c in sealed)


def test_law_20_a_reply_cut_at_any_byte_is_gone_on_with_to_the_same(whole):
    check_cuts(whole, range(3, len(DATA), 9))


@pytest.mark.laws
def test_law_20_a_reply_cut_at_every_byte_is_gone_on_with_to_the_same(whole):
    check_cuts(whole, range(1, len(DATA)))


def test_a_reply_is_gone_on_with_by_its_text_when_the_handle_is_forgotten(whole):
    items, _ = gone_on(DATA.index(b"amount") + 11, without=["resume"])
    assert told(items[-1].message) == told(whole)


def test_a_loop_over_http_resumes_cut_calls_in_place():
    paid = []

    @tool(effect="write")
    def pay(to: str, amount: int) -> str:
        paid.append((to, amount))
        return "paid"

    size = len(DATA) // 2 + 5
    model, seen = over_http(bytewise(DATA), bytewise(DATA)[size:], [b"done"])
    result = asyncio.run(ToolLoop(model, [pay], max_tokens=size).complete(USER))
    check_history(result.messages)
    assert sorted(paid) == [("Zoë 東京", 120), ('b"', 7)]
    assert (result.reason, result.text) == ("answer", "done")
    assert result.steps[0].generations == 2
    assert len(seen) == 3


def test_a_server_that_refuses_to_go_on_loses_nothing():
    async def main():
        model, _ = over_http(bytewise(DATA), [b""])
        request = Request(tuple(USER), (PAY,), max_tokens=len(DATA) - 5)
        first = (await replied(model, request))[-1]
        first.point.message["role"] = "user"
        again = (await replied(model, Request(tuple(USER), (PAY,), resume=first.point)))[-1]
        return first, again

    first, again = asyncio.run(main())
    assert first.message.tool_calls[0].state == "complete"
    assert again.message == first.message
    assert again.point is None


def test_a_call_is_ready_before_the_reply_has_ended():
    async def main():
        model, _ = over_http(
            [CALLS.split("\n<tool", 2)[0].encode(), *bytewise(DATA)[5:]], [b"done"]
        )
        run = ToolLoop(model, [tool(lambda to, amount: "ok", effect="read", name="pay")]).run(USER)
        return [type(event).__name__ async for event in run]

    names = asyncio.run(main())
    assert names.index("CallReady") < names.index("CallStarted", names.index("CallStarted") + 1)


def test_repairs_are_known_over_http():
    """A call that had to be set right in reading does not run if it changes something."""
    ran = []

    @tool(effect="write")
    def pay(to: str, amount: int) -> str:
        ran.append(to)
        return "paid"

    twice = CALL % '{"to": "a", "to": "b", "amount": 1}'
    model, _ = over_http([twice.encode()], [b"done"])
    result = asyncio.run(ToolLoop(model, [pay]).complete(USER))
    assert ran == []
    assert result.steps[0].outcomes[0].status != "ok"
    assert result.steps[0].message.diagnostics


@pytest.mark.parametrize("stream", [True, False])
def test_a_whole_answer_of_our_server_is_believed_too(stream):
    async def main():
        model, _ = over_http(bytewise(DATA))
        model._options["stream"] = stream
        cut = DATA.index(b"amount") + 11
        return (await replied(model, Request(tuple(USER), (PAY,), max_tokens=cut)))[-1]

    reply = asyncio.run(main())
    (call,) = reply.message.tool_calls
    assert (call.state, call.cut_path, call.arguments) == ("cut", "/amount", '{"to": "Zoë 東京"')
    assert reply.message.raw == DATA[: DATA.index(b"amount") + 11].decode()
    assert reply.point is not None


def test_a_call_that_stays_cut_is_diagnosed_with_what_it_needs():
    async def main():
        thirds = [bytewise(DATA)[at : at + 20] for at in (0, 20, 40)]
        engine = ScriptedEngine(*thirds, [b"done"])
        engine.vocabulary, engine.context_tokens = byte_vocabulary(["<|im_end|>"]), 4096
        app = create_app(engine, TEMPLATES, model="scripted")
        client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app))
        model = RemoteModel("http://127.0.0.1/v1", "scripted", client=client)
        loop = ToolLoop(model, [schema_tool("pay", SCHEMA, print)], max_tokens=20)
        return await loop.complete(USER)

    result = asyncio.run(main())
    (outcome,) = result.steps[0].outcomes
    assert outcome.status != "ok"
    assert "the limit is too low for pay" in result.steps[0].diagnosis
    assert "a call of pay takes at least" in result.steps[0].diagnosis
    assert "A call of pay takes at least" in outcome.text


def test_what_a_server_left_out_is_known():
    async def main():
        engine = ScriptedEngine([b"Hi"])
        engine.vocabulary, engine.context_tokens = byte_vocabulary(["<|im_end|>"]), 1000
        app = create_app(engine, TEMPLATES, model="scripted")
        client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app))
        options = {"truncation": "auto"}
        model = RemoteModel("http://127.0.0.1/v1", "scripted", client=client, options=options)
        talk = [{"role": r, "content": "x" * 200} for r in ("user", "assistant")] * 5
        return await ToolLoop(model).complete([*talk, *USER])

    (step,) = asyncio.run(main()).steps
    assert step.dropped[0] == "messages[0:2]: exchanges, the oldest"
