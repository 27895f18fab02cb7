r"""Numbers with a fraction between two bounds, digit by digit.

    decimals(0 to 1.5)   "0" ("." [0-9]+)? | "1" ("." ([0-4] [0-9]* | "5" "0"*))? | ... "e-" ...

A number is a plain decimal, or in the scientific form that `json.dumps` writes: one digit other
than zero before the point, and an exponent of at most three digits. Digits behind the point are
compared with those of the bounds as long as they equal them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from untemplate.grammar.export.digits import (
    ANY_DIGIT,
    Interval,
    digit,
    naturals,
    of_size,
    signed,
)
from untemplate.grammar.export.rules import (
    EMPTY,
    NEVER,
    Literal,
    Node,
    characters,
    choice,
    optional,
    repeat,
    sequence,
)
from untemplate.grammar.schema_atoms import MOST_DIGITS

__all__ = ["decimals", "places", "scaled_places"]

_MOST_EXPONENT = 999
_ONE = Interval(Decimal(1), Decimal(10), high_open=True)


def decimals(interval: Interval) -> Node:
    """The numbers of an interval."""
    return signed(interval, lambda i: choice(_plain(i.written_out), *_scientific(i)))


def _plain(interval: Interval) -> Node:
    """Those without an exponent."""
    is_beyond = interval.low is not None and interval.low >= Decimal(10) ** MOST_DIGITS
    return NEVER if is_beyond or interval.is_empty else _magnitudes(interval)


def places(most: int) -> Node:
    """What may follow an integer: at most so many places, then zeros."""
    zeros = repeat(Literal("0"), 0, MOST_DIGITS - most)
    if not most:
        return optional(sequence(Literal(".0"), repeat(Literal("0"), 0, MOST_DIGITS - 1)))
    return optional(sequence(Literal("."), repeat(ANY_DIGIT, 1, most), zeros))


def scaled_places(most: int) -> Node:
    """Positive numbers with an exponent, as `json.dumps` writes it, and so many places at most."""
    one = digit(1, 9)
    large = sequence(one, _some_places(16), _exponent(16, _MOST_EXPONENT))
    small = (sequence(one, _some_places(most - e), _exponent(-e, -e)) for e in range(5, most + 1))
    return choice(large, *small)


def _some_places(most: int) -> Node:
    return optional(sequence(Literal("."), repeat(ANY_DIGIT, 1, most))) if most else EMPTY


def _scientific(interval: Interval) -> Iterator[Node]:
    """The positive numbers of an interval with an exponent."""
    low, high = interval.low, interval.high
    assert low is not None
    if high == 0:
        return
    first = low.adjusted() if low else -_MOST_EXPONENT - 1
    last = _MOST_EXPONENT + 1 if high is None else high.adjusted()
    if first == last:
        assert high is not None
        digits = replace(interval, low=low.scaleb(-first), high=high.scaleb(-last))
        yield sequence(_magnitudes(digits), _exponent(first, first))
        return
    if low:
        digits = _ONE.above(low.scaleb(-first), is_open=interval.low_open)
        yield sequence(_magnitudes(digits), _exponent(first, first))
    yield sequence(_magnitudes(_ONE), _exponent(first + 1, last - 1))
    if high is not None:
        digits = Interval(Decimal(1), high.scaleb(-last), high_open=interval.high_open)
        if not digits.is_empty:
            yield sequence(_magnitudes(digits), _exponent(last, last))


def _exponent(first: int, last: int) -> Node:
    """The exponents from `first` to `last`, in up to three digits."""
    first, last = max(first, -_MOST_EXPONENT), min(last, _MOST_EXPONENT)
    if first > last:
        return NEVER
    below = _padded(max(-last, 0), -first) if first <= 0 else NEVER
    above = _padded(max(first, 0), last) if last >= 0 else NEVER
    signs = choice(sequence(Literal("-"), below), sequence(optional(Literal("+")), above))
    return sequence(characters("eE"), signs)


def _padded(first: int, last: int) -> Node:
    """From `first` to `last` in one to three digits, zeros in front."""
    return choice(
        *(of_size(first, min(last, 10**n - 1), n) for n in (1, 2, 3) if first <= 10**n - 1)
    )


def _magnitudes(interval: Interval) -> Node:
    """The decimals of an interval that has no negative numbers."""
    low, high = interval.low, interval.high
    assert low is not None
    first, last = int(low), None if high is None else int(high)
    if first == last:
        return sequence(naturals(first, first), _fraction(low, high, interval))
    between = (
        naturals(first + 1, None if last is None else last - 1) if first + 1 != last else NEVER
    )
    return choice(
        sequence(naturals(first, first), _fraction(low, None, interval)),
        sequence(between, _fraction(None, None, interval)),
        NEVER if last is None else sequence(naturals(last, last), _fraction(None, high, interval)),
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
            return repeat(ANY_DIGIT, 0 if stops else 1, left)
        ends = (self.low or "", self.high or "")
        if at >= max(map(len, ends)):
            return self._beyond(left, stops=stops)
        options: list[Node] = [EMPTY] if stops and self.may_stop(at) else []
        first = int((self.low or "")[at : at + 1] or 0) if self.low is not None else 0
        last = int((self.high or "")[at : at + 1] or 0) if self.high is not None else 9
        inner = [d for d in range(first, last + 1) if d not in self._tight(first, last)]
        if inner:
            rest = repeat(ANY_DIGIT, 0, left - 1)
            options.append(sequence(digit(inner[0], inner[-1]), rest))
        for edge in dict.fromkeys(self._tight(first, last)):
            if first <= edge <= last:
                tight = replace(
                    self,
                    low=self.low if edge == first else None,
                    high=self.high if edge == last else None,
                )
                options.append(sequence(digit(edge, edge), tight.from_(at + 1, stops=True)))
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
        return sequence(zeros, digit(1, 9), repeat(ANY_DIGIT, 0, left - 1))
