r"""Reads what a model wrote, as it arrives, into events: the lenient reader's face.

    reader = Reader(grammar, nonce="…")
    reader.feed(b"Sure.<tool_ca")     # TextDelta("content", "Sure.")
    reader.feed(b"ll>\n{...")        # CallStart, ArgumentsDelta, ...
    message = reader.finish("length") # never raises; a cut call is marked

What was told is never taken back, and what is not decided yet is not told; so each byte is looked
at a bounded number of times, however the text is cut. Text that leaves the grammar ends nothing: it
stays text, or is kept in the span of a damaged call, with a diagnostic, and reading goes on.

The reading itself is done by the `machine.Machine`; what was received is put down on a `tape.Tape`.
A reader belongs to one thread. `snapshot` and `restore` copy only what is open.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from untemplate.errors import VocabularyError
from untemplate.grammar import Grammar, build_grammar
from untemplate.message import JSON, End, FinishReason, Message
from untemplate.reader.events import ArgumentEnd, Event
from untemplate.reader.live import LiveTurn
from untemplate.reader.machine import Machine
from untemplate.reader.plain import Skim
from untemplate.reader.plan import Answers, Plans, plan_of
from untemplate.reader.specials import Specials, Spelled, speller
from untemplate.reader.tape import Tape
from untemplate.reader.utf8 import Data
from untemplate.vocabulary import Vocabulary

if TYPE_CHECKING:
    from untemplate.reader.plain import Plain

__all__ = ["OnArgument", "Reader", "Snapshot"]

OnArgument = Callable[[int, str, JSON], None]
"""Called with the call's index, the argument's name and its value, as soon as it is complete."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The state of a reader as a value; good for any reader of the same grammar."""

    machine: Machine
    left: bytes
    end: End
    is_finished: bool


