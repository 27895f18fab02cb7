r"""How the digits of a number stand against what a keyword asks, one digit at a time.

What matters of the digits so far is little. Against a bound: whether they are below, equal or above
its first digits, and how many they are. Against `multipleOf`: a remainder. A *place* is that, as a
tuple of a few small integers.

    tracker = tracker_of(Range(low=Decimal(1), high=Decimal(120)))
    place = tracker.digit(tracker.first(negative=False), 2)
    tracker.holds(place)                # True: 2 lies between them

Leading zeros do not come, and a sign comes before all digits. `point` is told of the decimal point,
`exponent` of a power of ten; only numbers with one digit other than 0 before the point have one.
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

    @property
    def tail(self) -> int:
        """So many digits after any others always reach an end, if one can be reached."""
        ...

    @property
    def far_exponent(self) -> int | None:
        """All powers of ten from here on, up or down, are alike; None: there must be none."""
        ...

    def first(self, *, negative: bool) -> _Place:
        """Before the first digit."""
        ...

    def digit(self, place: _Place, digit: int) -> _Place:
        """After one more digit."""
        ...

    def point(self, place: _Place) -> _Place:
        """After the decimal point."""
        ...

    def holds(self, place: _Place, exponent: int | None = None) -> bool:
        """Whether the number may end here; with the power of ten that ends it, if it has one."""
        ...


class _IsWhole:
    """Without a fraction. A place is whether there was none so far, and whether a point was."""

    tail = 0
    far_exponent = None

    def first(self, *, negative: bool) -> _Place:  # noqa: ARG002  as for all trackers
        return (1, 0)

    def digit(self, place: _Place, digit: int) -> _Place:
        return (0, 1) if place[1] and digit else place

    def point(self, place: _Place) -> _Place:
        return (place[0], 1)

    def holds(self, place: _Place, exponent: int | None = None) -> bool:  # noqa: ARG002
        return place[0] == 1


class _Within:
    """Against a range. A place is the sign, whether all digits are 0, and those of the bounds."""

    tail = 0

    def __init__(self, atom: Range) -> None:
        ends = [(atom.low, True, atom.low_open), (atom.high, False, atom.high_open)]
        self._ends = [(_Bound(b), low, is_open) for b, low, is_open in ends if b is not None]
        self.far_exponent = max((abs(b.exponent) + 1 for b, _, _ in self._ends), default=0)

    def first(self, *, negative: bool) -> _Place:
        return (int(negative), 1, *(n for b, _, _ in self._ends for n in b.first()))

    def digit(self, place: _Place, digit: int) -> _Place:
        moved = list(place[:2])
        moved[1] &= digit == 0
        for n, (bound, _, _) in enumerate(self._ends):
            at = 2 + n * _Bound.SIZE
            moved += bound.digit(place[at : at + _Bound.SIZE], digit)
        return tuple(moved)

    def point(self, place: _Place) -> _Place:
        moved = list(place[:2])
        for n, (bound, _, _) in enumerate(self._ends):
            at = 2 + n * _Bound.SIZE
            moved += bound.point(place[at : at + _Bound.SIZE])
        return tuple(moved)

    def holds(self, place: _Place, exponent: int | None = None) -> bool:
        for n, (bound, is_low, is_open) in enumerate(self._ends):
            at = 2 + n * _Bound.SIZE
            negative, zero = bool(place[0]), bool(place[1])
            order = bound.order(place[at : at + _Bound.SIZE], negative, zero, exponent)
            if (order == 0 and is_open) or (order < 0 if is_low else order > 0):
                return False
        return True


class _Bound:
    """Compares the size of a number to that of a bound.

    A place is (digits, order, significant, scientific). Before the point, `digits` is how many
    there were and `order` how they compare to as many of the bound; after it, -1 - (digits after
    it) and how all compare. `significant` counts digits from the first on, and `scientific` is how
    they compare to those of the bound: what counts where the powers of ten are equal.
    """

    SIZE = 4

    def __init__(self, value: Decimal) -> None:
        whole, _, fraction = format(abs(value), "f").partition(".")
        self._whole = [int(d) for d in whole.lstrip("0") or "0"]
        self._fraction = [int(d) for d in fraction.rstrip("0")]
        self._is_negative = value < 0
        self._is_zero = value == 0
        self._digits = [int(d) for d in (whole + fraction).strip("0")]
        self.exponent = value.adjusted() if value else 0
        if max(len(self._whole), len(self._fraction)) > _MOST_BOUND:
            raise LimitError(f"a bound has more than {_MOST_BOUND} digits")

    def first(self) -> _Place:
        return (0, 0, 0, 0)

    def digit(self, place: _Place, digit: int) -> _Place:
        digits, order, significant, scientific = place
        if not scientific:
            mine = self._digits[significant] if significant < len(self._digits) else 0
            scientific = _compare(digit, mine)
        significant = 0 if scientific else min(significant + 1, len(self._digits))
        if digits < 0:
            at = -1 - digits
            if order:
                return (-1, order, significant, scientific)
            if at >= len(self._fraction):
                return (-1 if digit else digits, int(digit > 0), significant, scientific)
            order = _compare(digit, self._fraction[at])
            return (-1 if order else digits - 1, order, significant, scientific)
        if digits >= len(self._whole):
            return (len(self._whole) + 1, 1, significant, scientific)
        order = order or _compare(digit, self._whole[digits])
        return (digits + 1, order, significant, scientific)

    def point(self, place: _Place) -> _Place:
        digits, order, significant, scientific = place
        return (-1, self._whole_order(digits, order), significant, scientific)

    def _whole_order(self, digits: int, order: int) -> int:
        return order if digits == len(self._whole) else _compare(digits, len(self._whole))

    def order(self, place: _Place, is_negative: bool, is_zero: bool, exponent: int | None) -> int:
        """-1, 0 or 1: the number against the bound."""
        if is_zero:
            return 0 if self._is_zero else 1 if self._is_negative else -1
        if self._is_zero or is_negative != self._is_negative:
            return -1 if is_negative else 1
        size = self._size(place) if exponent is None else self._scientific(place, exponent)
        return -size if is_negative else size

    def _size(self, place: _Place) -> int:
        digits, order, _, _ = place
        size = order if digits < 0 else self._whole_order(digits, order)
        after = -1 - digits if digits < 0 else 0
        return -1 if not size and after < len(self._fraction) else size

    def _scientific(self, place: _Place, exponent: int) -> int:
        _, _, significant, scientific = place
        if exponent != self.exponent:
            return _compare(exponent, self.exponent)
        return -1 if not scientific and significant < len(self._digits) else scientific


def _compare(a: int, b: int) -> int:
    return (a > b) - (a < b)


class _Steps:
    """Against `multipleOf`: the remainder of the digits, scaled so that the step is whole.

    A place is (remainder, digits after the point), the latter -1 before it.
    """

    far_exponent = None

    def __init__(self, step: Decimal) -> None:
        _, digits, exponent = step.normalize().as_tuple()
        assert isinstance(exponent, int)
        self._places = max(-exponent, 0)
        self._step = int("".join(map(str, digits))) * 10 ** int(max(exponent, 0))
        self.tail = len(str(self._step)) + self._places
        if self._step > _MOST_STEP or self.tail > _MOST_BOUND:
            raise LimitError(f"multipleOf {step} has more than {_MOST_STEP} remainders")

    def first(self, *, negative: bool) -> _Place:  # noqa: ARG002  as for all trackers
        return (0, -1)

    def digit(self, place: _Place, digit: int) -> _Place:
        rest, after = place
        if after < 0:
            return ((rest * 10 + digit * int(10**self._places)) % self._step, -1)
        if rest < 0 or (after >= self._places and digit):
            return (-1, 0)
        if after >= self._places:
            return place
        weight = int(10 ** (self._places - after - 1))
        return ((rest + digit * weight) % self._step, after + 1)

    def point(self, place: _Place) -> _Place:
        return (place[0], 0)

    def holds(self, place: _Place, exponent: int | None = None) -> bool:  # noqa: ARG002
        return place[0] == 0


class _OneOf:
    """One of some numbers: against each as a range of its own."""

    tail = 0

    def __init__(self, atom: Numbers) -> None:
        self._members = [_Within(Range(m, m)) for m in atom.members]
        self.far_exponent = max((m.far_exponent for m in self._members), default=0)

    def first(self, *, negative: bool) -> _Place:
        return tuple(n for m in self._members for n in m.first(negative=negative))

    def digit(self, place: _Place, digit: int) -> _Place:
        return tuple(n for m, at in self._parts(place) for n in m.digit(at, digit))

    def point(self, place: _Place) -> _Place:
        return tuple(n for m, at in self._parts(place) for n in m.point(at))

    def holds(self, place: _Place, exponent: int | None = None) -> bool:
        return any(m.holds(at, exponent) for m, at in self._parts(place))

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
