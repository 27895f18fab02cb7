"""Follows the ways that share a beginning, side by side, until one is through or none is left.

Each byte moves all ways on: white space between marks is free, a mark has to be there to the
letter, a word goes on to what stands behind it. Nothing is told here. When no way is left, nothing
is taken: the reader goes on behind the first mark.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from untemplate.dialect import Hole
from untemplate.reader.copies import copied
from untemplate.reader.follow import MORE
from untemplate.reader.header import leads_to_text, leave, read_header
from untemplate.reader.tape import Tape
from untemplate.reader.utf8 import SPACE, Data, past_space
from untemplate.reader.ways import ENDED, Way, Word

__all__ = ["Found", "Match", "WordFound"]

MOST_WORD_BYTES = 256
NEVER_IN_NAME = b"\r\n<>{}()[]\"'`,;="


@dataclass(frozen=True, slots=True)
class WordFound:
    """A word and where it stands, in absolute positions."""

    hole: Hole
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Found:
    """A way that is through."""

    way: Way
    end: int
    """Absolute position behind its last element."""
    skipped: int
    """Marks at its beginning that were not there."""
    words: tuple[WordFound, ...]
    marker_end: int
    """Absolute position behind the last mark before its first word."""
    is_spelt: bool = False
    """Whether ordinary tokens spell a mark behind the first."""


class _Thread:
    """One way, and how far it is."""

    __slots__ = (
        "element",
        "index",
        "is_spelt",
        "marker_end",
        "offset",
        "skipped",
        "way",
        "word_start",
        "words",
    )

    def __init__(self, way: Way, skipped: int, start: int) -> None:
        self.way = way
        self.skipped = self.index = skipped
        elements = way.elements
        self.element = elements[skipped] if skipped < len(elements) else None
        """What it is in; None: it is through."""
        self.offset = 0
        """How much of a mark was there."""
        self.words: tuple[WordFound, ...] = ()
        self.word_start = -1
        self.marker_end = start
        self.is_spelt = False
        """Whether ordinary tokens spell a mark behind the first."""

    def pass_element(self) -> None:
        """On to what stands behind a mark or a word."""
        elements = self.way.elements
        self.index += 1
        self.element = elements[self.index] if self.index < len(elements) else None
        self.offset = 0


class Match:
    """Ways that still fit. All positions are absolute."""

    __slots__ = (
        "_headed",
        "_known",
        "_marks_seen",
        "_own",
        "_threads",
        "cut_opening",
        "first_mark",
        "found",
        "is_bare",
        "is_unknown_header",
        "may_be_call",
        "start",
    )

    def __init__(self, ways: Iterable[tuple[Way, int]], start: int, first_mark: int) -> None:
        self.start = start
        """Where the first mark begins."""
        self.first_mark = first_mark
        """Its length: if no way gets through, text goes on behind it."""
        self.found: Found | None = None
        self.cut_opening: Way | None = None
        """Where the data ends behind marks of a call and before its name: the way to it."""
        self.is_unknown_header = False
        """Whether what is found is a header that the format does not have."""
        self._threads: list[_Thread] = []
        self._own: list[Way] = []
        """Ways of the family that lead on."""
        self._headed: list[Way] = []
        """Ways that such a header may be like."""
        self._marks_seen, self._known = 0, start
        """How many marks some way has got through, and the position behind them."""
        self.is_bare = self.may_be_call = False
        for way, skipped in ways:
            self.is_bare = self.is_bare or way.is_bare
            self.may_be_call = self.may_be_call or way.call is not None
            thread = _Thread(way, skipped, start)
            if not skipped and way.is_own and way.target not in ("end", ENDED):
                self._own.append(way)
            if not skipped and leads_to_text(way):
                self._headed.append(way)
            if skipped < len(way.elements):
                self._threads.append(thread)
            elif self.found is None:
                self.found = Found(way, start, skipped, (), start)

    def clone(self) -> "Match":
        other = copied(self)
        other._threads = [copied(t) for t in self._threads]  # noqa: SLF001
        return other

    def read(self, data: Data, at: int, tape: Tape, *, final: bool) -> tuple[int, bool]:
        """Read on; gives the position, and whether it is decided (`found`, or nothing)."""
        size, base = len(data), tape.base
        while self._threads:
            if at >= size:
                return self._end(at) if final else (at, False)
            if not self._step(data, at, tape, final=final):
                return at, False
            at += 1
            if self.found and self._is_enough(self.found):
                break
        if self.found is not None and self._headed and self.found.way.json == "instead":
            first = past_space(data, self.found.end - base)
            if first == size and not final:
                return at, False
            if bytes(data[first : first + 1]) not in (b"{", b"`", b"["):
                self.found = None  # an unknown header goes on there, no JSON
        if self.found is not None or not self._headed:
            return at, True
        is_decided = True
        if self._marks_seen > bool(self.first_mark):
            at, is_decided = self._read_header(data, at, base, final=final)
        if is_decided and self.found is None and self.first_mark:
            way = leave(self._own, self._headed, self._marks_seen)
            self.found = Found(way, self._known, 0, (), self._known) if way else None
        return at, is_decided

    def _end(self, at: int) -> tuple[int, bool]:
        """The data ends on the way: what a marker of a call has begun can only be one."""
        for thread in self._threads:
            way, index = thread.way, thread.index - thread.skipped
            if index and not thread.words and way.call and way.is_own and not way.is_bare:
                self.cut_opening = way
        if self.cut_opening and self.found and not self.found.way.is_own:
            self.found = None
        return at, True

    def _read_header(self, data: Data, at: int, base: int, *, final: bool) -> tuple[int, bool]:
        """Several marks were there, and then something else: perhaps up to a mark of theirs."""
        start, known = self.start - base, self._known - base
        verdict, way, end = read_header(self._headed, data, start, known, final=final)
        if verdict == MORE:
            return at, False
        if way is not None:
            self.is_unknown_header = True
            self.found = Found(way, base + end, 0, (), base + end)
        return at, True

    def _is_enough(self, found: Found) -> bool:
        """Whether what is found stands, whatever follows."""
        if found.words:  # a slip gives way to what the family writes
            return found.way.is_own or not any(t.way.is_own for t in self._threads)
        if not self._threads:
            return True
        is_longer = any(t.way.target == found.way.target for t in self._threads)
        return not (is_longer or found.way.call or found.way.target in ("end", ENDED))

    def _step(self, data: Data, at: int, tape: Tape, *, final: bool) -> bool:
        """Moves every way by one byte; False when more bytes are needed to do so."""
        base = tape.base
        left: list[_Thread] = []
        through: list[_Thread] = []
        for thread in self._threads:
            if thread.word_start < 0:
                continue
            moved = self._word_ended(thread, data, at, base, final=final)
            if moved is None:
                return False
        byte = data[at]
        is_space = byte in SPACE
        for thread in self._threads:
            element = thread.element
            if isinstance(element, bytes):
                offset = thread.offset
                if is_space and not offset:
                    left.append(thread)
                elif byte != element[offset]:
                    continue
                elif offset + 1 < len(element):
                    thread.offset = offset + 1
                    left.append(thread)
                elif self._end_mark(thread, element, at + 1, tape):
                    (left if thread.element else through).append(thread)
            elif element is None:
                through.append(thread)
            elif self._goes_on(element, thread, byte, base + at):
                left.append(thread)
        self._threads = left
        for thread in through:
            ends_before = isinstance(thread.way.elements[-1], Word)
            found = Found(
                thread.way,
                base + at + (not ends_before),
                thread.skipped,
                thread.words,
                thread.marker_end,
                thread.is_spelt,
            )
            if self.found is None or _is_better(found, self.found):
                self.found = found
        return True

    def _end_mark(self, thread: _Thread, mark: bytes, at: int, tape: Tape) -> bool:
        """Moves a way on behind a mark; False where that is text, which ordinary tokens spell.

        Text may stand where the first mark does. Behind it a way leads on through structure.
        """
        if tape.is_spelt(mark, at - len(mark)):
            if thread.index == thread.skipped:
                return False
            thread.is_spelt = True
        end = tape.base + at
        thread.pass_element()
        if not thread.skipped and thread.index > self._marks_seen:
            self._marks_seen, self._known = thread.index, end
        if not thread.words:
            thread.marker_end = end
        return True

    @staticmethod
    def _goes_on(word: Word, thread: _Thread, byte: int, position: int) -> bool:
        if thread.word_start < 0:
            if byte not in SPACE:
                thread.word_start = position
            return True
        never = NEVER_IN_NAME if word.hole is Hole.NAME else b"\r\n"
        return byte not in never and position - thread.word_start < MOST_WORD_BYTES

    @staticmethod
    def _word_ended(thread: _Thread, data: Data, at: int, base: int, *, final: bool) -> bool | None:
        """Moves a way on whose word ends in front of `at`; None when more bytes decide that."""
        word = thread.element
        assert isinstance(word, Word)
        waits = False
        first = past_space(data, at)
        if first - at > MOST_WORD_BYTES:
            return False
        if first == len(data) and first > at:
            return None if not final else False
        for end in word.ends:
            rest = bytes(data[first : first + len(end)])
            if rest == end:
                found = WordFound(word.hole, thread.word_start, base + at)
                thread.words += (found,)
                thread.pass_element()
                thread.word_start = -1
                return True
            waits = waits or (end.startswith(rest) and not final)
        return None if waits else False


def _is_better(new: Found, old: Found) -> bool:
    """Whether the new find is to be preferred: it leaves fewer marks out, or goes further."""
    return _rank(new) < _rank(old)


def _rank(found: Found) -> tuple[bool | int, ...]:
    way, words = found.way, bool(found.words)
    is_nothing = not way.elements
    # What ends a turn may be the beginning of what leads on to another block.
    is_end = way.target in ("end", ENDED)
    # Without a marker, a name where one has to be tells more than a bracket.
    is_vague = words != way.is_bare
    is_slip = not way.is_own and way.json != "wrapped"
    kind = (is_nothing, found.skipped, way.is_bare, is_slip, found.is_spelt)
    return *kind, -found.end, is_end, is_vague, -found.marker_end
