"""One turn of a model: what to send, what may come back, and what came back.

    turn = template.turn(messages, tools=tools)
    turn.prompt, turn.stops                  # for the engine
    constraint = turn.constraint(vocabulary) # for an engine that takes masks, else None
    events = turn.feed(b"...")               # as the bytes arrive; linear in their number
    events = turn.feed_tokens(ids, vocabulary)   # or as token ids, where the engine has them
    message = turn.finish("stop")            # the whole turn; never raises on what was written

A turn generates nothing and belongs to one thread. Text that the model had written before (an
assistant message that is to be continued, a turn that was cut) has already been fed: the events in
`turn.before` and the message at the end hold it, `feed` takes only what is new.

A turn that the token limit cut is not lost: `turn.resume_point()` says where it stands, also after
`finish`, and `Turn.resumed(point)` goes on there. Where the limit does not cut but decides what is
written (a mask that closes the turn in time), the engine says so with `limit_decides`, and the
message is marked: calls that were open then are `forced`, the argument that was being written is
`cut`, those that only the limit wrote are `forced`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from untemplate.budget.policy import mark_defaults
from untemplate.dialect import Dialect, TextBlock
from untemplate.errors import RequestError, VocabularyError
from untemplate.grammar import Grammar
from untemplate.message import FinishReason, Message
from untemplate.reader import (
    CallEnd,
    CallStart,
    Event,
    LiveTurn,
    OnArgument,
    Reader,
    TextDelta,
    TextEnd,
    TextStart,
)
from untemplate.reader.events import TextKind
from untemplate.reader.specials import Spelled, joined, speller
from untemplate.template.marking import MarkedPrompt
from untemplate.turn.checked import broken_keywords
from untemplate.turn.continuation import written_ids
from untemplate.turn.limits import end_of_reasoning, forced
from untemplate.turn.point import ResumePoint, TurnSnapshot
from untemplate.vocabulary import Vocabulary

if TYPE_CHECKING:
    from untemplate.constrain import Constraint

__all__ = ["Turn"]


class Turn:
    """State of one turn. `ChatTemplate.turn` makes it."""

    def __init__(
        self,
        prompt: str,
        grammar: Grammar,
        *,
        render: Callable[[Vocabulary], MarkedPrompt] | None,
        written: str = "",
        nonce: str = "",
        changes: Sequence[str] = (),
        on_argument: OnArgument | None = None,
    ) -> None:
        self.prompt = prompt + written
        """What to send to the model."""
        self._render: Callable[[Vocabulary], MarkedPrompt] | None = render
        self._encoded: tuple[str, tuple[int, ...]] = ("", ())
        """Digest of a vocabulary, and the prompt in it."""
        self.grammar = grammar
        self.changes = tuple(changes)
        """What of the conversation had to be said differently for the template, with places."""
        self.tokens: list[int] = []
        """Ids that an engine has generated in this turn; the engine appends."""
        self.batches: list[tuple[int, int]] = []
        """How an engine evaluated prompt and turn, so that a resume can go on as it would have."""
        self.reasoning_tokens = 0
        """How many of `tokens` were written while the turn was reasoning; the engine counts."""
        self.unsettled = 0
        """Bytes at the end of what was fed that may still become a stop string, as an engine says
        that had to give them out at a limit. A resume takes them back."""
        self.reader = Reader(grammar, nonce=nonce)
        self._nonce = nonce
        self._constraint: Constraint | None = None
        self._continued = written.encode()
        self._fed: list[bytes] = []
        self._spelled: list[Spelled] = []
        """The same, as far as it came as ids."""
        self._at_limit: Message | None = None
        self._text: TextKind | None = None if written else _opened(grammar)
        self._text_end = 0
        """Bytes up to the end of the last text that was read."""
        self._has_call = False
        self.before: list[Event] = self._noted(self.reader.feed(self._continued))
        """Events of what had already been written."""
        self.reader.on_argument = on_argument  # of what is new only

    @property
    def live(self) -> LiveTurn:
        """A read-only view of the turn that grows in place; a look costs what is new."""
        return self.reader.live

    @property
    def dialect(self) -> Dialect:
        return self.grammar.dialect

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end the turn."""
        return self.dialect.stops

    def prompt_tokens(self, vocabulary: Vocabulary, *, start: int = 0) -> list[int]:
        """The prompt as token ids; markers inside untrusted text stay ordinary text.

        `start` leaves out so many characters, which the caller has as ids already.
        """
        digest, ids = self._encoded
        if not start and ids and digest == vocabulary.digest:
            return list(ids)
        if vocabulary.encode is None:
            raise VocabularyError("this vocabulary has no encoder; load it with one")
        if self._render is None:
            raise VocabularyError("a turn can be resumed only with the vocabulary it began with")
        found = self._render(vocabulary).after(start).encode(vocabulary.encode)
        if self._continued:
            found += written_ids(self._continued.decode(), self.dialect, vocabulary)
        if not start:
            self._encoded = vocabulary.digest, tuple(found)
        return found

    def constraint(self, vocabulary: Vocabulary) -> "Constraint | None":
        """The mask for this turn, behind what was already written; None if nothing is asked for.

        The compiled grammar is cached and shared; the constraint is this turn's own and stays the
        same, so a turn that is driven again goes on where it stopped.
        """
        asks = bool(self.grammar.tools) or self.grammar.response_schema is not None
        if self._constraint is None and asks:
            from untemplate.constrain import compile_grammar  # noqa: PLC0415  numpy is heavy

            constraint = compile_grammar(self.grammar, vocabulary).constraint()
            is_allowed = not self._continued or constraint.feed(self._continued)
            if not is_allowed or not all(map(constraint.advance, self.tokens)):
                raise RequestError(
                    "what is to be continued is not what tools and tool_choice allow, or the "
                    "response's schema",
                    place="continue_final_message",
                )
            self._constraint = constraint
        return self._constraint

    def feed(self, data: bytes) -> list[Event]:
        """Read on; O(len(data)) amortised, however the output is cut into pieces."""
        if data:
            self._fed.append(data)
        return self._noted(self.reader.feed(data))

    def feed_tokens(self, ids: Iterable[int], vocabulary: Vocabulary) -> list[Event]:
        """Read on by token ids. O(bytes) amortised.

        Where text may stand, a marker that is a token of the vocabulary is one only as that token.
        """
        return self.feed_spelled(self.spelled(ids, vocabulary))

    def spelled(self, ids: Iterable[int], vocabulary: Vocabulary) -> Spelled:
        """The bytes of ids, and which of them are markers; for engines that hold some back."""
        return speller(self.grammar, vocabulary).spell(ids)

    def feed_spelled(self, spelled: Spelled) -> list[Event]:
        """The same for ids that have become bytes already."""
        if spelled.data:
            self._fed.append(spelled.data)
            self._spelled.append(spelled)
        return self._noted(self.reader.feed_spelled(spelled))

    def _noted(self, events: list[Event]) -> list[Event]:
        events = self._told(events)
        for event in events:
            if isinstance(event, TextStart):
                self._text = event.kind
            elif isinstance(event, TextDelta):
                self._text_end = event.span[1]
            elif isinstance(event, TextEnd | CallStart):
                self._text = None
                self._has_call = self._has_call or isinstance(event, CallStart)
        return events

    def finish(self, reason: FinishReason = "stop") -> Message:
        """The turn as a message. `reason` is why generation ended, not whether it was complete."""
        message = self.reader.finish(reason)
        tools = {tool.name: tool for tool in self.grammar.tools}
        if self._at_limit is not None and message.end == "complete":
            message = forced(message, self._at_limit)
        calls = tuple(
            mark_defaults(c, tools[c.name]) if c.name in tools else c for c in message.tool_calls
        )
        message = message if calls == message.tool_calls else replace(message, tool_calls=calls)
        broken = tuple(broken_keywords(message, self.grammar))
        return replace(message, diagnostics=message.diagnostics + broken) if broken else message

    def finish_events(self) -> list[Event]:
        """Events of `finish`: what had been held back, and the ends of what was open."""
        return self._told(self.reader.finish_events())

    def _told(self, events: list[Event]) -> list[Event]:
        """Calls that end while the limit decides are not complete by the model's own word."""
        if self._at_limit is None:
            return events
        whole = {c.index for c in self._at_limit.tool_calls if c.state == "complete"}
        return [
            CallEnd(e.index, "forced")
            if isinstance(e, CallEnd) and e.state == "complete" and e.index not in whole
            else e
            for e in events
        ]

    def snapshot(self) -> TurnSnapshot:
        """Where the turn stands, for `restore`. O(depth); a constraint has its own `rollback`."""
        return TurnSnapshot(
            self.reader.snapshot(),
            len(self._fed),
            len(self._spelled),
            len(self.tokens),
            self._text,
            self._text_end,
            self._has_call,
        )

    def restore(self, snapshot: TurnSnapshot) -> None:
        """Go back to a snapshot of this turn; nothing of what was read since is left."""
        self.reader.restore(snapshot.reader)
        del self._fed[snapshot.fed :], self._spelled[snapshot.spelled :]
        del self.tokens[snapshot.tokens :]
        self._text, self._text_end = snapshot.text, snapshot.text_end
        self._has_call = snapshot.has_call

    # -------------------------------------------------------------------------- limits and resuming

    def limit_decides(self) -> None:
        """From here on the token limit decides what is written, not the model."""
        if self._at_limit is None:
            self._at_limit = self._read_again().finish("length")

    @property
    def is_reasoning(self) -> bool:
        """Whether what is written now is reasoning, as far as it is decided."""
        return self._text == "reasoning"

    @property
    def is_in_call(self) -> bool:
        """Whether a call, or the run of calls, has begun and has not ended.

        The mask knows it from the first byte of a marker on, the reader from the name on.
        """
        if self._constraint is not None and not self.is_reasoning:
            return self._constraint.min_tokens() > 1
        calls = self._read_again().finish("length").tool_calls
        return any(c.state == "cut" for c in calls)

    @property
    def may_call(self) -> bool:
        """Whether the turn stands in a call, behind one, or in what may become the marker of one.

        Where a limit cuts it there, something is lost; text that is cut is simply long.
        """
        read = self._continued + b"".join(self._fed)
        return self._has_call or bool(read[self._text_end :].strip())

    def end_of_reasoning(self, vocabulary: Vocabulary) -> list[int]:
        """The tokens that end the reasoning here; none if they may not stand here, or are unknown.

        Inside a character, say, they have to wait for its last byte.
        """
        literal = end_of_reasoning(self.grammar)
        if not literal or vocabulary.encode is None:
            return []
        ids = vocabulary.encode(literal, special=True)
        constraint = self.constraint(vocabulary)
        if constraint is not None and not all(map(constraint.fork().advance, ids)):
            return []
        return ids

    def resume_point(self) -> ResumePoint:
        """Where the turn stands, as a value; also after `finish`."""
        digest, ids = self._encoded
        return ResumePoint(
            prompt=self.prompt,
            prompt_tokens=ids,
            digest=digest,
            grammar=self.grammar,
            continued=self._continued,
            written=b"".join(self._fed),
            spelled=self._whole_spelled(),
            unsettled=self.unsettled,
            tokens=tuple(self.tokens),
            batches=tuple(self.batches),
            reasoning_tokens=self.reasoning_tokens,
            nonce=self._nonce,
            changes=self.changes,
        )

    @classmethod
    def resumed(cls, point: ResumePoint, *, on_argument: OnArgument | None = None) -> "Turn":
        """A turn that goes on where another was cut.

        For an engine with token ids it is the same turn, `tokens` and all. For one that takes text
        the prompt is longer: what was written is part of it.
        """
        turn = cls(
            point.prompt, point.grammar, render=None, nonce=point.nonce, changes=point.changes
        )
        turn.tokens = list(point.tokens)
        turn.batches = list(point.batches)
        turn.reasoning_tokens = point.reasoning_tokens
        turn._encoded = point.digest, point.prompt_tokens
        turn._continued = point.continued
        turn.before = turn._noted(turn.reader.feed(point.continued))
        settled = len(point.written)
        if point.tokens:
            turn.unsettled = point.unsettled
            settled -= point.unsettled
        else:
            turn.prompt += point.written.decode("utf-8", "ignore")
        if point.spelled is not None:
            turn.before += turn.feed_spelled(point.spelled.cut(settled)[0])
        elif settled:
            turn.before += turn.feed(point.written[:settled])
        turn.reader.on_argument = on_argument
        return turn

    def _whole_spelled(self) -> Spelled | None:
        """All that was fed, if all of it came as ids."""
        if not self._spelled or len(self._spelled) < len(self._fed):
            return None
        return joined(self._spelled)

    def _read_again(self) -> Reader:
        """A second reader at the same place. O(depth)."""
        reader = Reader(self.grammar, nonce=self._nonce)
        reader.restore(self.reader.snapshot())
        return reader


def _opened(grammar: Grammar) -> TextKind | None:
    """What a turn begins in, where the prompt leaves no choice."""
    blocks = [grammar.dialect.blocks.get(o.block) for o in grammar.prompt.openings]
    if blocks and all(isinstance(b, TextBlock) and b.kind == "reasoning" for b in blocks):
        return "reasoning"
    return None
