"""A model in this process: a chat template and an engine.

    model = LocalModel(engine, ChatTemplate.open("model.gguf"), sampling=Sampling(temperature=0))
    result = await ToolLoop(model, [now]).complete(messages)

The engine runs in a thread. Calls are sealed as the reader says, byte by byte, so read-only tools
start while the reply is still being written. A reply that `max_tokens` cut at its calls is gone on
with in place, from the resume point of its turn; one that is cut again says how many tokens such a
call takes. Own turns are sent again as they were written (`replay`).
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from untemplate.budget.window import windows
from untemplate.engines.engine import Engine
from untemplate.engines.events import (
    DrivenConstraint,
    Finished,
    Generated,
    Prompted,
    ShouldStop,
)
from untemplate.engines.sampling import Sampling
from untemplate.errors import EngineError, RequestError, UntemplateError
from untemplate.loop.model import CallSize, Chat, ModelItem, Reply, Request
from untemplate.loop.replay import Renders, Replays, Seam, end_text
from untemplate.loop.stream import in_thread
from untemplate.message import JSON, FinishReason, Message, Tool, ToolCall, ToolChoice
from untemplate.reader import ArgumentsDelta, CallEnd, CallStart, deltas
from untemplate.reader import Event as ReadEvent
from untemplate.turn import ResumePoint, Turn
from untemplate.vocabulary import Vocabulary

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
    ) -> None:
        """Set up a model.

        Args:
            engine: generates.
            template: makes prompts, and messages out of what is generated.
            sampling: how tokens are drawn.
            stop: further texts that end a reply.
            variables: what else the template reads, as `enable_thinking`.
            clock: for templates that write the date; without it they write a fixed one.
        """
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
        self._replays.keep(request, message, turn.ids, turn.end)
        is_filled = usage.completion_tokens == request.max_tokens
        is_cut_again = request.resume is not None or not is_filled
        yield Reply(
            message,
            usage,
            turn.point() if is_filled and turn.may_call else None,
            turn.sizes(message, request.messages) if is_cut_again else {},
        )

    def _turn(self, request: Request) -> "_LoopTurn":
        if isinstance(request.resume, _Point):
            return _LoopTurn.resumed(request.resume)
        now = None if self._clock is None else self._clock()
        try:
            turn = self._begun(request, request.output_schema, now)
        except RequestError as error:
            if error.place != "response_schema":
                raise
            # The dialect can't tell an answer from a call; the loop checks every answer anyway.
            turn = self._begun(request, None, now)
        return _LoopTurn(turn, self._replays.seam(request, turn, now))

    def _begun(self, request: Request, response_schema: JSON, now: datetime | None) -> Turn:
        return self._template.turn(
            request.messages,
            tools=request.tools,
            tool_choice=request.choice,
            response_schema=response_schema,
            nonce=request.nonce,
            now=now,
            variables=self._variables,
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


@dataclass(frozen=True, slots=True)
class _Point:
    """Where a reply was cut: a value, which may be gone on with more than once."""

    at: ResumePoint
    prompt: tuple[int, ...]
    """What was sent; not the ids of the template's prompt if own turns were sent again."""
    vocabulary: Vocabulary | None


class _LoopTurn:
    """A turn that goes on behind cached ids, and that can be gone on with where a limit cut it."""

    def __init__(self, turn: Turn, seam: Seam | None) -> None:
        self._turn = turn
        self._seam = seam
        self._prompt: list[int] | None = None
        self._vocabulary: Vocabulary | None = None
        self._is_closed = False
        self.tokens = turn.tokens
        self.batches = turn.batches
        self.reasoning_tokens = turn.reasoning_tokens
        self.unsettled = 0
        self.calls = _CallsRead()

    @classmethod
    def resumed(cls, point: _Point) -> "_LoopTurn":
        turn = cls(Turn.resumed(point.at), None)
        turn._prompt = list(point.prompt) or None
        turn._vocabulary = point.vocabulary
        for _ in turn.calls.read(turn._turn.before):
            pass  # was told before the cut
        return turn

    def point(self) -> _Point:
        """Where the turn was cut; the engine has to be through with it."""
        at = replace(self._turn.resume_point(), reasoning_tokens=self.reasoning_tokens)
        return _Point(at, tuple(self._prompt or ()), self._vocabulary)

    def sizes(self, message: Message, earlier: Chat) -> dict[str, CallSize]:
        """What calls of the tools take whose calls were cut."""
        names = {c.name for c in message.tool_calls if c.state == "cut"}
        grammar = self._turn.grammar
        tools = tuple(t for t in grammar.tools if t.name in names)
        if self._vocabulary is None or not tools:
            return {}
        try:
            found = windows(replace(grammar, tools=tools), self._vocabulary, earlier)
        except UntemplateError:  # a tool that can't be measured is one that was not masked either
            return {}
        return {w.tool: CallSize(w.least, w.typical) for w in found}

    @property
    def stops(self) -> tuple[str, ...]:
        return self._turn.stops

    @property
    def ids(self) -> Sequence[int]:
        """Prompt and reply, as far as an engine with token ids has them."""
        return [*(self._prompt or ()), *self.tokens]

    @property
    def end(self) -> str | None:
        """Text of the end token that the model wrote."""
        known = self._vocabulary
        return None if known is None else end_text(self._turn, self.tokens, known)

    def prompt_tokens(self, vocabulary: Vocabulary) -> Sequence[int]:
        """The prompt: what is in the cache by its ids, what is new by its text."""
        if self._prompt is None:
            self._vocabulary = vocabulary
            ids = () if self._seam is None else self._seam.ids
            start = 0 if self._seam is None else self._seam.start
            self._prompt = [*ids, *self._turn.prompt_tokens(vocabulary, start=start)]
        return self._prompt

    def constraint(self, vocabulary: Vocabulary) -> DrivenConstraint | None:
        return self._turn.constraint(vocabulary)

    @property
    def is_reasoning(self) -> bool:
        return self._turn.is_reasoning

    @property
    def is_in_call(self) -> bool:
        return self._turn.is_in_call

    def end_of_reasoning(self, vocabulary: Vocabulary) -> Sequence[int]:
        return self._turn.end_of_reasoning(vocabulary)

    def limit_decides(self) -> None:
        self._turn.limit_decides()

    def feed(self, data: bytes) -> Sequence[ReadEvent]:
        return self._turn.feed(data)

    def finish(self, reason: FinishReason) -> Message:
        message = self._turn.finish(reason)
        self._is_closed = reason != "length"
        self.unsettled = 0  # what a limit made an engine give out has been read, and stays so
        return message

    @property
    def may_call(self) -> bool:
        return self._turn.may_call

    def finish_events(self) -> Sequence[ReadEvent]:
        """What the end settled; not told at a limit, since a resume may settle it otherwise."""
        return self._turn.finish_events() if self._is_closed else ()
