"""A model in this process: a chat template and an engine.

    model = LocalModel(engine, ChatTemplate.open("model.gguf"), sampling=Sampling(temperature=0))
    result = await ToolLoop(model, [now]).complete(messages)

The engine runs in a thread. Calls are sealed as the reader says, byte by byte, so read-only tools
start while the reply is still being written. A reply that `max_tokens` cut at its calls is gone on
with in place, from the resume point of its turn; one that is cut again says how many tokens such a
call takes. Own turns are sent again as they were written (`replay`).

With `fit=True` a conversation that is too long for the context is cut down by the budget's plan:
shorter descriptions of tools, then whole exchanges, the oldest first. `Reply.dropped` says what.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from untemplate.engines.engine import Engine
from untemplate.engines.events import Finished, Generated, Prompted, ShouldStop
from untemplate.engines.sampling import Sampling
from untemplate.errors import EngineError, RequestError
from untemplate.loop.fitting import Fitting
from untemplate.loop.local_turn import LoopTurn, Point
from untemplate.loop.model import ModelItem, Reply, Request
from untemplate.loop.replay import Renders, Replays
from untemplate.loop.stream import in_thread
from untemplate.message import JSON, Tool, ToolChoice
from untemplate.turn import Turn

__all__ = ["LocalModel", "Template"]


class Template(Renders, Protocol):
    """What the loop asks of a chat template."""

    def turn(
        self,
        messages: Sequence[Mapping[str, JSON]],
        *,
        tools: Sequence[Tool] = (),
        tool_choice: ToolChoice | None = None,
        response_schema: JSON = None,
        nonce: str = "",
        now: datetime | None = None,
        variables: Mapping[str, JSON] | None = None,
    ) -> Turn: ...


class LocalModel:
    """Writes replies with an engine of this process."""

    def __init__(
        self,
        engine: Engine,
        template: Template,
        *,
        sampling: Sampling | None = None,
        stop: Sequence[str] = (),
        variables: Mapping[str, JSON] | None = None,
        clock: Callable[[], datetime] | None = None,
        fit: bool = False,
    ) -> None:
        """Set up a model.

        Args:
            engine: generates.
            template: makes prompts, and messages out of what is generated.
            sampling: how tokens are drawn.
            stop: further texts that end a reply.
            variables: what else the template reads, as `enable_thinking`.
            clock: for templates that write the date; without it they write a fixed one.
            fit: whether a conversation that is too long is cut down; else it is an error.

        Raises:
            RequestError: the engine can't count tokens, which `fit` needs.
        """
        self._fitting = Fitting(template, engine) if fit else None
        self._engine = engine
        self._template = template
        self._sampling = sampling
        self._stop = tuple(stop)
        self._variables = dict(variables or {})
        self._clock = clock
        self._replays = Replays(template, self._variables)

    async def reply(self, request: Request) -> AsyncGenerator[ModelItem, None]:
        items = in_thread(lambda should_stop: self._work(request, should_stop))
        async with aclosing(items):
            async for item in items:
                yield item

    def _work(self, request: Request, should_stop: ShouldStop) -> Iterator[ModelItem]:
        """The items of one reply; runs in a thread."""
        turn = self._turn(request)
        events = self._engine.generate(
            turn,
            max_tokens=request.max_tokens,
            sampling=self._sampling,
            stop=self._stop,
            should_stop=should_stop,
        )
        finished: Finished | None = None
        for event in events:
            match event:
                case Prompted():
                    continue
                case Generated(_, _, read):
                    yield from turn.calls.read(read)
                case Finished():
                    finished = event
        if finished is None:
            raise EngineError("the engine ended without a message", place="engine")
        message, usage = finished.message, finished.usage
        self._replays.keep(turn.seen or request, message, turn.ids, turn.end)
        is_filled = usage.completion_tokens == request.max_tokens
        is_cut_again = request.resume is not None or not is_filled
        yield Reply(
            message,
            usage,
            turn.point() if is_filled and turn.may_call else None,
            turn.sizes(message, request.messages) if is_cut_again else {},
            turn.dropped,
        )

    def _turn(self, request: Request) -> LoopTurn:
        if isinstance(request.resume, Point):
            return LoopTurn.resumed(request.resume)
        now = None if self._clock is None else self._clock()
        turn = self._begun(request, request.tools, now)
        plan = None
        if self._fitting is not None:
            plan = self._fitting.plan(request, turn, now, self._variables)
        if plan is None:
            return turn
        messages = tuple(dict(m) for m in plan.messages)
        seen = replace(request, messages=messages, tools=plan.shown)
        return self._begun(
            seen, plan.tools, now, tuple(f"{d.place}: {d.why}" for d in plan.dropped)
        )

    def _begun(
        self,
        seen: Request,
        tools: Sequence[Tool],
        now: datetime | None,
        dropped: tuple[str, ...] = (),
    ) -> LoopTurn:
        """A turn; `tools` may be called, those of the request are shown."""

        def made(response_schema: JSON) -> Turn:
            make = self._template.turn if self._fitting is None else self._fitting.shown(seen.tools)
            return make(
                seen.messages,
                tools=tools,
                tool_choice=seen.choice,
                response_schema=response_schema,
                nonce=seen.nonce,
                now=now,
                variables=self._variables,
            )

        try:
            turn = made(seen.output_schema)
        except RequestError as error:
            if error.place != "response_schema":
                raise
            # The dialect can't tell an answer from a call; the loop checks every answer anyway.
            turn = made(None)
        return LoopTurn(turn, self._replays.seam(seen, turn, now), seen=seen, dropped=dropped)
