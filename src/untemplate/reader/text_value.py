r"""Reads a value that is written as it is, up to its closer.

    <parameter=city>\nParis\n</parameter>\n     ->   "Paris"

A string is told while it arrives, escaped on the way; held back is only what may be the beginning
of the closer. A value whose type its text decides is told when it has ended, or from the moment at
which it can be nothing but a string.

The value ends at the first closer that is followed by what may follow it. Until that is seen the
value is undecided; a closer that was passed over makes it ambiguous.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from untemplate.reader.copies import copied
from untemplate.reader.escapes import json_escaped
from untemplate.reader.follow import MORE, NO, YES, Follow, stands
from untemplate.reader.kinds import MOST_GUESSED, Kinds, may_be, read_typed
from untemplate.reader.plain import Plain, text_plain
from untemplate.reader.sink import SPELT, Note, Sink
from untemplate.reader.utf8 import (
    Data,
    common_suffix,
    decoded,
    overlap,
    past_space,
    whole_characters,
)

__all__ = ["TextPlan", "TextValue"]


@dataclass(frozen=True, slots=True)
class TextPlan:
    """What stands around a value that is written as it is."""

    closer: bytes
    lead: bytes
    """White space of the template's own before the closer, taken off at most once."""
    follow: Follow
    escapes: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    """What is written for some characters, and those characters."""
    empty: str = ""
    """The JSON text of the value for which nothing at all stands, if there is one."""
    opener: bytes = b""
    """What begins the next argument, if a closer was forgotten; none: nothing does."""
    openings: tuple[bytes, ...] = ()
    """What has to stand behind it: a key that is declared and not written yet, and its form."""
    accepts: Callable[[str], bool] = bool
    """Whether the schema accepts a JSON text; asked where a text has two readings."""


@lru_cache(maxsize=256)
def _escape_pattern(written: tuple[bytes, ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(w.decode()) for w in written))


_SKIP, _TEXT, _CLOSER = range(3)


