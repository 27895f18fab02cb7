r"""Reads arguments that are a JSON string with JSON text in it, and undoes the string on the way.

    "arguments": "{\"city\": \"Paris\"}"   ->   {"city": "Paris"}

The text inside goes to a `JsonFrame` as it is undone. Spans stay exact: each byte of the inner text
knows where its bytes in the outer string end.
"""

import json
import re
from typing import cast

from untemplate.message import DiagnosticCode
from untemplate.reader.escapes import escape
from untemplate.reader.json_text import JsonFrame
from untemplate.reader.plain import Plain, quoted_plain, twice_quoted_plain
from untemplate.reader.sink import Note, Sink
from untemplate.reader.utf8 import Data, whole_characters

__all__ = ["QuotedFrame"]

_BEFORE = -(1 << 60)
"""A position that was passed already: what is told up to there has no bytes of its own."""
_RUN = re.compile(rb'[^"\\]+')


class _Mapped:
    """Turns positions in the inner text into positions in the outer data."""

    __slots__ = ("_ends", "_left", "_run", "_sink", "_start")

    def __init__(self, sink: Sink, ends: list[int], left: int, start: int, run: int) -> None:
        self._sink = sink
        self._start = start
        """Position in the outer data behind what was fed before."""
        self._left = left
        """How many inner bytes were left over from that."""
        self._ends = ends
        """Where the outer bytes of each inner byte that was left over end."""
        self._run = run
        """Position in the outer data of the inner byte behind those."""

    def outer(self, end: int) -> int:
        if end <= 0:
            return _BEFORE if end or self._ends[: self._left] else self._start
        return self._ends[end - 1] if end <= len(self._ends) else self._run + end - len(self._ends)

    def text(self, text: str, end: int) -> None:
        self._sink.text(text, self.outer(end))

    def lost(self, end: int) -> None:
        self._sink.lost(self.outer(end))

    def cursor(self) -> object:
        return self._sink.cursor()

    def begin_argument(self, name: str) -> None:
        self._sink.begin_argument(name)

    def argument(self, name: str, cursor: object, *, ambiguous: bool = False) -> None:
        self._sink.argument(name, cursor, ambiguous=ambiguous)

    def is_spelt(self, mark: bytes, at: int) -> bool:
        return self._sink.is_spelt(mark, self.outer(at))

    def note(self, code: DiagnosticCode, message: str, start: int, end: int) -> None:
        last = self.outer(end)
        first = self.outer(start) if start > 0 else last - (end - start)
        self._sink.note(code, message, first, last)


class QuotedFrame:
    """The state of one string of arguments; read from its opening quote on."""

    __slots__ = (
        "_has_quote",
        "_inner",
        "_left",
        "_left_back",
        "bad",
        "cursor",
        "is_ambiguous",
        "is_done",
    )

    def __init__(self) -> None:
        self._inner = JsonFrame(members=True)
        self._has_quote = False
        self._left = b""
        """Inner bytes that the inner frame did not take yet."""
        self._left_back: tuple[int, ...] = ()
        """For each of them: how far before the next outer byte its own bytes end."""
        self.cursor: object = None
        self.is_ambiguous = False
        self.is_done = False
        self.bad: Note | None = None

    def clone(self) -> "QuotedFrame":
        other = QuotedFrame()
        other._inner, other._has_quote = self._inner.clone(), self._has_quote
        other._left, other._left_back = self._left, self._left_back
        other.is_done, other.bad = self.is_done, self.bad
        return other

    @property
    def has_begun(self) -> bool:
        return self._inner.has_begun or self.is_done

    @property
    def closing(self) -> str:
        return self._inner.closing

    @property
    def pointer(self) -> str:
        return self._inner.pointer

    @property
    def is_undecided(self) -> bool:
        return False

    @property
    def skim(self) -> None:
        """There is no structure to skim."""

    @property
    def plain(self) -> Plain | None:
        in_string = self.bad is None and not self._left and self._inner.plain is quoted_plain(0x22)
        return twice_quoted_plain() if in_string else None

    def settle(self, data: Data, at: int, sink: Sink) -> None:
        """Nothing waits for what follows a closer."""

    def read(self, data: Data, at: int, sink: Sink, *, final: bool = False) -> int:  # noqa: ARG002  no byte waits for the end
        """Read on; gives the position of the first byte that was not used."""
        size = len(data)
        if not self._has_quote and at < size:
            self._has_quote = True
            message = "arguments in a JSON string were read as JSON"
            sink.note("quoted_arguments", message, at, at + 1)
            at += 1
        while at < size and not self.is_done and self.bad is None:
            byte = data[at]
            if byte == 0x22:
                return self._end(at + 1, sink)
            if byte == 0x5C:
                found = escape(data, at)
                if found is None:
                    break
                plain = cast("str", json.loads(f'"{found.text}"'))
                at = self._feed(plain.encode("utf-8", "replace"), at, found.end, sink)
                continue
            run = _RUN.match(data, at)
            end = run.end() if run else at
            if end == size:
                end = whole_characters(data, at, end)
                if end == at:
                    break
            at = self._feed(bytes(data[at:end]), at, end, sink)
        return at

    def _feed(self, plain: bytes, start: int, end: int, sink: Sink) -> int:
        """Inner bytes that come from data[start:end], one to one or from one escape.

        Gives `end`, or where the bytes end that were used before it turned out to be bad.
        """
        left, ends = self._left, [start - back for back in self._left_back]
        run = start
        if len(plain) != end - start:  # one escape: all its bytes end where it ends
            ends += [end] * len(plain)
            left, plain, run = left + plain, b"", end
        mapped = _Mapped(sink, ends, len(self._left), start, run)
        text = left + plain
        used = 0
        if not self._inner.has_begun and text.lstrip()[:1] not in (b"", b"{"):
            used = len(text) - len(text.lstrip())
            self.bad = Note("bad_arguments", "the string of arguments holds no object")
        else:
            used = self._inner.read(text, 0, mapped)
            self.bad = self._inner.bad
        if self.bad is None and self._inner.is_done and (rest := text[used:].lstrip()):
            used = len(text) - len(rest)
            self.bad = Note("bad_json", "text follows the arguments inside their string")
        if self.bad is not None:
            return max(start, mapped.outer(used))
        if self._inner.is_done:
            used = len(text)
        self._left = text[used:]
        self._left_back = tuple(end - mapped.outer(n + 1) for n in range(used, len(text)))
        return end

    def _end(self, at: int, sink: Sink) -> int:
        if not self._inner.has_begun and not self._left.strip():
            sink.text("{}", at)
            self.is_done = True
        elif self._inner.is_done:
            self.is_done = True
        else:
            self.bad = Note("bad_json", "the string of arguments ends before they do")
        return at
