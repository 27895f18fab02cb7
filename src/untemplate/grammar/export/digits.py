r"""Numbers between two bounds as digits: integers, decimals, and the digits of `\u` escapes.

    integers(-5 to 120)          "-" [0-5] | [0-9] | [1-9] [0-9] | "1" ([0-1] [0-9] | "20")
    decimals(0 to 1.5)           "0" ("." [0-9]+)? | "1" ("." ([0-4] [0-9]* | "5" "0"*))? | "-0" ...
    hexadecimal(0x0a, 0x1f, 2)   "0" [A-Fa-f] | "1" [0-9A-Fa-f]

Zero may be written `-0`, as JSON allows. Open ends go on to `MOST_DIGITS` digits, as in the mask.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from untemplate.grammar.export.rules import (
    EMPTY,
    NEVER,
    Characters,
    Literal,
    Node,
    characters,
    choice,
    one_of,
    optional,
    repeat,
    sequence,
)

__all__ = ["MOST_DIGITS", "Interval", "decimals", "hexadecimal", "integers", "places"]

MOST_DIGITS = 40

_NINE = Characters(((0x30, 0x39),))


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers between two bounds; None: no bound."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False

    def above(self, bound: Decimal, *, is_open: bool) -> "Interval":
        """The part of it that is not below the bound."""
        if self.low is not None and (self.low, self.low_open) >= (bound, is_open):
            return self
        return replace(self, low=bound, low_open=is_open)

    def below(self, bound: Decimal, *, is_open: bool) -> "Interval":
        """The part of it that is not above the bound."""
        if self.high is not None and (-self.high, self.high_open) >= (-bound, is_open):
            return self
        return replace(self, high=bound, high_open=is_open)

    @property
    def is_empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        is_open = self.low_open or self.high_open
        return self.low > self.high or (self.low == self.high and is_open)

    @property
    def opposite(self) -> "Interval":
        """The same numbers with the other sign."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Interval(low, high, self.high_open, self.low_open)


_ZERO = Decimal(0)


def integers(interval: Interval) -> Node:
    """The integers of an interval, without fraction or exponent."""
    return _signed(interval, _naturals)


def decimals(interval: Interval) -> Node:
    """The numbers of an interval as plain decimals, without exponent."""
    return _signed(interval, _magnitudes)


def places(most: int) -> Node:
    """What may follow an integer: at most so many places, then zeros."""
    zeros = repeat(Literal("0"), 0, MOST_DIGITS - most)
    if not most:
        return optional(sequence(Literal(".0"), repeat(Literal("0"), 0, MOST_DIGITS - 1)))
    return optional(sequence(Literal("."), repeat(_NINE, 1, most), zeros))


def _signed(interval: Interval, magnitudes: Callable[[Interval], Node]) -> Node:
    natural = interval.above(_ZERO, is_open=False)
    negative = interval.opposite.above(_ZERO, is_open=False)
    return choice(
        NEVER if negative.is_empty else sequence(Literal("-"), magnitudes(negative)),
        NEVER if natural.is_empty else magnitudes(natural),
    )


def _naturals(interval: Interval) -> Node:
    """The integers of an interval that has no negative numbers."""
    assert interval.low is not None
    low = int(interval.low.to_integral_value(ROUND_CEILING))
    low += low == interval.low and interval.low_open
    if interval.high is None:
        return _natural(low, None)
    high = int(interval.high.to_integral_value(ROUND_FLOOR))
    high -= high == interval.high and interval.high_open
    return _natural(low, high) if low <= high else NEVER


def _magnitudes(interval: Interval) -> Node:
    """The decimals of an interval that has no negative numbers."""
    low, high = interval.low, interval.high
    assert low is not None
    first, last = int(low), None if high is None else int(high)
    if first == last:
        return sequence(_natural(first, first), _fraction(low, high, interval))
    between = (
        _natural(first + 1, None if last is None else last - 1) if first + 1 != last else NEVER
    )
    return choice(
        sequence(_natural(first, first), _fraction(low, None, interval)),
        sequence(between, _fraction(None, None, interval)),
        NEVER if last is None else sequence(_natural(last, last), _fraction(None, high, interval)),
    )


def _fraction(low: Decimal | None, high: Decimal | None, interval: Interval) -> Node:
    """Point and places, or nothing, so that the places are within those of the bounds."""
    bounds = _Places(
        None if low is None else _places_of(low), None if high is None else _places_of(high),
        interval.low_open, interval.high_open,
    )  # fmt: skip
    some = sequence(Literal("."), bounds.from_(0, stops=False))
    return choice(EMPTY, some) if bounds.may_stop(0) else some


def _places_of(number: Decimal) -> str:
    return format(number, "f").partition(".")[2].rstrip("0")


