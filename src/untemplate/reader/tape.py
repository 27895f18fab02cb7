"""Where everything that a reader tells is put down: events in order, and the record they build.

The tape knows up to where the input has been told, so each span begins where the last one ended and
the spans tile the input. While it is not decided whether something is a call, what is told is
*deferred*: `commit` tells it all, `abort` forgets it and the bytes may be told as something else.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from untemplate.message import JSON, Diagnostic, DiagnosticCode, Span, Tool, pointer_token
from untemplate.reader.chain import Chain, Pieces, listed
from untemplate.reader.copies import copied
from untemplate.reader.events import (
    ArgumentEnd,
    ArgumentStart,
    CallEnd,
    CallPause,
    CallResume,
    CallStart,
    Diagnosed,
    Event,
    Part,
    PartKind,
    TextDelta,
    TextEnd,
    TextKind,
    TextStart,
)
from untemplate.reader.faults import find_faults
from untemplate.reader.quick import arguments_event, text_event
from untemplate.reader.record import CallRecord, Record, call_id
from untemplate.reader.sink import SPELT_MARKER, Note
from untemplate.reader.utf8 import Data, decoded, past_space

if TYPE_CHECKING:
    from untemplate.reader.specials import Specials

__all__ = ["Tape"]


class Tape:
    """Events and record of one turn."""

    __slots__ = (
        "_blank",
        "_deferred",
        "_index",
        "_is_mistyped",
        "_is_open",
        "_is_wrong",
        "_nonce",
        "_pieces",
        "_tools",
        "_written_id",
        "base",
        "deferred_from",
        "events",
        "is_deferring",
        "record",
        "specials",
        "told",
    )

    def __init__(
        self, nonce: str, tools: Mapping[str, Tool], *, open_objects: bool = False
    ) -> None:
        self._nonce = nonce
        self._tools = tools
        self._is_open = open_objects
        """Whether a tool takes arguments that it does not declare."""
        self.events: list[Event] = []
        self.record = Record()
        self._blank = (-1, -1)
        """White space that more may follow: its absolute positions, so that it is seen once."""
        self.base = 0
        """Absolute position of the first byte of the data being read."""
        self.told = 0
        """Absolute position up to which spans have been told."""
        self.is_deferring = False
        self._deferred: Chain[Event] = None
        self.deferred_from = 0
        """Where `told` was when deferring began."""
        self._pieces = Pieces("".join)
        """Of the arguments of the call that is being read, told or deferred."""
        self._written_id: str | None = None
        self._index = 0
        self.specials: Specials | None = None
        """Where marker tokens stand, for a reader that is fed ids."""
        self._is_wrong = False
        """Whether bytes that are not UTF-8 were reported in this text."""
        self._is_mistyped = False
        """Whether a value of a wrong type was reported in this call."""

    def clone(self) -> "Tape":
        """A copy, as cheap as one of the record; events that were not taken are not in it."""
        other = copied(self)
        other.events = []
        other.record = self.record.clone()
        other.specials = self.specials.clone() if self.specials else None
        call = self.record.call
        if call is not None and other.record.call is not None and call.pieces is self._pieces:
            other._pieces = other.record.call.pieces  # noqa: SLF001
        else:
            other._pieces = self._pieces.clone()  # noqa: SLF001
        return other

    def take(self) -> list[Event]:
        """The events since the last call."""
        events, self.events = self.events, []
        return events

    def _emit(self, event: Event) -> None:
        if self.is_deferring:
            self._deferred = (self._deferred, event)
        else:
            self.events.append(event)

    def _span(self, end: int) -> Span:
        """The span from what was told last up to position `end` of the data."""
        start, self.told = self.told, max(self.told, self.base + end)
        return start, self.told

    def past_space(self, data: Data, at: int) -> int:
        """As the function; of space that was there before, only what came since is looked at."""
        start, seen = self._blank
        first = past_space(data, seen - self.base if start == self.base + at else at)
        self._blank = (self.base + at, self.base + first)
        return first

    # -------------------------------------------------------------------------------------- text

    def begin_text(self, kind: TextKind) -> None:
        self._is_wrong = False
        self.record.begin_text(kind)
        self._emit(TextStart(kind))

    def say(self, kind: TextKind, data: Data, end: int) -> None:
        """Bytes up to `end` are text."""
        start = self.told - self.base
        text, wrong = decoded(data, start, end)
        if wrong and not self._is_wrong:
            self._is_wrong = True
            self._say(kind, decoded(data, start, wrong[1])[0], wrong[1])
            self.note("invalid_utf8", "bytes that are not UTF-8 became U+FFFD", *wrong)
            text, _ = decoded(data, wrong[1], end)
        if text:
            self._say(kind, text, end)

    def _say(self, kind: TextKind, text: str, end: int) -> None:
        self.record.pieces.add(text)
        self._emit(TextDelta(kind, text, self._span(end)))

    def end_text(self, kind: TextKind) -> None:
        self._emit(TextEnd(kind))

    # ------------------------------------------------------------------------------------- calls

    def defer(self) -> None:
        """What is told from here on may turn out to be text."""
        self.is_deferring = True
        self._deferred, self.deferred_from = None, self.told
        self._pieces, self._written_id = Pieces("".join), None
        self._index = self.record.calls_begun

    def abort(self) -> None:
        """It was no call: the bytes since `defer` are untold again."""
        self.is_deferring, self._deferred = False, None
        self.told = self.deferred_from

    def suspend(self) -> int:
        """It is a call; what stood before it is to be told first. Gives what `commit` needs."""
        self.is_deferring = False
        told, self.told = self.told, self.deferred_from
        return told

    def commit(self, name: str, marker_end: int, notes: Iterable[Note], told: int) -> CallRecord:
        """Tells the call: its marker, up to that absolute position, and what was deferred."""
        call = CallRecord(self._index, call_id(self._nonce, self._index), name, self.told)
        self.part("marker", marker_end - self.base)
        self.record.begin_call(call)
        self.events.append(CallStart(call.index, call.id, name))
        call.written_id = self._written_id
        self._tell_deferred(notes, told)
        call.pieces = self._pieces
        return call

    def resume(
        self, call: CallRecord, marker_end: int, notes: Iterable[Note], told: int
    ) -> CallRecord:
        """The same where the block goes on with a call that was put aside."""
        self.part("marker", marker_end - self.base)
        self.reopen(call)
        self.events.append(CallResume(call.index))
        self._tell_deferred(notes, told)
        return call

    def reopen(self, call: CallRecord) -> None:
        """What is told from here on is of this call again."""
        self.record.resume_call(call)
        self._pieces, self._index = call.pieces, call.index

    def _tell_deferred(self, notes: Iterable[Note], told: int) -> None:
        for note in notes:
            at = self.told - self.base
            self.note(note.code, note.message, at, at)
        deferred, self._deferred = listed(self._deferred), None
        for event in deferred:
            self.events.append(event)
            self._put_down(event)
        self.told = told

    def _put_down(self, event: Event) -> None:
        """What a deferred event means for the record."""
        if isinstance(event, ArgumentEnd):
            self._complete(event)
        elif isinstance(event, Diagnosed):
            self.record.note(event.diagnostic)

    def _complete(self, argument: ArgumentEnd) -> None:
        call = self.record.call
        assert call is not None
        pointer = "/" + pointer_token(argument.name)
        call.states = (call.states, (pointer, "complete"))
        call.values = (call.values, (argument.name, argument.value))
        if argument.is_ambiguous:
            call.ambiguous = (call.ambiguous, pointer)

    def pause_call(self, call: CallRecord) -> None:
        """The call is put aside."""
        self._emit(CallPause(call.index))
        self.record.call = None

    def end_call(self, call: CallRecord) -> None:
        if call.state == "complete":
            self._name_faults(call)
        self._is_mistyped = False
        self._emit(CallEnd(call.index, call.state))
        call.end = self.told
        self.record.end_call()

    def _name_faults(self, call: CallRecord) -> None:
        """What of the arguments the tool does not declare; O(size of the call)."""
        tool = self._tools.get(call.name)
        if tool is None:
            return
        arguments = cast("JSON", json.loads(call.pieces.whole() or "{}"))
        if not isinstance(arguments, dict):
            return
        at = self.told - self.base
        for fault in find_faults(arguments, tool.parameters, open_objects=self._is_open):
            if fault.code != "wrong_type" or not self._is_mistyped:
                self.note(fault.code, fault.message, at, at)

    def written_id(self, written: str) -> None:
        """The id that the model wrote."""
        if self.is_deferring:
            self._written_id = written
        elif self.record.call is not None:
            self.record.call.written_id = written

    def plain_text(self, kind: TextKind, text: str, span: Span) -> Event:
        """More text; up to its end all was told."""
        self.record.pieces.add(text)
        return text_event(kind, text, span)

    def plain_arguments(self, text: str, span: Span) -> Event:
        """More of the arguments; up to their end all was told."""
        self._pieces.add(text)
        return arguments_event(self._index, text, span)

    # ------------------------------------------------------------------------- what frames tell

    def part(self, kind: PartKind, end: int) -> None:
        """Bytes up to `end` belong to no field."""
        if self.base + end > self.told:
            self._emit(Part(kind, self._span(end)))

    def lost(self, end: int) -> None:
        """Bytes up to `end` are kept out of the arguments."""
        self.part("lost", end)

    def text(self, text: str, end: int) -> None:
        """More of the arguments."""
        self._pieces.add(text)
        self._emit(arguments_event(self._index, text, self._span(end)))

    def is_spelt(self, mark: bytes, at: int) -> bool:
        """Whether the mark at `at` is not the token that the vocabulary has for it."""
        return self.specials is not None and self.specials.is_spelt(mark, self.base + at)

    def cursor(self) -> object:
        """A place in the arguments' text."""
        return self._pieces.chain()

    def begin_argument(self, name: str) -> None:
        """An argument begins; what is told next is its key."""
        self._emit(ArgumentStart(self._index, name))

    def argument(self, name: str, cursor: object, *, ambiguous: bool = False) -> None:
        """An argument is complete: no continuation can change it."""
        value = cast("JSON", json.loads(self._pieces.whole(cursor)))
        event = ArgumentEnd(self._index, name, value, ambiguous)
        self._emit(event)
        if not self.is_deferring:
            self._complete(event)

    def note(self, code: DiagnosticCode, message: str, start: int, end: int) -> None:
        """Something was not as the grammar says."""
        self._is_mistyped = self._is_mistyped or code == "wrong_type"
        diagnostic = Diagnostic(code, (self.base + start, self.base + end), message)
        if self.is_deferring or self.record.note(diagnostic):
            self._emit(Diagnosed(diagnostic))

    def note_spelt(self, mark: bytes, at: int) -> None:
        """The mark at `at` stands where nothing else can, whatever its tokens."""
        if self.is_spelt(mark, at):
            self.note("spelt_marker", SPELT_MARKER, at, at + len(mark))

    def end(self) -> None:
        """The turn has ended: what was merged is told."""
        self.events += map(Diagnosed, self.record.merged())
