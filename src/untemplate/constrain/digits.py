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

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Literal, Protocol

from untemplate.grammar.schema_atoms import MOST_DIGITS, Multiple, Numbers, Range, Whole

__all__ = ["ALL_EXPONENTS", "Form", "Tracker", "tracker_of"]

_BEYOND = Decimal(10) ** MOST_DIGITS
_FINEST = Decimal(10) ** -MOST_DIGITS
_EXACT = Context(prec=5000)
_NEVER = 2
"""Beside -1, 0 and 1: a number has more digits than it may have."""
ALL_EXPONENTS = 999
_SMALL, _LARGE = 5, 16
"""Powers of ten, down and up, from which on `json.dumps` writes an exponent."""
_MOST_PLACES = 16
"""Most digits after the point that it writes then."""
_MOST_MANTISSAS = 16
"""With a larger step a multiple has no exponent."""
_FAR = _MOST_PLACES + 8
"""From this power of ten on every mantissa has more zeros behind it than such a step has twos."""

_Place = tuple[int, ...]


Form = Literal["plain", "either", "scaled"]
"""Whether an exponent can't come, may come, or has begun."""


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

    def needs(self, place: _Place, form: Form) -> int | None:
        """So many digits at least are missing; None: nothing helps."""
        ...

    def takes(self, place: _Place) -> int:
        """After more further digits before the point nothing helps."""
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

    def needs(self, place: _Place, form: Form) -> int | None:  # noqa: ARG002
        return 0 if place[0] else None

    def takes(self, place: _Place) -> int:  # noqa: ARG002
        return MOST_DIGITS


class _Within:
    """Against a range. A place is the sign, whether all digits are 0, and those of the bounds."""

    tail = 0

    def __init__(self, atom: Range) -> None:
        ends = [(atom.low, True, atom.low_open), (atom.high, False, atom.high_open)]
        self._ends = [
            (_Bound(b, is_low=low), low, is_open) for b, low, is_open in ends if b is not None
        ]
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
            if order == _NEVER or (order == 0 and is_open) or (order < 0 if is_low else order > 0):
                return False
        return True

    def needs(self, place: _Place, form: Form) -> int | None:
        negative, zero = bool(place[0]), bool(place[1])
        for n, (bound, is_low, _) in enumerate(self._ends):
            at = 2 + n * _Bound.SIZE
            digits = place[at : at + _Bound.SIZE] if form == "plain" else None
            if bound.is_lost(digits, negative, zero, is_low=is_low):
                return None
        if form != "plain":
            return 0
        is_negative = bool(place[0])
        missing = [
            bound.least_digits(is_negative) - place[2 + n * _Bound.SIZE]
            for n, (bound, is_low, _) in enumerate(self._ends)
            if is_low is not is_negative and place[2 + n * _Bound.SIZE] >= 0
        ]
        return max(missing, default=0)

    def takes(self, place: _Place) -> int:
        is_negative = bool(place[0])
        mosts = [
            bound.most_digits - place[2 + n * _Bound.SIZE]
            for n, (bound, is_low, _) in enumerate(self._ends)
            if is_low is is_negative and place[2 + n * _Bound.SIZE] >= 0
        ]
        return min(mosts, default=MOST_DIGITS)


