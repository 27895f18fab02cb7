"""A model that is a function: it gets the request and gives the reply.

    def answer(request: Request) -> Message | str:
        return "done" if request.messages[-1]["role"] == "tool" else written(("now", {}))

    result = await ToolLoop(FunctionModel(answer), [now]).complete(messages)

The reply is streamed as a real model would: text, then each call's name, its arguments in pieces,
and the call itself as soon as it is sealed. A function may also give the items of a reply itself
(an async generator), to wait or to fail in the middle.
"""

import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace

from untemplate.loop import ModelItem, Reply, Request
from untemplate.message import (
    JSON,
    Block,
    CallDelta,
    Delta,
    FinishReason,
    Message,
    ToolCall,
    Usage,
)

__all__ = ["FunctionModel", "stream", "written"]

Answer = Message | str | AsyncGenerator[ModelItem, None]

_PIECE = 16


def written(
    *calls: tuple[str, JSON] | ToolCall,
    content: str = "",
    reasoning: str = "",
    finish_reason: FinishReason | None = None,
) -> Message:
    """A message with these calls, each a name with arguments, or a whole `ToolCall`."""
    made = tuple(
        replace(c, index=i) if isinstance(c, ToolCall) else _call(i, c) for i, c in enumerate(calls)
    )
    blocks = [Block("reasoning", reasoning)] if reasoning else []
    blocks += [Block("content", content)] if content else []
    blocks += [Block("call", call=c.index) for c in made]
    is_cut = any(c.state == "cut" for c in made) or finish_reason == "length"
    reason: FinishReason = "length" if is_cut else "tool_calls" if made else "stop"
    return Message(
        content,
        reasoning,
        made,
        tuple(blocks),
        end="cut" if is_cut else "complete",
        finish_reason=finish_reason or reason,
    )


class FunctionModel:
    """Asks a function for each reply, and remembers what was asked."""

    def __init__(self, function: Callable[[Request], Answer | Awaitable[Answer]]) -> None:
        self._function = function
        self.requests: list[Request] = []
        """What the loop asked, in order."""

    async def reply(self, request: Request) -> AsyncIterator[ModelItem]:
        self.requests.append(request)
        answer = self._function(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Message | str):
            message = answer if isinstance(answer, Message) else written(content=answer)
            for item in stream(_with_ids(message, request.nonce)):
                yield item
            return
        async with aclosing(answer):
            async for item in answer:
                yield item


def stream(message: Message, usage: Usage | None = None) -> Iterator[ModelItem]:
    """The items of a reply: deltas, sealed calls, and the reply."""
    if message.reasoning_content:
        yield Delta(reasoning_content=message.reasoning_content)
    if message.content:
        yield Delta(content=message.content)
    for call in message.tool_calls:
        yield Delta(tool_calls=(CallDelta(call.index, call.id, call.name),))
        for start in range(0, len(call.arguments), _PIECE):
            piece = call.arguments[start : start + _PIECE]
            yield Delta(tool_calls=(CallDelta(call.index, arguments=piece),))
        if call.state == "complete":
            yield call
    size = len(message.content) + sum(len(c.arguments) for c in message.tool_calls)
    yield Reply(message, usage or Usage(0, size))


def _call(index: int, call: tuple[str, JSON]) -> ToolCall:
    name, arguments = call
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(index, "", name, text)


def _with_ids(message: Message, nonce: str) -> Message:
    """The message with the ids of a turn with this nonce, where it has none."""
    calls = tuple(replace(c, id=c.id or f"call_{nonce}{c.index:04d}") for c in message.tool_calls)
    return replace(message, tool_calls=calls)
