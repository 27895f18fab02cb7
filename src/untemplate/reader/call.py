"""Reads one call behind its opening marks: name, id, arguments, closing marks.

A call is *tentative* until its name is known: until then nothing was told, and what turns out not
to be a call is given back as text (`outcome` is `text`). From then on it is a call whatever
comes: `done` when its arguments ended, `bad` when they can't be read. What is told goes through a
`Teller`, in the order of the bytes.
"""

from typing import Protocol

from untemplate.dialect import Hole, Pairs
from untemplate.message import JSON, Tool
from untemplate.reader.envelope import EnvelopeReader, ValueReader
from untemplate.reader.events import PartKind
from untemplate.reader.json_text import JsonReader, Note
from untemplate.reader.pairs import PairsReader
from untemplate.reader.plan import CallPlan

__all__ = ["CallFrame", "Teller"]

_SPACE = b" \t\r\n"
MOST_NAME_BYTES = 256


class Teller(Protocol):
    """Where a call tells what it finds. `end` is a position in the data of this `read`."""

    def tell_start(self, name: str) -> None: ...
    def tell_part(self, kind: PartKind, end: int) -> None: ...
    def tell_id(self, written: str) -> None: ...
    def tell_arguments(self, text: str, end: int) -> None: ...
    def tell_argument(self, name: str, value: JSON) -> None: ...
    def tell_note(self, note: Note, end: int) -> None: ...