@dataclass(frozen=True, slots=True)
class _Places:
    """Places behind the point against those of two bounds; None: that bound is passed already."""

    low: str | None
    high: str | None
    low_open: bool
    high_open: bool

    def may_stop(self, at: int) -> bool:
        """Whether the number may end after so many places that equal those of the bounds."""
        above = self.low is None or (at >= len(self.low) and not self.low_open)
        return above and (self.high is None or at < len(self.high) or not self.high_open)

    def from_(self, at: int, *, stops: bool) -> Node:
        """The places from number `at` on; with `stops` there may be none."""
        left = MOST_DIGITS - at
        if self.low is not None and at >= len(self.low) and not self.low_open:
            return replace(self, low=None).from_(at, stops=stops)
        if self.low is None and self.high is None:
            return repeat(_NINE, 0 if stops else 1, left)
        ends = (self.low or "", self.high or "")
        if at >= max(map(len, ends)):
            return self._beyond(left, stops=stops)
        options: list[Node] = [EMPTY] if stops and self.may_stop(at) else []
        first = int((self.low or "")[at : at + 1] or 0) if self.low is not None else 0
        last = int((self.high or "")[at : at + 1] or 0) if self.high is not None else 9
        inner = [d for d in range(first, last + 1) if d not in self._tight(first, last)]
        if inner:
            rest = repeat(_NINE, 0, left - 1)
            options.append(sequence(_class(inner[0], inner[-1]), rest))
        for digit in dict.fromkeys(self._tight(first, last)):
            if first <= digit <= last:
                tight = replace(
                    self,
                    low=self.low if digit == first else None,
                    high=self.high if digit == last else None,
                )
                options.append(sequence(_class(digit, digit), tight.from_(at + 1, stops=True)))
        return choice(*options)

    def _tight(self, first: int, last: int) -> list[int]:
        """Digits after which a bound still matters."""
        return [d for d, b in ((first, self.low), (last, self.high)) if b is not None]

    def _beyond(self, left: int, *, stops: bool) -> Node:
        """Behind the places of both bounds, which the number equals so far."""
        if self.high is not None:
            is_barred = self.high_open or self.low is not None
            return NEVER if is_barred else repeat(Literal("0"), 0 if stops else 1, left)
        zeros = repeat(Literal("0"), 0, left - 1)
        return sequence(zeros, _class(1, 9), repeat(_NINE, 0, left - 1))


def hexadecimal(low: int, high: int, size: int) -> Node:
    """The numbers from `low` to `high` in `size` digits of either case."""
    return _same_size(_digits(low, 16, size), _digits(high, 16, size), 16)


def _natural(low: int, high: int | None) -> Node:
    """From `low` to `high`, both at least 0."""
    size = len(str(low))
    if high is None:
        longer = sequence(_class(1, 9), repeat(_NINE, size, MOST_DIGITS - 1))
        return choice(_between(low, 10**size - 1, size), longer)
    options: list[Node] = []
    for digits in range(size, len(str(high)) + 1):
        first = max(low, 10 ** (digits - 1) if digits > 1 else 0)
        options.append(_between(first, min(high, 10**digits - 1), digits))
    return choice(*options)


def _between(low: int, high: int, size: int) -> Node:
    return _same_size(_digits(low, 10, size), _digits(high, 10, size), 10)


def _digits(number: int, base: int, size: int) -> tuple[int, ...]:
    """The digits of a number, the highest first."""
    out: list[int] = []
    for _ in range(size):
        number, digit = divmod(number, base)
        out.append(digit)
    return tuple(reversed(out))


def _same_size(low: Sequence[int], high: Sequence[int], base: int) -> Node:
    """From `low` to `high`, which are the digits of as many places."""
    if not low:
        return EMPTY
    first, last, places = low[0], high[0], len(low) - 1
    if first == last:
        return sequence(_class(first, last), _same_size(low[1:], high[1:], base))
    lowest, highest = (0,) * places, (base - 1,) * places
    head: Node = NEVER
    tail: Node = NEVER
    if tuple(low[1:]) != lowest:
        head = sequence(_class(first, first), _same_size(low[1:], highest, base))
        first += 1
    if tuple(high[1:]) != highest:
        tail = sequence(_class(last, last), _same_size(lowest, high[1:], base))
        last -= 1
    middle: Node = NEVER
    if first <= last:
        rest = repeat(_class(0, base - 1), places, places)
        middle = sequence(_class(first, last), rest)
    return choice(head, middle, tail)


def _class(first: int, last: int) -> Node:
    """One digit from `first` to `last`, of either case."""
    digits = [format(d, "x") for d in range(first, last + 1)]
    return one_of(characters(c for d in digits for c in (d, d.upper())))
