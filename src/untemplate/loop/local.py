"""A model in this process: a chat template and an engine.

    model = LocalModel(engine, ChatTemplate.open("model.gguf"), sampling=Sampling(temperature=0))
    result = await ToolLoop(model, [now]).complete(messages)

The engine runs in a thread. Calls are sealed as the reader says, byte by byte, so read-only tools
start while the reply is still being written. A reply that the token limit cut is gone on with in
place: the turn keeps its token ids, and its reader stays open.
"""

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from untemplate.engines.events import (
    DrivenConstraint,
    DrivenTurn,
    Event,
    Finished,
    Generated,
    Prompted,
    ShouldStop,
)
from untemplate.engines.sampling import Sampling
from untemplate.errors import EngineError
from untemplate.loop.model import ModelItem, Reply, Request
from untemplate.loop.stream import in_thread
from untemplate.message import JSON, FinishReason, Message, Tool, ToolCall, ToolChoice
from untemplate.reader import ArgumentsDelta, CallEnd, CallStart, deltas
from untemplate.reader import Event as ReadEvent
from untemplate.turn import Turn
from untemplate.vocabulary import Vocabulary

__all__ = ["Engine", "LocalModel", "Template"]


class Engine(Protocol):
    """What the loop asks of an engine; called in threads, several at once."""

    def generate(
        self,
        turn: DrivenTurn,
        *,
        max_tokens: int | None = None,
        sampling: Sampling | None = None,
        stop: Sequence[str] = (),
        should_stop: ShouldStop = ...,
    ) -> Generator[Event]: ...


class Template(Protocol):
    """What the loop asks of a chat template."""

    def turn(
        self,
        messages: Sequence[Mapping[str, JSON]],
        *,
        tools: Sequence[Tool] = (),
        tool_choice: ToolChoice | None = None,
        nonce: str = "",
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
    ) -> None:
        """Set up a model.

        Args:
            engine: generates.
            template: makes prompts, and messages out of what is generated.
            sampling: how tokens are drawn.
            stop: further texts that end a reply.
            variables: what else the template reads, as `enable_thinking`.
        """
        self._engine = engine
        self._template = template
        self._sampling = sampling
        self._stop = tuple(stop)
        self._variables = dict(variables or {})

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
        for event in events:
            match event:
                case Prompted():
                    continue
                case Generated(_, _, read):
                    yield from turn.calls.read(read)
                case Finished(message, reason, usage):
                    yield Reply(message, usage, turn if reason == "length" else None)
                    return
        raise EngineError("the engine ended without a message", place="engine")

    def _turn(self, request: Request) -> "_ResumableTurn":
        if isinstance(request.resume, _ResumableTurn):
            return request.resume
        return _ResumableTurn(
            self._template.turn(
                request.messages,
                tools=request.tools,
                tool_choice=request.choice,
                nonce=request.nonce,
                variables=self._variables,
            )
        )


@dataclass(slots=True)
class _CallsRead:
    """Puts sealed calls together from what the reader tells."""

    _open: dict[int, CallStart] = field(default_factory=dict[int, CallStart])
    _arguments: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    def read(self, events: Sequence[ReadEvent]) -> Iterator[ModelItem]:
        """Deltas, and the calls that have ended among them."""
        told: list[ReadEvent] = []
        for event in events:
            match event:
                case CallStart(index):
                    self._open[index] = event
                    self._arguments[index] = []
                case ArgumentsDelta(index, text):
                    self._arguments[index].append(text)
                case _:
                    pass
            told.append(event)
            if isinstance(event, CallEnd):
                yield from deltas(told)
                told = []
                if event.state == "complete":
                    start = self._open[event.index]
                    arguments = "".join(self._arguments[event.index])
                    yield ToolCall(event.index, start.id, start.name, arguments)
        yield from deltas(told)


class _ResumableTurn:
    """A turn that a limit does not close. Also the point of a cut reply."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._is_closed = False
        self.tokens = turn.tokens
        self.batches = turn.batches
        self.calls = _CallsRead()

    @property
    def stops(self) -> tuple[str, ...]:
        return self._turn.stops

    def prompt_tokens(self, vocabulary: Vocabulary) -> Sequence[int]:
        return self._turn.prompt_tokens(vocabulary)

    def constraint(self, vocabulary: Vocabulary) -> DrivenConstraint | None:
        return self._turn.constraint(vocabulary)

    def feed(self, data: bytes) -> Sequence[ReadEvent]:
        return self._turn.feed(data)

    def finish(self, reason: FinishReason) -> Message:
        """The message. At a limit a copy of the reader is closed, and the reader stays open."""
        if reason == "length":
            return self._turn.reader.snapshot().finish(reason)
        self._is_closed = True
        return self._turn.finish(reason)

    def finish_events(self) -> Sequence[ReadEvent]:
        """What the end settled; not told at a limit, since a resume may settle it otherwise."""
        return self._turn.finish_events() if self._is_closed else ()
