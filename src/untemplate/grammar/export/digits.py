r"""Numbers between two bounds as digits: integers, and the digits of `\u` escapes.

    integers(-5 to 120)          "-" [0-5] | [0-9] | [1-9] [0-9] | "1" ([0-1] [0-9] | "20")
    hexadecimal(0x0a, 0x1f, 2)   "0" [A-Fa-f] | "1" [0-9A-Fa-f]

Zero may be written `-0`, as JSON allows. Open ends go on to `MOST_DIGITS` digits, as in the mask.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from untemplate.grammar.export.rules import (
    EMPTY,
    NEVER,
    Characters,
    Literal,
    Node,
    characters,
    choice,
    one_of,
    repeat,
    sequence,
)
from untemplate.grammar.schema_atoms import MOST_DIGITS

__all__ = [
    "ANY_DIGIT",
    "Interval",
    "digit",
    "hexadecimal",
    "integers",
    "naturals",
    "of_size",
    "signed",
]

ANY_DIGIT = Characters(((0x30, 0x39),))


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
    def written_out(self) -> "Interval":
        """The same for numbers of `MOST_DIGITS` digits before and after the point.

        The bounds are such numbers themselves, or beyond them all.
        """
        low, high, low_open, high_open = self.low, self.high, self.low_open, self.high_open
        if low is not None and low > -_BEYOND:
            finest = low.quantize(_FINEST, ROUND_CEILING, _EXACT)
            low, low_open = finest, low_open and low == finest
        else:
            low, low_open = None, False
        if high is not None and high < _BEYOND:
            finest = high.quantize(_FINEST, ROUND_FLOOR, _EXACT)
            high, high_open = finest, high_open and high == finest
        else:
            high, high_open = None, False
        return Interval(low, high, low_open, high_open)

    @property
    def opposite(self) -> "Interval":
        """The same numbers with the other sign."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Interval(low, high, self.high_open, self.low_open)


_ZERO = Decimal(0)
_BEYOND = Decimal(10) ** MOST_DIGITS
_FINEST = Decimal(10) ** -MOST_DIGITS
_EXACT = Context(prec=5000)


def integers(interval: Interval) -> Node:
    """The integers of an interval, without fraction or exponent."""
    return signed(interval.written_out, _naturals)


def signed(interval: Interval, magnitudes: Callable[[Interval], Node]) -> Node:
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
    if low >= _BEYOND:
        return NEVER
    if interval.high is None:
        return naturals(low, None)
    high = int(interval.high.to_integral_value(ROUND_FLOOR))
    high -= high == interval.high and interval.high_open
    return naturals(low, high) if low <= high else NEVER


def hexadecimal(low: int, high: int, size: int) -> Node:
    """The numbers from `low` to `high` in `size` digits of either case."""
    return _same_size(_digits(low, 16, size), _digits(high, 16, size), 16)


def naturals(low: int, high: int | None) -> Node:
    """From `low` to `high`, both at least 0."""
    size = len(str(low))
    if high is None:
        longer = sequence(digit(1, 9), repeat(ANY_DIGIT, size, MOST_DIGITS - 1))
        return choice(of_size(low, 10**size - 1, size), longer)
    options: list[Node] = []
    for digits in range(size, len(str(high)) + 1):
        first = max(low, 10 ** (digits - 1) if digits > 1 else 0)
        options.append(of_size(first, min(high, 10**digits - 1), digits))
    return choice(*options)


def of_size(low: int, high: int, size: int) -> Node:
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
        return sequence(digit(first, last), _same_size(low[1:], high[1:], base))
    lowest, highest = (0,) * places, (base - 1,) * places
    head: Node = NEVER
    tail: Node = NEVER
    if tuple(low[1:]) != lowest:
        head = sequence(digit(first, first), _same_size(low[1:], highest, base))
        first += 1
    if tuple(high[1:]) != highest:
        tail = sequence(digit(last, last), _same_size(lowest, high[1:], base))
        last -= 1
    middle: Node = NEVER
    if first <= last:
        rest = repeat(digit(0, base - 1), places, places)
        middle = sequence(digit(first, last), rest)
    return choice(head, middle, tail)


def digit(first: int, last: int) -> Node:
    """One digit from `first` to `last`, of either case."""
    digits = [format(d, "x") for d in range(first, last + 1)]
    return one_of(characters(c for d in digits for c in (d, d.upper())))