class _Bound:
    """Compares the size of a number to that of a bound.

    A place is (digits, order, significant, scientific). Before the point, `digits` is how many
    there were and `order` how they compare to as many of the bound; after it, -1 - (digits after
    it) and how all compare. `significant` counts digits from the first on, and `scientific` is how
    they compare to those of the bound: what counts where the powers of ten are equal.

    Plain numbers have `MOST_DIGITS` digits on each side of the point, bounds may have more: they
    are compared to the last such number within, or are beyond all of them.
    """

    SIZE = 4

    def __init__(self, value: Decimal, *, is_low: bool) -> None:
        rounding = ROUND_CEILING if is_low else ROUND_FLOOR
        plain = value.quantize(_FINEST, rounding, _EXACT) if value.copy_abs() < _BEYOND else value
        self._inside = 0 if plain == value else 1 if is_low else -1
        """How a plain number that equals the one compared to stands against the bound."""
        whole, _, fraction = format(plain.copy_abs(), "f").partition(".")
        self._whole = [int(d) for d in whole.lstrip("0") or "0"]
        self._fraction = [int(d) for d in fraction.rstrip("0")]
        self._is_beyond = len(self._whole) > MOST_DIGITS
        self._is_negative = plain < 0
        self._is_zero = plain == 0
        self._is_below_zero = value < 0
        self._is_nothing = value == 0
        self._digits = [int(d) for d in format(value.copy_abs(), "f").replace(".", "").strip("0")]
        self.exponent = value.adjusted() if value else 0

    @property
    def is_long(self) -> bool:
        """Whether a number needs nearly all digits that it may have to be told from the bound."""
        return max(len(self._whole), len(self._fraction)) > MOST_DIGITS - 5

    @property
    def most_digits(self) -> int:
        """A number with more digits before the point is larger in size."""
        return MOST_DIGITS if self._is_beyond else len(self._whole)

    def least_digits(self, is_negative: bool) -> int:
        """A number of this sign with fewer digits before the point is smaller in size."""
        return len(self._whole) if is_negative is self._is_negative else 0

    def is_lost(
        self, place: _Place | None, is_negative: bool, is_zero: bool, *, is_low: bool
    ) -> bool:
        """Whether no further digit brings the number to the right side of the bound.

        Without a place only the sign is looked at, as an exponent may change the size.
        """
        if self._is_nothing or is_negative != self._is_below_zero:
            # Zero may stay zero, on the side of its sign.
            is_wrong = is_low if is_negative else not is_low
            return is_wrong and not (is_zero and self._is_nothing)
        if place is None or self._is_zero:
            return False
        digits, order, _, _ = place
        is_larger = order > 0 and not 0 <= digits < len(self._whole)
        is_smaller = digits < 0 and order < 0
        return is_larger if is_low is is_negative else is_smaller

    def first(self) -> _Place:
        return (0, 0, 0, 0)

    def digit(self, place: _Place, digit: int) -> _Place:
        digits, order, significant, scientific = place
        if not scientific:
            mine = self._digits[significant] if significant < len(self._digits) else 0
            scientific = _compare(digit, mine)
        significant = 0 if scientific else min(significant + 1, len(self._digits))
        if self._is_beyond:
            return (0, 0, significant, scientific)
        if digits < 0:
            at = -1 - digits
            if order:
                return (-1, order, significant, scientific)
            if at >= len(self._fraction):
                order = (digit > 0) * (_NEVER if at >= MOST_DIGITS else 1)
                return (-1 if digit else digits, order, significant, scientific)
            order = _compare(digit, self._fraction[at])
            return (-1 if order else digits - 1, order, significant, scientific)
        if digits >= len(self._whole):
            order = _NEVER if len(self._whole) == MOST_DIGITS else 1
            return (len(self._whole) + 1, order, significant, scientific)
        order = order or _compare(digit, self._whole[digits])
        return (digits + 1, order, significant, scientific)

    def point(self, place: _Place) -> _Place:
        digits, order, significant, scientific = place
        if self._is_beyond:
            return place
        return (-1, self._whole_order(digits, order), significant, scientific)

    def _whole_order(self, digits: int, order: int) -> int:
        return order if digits == len(self._whole) else _compare(digits, len(self._whole))

    def order(self, place: _Place, is_negative: bool, is_zero: bool, exponent: int | None) -> int:
        """The number against the bound: -1, 0, 1, or `_NEVER` if it has too many digits."""
        if exponent is not None:
            if self._is_nothing or is_negative != self._is_below_zero:
                return -1 if is_negative else 1
            size = self._scientific(place, exponent)
            return -size if is_negative else size
        if is_zero and self._is_zero:
            return self._inside
        if self._is_zero or (is_negative != self._is_negative and not is_zero):
            return -1 if is_negative else 1
        if is_zero:
            return 1 if self._is_negative else -1
        size = self._size(place)
        if size == _NEVER:
            return _NEVER
        return (-size if is_negative else size) or self._inside

    def _size(self, place: _Place) -> int:
        if self._is_beyond:
            return -1
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

    A place is (remainder, digits after the point, mantissa, its places, most of them). The second
    is -1 before the point. The mantissa is the remainder of the digits as if no point were among
    them, which counts where an exponent follows; it is -1 where none can.
    """

    def __init__(self, atom: Multiple, largest: tuple[int, int]) -> None:
        """`largest`: highest power of ten of a number that is positive, or negative."""
        self._step, self._places = atom.scaled
        self.tail = len(str(self._step)) + self._places
        self.far_exponent = _FAR if self._step <= _MOST_MANTISSAS else None
        small = self._places - _SMALL
        # So near to the first of these powers few mantissas are left: not worth the search.
        self._most = tuple(_MOST_PLACES if most >= _LARGE + 4 else small for most in largest)
        self._odd = self._step
        for factor in (2, 5):
            while self._odd % factor == 0:
                self._odd //= factor

    def first(self, *, negative: bool) -> _Place:
        most = -1 if self.far_exponent is None else self._most[negative]
        return (0, -1, 0, -1, most)

    def digit(self, place: _Place, digit: int) -> _Place:
        rest, after, mantissa, places, most = place
        step = self._step
        # Only one digit, not 0, may stand before the point of a number with an exponent.
        is_short = places < most and (after >= 0 or (places < 0 and digit > 0))
        mantissa = (mantissa * 10 + digit) % step if is_short and mantissa >= 0 else -1
        places = places + 1 if mantissa >= 0 else 0
        if after < 0:
            return ((rest * 10 + digit * int(10**self._places)) % step, -1, mantissa, places, most)
        if rest < 0 or (after >= self._places and digit):
            return (-1, 0, mantissa, places, most)
        if after >= self._places:
            return (rest, after, mantissa, places, most)
        weight = int(10 ** (self._places - after - 1))
        return ((rest + digit * weight) % step, after + 1, mantissa, places, most)

    def point(self, place: _Place) -> _Place:
        return (place[0], 0, *place[2:])

    def holds(self, place: _Place, exponent: int | None = None) -> bool:
        rest, _, mantissa, places, _ = place
        if exponent is None:
            return rest == 0
        zeros = exponent - places + self._places
        if mantissa < 0 or zeros < 0 or -_SMALL < exponent < _LARGE:
            return False
        return mantissa * pow(10, zeros, self._step) % self._step == 0

    def needs(self, place: _Place, form: Form) -> int | None:
        rest, after, mantissa, places, most = place
        # An exponent multiplies by 2 and 5 alone.
        is_open = mantissa >= 0 and (mantissa % self._odd == 0 or places < most)
        is_scaled = mantissa >= 0 and mantissa % self._odd == 0 if form == "scaled" else is_open
        if (form == "scaled" or rest < 0) and (form == "plain" or not is_scaled):
            return None
        if form == "plain" and after >= self._places and rest:
            return None
        if self._places or after >= 0 or (form != "plain" and is_open):
            return 0
        # The multiples within the numbers that so many digits more may make.
        return next(n for n in range(self.tail + 1) if -rest * 10**n % self._step < 10**n)

    def takes(self, place: _Place) -> int:  # noqa: ARG002
        return MOST_DIGITS


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

    def needs(self, place: _Place, form: Form) -> int | None:
        known = (m.needs(at, form) for m, at in self._parts(place))
        return min((n for n in known if n is not None), default=None)

    def takes(self, place: _Place) -> int:
        return max(m.takes(at) for m, at in self._parts(place))

    def _parts(self, place: _Place) -> "list[tuple[_Within, _Place]]":
        size = 2 + 2 * _Bound.SIZE
        return [(m, place[n * size : (n + 1) * size]) for n, m in enumerate(self._members)]


def tracker_of(atom: object, largest: tuple[int, int]) -> Tracker:
    """The tracker of one atom.

    `largest` is the highest power of ten of a number that is positive, or negative, as far as
    other keywords say.
    """
    match atom:
        case Whole():
            return _IsWhole()
        case Range():
            return _Within(atom)
        case Multiple():
            return _Steps(atom, largest)
        case Numbers():
            return _OneOf(atom)
        case _:
            raise AssertionError(atom)
