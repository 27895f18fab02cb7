"""Reads free text: everything up to a mark at which a way out may begin.

Told at once is all but the longest suffix that may still become a mark, with the white space before
it that would belong to the mark. White space at the beginning of a text waits until it is clear
that it is text: between two markers it is structure.
"""

import re
from typing import TYPE_CHECKING

from untemplate.message import DiagnosticCode, End
from untemplate.reader.copies import copied
from untemplate.reader.match import Match
from untemplate.reader.plain import Plain, text_plain
from untemplate.reader.plan import TextPlan
from untemplate.reader.sink import SPELT
from untemplate.reader.tape import Tape
from untemplate.reader.utf8 import (
    SPACE,
    Data,
    common_suffix,
    past_space,
    whole_characters,
)
from untemplate.reader.ways import FENCE, Way

if TYPE_CHECKING:
    from untemplate.reader.events import TextKind

__all__ = ["TextFrame"]

_FENCE = re.compile(rb"^[ \t]*```", re.MULTILINE)


class TextFrame:
    """The state of one stretch of reasoning or content."""

    __slots__ = (
        "_blank",
        "_is_blank_line",
        "_is_fenced",
        "_plain",
        "_skip",
        "is_begun",
        "kind",
        "late",
        "plan",
    )

    def __init__(
        self, plan: TextPlan, skip: bytes = b"", late: DiagnosticCode | None = None
    ) -> None:
        self.plan = plan
        self.kind: TextKind = plan.kind
        self._skip = skip
        """White space that the mark before may carry; taken off at most once."""
        self.late: DiagnosticCode | None = late
        """Code of the diagnostic that is due if there is text at all."""
        self.is_begun = False
        """Whether it has more than white space."""
        self._blank = 0
        """White space at its beginning that was not told."""
        self._is_blank_line = True
        """Whether the last line told has nothing but white space so far."""
        self._is_fenced = False
        """Whether a fence is open, so that the next one closes it and begins no call."""
        self._plain: Plain | None = None
        """Made when it is asked for."""

    def clone(self) -> "TextFrame":
        return copied(self)

    @property
    def plain(self) -> Plain | None:
        """Tests for pieces of data that are text of it, once it has begun."""
        if self._plain is None and self.is_begun:
            plan = self.plan
            self._plain = text_plain(plan.later.marks, plan.leads, plan.lead_size)
        return self._plain if self.is_begun else None

    @property
    def watches_lines(self) -> bool:
        """Whether `note_line` has to be told of every text."""
        return bool(self.plan.line_starts)

    # ------------------------------------------------------------------------------------- read

    def read(self, data: Data, at: int, tape: Tape, *, final: bool) -> tuple[int, Match | None]:
        """Read on; gives the position, and what has to be followed there."""
        plan = self.plan
        if self._skip:
            at = self._read_skip(data, at, tape)
            if at == len(data):
                return at, None
        start, mark = self._find(data, at, tape, final=final)
        if mark and tape.is_spelt(mark, start):
            self.say(data, start, tape, is_text=True)
            tape.note("spelt_marker", SPELT, start, start + len(mark))
            return start + len(mark), None
        if mark:
            self.say(data, start - self._tail(data, start, tape), tape)
            if mark in plan.strays:
                return self._read_stray(mark, start, tape), None
            ways = [(plan.ways[w], i) for w, i in plan.begins[mark]]
            fitting = [(w, i) for w, i in ways if self._fits(data, start, w, tape)]
            if fitting:
                return start, Match(fitting, tape.base + start, len(mark))
            return start + len(mark), None
        end = start
        if not final and end == len(data):
            end = whole_characters(data, at, end)
        told = end - self._tail(data, end, tape)
        self.say(data, told, tape)
        return max(at, end if final else told), None

    def _read_stray(self, mark: bytes, start: int, tape: Tape) -> int:
        """A mark that leads nowhere: text inside of text, structure at its beginning."""
        end = start + len(mark)
        if self.is_begun:
            tape.note("stray_marker", "a marker that leads nowhere is text", start, end)
            return end
        tape.part("space", start)
        tape.note("stray_marker", "a marker has no place here", start, end)
        tape.part("marker", end)
        self._blank, self._skip = 0, self.plan.strays[mark]
        return end

    def _read_skip(self, data: Data, at: int, tape: Tape) -> int:
        while self._skip and at < len(data):
            if data[at] != self._skip[0]:
                self._skip = b""
                break
            at += 1
            self._skip = self._skip[1:]
        tape.part("space", at)
        return at

    def _find(self, data: Data, at: int, tape: Tape, *, final: bool) -> tuple[int, bytes]:
        """Where the next mark begins that counts, as `MarkSet.find` says it."""
        plan = self.plan
        marks = plan.later if self.is_begun else plan.marks
        while True:
            start, mark = marks.find(data, at, final=final)
            if mark == b"{" and _is_no_object(data, start + 1):
                at = start + 1
                continue
            if mark in plan.firsts and past_space(data, max(tape.told - tape.base, 0)) != start:
                at, marks = start, plan.later
                continue
            if mark not in plan.line_starts or self.begins_line(data, start, tape):
                return start, mark
            at = start + len(mark)

    def begins_line(self, data: Data, at: int, tape: Tape) -> bool:
        """Whether nothing but blanks stands before `at` in its line."""
        # Only the blanks before `at` are looked at: a megabyte of braces is a megabyte of marks.
        told = max(tape.told - tape.base, 0)
        while at > told and data[at - 1] in b" \t":
            at -= 1
        return data[at - 1] == 0x0A if at > told else self._is_blank_line

    def _tail(self, data: Data, end: int, tape: Tape) -> int:
        """White space before `end`, not yet told, that may belong to a mark."""
        plan = self.plan
        told = tape.told - tape.base
        size = 0
        while size < plan.lead_size and end - size > told and data[end - size - 1] in plan.leads:
            size += 1
        return size

    def _fits(self, data: Data, at: int, way: Way, tape: Tape) -> bool:
        """Whether the white space stands there that a common word needs to be a mark.

        A fence without a language that closes an open one leads nowhere.
        """
        if self._is_fenced and way.elements == (FENCE,):
            return False
        told = max(tape.told - tape.base, 0)
        return not way.needs_lead or bytes(data[told:at]).endswith(way.lead)

    # -------------------------------------------------------------------------------------- tell

    def say(self, data: Data, end: int, tape: Tape, *, is_text: bool = False) -> None:
        """Bytes up to `end` are text; white space at the beginning waits, unless `is_text`."""
        start = tape.told - tape.base
        if end <= start:
            return
        if not self.is_begun:
            first = past_space(data, start + self._blank)
            self._blank = min(first, end) - start
            if first >= end and not is_text:
                return
            self.is_begun = True
            if self.late:
                message = "text stands where the turn should have ended"
                tape.note(self.late, message, start, start)
            tape.begin_text(self.kind)
        if self.plan.line_starts:
            self.note_line(bytes(data[start:end]))
        tape.say(self.kind, data, end)

    def note_line(self, text: bytes) -> None:
        """More text: whether its last line is blank so far, and whether a fence is open."""
        if FENCE in text:
            starts_inside = not self._is_blank_line and _FENCE.match(text) is not None
            self._is_fenced ^= (len(_FENCE.findall(text)) - starts_inside) % 2 == 1
        line = text[text.rfind(b"\n") + 1 :]
        blank = not line.strip(b" \t")
        self._is_blank_line = blank and (self._is_blank_line or len(line) < len(text))

    def leave(self, data: Data, way: Way, start: int, tape: Tape, *, is_end: bool) -> None:
        """The text ends before the mark at `start`: white space beyond the mark's own is text."""
        told = tape.told - tape.base
        held = bytes(data[told:start])
        space = held[len(held.rstrip(SPACE)) :]
        own = common_suffix(space, way.lead)
        end = start - own
        is_text = self.is_begun or self.kind == "reasoning" or (is_end and not self.late)
        self.say(data, end, tape, is_text=is_text)
        if not self.is_begun:
            tape.part("space", end)
        self.close(tape)

    def finish(self, data: Data, tape: Tape, *, is_cut: bool) -> End:
        """The data ends in it, because the turn was cut or because the model ended it."""
        end, size = self.plan.end, len(data)
        if end is not None and not is_cut:
            # An engine takes the stop off, but not the space that the family writes before it.
            self.leave(data, end, size, tape, is_end=True)
        else:
            self.say(data, size, tape, is_text=True)
        is_open = self.kind == "reasoning" and end is None
        self.close(tape)
        if is_open and not is_cut:
            tape.note("unclosed_reasoning", "the reasoning was never closed", size, size)
        return "cut" if is_cut or is_open else "complete"

    def close(self, tape: Tape) -> None:
        if self.is_begun:
            tape.end_text(self.kind)
            self.is_begun = False


def _is_no_object(data: Data, at: int) -> bool:
    """Whether what stands behind a brace shows that no call in JSON begins with it."""
    first = past_space(data, at)
    return first < len(data) and data[first] not in b"\"'"
