r"""How the digits of a number stand against what a keyword asks, one digit at a time.

What matters of the digits so far is little. Against a bound: whether they are below, equal or above
its first digits, and how many they are. Against `multipleOf`: a remainder. A *place* is that, as a
tuple of a few small integers.

    tracker = tracker_of(Range(low=Decimal(1), high=Decimal(120)))
    place = tracker.digit(tracker.first(negative=False), 2, fraction=0)
    tracker.holds(place)                # True: 2 lies between them

Leading zeros do not come, and a sign comes before all digits. `point` is told of the decimal point.
"""

from decimal import Decimal
from typing import Protocol

from untemplate.errors import LimitError
from untemplate.grammar.schema_atoms import Multiple, Numbers, Range, Whole

__all__ = ["MOST_DIGITS", "Tracker", "tracker_of"]

MOST_DIGITS = 40
"""Most digits before the point, and after it."""
_MOST_BOUND = 35
_MOST_STEP = 1_000_000

_Place = tuple[int, ...]


class Tracker(Protocol):
    """One keyword."""

    def first(self, *, negative: bool) -> _Place:
        """Before the first digit."""
        ...

    def digit(self, place: _Place, digit: int, *, fraction: int) -> _Place:
        """After one more digit; `fraction` counts those after the point, 0 before it."""
        ...

    def point(self, place: _Place) -> _Place:
        """After the decimal point."""
        ...

    def holds(self, place: _Place) -> bool:
        """Whether the number may end here."""
        ...


class _IsWhole:
    """Without a fraction; the place is whether there was none so far."""

    def first(self, *, negative: bool) -> _Place:  # noqa: ARG002  as for all trackers
        return (1,)

    def digit(self, place: _Place, digit: int, *, fraction: int) -> _Place:
        return (0,) if fraction and digit else place

    def point(self, place: _Place) -> _Place:
        return place

    def holds(self, place: _Place) -> bool:
        return place == (1,)


class _Within:
    """Against a range. A place is the sign, whether all digits are 0, and that of each bound."""

    def __init__(self, atom: Range) -> None:
        ends = [(atom.low, True, atom.low_open), (atom.high, False, atom.high_open)]
        self._ends = [(_Bound(b), low, is_open) for b, low, is_open in ends if b is not None]

    def first(self, *, negative: bool) -> _Place:
        return (int(negative), 1, *(0 for _ in self._ends for _ in range(_Bound.SIZE)))

    def digit(self, place: _Place, digit: int, *, fraction: int) -> _Place:
        negative, zero, *rest = place
        moved = (b.digit(*at, digit, fraction) for (b, _, _), at in self._parts(rest))
        return (negative, int(zero and not digit), *(n for part in moved for n in part))

    def point(self, place: _Place) -> _Place:
        moved = (b.point(*at) for (b, _, _), at in self._parts(place[2:]))
        return (*place[:2], *(n for part in moved for n in part))

    def holds(self, place: _Place) -> bool:
        negative, zero, *rest = place
        for (bound, is_low, is_open), at in self._parts(rest):
            order = bound.order(*at, is_negative=bool(negative), is_zero=bool(zero))
            if order == 0 and is_open:
                return False
            if (order < 0) if is_low else (order > 0):
                return False
        return True

    def _parts(
        self, rest: "list[int] | _Place"
    ) -> "list[tuple[tuple[_Bound, bool, bool], tuple[int, int]]]":
        return [(end, (rest[2 * n], rest[2 * n + 1])) for n, end in enumerate(self._ends)]


