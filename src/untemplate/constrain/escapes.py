r"""Escapes inside quotes: a letter behind a backslash, a code of digits, or a pair of codes.

    \n   \u00e9   \ud83d\ude00

Each state holds the characters that it may still become, and where each leads. Where all that may
still come leads to one place, which character it is does not matter, and the states are shared.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from untemplate.constrain.state import Edges, State
from untemplate.constrain.words import LAST, Span

if TYPE_CHECKING:
    from untemplate.constrain.strings import Lane

__all__ = ["SURROGATES", "Begun", "Escape", "Hex", "Pair", "clip", "escaped"]

_HEX = tuple((n, bytes({f"{n:x}".encode()[0], f"{n:X}".encode()[0]})) for n in range(16))
SURROGATES = (0xD800, 0xDC00, 0xE000)
"""First of the high halves, first of the low halves, end of both."""


def _is_loop_behind(lane: "Lane", spans: tuple[Span, ...]) -> bool:
    """Whether some character leads to a place from which any may follow."""
    return any(lane.machine.is_loop(place) for _, _, place in spans)


def clip(spans: tuple[Span, ...], low: int, high: int) -> tuple[Span, ...]:
    return tuple((max(a, low), min(b, high), p) for a, b, p in spans if a <= high and b >= low)


@dataclass(slots=True, unsafe_hash=True)
class Begun(State):
    """Inside of what writes one of some characters."""

    lane: "Lane"
    spans: tuple[Span, ...]

    @property
    def leads_to_loop(self) -> bool:
        return _is_loop_behind(self.lane, self.spans)

    @property
    def slope(self) -> int:
        return self.lane.slope(self.spans[0][2])


@dataclass(slots=True, unsafe_hash=True)
class Escape(Begun):
    """After a backslash."""

    def cost(self) -> int | None:
        quote = self.lane.quote
        short = tuple(s for s in self.spans if any(s[0] <= c <= s[1] for c in quote.short))
        costs = [self.lane.cost(short, 1)] if short else []
        coded = _coded(self.spans)
        for _, size in quote.codes:
            long = _hex(self.lane, coded, 0, size)
            if long is not None and (cost := long.cost()) is not None:
                costs.append(cost + 1)
        return min((c for c in costs if c is not None), default=None)

    def edges(self, out: Edges) -> None:
        quote = self.lane.quote
        for code, letter in quote.short.items():
            for _, _, place in clip(self.spans, code, code):
                action = self.lane.arrival(place)
                assert action is not None
                out.do(letter, action)
        coded = _coded(self.spans)
        for letter, size in quote.codes:
            out.go(letter, _hex(self.lane, coded, 0, size))


def escaped(lane: "Lane", spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Those characters that may be written by an escape."""
    return _coded(spans) + tuple(s for c in lane.quote.short for s in clip(spans, c, c))