class CallFrame:
    """The state of one call that is being read."""

    def __init__(
        self, plan: CallPlan, tools: dict[str, Tool], teller: Teller, *, is_bare: bool
    ) -> None:
        self._plan = plan
        self._tools = tools
        self._teller = teller
        self._is_bare = is_bare
        """No marker shows that this is a call: only its name and arguments can."""
        self._envelope = EnvelopeReader(plan.envelope) if plan.envelope else None
        self._step = 0
        self._mark = -1
        """Next mark of the current step; -1 while its hole is being read."""
        self._name = ""
        self._parts: list[tuple[PartKind, int]] = []
        self.values: ValueReader | PairsReader | None = None
        self.is_told = False
        self.outcome = ""
        self.bad: Note | None = None
        self.missing_close = False

    @property
    def after(self) -> str:
        """The rule behind this call."""
        return self._plan.after

    @property
    def closing_marks(self) -> tuple[bytes, ...]:
        return self._plan.closing

    def read(self, data: bytes, at: int, *, final: bool) -> int:
        """Read on; gives the position of the first byte not taken."""
        while not self.outcome:
            before, state = at, (self._step, self._mark, self.is_told)
            at = self._advance(data, at, final=final)
            if at == before and state == (self._step, self._mark, self.is_told):
                break
        return at

    def _advance(self, data: bytes, at: int, *, final: bool) -> int:
        if self._envelope is not None:
            if not self._envelope.is_done:
                return self._read_envelope(self._envelope, data, at)
            return self._read_marks(self._plan.closing, data, at, final=final)
        step = self._plan.steps[self._step]
        if self._mark >= 0:
            return self._read_marks(step.marks, data, at, final=final)
        if step.hole is Hole.ARGUMENTS:
            return self._read_arguments(data, at, final=final)
        return self._read_word(data, at, final=final)

    def _give_up(self, note: Note) -> None:
        self.bad = note
        self.outcome = "bad" if self.is_told else "text"

    # -------------------------------------------------------------------------------- envelope

    def _read_envelope(self, envelope: EnvelopeReader, data: bytes, at: int) -> int:
        start = at
        at = envelope.read(data, at)
        if envelope.arguments is not None:
            self.values = envelope.arguments
        if not self.is_told and envelope.name is not None and self._may_tell(envelope):
            self._start(envelope.name)
            if self.values is not None and envelope.part != "arguments":
                self._tell_values(at)
        if envelope.part == "arguments":
            if self.is_told:
                self._tell_values(at)
        elif at > start:
            self._part("name" if envelope.part == "name" else "structure", at)
        if envelope.part == "id" and envelope.id is not None:
            self._teller.tell_id(envelope.id)
        if envelope.bad is not None:
            self._give_up(envelope.bad)
        elif envelope.is_done and (envelope.name is None or envelope.arguments is None):
            if envelope.name is None:
                self._give_up(Note("not_a_call", "an object without a name is no call"))
            else:
                self._start(envelope.name)
        return at

    def _may_tell(self, envelope: EnvelopeReader) -> bool:
        if not self._is_bare or envelope.name in self._tools:
            return True
        return envelope.arguments is not None

    def _start(self, name: str) -> None:
        if self.is_told:
            return
        self.is_told = True
        self._teller.tell_start(name)
        self._name = name

    def _part(self, kind: PartKind, end: int) -> None:
        if self.is_told or self.values is None:
            self._teller.tell_part(kind, end)

    def _tell_values(self, end: int) -> None:
        values = self.values
        assert values is not None
        if text := values.take():
            self._teller.tell_arguments(text, end)
        for note in values.notes:
            self._teller.tell_note(note, end)
        values.notes.clear()
        for name, value in values.complete:
            self._teller.tell_argument(name, value)
        values.complete.clear()

    # ----------------------------------------------------------------------------------- holes

    def _read_word(self, data: bytes, at: int, *, final: bool) -> int:
        """A name, id or number: up to the first mark after it."""
        step = self._plan.steps[self._step]
        stop = step.marks[0] if step.marks else b"{"
        found = data.find(stop, at)
        if found < 0:
            if len(data) - at > MOST_NAME_BYTES or final:
                self._give_up(Note("not_a_call", "no name ends where a name was expected"))
            return at
        word = data[at:found].decode("utf-8", "replace").strip()
        if step.hole is Hole.NAME and (not word or "\n" in word or found - at > MOST_NAME_BYTES):
            self._give_up(Note("not_a_call", "no name stands where a name was expected"))
            return at
        if step.hole is Hole.NAME:
            self._start(word)
            self._teller.tell_part("name", found)
        elif step.hole is Hole.ID:
            self._teller.tell_part("id", found)
            self._teller.tell_id(word)
        else:
            self._teller.tell_part("index", found)
        self._next_hole_or_marks()
        return found

    def _next_hole_or_marks(self) -> None:
        if self._plan.steps[self._step].marks:
            self._mark = 0
        else:
            self._next_step()

    def _next_step(self) -> None:
        self._mark = -1
        self._step += 1
        if self._step == len(self._plan.steps):
            self.outcome = "done"

    def _read_arguments(self, data: bytes, at: int, *, final: bool) -> int:
        if self.values is None:
            arguments = self._plan.block.arguments
            closing = self._plan.steps[self._step].marks
            tool = self._tools.get(self._name)
            self.values = (
                PairsReader(arguments, closing, tool)
                if isinstance(arguments, Pairs)
                else JsonReader()
            )
        values = self.values
        at = (
            values.read(data, at, final=final)
            if isinstance(values, PairsReader)
            else values.read(data, at)
        )
        if self.is_told:
            self._tell_values(at)
        if values.bad is not None:
            self._give_up(values.bad)
        elif values.is_done:
            self._next_hole_or_marks()
        return at

    # ----------------------------------------------------------------------------------- marks

    def _read_marks(self, marks: tuple[bytes, ...], data: bytes, at: int, *, final: bool) -> int:
        """The marks after a hole; those that close a call may be missing."""
        self._mark = max(self._mark, 0)
        closes = self._envelope is not None or self._step == len(self._plan.steps) - 1
        size = len(data)
        while self._mark < len(marks):
            start = at
            while at < size and data[at] in _SPACE:
                at += 1
            mark = marks[self._mark]
            rest = data[at : at + len(mark)]
            if rest == mark:
                at += len(mark)
                self._part("marker" if closes else "structure", at)
                self._mark += 1
            elif mark.startswith(rest) and not final:
                return start
            elif closes:
                self.missing_close = True
                self.outcome = "done"
                return start
            else:
                self._give_up(Note("bad_call", f"{mark.decode()!r} was expected"))
                return start
        if self._envelope is not None:
            self.outcome = "done"
        else:
            self._next_step()
        return at
