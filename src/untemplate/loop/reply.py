"""One reply of the model: streams it on, hands over each call once, and climbs the ladder of a cut.

A reply that the length limit cut inside or between calls is gone on with as `budget.ladder` says:
in place, if the model gave a point; else by asking again, in another way, at most twice. If that
does not help it stays as it is: complete calls run, the cut one is answered `incomplete` and the
model is told why.

Ids are made unique here: a server that gives one constant id to all calls (some do) gets its ids
replaced before anybody sees them, and the written one is kept beside.
"""

import secrets
import string
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import dataclass, replace
from typing import cast

from untemplate.budget.ladder import Attempt, Climb, Rung, Stop, climb, is_cut
from untemplate.budget.policy import is_sealed, repairs
from untemplate.errors import EngineError
from untemplate.loop.channel import Channel
from untemplate.loop.events import (
    ArgumentDelta,
    CallReady,
    CallStarted,
    Reasoning,
    Restarted,
    Text,
)
from untemplate.loop.model import CallSize, Model, ModelItem, Reply, Request
from untemplate.loop.result import total
from untemplate.loop.telemetry import Tracer, generation_span, note_usage
from untemplate.message import CallDelta, Delta, Diagnostic, Message, ToolCall, Usage

__all__ = ["ReplyReader", "Written", "is_cut"]

_AGAIN = {
    "window": "it gets a larger window",
    "tools": "it is asked for with that tool alone",
    "model": "another model takes over",
}
_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Written:
    """A whole reply, however many generations it took."""

    message: Message
    usage: Usage
    generations: int
    costs: tuple[Usage, ...] = ()
    """What each of them took."""
    diagnosis: str = ""
    """What the limit was too low for, if the reply stayed cut."""
    dropped: tuple[str, ...] = ()
    """What the prompt of the last of them left out."""


