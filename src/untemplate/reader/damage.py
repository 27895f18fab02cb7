"""Passes over a call that can't be read, up to where the grammar goes on.

That is behind the call's closing marks, or in front of the opening of another call or of a stop.
What is passed over is lost to the arguments, not to the turn: its spans are told, and the call's
span holds it all.
"""

from collections.abc import Iterable

from untemplate.reader.copies import copied
from untemplate.reader.marks import MarkSet
from untemplate.reader.plan import Plans, TextPlan
from untemplate.reader.sink import Note
from untemplate.reader.tape import Tape
from untemplate.reader.utf8 import Data, past_space
from untemplate.reader.ways import CallPlan

__all__ = ["Damage", "damage_in"]


def damage_in(plans: Plans, call: CallPlan, note: Note, start: int) -> "Damage":
    """Damage that begins at this absolute position in a call of this plan."""
    content = plans.rules[plans.content]
    assert isinstance(content, TextPlan)
    ways = [w for w in content.ways if w.call and not w.is_bare]
    openings = [m for w in ways for m in w.elements[:1] if isinstance(m, bytes)]
    return Damage(call, note, start, openings, plans.stop_marks)


class Damage:
    """Where the damage begins, and what may end it."""

    __slots__ = ("_closing", "_is_blank", "_marks", "_next", "_stops", "is_done", "note", "start")

    def __init__(
        self,
        call: CallPlan,
        note: Note,
        start: int,
        openings: Iterable[bytes],
        stops: Iterable[bytes],
    ) -> None:
        self.note = note
        self.start = start
        """Absolute position."""
        self._closing = call.closing
        self._stops = frozenset(stops)
        self._marks = MarkSet((*self._closing, *openings, *self._stops))
        self._is_blank = True
        """Whether only white space was lost so far."""
        self._next = -1
        """The closing mark to be read next, once one was found."""
        self.is_done = False

    def clone(self) -> "Damage":
        return copied(self)

    def read(self, data: Data, at: int, tape: Tape, *, final: bool) -> int:
        """Read on; gives the position of the first byte not passed over."""
        if self._next >= 0:
            return self._read_closing(data, at, tape, final=final)
        start, mark = self._marks.find(data, at, final=final)
        self._is_blank = self._is_blank and past_space(data, at) >= start
        if not mark:
            tape.lost(start)
            return start
        if tape.is_spelt(mark, start):
            self._is_blank = False
            tape.lost(start + len(mark))
            return start + len(mark)
        if self._is_blank and mark in self._stops:
            self.note = Note("stop_in_call", "the turn ends inside a call")
        tape.lost(start)
        if mark not in self._closing:
            self.is_done = True
            return start
        tape.part("marker", start + len(mark))
        self._next = self._closing.index(mark) + 1
        return start + len(mark)

    def _read_closing(self, data: Data, at: int, tape: Tape, *, final: bool) -> int:
        first = past_space(data, at)
        for number in range(self._next, len(self._closing)):
            mark = self._closing[number]
            rest = bytes(data[first : first + len(mark)])
            if rest == mark:
                tape.part("marker", first + len(mark))
                self._next = number + 1
                return first + len(mark)
            if mark.startswith(rest) and not final:
                return at
        self.is_done = True
        return at
