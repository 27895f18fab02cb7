"""Matches the marks of one or more ways, as bytes arrive; what it took is kept until it is decided.

Marks are compared in order with any white space between them. Several ways may share a beginning:
all are followed side by side until one is through or one remains. When none is left the bytes that
were taken are given back as `raw`, up to the first byte that did not fit, which is not taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from untemplate.reader.plan import Way

__all__ = ["Match"]

_SPACE = b" \t\r\n"


@dataclass(slots=True)
class Match:
    """Ways that still fit, each with the number of its next mark."""

    ways: list[tuple[Way, int]]
    start: int
    """Absolute position of the first byte taken."""
    raw: list[bytes] = field(default_factory=list[bytes])
    found: Way | None = None
    """The way that is through; more may still follow a longer one."""
    skipped: int = 0
    """Marks that the ways left out at their beginning."""

    def read(
        self, data: bytes, at: int, text_rules: Sequence[str], *, final: bool
    ) -> tuple[int, str]:
        """Read on; gives the position and `more`, `found` or `none`."""
        size = len(data)
        while True:
            start = at
            while at < size and data[at] in _SPACE:
                at += 1
            if at > start and self.ways:
                self.raw.append(data[start:at])
            elif not self.ways:
                at = start
            if not self.ways:
                return at, "found" if self.found else "none"
            if at == size and not final:
                return at, "more"
            fitting, waiting = self._fitting(data, at)
            best = max((len(w.marks[i]) for w, i in fitting), default=0)
            if not final and any(len(w.marks[i]) > best for w, i in waiting):
                return at, "more"
            if not best:
                if at > start:
                    self.raw.pop()
                    at = start
                return at, "found" if self.found else "none"
            self.raw.append(data[at : at + best])
            at += best
            advanced = [(w, i + 1) for w, i in fitting if len(w.marks[i]) == best]
            through = [w for w, i in advanced if i == len(w.marks)]
            self.ways = [(w, i) for w, i in advanced if i < len(w.marks)]
            if through:
                self.found = through[0]
                if through[0].target in text_rules:
                    self.ways = []

    def _fitting(self, data: bytes, at: int) -> tuple[list[tuple[Way, int]], list[tuple[Way, int]]]:
        fitting: list[tuple[Way, int]] = []
        waiting: list[tuple[Way, int]] = []
        for way, i in self.ways:
            mark = way.marks[i]
            rest = data[at : at + len(mark)]
            if rest == mark:
                fitting.append((way, i))
            elif mark.startswith(rest):
                waiting.append((way, i))
        return fitting, waiting

    def clone(self) -> "Match":
        return Match(list(self.ways), self.start, list(self.raw), self.found, self.skipped)