class ReplyReader:
    """Reads one reply. `add` gets every call once, in call order.

    A sealed call is handed over at once if it may start at once (`is_eager`) and all before it
    were; the others when the reply has ended: then it is known what was repaired in reading them.
    `check` is asked between two pieces; it raises what an eager call has raised to end the run.
    """

    def __init__(
        self,
        model: Model,
        fallback: Model | None,
        *,
        step: int,
        tracer: Tracer,
        channel: Channel,
        used_ids: set[str],
        add: Callable[[ToolCall, Sequence[Diagnostic], CallSize | None], None],
        is_eager: Callable[[str], bool],
        check: Callable[[], None],
    ) -> None:
        self._model = model
        self._fallback = fallback
        self._step = step
        self._tracer = tracer
        self._channel = channel
        self._used_ids = used_ids
        self._add = add
        self._is_eager = is_eager
        self._check = check
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._ids = dict[int, str]()
        self._sealed = dict[int, ToolCall]()
        self._told = dict[int, int]()
        self._calls: list[ToolCall] = []
        """Those that are known whole, in call order."""
        self._handed = 0

    async def read(self, request: Request) -> Written:
        """The reply to a request, gone on with while it is cut and there is a way."""
        model = self._model
        reply = await self._generate(model, request)
        attempts = [_attempt(None, reply, request)]
        while isinstance(step := self._step_of(attempts, request), Climb):
            request = replace(request, resume=reply.point if step.rung == "resume" else None)
            if step.rung != "resume":
                self._restart(f"the reply was cut inside a call; {_AGAIN[step.rung]}")
            if step.rung == "window":
                request = replace(request, max_tokens=step.max_tokens)
            elif step.rung == "tools":
                kept = tuple(t for t in request.tools if t.name == step.tool)
                request = replace(request, tools=kept)
            elif step.rung == "model" and self._fallback is not None:
                model = self._fallback
            reply = await self._generate(model, request)
            attempts.append(_attempt(step.rung, reply, request))
        message = self._hand_over(reply)
        costs = tuple(a.usage for a in attempts)
        needs = "".join(f"; a call of {n} takes {size}" for n, size in reply.sizes.items())
        diagnosis = step.diagnosis and step.diagnosis + needs
        return Written(message, total(*costs), len(costs), costs, diagnosis, reply.dropped)

    def _step_of(self, attempts: Sequence[Attempt], request: Request) -> Climb | Stop:
        if self._sealed and not attempts[-1].can_resume:
            return Stop()  # a call was handed over: complete work is never thrown away
        return climb(attempts, tools=len(request.tools), has_other_model=self._fallback is not None)

    def close(self) -> Message:
        """What was received so far of a reply that is not going to end."""
        self._hand({}, {})
        return Message(
            content="".join(self._content),
            reasoning_content="".join(self._reasoning),
            tool_calls=tuple(self._calls),
            end="cut",
            finish_reason="cancelled",
        )

    def _restart(self, reason: str) -> None:
        self._content.clear()
        self._reasoning.clear()
        self._ids.clear()
        self._told.clear()
        self._channel.send(Restarted(self._step, reason))

    async def _generate(self, model: Model, request: Request) -> Reply:
        stream = model.reply(request)
        name = str(getattr(model, "name", ""))
        with generation_span(self._tracer, self._step, name) as span:
            async with _closing(stream):
                async for item in stream:
                    await self._channel.room()
                    self._check()
                    match item:
                        case Delta():
                            self._stream(item)
                        case ToolCall():
                            self._seal(item)
                        case Reply():
                            note_usage(span, item.usage, item.message.finish_reason)
                            return item
        raise EngineError("the model ended without a reply", place=f"step {self._step}")

    def _stream(self, delta: Delta) -> None:
        if delta.reasoning_content:
            self._reasoning.append(delta.reasoning_content)
            self._channel.send(Reasoning(delta.reasoning_content))
        if delta.content:
            self._content.append(delta.content)
            self._channel.send(Text(delta.content))
        for call in delta.tool_calls:
            self._stream_call(call)

    def _stream_call(self, call: CallDelta) -> None:
        if call.name is not None:
            call_id = self._unique_id(call.index, call.id)
            self._channel.send(CallStarted(call.index, call_id, call.name))
        if call.arguments:
            call_id = self._unique_id(call.index, call.id)
            told = self._told.get(call.index, 0)
            self._told[call.index] = told + len(call.arguments)
            self._channel.send(ArgumentDelta(call.index, call_id, call.arguments))

    def _rest(self, message: Message) -> Delta:
        """What the message has and the deltas had not: models may hold text back until the end."""
        told = self._told
        return Delta(
            message.content[sum(map(len, self._content)) :],
            message.reasoning_content[sum(map(len, self._reasoning)) :],
            tuple(
                CallDelta(
                    i,
                    c.id,
                    None if i in self._ids else c.name,
                    c.arguments[told.get(i, 0) :],
                )
                for i, c in enumerate(message.tool_calls)
            ),
        )

    def _unique_id(self, index: int, given: str | None) -> str:
        """The id of a call: the model's, unless it is missing or was there before."""
        if index not in self._ids:
            fresh = given if given and given not in self._used_ids else _new_id()
            self._used_ids.add(fresh)
            self._ids[index] = fresh
        return self._ids[index]

    def _own(self, call: ToolCall, index: int) -> ToolCall:
        """The call with its place and a unique id."""
        call_id = self._unique_id(index, call.id)
        if (call.index, call.id) == (index, call_id):
            return call
        return replace(call, index=index, id=call_id, written_id=call.written_id or call.id or None)

    def _seal(self, call: ToolCall) -> None:
        """A call that nothing can change any more."""
        if is_sealed(call) and call.index not in self._sealed:
            self._sealed[call.index] = self._own(call, call.index)
        while (following := self._sealed.get(len(self._calls))) is not None:
            self._know(following)
            if self._handed == len(self._calls) - 1 and self._is_eager(following.name):
                self._hand({}, {})

    def _know(self, call: ToolCall) -> None:
        self._calls.append(call)
        if is_sealed(call):
            self._channel.send(CallReady(call))

    def _hand(
        self, repaired: Mapping[int, Sequence[Diagnostic]], sizes: Mapping[str, CallSize]
    ) -> None:
        """Hand over all calls that are known and were not handed over before."""
        for call in self._calls[self._handed :]:
            self._handed += 1
            self._add(call, repaired.get(call.index, ()), sizes.get(call.name))

    def _hand_over(self, reply: Reply) -> Message:
        """Hand over what was not on the way; the message as it goes into the history."""
        message = reply.message
        self._stream(self._rest(message))
        for index, call in enumerate(message.tool_calls):
            if index >= len(self._calls):
                self._know(self._own(call, index))
        repaired = {i: repairs(message, c) for i, c in enumerate(message.tool_calls)}
        self._hand(repaired, reply.sizes)
        return replace(message, tool_calls=tuple(self._calls))


def _closing(stream: AsyncIterator[ModelItem]) -> AbstractAsyncContextManager[object]:
    """Closes what can be closed: an async generator, but not any iterator."""
    if isinstance(stream, AsyncGenerator):
        return aclosing(cast("AsyncGenerator[ModelItem, None]", stream))
    return nullcontext()


def _attempt(rung: Rung | None, reply: Reply, request: Request) -> Attempt:
    can_resume = reply.point is not None
    return Attempt(rung, reply.message, reply.usage, request.max_tokens, can_resume)


def _new_id() -> str:
    return "call_" + "".join(secrets.choice(_LETTERS) for _ in range(24))