class _Bound:
    """Compares the size of a number to that of a bound.

    A place is (digits, order). Before the point: how many digits there were, and how they compare
    to as many of the bound. After it: -1 - (digits after it), and how all compare.
    """

    SIZE = 2

    def __init__(self, value: Decimal) -> None:
        whole, _, fraction = format(abs(value), "f").partition(".")
        self._whole = [int(d) for d in whole.lstrip("0") or "0"]
        self._fraction = [int(d) for d in fraction.rstrip("0")]
        self._is_negative = value < 0
        self._is_zero = value == 0
        if max(len(self._whole), len(self._fraction)) > _MOST_BOUND:
            raise LimitError(f"a bound has more than {_MOST_BOUND} digits")

    def digit(self, digits: int, order: int, digit: int, fraction: int) -> tuple[int, int]:
        if fraction:
            at = -1 - digits
            if not order and at >= len(self._fraction):
                return (-1, 1) if digit else (digits, 0)
            if order:
                return -1, order
            return digits - 1, _compare(digit, self._fraction[at])
        if digits >= len(self._whole):
            return len(self._whole) + 1, 1
        return digits + 1, order or _compare(digit, self._whole[digits])

    def point(self, digits: int, order: int) -> tuple[int, int]:
        return -1, self._whole_order(digits, order)

    def _whole_order(self, digits: int, order: int) -> int:
        return order if digits == len(self._whole) else _compare(digits, len(self._whole))

    def order(self, digits: int, order: int, *, is_negative: bool, is_zero: bool) -> int:
        """-1, 0 or 1: the number against the bound."""
        if is_zero:
            if self._is_zero:
                return 0
            return 1 if self._is_negative else -1
        if is_negative != self._is_negative:
            return -1 if is_negative else 1
        size = order if digits < 0 else self._whole_order(digits, order)
        after = -1 - digits if digits < 0 else 0
        if not size and after < len(self._fraction):
            size = -1
        return -size if is_negative else size


def _compare(a: int, b: int) -> int:
    return (a > b) - (a < b)


class _Steps:
    """Against `multipleOf`: the remainder of the digits, scaled so that the step is whole."""

    def __init__(self, step: Decimal) -> None:
        _, digits, exponent = step.normalize().as_tuple()
        assert isinstance(exponent, int)
        self._places = max(-exponent, 0)
        self._step = int("".join(map(str, digits))) * 10 ** int(max(exponent, 0))
        if self._step > _MOST_STEP or self._places > _MOST_BOUND:
            raise LimitError(f"multipleOf {step} has more than {_MOST_STEP} remainders")

    def first(self, *, negative: bool) -> _Place:  # noqa: ARG002  as for all trackers
        return (0,)

    def digit(self, place: _Place, digit: int, *, fraction: int) -> _Place:
        at = place[0]
        if at < 0 or (fraction > self._places and digit):
            return (-1,)
        if fraction:
            weight = int(10 ** max(self._places - fraction, 0))
            return ((at + digit * weight) % self._step,)
        return ((at * 10 + digit * int(10**self._places)) % self._step,)

    def point(self, place: _Place) -> _Place:
        return place

    def holds(self, place: _Place) -> bool:
        return place == (0,)


class _OneOf:
    """One of some numbers: against each as a range of its own."""

    def __init__(self, atom: Numbers) -> None:
        self._members = [_Within(Range(m, m)) for m in atom.members]

    def first(self, *, negative: bool) -> _Place:
        return tuple(n for m in self._members for n in m.first(negative=negative))

    def digit(self, place: _Place, digit: int, *, fraction: int) -> _Place:
        parts = self._parts(place)
        return tuple(n for m, at in parts for n in m.digit(at, digit, fraction=fraction))

    def point(self, place: _Place) -> _Place:
        return tuple(n for m, at in self._parts(place) for n in m.point(at))

    def holds(self, place: _Place) -> bool:
        return any(m.holds(at) for m, at in self._parts(place))

    def _parts(self, place: _Place) -> "list[tuple[_Within, _Place]]":
        size = 2 + 2 * _Bound.SIZE
        return [(m, place[n * size : (n + 1) * size]) for n, m in enumerate(self._members)]


def tracker_of(atom: object) -> Tracker:
    """The tracker of one atom."""
    match atom:
        case Whole():
            return _IsWhole()
        case Range():
            return _Within(atom)
        case Multiple(step):
            return _Steps(step)
        case Numbers():
            return _OneOf(atom)
        case _:
            raise AssertionError(atom)
