r"""Finds marks in data that arrives in pieces.

    marks = MarkSet([b"<tool_call>", b"<think>"])
    marks.find(b"a <think>b", 0)    -> (2, b"<think>")
    marks.find(b"a <too", 0)        -> (2, b"")          # nothing yet, but from 2 on it may come
    marks.find(b"a < b", 0)         -> (5, b"")

Where one mark is the beginning of another the longer one is waited for.
"""

import re
from collections.abc import Iterable

from untemplate.reader.utf8 import Data

__all__ = ["MarkSet"]


class MarkSet:
    """Some marks; immutable."""

    __slots__ = ("_firsts", "_longer", "_longest", "_partial", "_pattern", "marks")

    def __init__(self, marks: Iterable[bytes]) -> None:
        self.marks = tuple(sorted({m for m in marks if m}, key=len, reverse=True))
        self._longest = max(map(len, self.marks), default=0)
        firsts = bytes(sorted({m[0] for m in self.marks}))
        self._firsts = re.compile(b"[%s]" % re.escape(firsts)) if self.marks else None
        self._pattern = re.compile(b"|".join(map(re.escape, self.marks)) or rb"(?!)")
        prefixes = {m[:n] for m in self.marks for n in range(1, len(m))}
        options = b"|".join(map(re.escape, sorted(prefixes, key=len, reverse=True)))
        self._partial = re.compile(b"(?:%s)\\Z" % options if prefixes else rb"(?!)")
        self._longer = {
            m: tuple(o for o in self.marks if o.startswith(m) and o != m) for m in self.marks
        }

    def find(self, data: Data, at: int, *, final: bool = False) -> tuple[int, bytes]:
        """Where the next mark begins, and the mark; or up to where none can begin, and nothing."""
        found = self._pattern.search(data, at)
        start = found.start() if found is not None else len(data)
        if not final:
            near = max(at, len(data) - self._longest + 1)
            waits = self._may_begin(data, near) if near < start else start
            if waits < start:
                return waits, b""
        if found is None:
            return start, b""
        mark, rest = found.group(), bytes(data[start : start + self._longest])
        longer = self._longer[mark]
        if longer and not final and any(o.startswith(rest) and o != rest for o in longer):
            return start, b""
        return start, mark

    def _may_begin(self, data: Data, at: int) -> int:
        """Where a mark may begin whose end is not there yet, or the end of the data."""
        if self._firsts is None or not self._firsts.search(data, at):
            return len(data)
        partial = self._partial.search(data, at)
        return partial.start() if partial else len(data)