class Reader:
    """One turn that is being read."""

    def __init__(
        self,
        grammar: Grammar,
        *,
        nonce: str = "",
        on_argument: OnArgument | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Start a turn.

        Args:
            grammar: what may be written; the reader is lenient beside it.
            nonce: makes the ids of calls unique, and the same when the turn is read again.
            on_argument: called as each argument completes.
            vocabulary: for `feed_tokens`.
        """
        self.grammar = grammar
        tools = {t.name: t for t in grammar.tools}
        plans = _plans(grammar)
        tape = Tape(nonce, tools, open_objects=grammar.options.open_objects)
        self._speller = None if vocabulary is None else speller(grammar, vocabulary)
        self._machine = Machine(plans, tools, grammar.choice, tape)
        self.on_argument = on_argument
        """Called as each argument completes, from within `feed` and `finish`."""
        self._left: Data = b""
        """What was read or seen, but not told."""
        self._plain: Plain | None = None
        """Set while what is left is of an open string or text."""
        self._skim: Skim | None = None
        """Set while what is left is of plain structure."""
        self._gather_at = _GATHERED_BYTES
        self._end: End = "open"
        self._is_finished = False
        self.live = LiveTurn(lambda: self._machine, self._catch_up)
        """A read-only view that grows in place."""

    # ------------------------------------------------------------------------------------- verbs

    def feed(self, data: bytes) -> list[Event]:
        """Read on; the events of what is settled now. O(len(data)) amortised."""
        if self._is_finished or not data:
            return []
        machine = self._machine
        record = machine.tape.record
        record.raw.add(data)
        if machine.tape.told >= self._gather_at:
            self._gather_at = machine.tape.told + _GATHERED_BYTES
            record.gather()
        left = self._left
        if self._skim is not None:
            return self._feed_skimmed(self._skim, left + data if left else data)
        plain = self._plain
        if plain is not None:
            if not left and plain.whole(data):
                return [machine.tell_plain(data, plain.told)]
            if found := plain.cut(left + data):
                told, self._left = found[1], found.string[found.end(1) :]
                return [machine.tell_plain(told, plain.told)] if told else []
        if left:
            waiting = left if isinstance(left, bytearray) else bytearray(left)
            waiting += data
            self._run(waiting)
        else:
            self._run(data)
        return self._taken()

    def _feed_skimmed(self, skim: Skim, waiting: Data) -> list[Event]:
        """Reads structure the quick way, and what is behind it the usual one."""
        end, text, waits = skim(waiting)
        events: list[Event] = [self._machine.tell_skimmed(end, text)] if end else []
        if waits:
            self._left = waiting[end:]
            return events
        self._run(waiting[end:])
        return events + self._taken()

    def _run(self, waiting: Data) -> None:
        """Reads on, and finds out how the next piece may be read."""
        machine = self._machine
        used = machine.run(waiting)
        if used == len(waiting):
            self._left = b""
        elif isinstance(waiting, bytearray):
            del waiting[:used]
            self._left = waiting
        else:
            self._left = waiting[used:]
        self._skim = machine.skim
        self._plain = machine.plain if self._skim is None else None

    def feed_tokens(self, ids: Iterable[int]) -> list[Event]:
        """Read on by token ids; needs the vocabulary. O(bytes) amortised.

        Where text may stand, a marker that is a token of the vocabulary is one only as that token.
        The same characters spelt by ordinary tokens are text, with a diagnostic.
        """
        if self._speller is None:
            raise VocabularyError(
                "token ids can be read only with a vocabulary: Reader(vocabulary=...)"
            )
        return self.feed_spelled(self._speller.spell(ids))

    def feed_spelled(self, spelled: Spelled) -> list[Event]:
        """The same for ids that have become bytes already."""
        tape = self._machine.tape
        if self._is_finished:
            return []
        if tape.specials is None:
            tape.specials = Specials()
        tape.specials.add(spelled, tape.base + len(self._left), tape.base)
        return self.feed(spelled.data)

    def finish(self, reason: FinishReason = "stop") -> Message:
        """The whole turn; what is open is closed as cut. O(size of the turn).

        `reason` is why no more bytes come: with `stop` the model ended the turn itself.
        """
        if not self._is_finished:
            self._is_finished = True
            self._plain = self._skim = None
            machine = self._machine
            self._end = machine.finish(self._left, "end" if reason in _ENDED else "cut")
            machine.tape.base += len(self._left)
            self._left = b""
            if self._choice_is_unmet(reason):
                told = machine.tape.told - machine.tape.base
                machine.tape.note("missing_call", "a call was required", told, told)
            machine.tape.end()
            if self.on_argument is not None:
                self._tell_arguments(self.on_argument, machine.tape.events)
        return self._machine.tape.record.message(self._end, reason)

    def finish_events(self) -> list[Event]:
        """Events of `finish`: what was held back, and the ends of what was open."""
        return self._machine.tape.take()

    def snapshot(self) -> Snapshot:
        """The state as a value. O(depth), and what is held back."""
        return Snapshot(self._machine.clone(), bytes(self._left), self._end, self._is_finished)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot; nothing of what was read since is left."""
        self._machine = snapshot.machine.clone()
        self._left = snapshot.left
        self._end, self._is_finished = snapshot.end, snapshot.is_finished
        self._plain = self._skim = None
        self._gather_at = 0

    # ----------------------------------------------------------------------------------- inside

    def _catch_up(self) -> None:
        """What waits for the rest of its step is read as far as it goes; nothing is told by it."""
        if self._skim is not None and self._left:
            self._run(self._left)

    def _choice_is_unmet(self, reason: FinishReason) -> bool:
        required = self.grammar.choice.mode == "required"
        return required and reason in _ENDED and not self._machine.tape.record.calls_begun

    def _taken(self) -> list[Event]:
        events = self._machine.tape.take()
        if self.on_argument is not None:
            self._tell_arguments(self.on_argument, events)
        return events

    @staticmethod
    def _tell_arguments(on_argument: OnArgument, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, ArgumentEnd):
                on_argument(event.index, event.name, event.value)


_ENDED = ("stop", "tool_calls")
_GATHERED_BYTES = 4096
"""After so many bytes the pieces of a text become one, so that a snapshot finds few of them."""


@lru_cache(maxsize=256)
def _plans(grammar: Grammar) -> Plans:
    """The tables for reading: any tool may be called any number of times."""
    calls_max, answers = grammar.dialect.calls_max, _answers(grammar)
    if calls_max is not None:
        dialect = replace(grammar.dialect, calls_max=None)
        grammar = build_grammar(
            dialect, grammar.tools, prompt=grammar.prompt, options=grammar.options
        )
    return plan_of(grammar.unrestricted(), calls_max, answers=answers)


def _answers(grammar: Grammar) -> Answers:
    if grammar.response_schema is None or grammar.choice.mode == "required":
        return ""
    return "beside calls" if grammar.tools and grammar.choice.mode == "auto" else "alone"
