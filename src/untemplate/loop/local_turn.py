"""A turn as the tool loop drives it: behind cached ids, told as sealed calls, and resumable.

turn = LoopTurn(template.turn(...), seam)
for event in engine.generate(turn): ...
turn.calls.read(event.events)      -> deltas, and each call as soon as it has ended
LoopTurn.resumed(turn.point())     goes on where a limit cut it
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from untemplate.budget.window import windows_of_cut
from untemplate.engines.events import DrivenConstraint
from untemplate.errors import UntemplateError
from untemplate.loop.model import CallSize, Chat, ModelItem, Request
from untemplate.loop.replay import Seam, end_text
from untemplate.message import FinishReason, Message, ToolCall
from untemplate.reader import ArgumentsDelta, CallEnd, CallStart, deltas
from untemplate.reader import Event as ReadEvent
from untemplate.turn import ResumePoint, Spelled, Turn
from untemplate.vocabulary import Vocabulary

__all__ = ["LoopTurn", "Point"]


@dataclass(slots=True)
class CallsRead:
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
class Point:
    """Where a reply was cut: a value, which may be gone on with more than once."""

    at: ResumePoint
    prompt: tuple[int, ...]
    """What was sent; not the ids of the template's prompt if own turns were sent again."""
    vocabulary: Vocabulary | None
    seen: Request | None
    dropped: tuple[str, ...]


class LoopTurn:
    """A turn that goes on behind cached ids, and that can be gone on with where a limit cut it."""

    def __init__(
        self,
        turn: Turn,
        seam: Seam | None,
        *,
        seen: Request | None = None,
        dropped: tuple[str, ...] = (),
    ) -> None:
        self._turn = turn
        self.seen = seen
        """The request as the prompt shows it."""
        self.dropped = dropped
        """What it leaves out."""
        self._seam = seam
        self._prompt: list[int] | None = None
        self._vocabulary: Vocabulary | None = None
        self._is_closed = False
        self.tokens = turn.tokens
        self.batches = turn.batches
        self.reasoning_tokens = turn.reasoning_tokens
        self.unsettled = 0
        self.calls = CallsRead()

    @classmethod
    def resumed(cls, point: Point) -> "LoopTurn":
        turn = cls(Turn.resumed(point.at), None, seen=point.seen, dropped=point.dropped)
        turn._prompt = list(point.prompt) or None
        turn._vocabulary = point.vocabulary
        for _ in turn.calls.read(turn._turn.before):
            pass  # was told before the cut
        return turn

    def point(self) -> Point:
        """Where the turn was cut; the engine has to be through with it."""
        at = replace(self._turn.resume_point(), reasoning_tokens=self.reasoning_tokens)
        prompt = tuple(self._prompt or ())
        return Point(at, prompt, self._vocabulary, self.seen, self.dropped)

    def sizes(self, message: Message, earlier: Chat) -> dict[str, CallSize]:
        """What calls of the tools take whose calls were cut."""
        if self._vocabulary is None:
            return {}
        try:
            found = windows_of_cut(message, self._turn.grammar, self._vocabulary, earlier)
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

    def spelled(self, ids: Sequence[int], vocabulary: Vocabulary) -> Spelled:
        return self._turn.spelled(ids, vocabulary)

    def feed_spelled(self, spelled: Spelled) -> Sequence[ReadEvent]:
        return self._turn.feed_spelled(spelled)

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