def _coded(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Those characters that may be written by a code."""
    return clip(spans, 0, 0x1F) + clip(spans, 0x7F, LAST)


def _hex(lane: "Lane", spans: tuple[Span, ...], first: int, size: int) -> "Hex | None":
    r"""Inside `\uXXXX` with `size` digits to come; `first` is its value if they were all 0."""
    high, low, end = SURROGATES
    last = first + (1 << 4 * size) - 1
    plain = clip(spans, first, min(last, high - 1)) + clip(spans, max(first, end), last)
    pairs: tuple[Span, ...] = ()
    if lane.quote.has_pairs and first < low and last >= high:
        a, b = _pairs_of(max(first, high))[0], _pairs_of(min(last, low - 1))[1]
        pairs = clip(spans, a, b)
        if high <= first and last < low and pairs and (pairs[0][0], pairs[0][1]) == (a, b):
            return Hex(lane, (), pairs, 0, size, is_any=True)
    if not pairs and plain and (plain[0][0], plain[0][1]) == (first, last):
        return Hex(lane, ((0, LAST, plain[0][2]),), (), 0, size, is_any=True)
    return Hex(lane, plain, pairs, first, size) if plain or pairs else None


def _pairs_of(unit: int) -> tuple[int, int]:
    """The characters whose first half this is."""
    low = 0x10000 + ((unit - SURROGATES[0]) << 10)
    return low, low + 0x3FF


@dataclass(slots=True, unsafe_hash=True)
class Hex(State):
    r"""Inside `\uXXXX`."""

    lane: "Lane"
    plain: tuple[Span, ...]
    """Characters that it may become by itself."""
    pairs: tuple[Span, ...]
    """Characters of which it may become the first half."""
    first: int
    size: int
    is_any: bool = False
    """All that it may become leads to one place."""

    @property
    def leads_to_loop(self) -> bool:
        return _is_loop_behind(self.lane, self.plain + self.pairs)

    @property
    def slope(self) -> int:
        return self.lane.slope((self.plain or self.pairs)[0][2])

    def cost(self) -> int | None:
        costs = [
            self.lane.cost(self.plain, self.size) if self.plain else None,
            self.lane.cost(self.pairs, self.size + 6) if self.pairs else None,
        ]
        return min((c for c in costs if c is not None), default=None)

    def edges(self, out: Edges) -> None:
        step = 4 * (self.size - 1)
        first, last = 0, 15
        if not self.pairs and not self.is_any:
            first = max(self.plain[0][0] - self.first, 0) >> step
            last = (self.plain[-1][1] - self.first) >> step
        for digit, letters in _HEX[first : last + 1]:
            value = self.first + (digit << step)
            if self.size > 1:
                if self.is_any:
                    out.go(letters, replace(self, size=self.size - 1))
                else:
                    spans = self.plain + self.pairs
                    out.go(letters, _hex(self.lane, spans, value, self.size - 1))
            elif self.plain and (
                found := self.plain if self.is_any else clip(self.plain, value, value)
            ):
                action = self.lane.arrival(found[0][2])
                assert action is not None
                out.do(letters, action)
            elif self.pairs:
                out.go(letters, self._pair(value))

    def _pair(self, unit: int) -> "Pair | None":
        if self.is_any:
            return Pair(self.lane, self.pairs, 6)
        if not SURROGATES[0] <= unit < SURROGATES[1]:
            return None
        spans = clip(self.pairs, *_pairs_of(unit))
        if spans and (spans[0][0], spans[0][1]) == _pairs_of(unit):
            return Pair(self.lane, spans, 6)
        return Pair(self.lane, spans, 6, _pairs_of(unit)[0]) if spans else None


@dataclass(slots=True, unsafe_hash=True)
class Pair(Begun):
    r"""In the second half of a surrogate pair, from before its backslash on."""

    size: int
    """Bytes to come."""
    first: int | None = None
    """The character if all digits to come were the smallest; None: all lead to one place."""

    def cost(self) -> int | None:
        return self.lane.cost(self.spans, self.size)

    def edges(self, out: Edges) -> None:
        fixed = {6: b"\\", 5: b"u", 4: b"dD"}.get(self.size)
        if fixed is not None:
            out.go(fixed, Pair(self.lane, self.spans, self.size - 1, self.first))
            return
        for digit, letters in _HEX:
            # The third last digit is C to F and says two bits; the others say four.
            if self.size == 3 and digit < 12:
                continue
            step = 1 << 4 * (self.size - 1)
            if self.first is None:
                self._go(out, letters, self.spans, None)
                continue
            first = self.first + (digit & (3 if self.size == 3 else 15)) * step
            if spans := clip(self.spans, first, first + step - 1):
                self._go(out, letters, spans, first)

    def _go(self, out: Edges, letters: bytes, spans: tuple[Span, ...], first: int | None) -> None:
        if self.size > 1:
            out.go(letters, Pair(self.lane, spans, self.size - 1, first))
            return
        action = self.lane.arrival(spans[0][2])
        assert action is not None
        out.do(letters, action)