class TextValue:
    """The state of one such value. `head` is told before it: its key, in the arguments' JSON."""

    __slots__ = (
        "_blank",
        "_head",
        "_holds_marks",
        "_is_raw",
        "_is_wrong",
        "_kept",
        "_kinds",
        "_plain",
        "_plan",
        "_skip",
        "_space",
        "_state",
        "_strip",
        "bad",
        "cursor",
        "has_begun",
        "is_ambiguous",
        "is_done",
    )

    def __init__(self, plan: TextPlan, kinds: Kinds, *, skip: bytes = b"", head: str = "") -> None:
        assert plan.closer
        self._plan = plan
        self._kinds = kinds
        self._head = head
        self._skip = skip
        """White space of the template's own before the value."""
        self._is_raw = kinds == ("string",)
        """Whether the value is known to be a string, so that it is told as it arrives."""
        self._state = _SKIP
        self._kept = 0
        """Bytes before the position that belong to the value and were not told."""
        self._blank = 0
        """White space at the beginning of those."""
        self._strip = 0
        """Of the white space before the closer: what belongs to it."""
        self._space = 0
        """White space read behind the closer."""
        self._holds_marks = False
        """Whether a closer was passed over: then what begins an argument may be text as well."""
        self._is_wrong = False
        """Whether bytes that are not UTF-8 have been reported."""
        self._plain: Plain | None = None
        """Made when it is asked for."""
        self.cursor: object = None
        """Where its text begins, for `Sink.argument`."""
        self.has_begun = False
        self.is_ambiguous = False
        self.is_done = False
        self.bad: Note | None = None

    def clone(self) -> "TextValue":
        return copied(self)  # everything in it is immutable

    @property
    def is_undecided(self) -> bool:
        return self._state == _CLOSER and not self.is_done

    @property
    def closing(self) -> str:
        return '"' if self._is_raw and self.has_begun and not self.is_done else ""

    @property
    def pointer(self) -> str:
        return ""

    @property
    def skim(self) -> None:
        """There is no structure to skim."""

    @property
    def plain(self) -> Plain | None:
        if not self._is_raw or self._state != _TEXT:
            return None
        if self._plain is None:
            plan = self._plan
            others = bytes(sorted({e[0] for e in plan.escapes}))
            leads = bytes(sorted(set(plan.lead)))
            marks = (plan.closer, plan.opener) if plan.opener else (plan.closer,)
            self._plain = text_plain(marks, leads, len(plan.lead), others=others, told=json_escaped)
        return self._plain

    # ------------------------------------------------------------------------------------- read

    def read(self, data: Data, at: int, sink: Sink, *, final: bool = False) -> int:
        """Read on; gives the position of the first byte that was not used."""
        if self._is_raw and not self.has_begun:
            self._begin(at, sink)
        while not self.is_done:
            before, state = at, self._state
            if state == _SKIP:
                at = self._read_skip(data, at)
            elif state == _TEXT:
                at = self._read_text(data, at, sink)
            else:
                at = self._read_closer(data, at, sink, final=final)
            if at == before and state == self._state:
                break
        return at

    def _begin(self, at: int, sink: Sink) -> None:
        if self._head:
            sink.text(self._head, at)
        self.cursor = sink.cursor()
        self.has_begun = True
        if self._is_raw:
            sink.text('"', at)

    def _read_skip(self, data: Data, at: int) -> int:
        while self._skip and at < len(data):
            if data[at] != self._skip[0]:
                self._skip = b""
                break
            at += 1
            self._skip = self._skip[1:]
        if not self._skip:
            self._state = _TEXT
        return at

    def _read_text(self, data: Data, at: int, sink: Sink) -> int:
        plan = self._plan
        found = data.find(plan.closer, at)
        opening, verdict = self._find_opening(data, at, found if found >= 0 else len(data), sink)
        if verdict == YES:
            return self._end_unclosed(data, at, opening, sink)
        if verdict == MORE:
            return self._settle_until(data, at, opening - _tail(data, at, opening, plan.lead), sink)
        if found >= 0 and sink.is_spelt(plan.closer, found):
            end = found + len(plan.closer)
            self._settle_until(data, at, found, sink)
            sink.note("spelt_marker", SPELT, found, end)
            self._holds_marks = True
            return self._settle_until(data, found, end, sink)
        if found >= 0:
            space = bytes(data[max(at, found - len(plan.lead)) : found])
            self._strip, self._space = common_suffix(space, plan.lead), 0
            self._settle_until(data, at, found - self._strip, sink)
            self._state = _CLOSER
            return found + len(plan.closer)
        end = len(data) - overlap(data, plan.closer, at)
        if end == len(data):
            end = whole_characters(data, at, end)
        for written in (*plan.escapes, *((plan.opener,) if plan.opener else ())):
            end = min(end, len(data) - overlap(data, written, at))
        return self._settle_until(data, at, end - _tail(data, at, end, plan.lead), sink)

    def _find_opening(self, data: Data, at: int, end: int, sink: Sink) -> tuple[int, int]:
        """Where the next argument begins although this one is not closed, or may begin."""
        plan = self._plan
        is_looked_for = plan.opener and not self._holds_marks
        start = data.find(plan.opener, at, end) if is_looked_for else -1
        while start >= 0:
            behind = start + len(plan.opener)
            verdict = max((stands(o, data, behind) for o in plan.openings), default=NO)
            is_placed = bytes(data[at:start]).endswith(plan.lead)
            if is_placed and verdict != NO and not sink.is_spelt(plan.opener, start):
                return start, verdict
            start = data.find(plan.opener, behind, end)
        return end, NO

    def _end_unclosed(self, data: Data, at: int, end: int, sink: Sink) -> int:
        stop = end - len(self._plan.lead)
        self._settle_until(data, at, stop, sink)
        if self._is_raw:
            sink.text('"', end)
        else:
            self._tell_typed(data, stop, end, sink)
        sink.note("unclosed_value", "the next argument begins where one should end", end, end)
        self.is_done = self.is_ambiguous = True
        return end

    def _settle_until(self, data: Data, at: int, end: int, sink: Sink) -> int:
        """Bytes up to `end` belong to the value: told, or kept until its type is known."""
        if self._is_raw:
            self._put(data, at, end, sink)
            return end
        self._kept += end - at
        start = end - self._kept
        if self._is_string(data, start, end):
            self._kept, self._is_raw = 0, True
            self._begin(start, sink)
            self._put(data, start, end, sink)
        return end

    def _is_string(self, data: Data, start: int, end: int) -> bool:
        """Whether the value can be nothing but a string, by its text so far."""
        if "string" not in self._kinds:
            return False
        first = past_space(data, start + self._blank)
        self._blank = first - start
        if first >= end:
            return False
        if data[first] in b"[{" or end - first > MOST_GUESSED:
            return not may_be(bytes(data[first : first + 1]), self._kinds, is_long=True)
        return not may_be(bytes(data[first:end]), self._kinds)

    def _read_closer(self, data: Data, at: int, sink: Sink, *, final: bool) -> int:
        plan = self._plan
        after = past_space(data, at)
        self._space += after - at
        at = after
        verdict = plan.follow.test(data, at, final=final)
        if verdict == MORE:
            return at
        stop = at - self._space - len(plan.closer) - self._strip
        if verdict == NO:
            end = at - min(self._space, _tail(data, at - self._space, at, plan.lead))
            self._state = _TEXT
            self.is_ambiguous = self._holds_marks = True
            self._settle_until(data, stop, end, sink)
            return end
        if self._is_raw:
            sink.text('"', at - self._space)
        else:
            self._tell_typed(data, stop, at - self._space, sink)
        self.is_done = True
        return at - self._space

    def settle(self, data: Data, at: int, sink: Sink) -> None:
        """The data ends while a closer is undecided: tell the reading as it stands."""
        if self.is_undecided and not self._is_raw and not self.has_begun:
            stop = at - self._space - len(self._plan.closer) - self._strip
            self._tell_typed(data, stop, at - self._space, sink)

    # ------------------------------------------------------------------------------------ values

    def _tell_typed(self, data: Data, stop: int, end: int, sink: Sink) -> None:
        text, wrong = decoded(data, stop - self._kept, stop)
        if wrong:
            sink.note("invalid_utf8", "bytes that are not UTF-8 became U+FFFD", *wrong)
        plan = self._plan
        reading = read_typed(
            self._unescaped(text), self._kinds, empty=plan.empty, accepts=plan.accepts
        )
        if reading.wrong_type:
            sink.note("wrong_type", reading.wrong_type, stop - self._kept, stop)
        self.is_ambiguous = self.is_ambiguous or reading.is_ambiguous
        self._begin(stop, sink)
        sink.text(reading.written, end)

    def _put(self, data: Data, at: int, end: int, sink: Sink) -> None:
        """More text of a string."""
        if at >= end:
            return
        text, wrong = decoded(data, at, end)
        if wrong and not self._is_wrong:
            self._is_wrong = True
            sink.text(json_escaped(decoded(data, at, wrong[1])[0]), wrong[1])
            sink.note("invalid_utf8", "bytes that are not UTF-8 became U+FFFD", *wrong)
            text, _ = decoded(data, wrong[1], end)
        if text:
            sink.text(json_escaped(self._unescaped(text)), end)

    def _unescaped(self, text: str) -> str:
        escapes = self._plan.escapes
        if not escapes:
            return text
        pattern = _escape_pattern(tuple(escapes))
        return pattern.sub(lambda m: escapes[m.group().encode()].decode(), text)


def _tail(data: Data, at: int, end: int, lead: bytes) -> int:
    """How many bytes before `end` may be white space that belongs to the closer."""
    size = 0
    while size < len(lead) and end - size > at and data[end - size - 1] in lead:
        size += 1
    return size
