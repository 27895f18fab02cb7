r"""How the digits of a number stand against bounds, and against one of some numbers.

tracker = Within(Range(low=Decimal(1), high=Decimal(120)))      see `digits`
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from untemplate.constrain.digits import Form, Place
from untemplate.grammar.schema_atoms import MOST_DIGITS, Numbers, Range

__all__ = ["OneOf", "Within"]

_BEYOND = Decimal(10) ** MOST_DIGITS
_FINEST = Decimal(10) ** -MOST_DIGITS
_EXACT = Context(prec=5000)
_NEVER = 2
"""Beside -1, 0 and 1: a number has more digits than it may have."""


class Within:
    """Against a range. A place is the sign, whether all digits are 0, and those of the bounds."""

    tail = 0

    def __init__(self, atom: Range) -> None:
        ends = [(atom.low, True, atom.low_open), (atom.high, False, atom.high_open)]
        self._ends = [
            (_Bound(b, is_low=low), low, is_open) for b, low, is_open in ends if b is not None
        ]
        self.far_exponent = max((abs(b.exponent) + 1 for b, _, _ in self._ends), default=0)

    def first(self, *, negative: bool) -> Place:
        return (int(negative), 1, *(n for b, _, _ in self._ends for n in b.first()))

    def digit(self, place: Place, digit: int, size: int) -> Place:  # noqa: ARG002
        moved = list(place[:2])
        moved[1] &= digit == 0
        is_negative = bool(place[0])
        for n, (bound, _, _) in enumerate(self._ends):
            at = 2 + n * _Bound.SIZE
            own = place[at : at + _Bound.SIZE]
            moved += bound.digit(own, digit) if bound.counts(is_negative) else own
        return tuple(moved)

    def point(self, place: Place) -> Place:
        moved = list(place[:2])
        for n, (bound, _, _) in enumerate(self._ends):
            at = 2 + n * _Bound.SIZE
            moved += bound.point(place[at : at + _Bound.SIZE])
        return tuple(moved)

    def scaled(self, place: Place, size: int) -> Place:  # noqa: ARG002
        moved = list(place[:2])
        for n, (bound, _, _) in enumerate(self._ends):
            at = 2 + n * _Bound.SIZE
            moved += bound.scaled(place[at : at + _Bound.SIZE])
        return tuple(moved)

    def holds(self, place: Place, exponent: int | None = None) -> bool:
        for n, (bound, is_low, is_open) in enumerate(self._ends):
            at = 2 + n * _Bound.SIZE
            negative, zero = bool(place[0]), bool(place[1])
            order = bound.order(place[at : at + _Bound.SIZE], negative, zero, exponent)
            if order == _NEVER or (order == 0 and is_open) or (order < 0 if is_low else order > 0):
                return False
        return True

    def needs(self, place: Place, form: Form) -> int | None:
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

    def takes(self, place: Place) -> int:
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

    def counts(self, is_negative: bool) -> bool:
        """Whether more than the sign of a number decides."""
        return is_negative is self._is_below_zero and not self._is_nothing

    @property
    def most_digits(self) -> int:
        """A number with more digits before the point is larger in size."""
        return MOST_DIGITS if self._is_beyond else len(self._whole)

    def least_digits(self, is_negative: bool) -> int:
        """A number of this sign with fewer digits before the point is smaller in size."""
        # The digits of a number are not counted against a bound whose sign decides.
        return len(self._whole) if self.counts(is_negative) else 0

    def is_lost(
        self, place: Place | None, is_negative: bool, is_zero: bool, *, is_low: bool
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

    def first(self) -> Place:
        return (0, 0, 0, 0)

    def digit(self, place: Place, digit: int) -> Place:
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

    def point(self, place: Place) -> Place:
        digits, order, significant, scientific = place
        if self._is_beyond:
            return place
        return (-1, self._whole_order(digits, order), significant, scientific)

    def scaled(self, place: Place) -> Place:
        order = self._scientific(place, self.exponent)
        return (0, 0, 0, order) if order else (0, 0, len(self._digits), 0)

    def _whole_order(self, digits: int, order: int) -> int:
        return order if digits == len(self._whole) else _compare(digits, len(self._whole))

    def order(self, place: Place, is_negative: bool, is_zero: bool, exponent: int | None) -> int:
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

    def _size(self, place: Place) -> int:
        if self._is_beyond:
            return -1
        digits, order, _, _ = place
        size = order if digits < 0 else self._whole_order(digits, order)
        after = -1 - digits if digits < 0 else 0
        return -1 if not size and after < len(self._fraction) else size

    def _scientific(self, place: Place, exponent: int) -> int:
        _, _, significant, scientific = place
        if exponent != self.exponent:
            return _compare(exponent, self.exponent)
        return -1 if not scientific and significant < len(self._digits) else scientific


def _compare(a: int, b: int) -> int:
    return (a > b) - (a < b)


_NOT_IT: Place = (_NEVER, *(0 for _ in range(1 + 2 * _Bound.SIZE)))
"""In place of a member that the number can't be."""


def _moved(member: Within, place: Place, digit: int, size: int, form: Form) -> Place:
    moved = member.digit(place, digit, size)
    order = moved[5] if form == "either" else moved[3]
    return _NOT_IT if order or member.needs(moved, form) is None else moved


class OneOf:
    """One of some numbers: against each as a range of its own; those that it can't be are alike."""

    tail = 0

    def __init__(self, atom: Numbers) -> None:
        self._members = [Within(Range(m, m)) for m in atom.members]
        self.far_exponent = max((m.far_exponent for m in self._members), default=0)

    def first(self, *, negative: bool) -> Place:
        return tuple(n for m in self._members for n in m.first(negative=negative))

    def digit(self, place: Place, digit: int, size: int) -> Place:
        form: Form = "plain" if size < 0 else "either"
        return tuple(
            n
            for m, at in self._parts(place)
            for n in (_moved(m, at, digit, size, form) if at != _NOT_IT else at)
        )

    def point(self, place: Place) -> Place:
        return tuple(
            n for m, at in self._parts(place) for n in (m.point(at) if at != _NOT_IT else at)
        )

    def scaled(self, place: Place, size: int) -> Place:
        return tuple(
            n for m, at in self._parts(place) for n in (m.scaled(at, size) if at != _NOT_IT else at)
        )

    def holds(self, place: Place, exponent: int | None = None) -> bool:
        return any(at != _NOT_IT and m.holds(at, exponent) for m, at in self._parts(place))

    def needs(self, place: Place, form: Form) -> int | None:
        known = (m.needs(at, form) for m, at in self._parts(place) if at != _NOT_IT)
        return min((n for n in known if n is not None), default=None)

    def takes(self, place: Place) -> int:
        return max((m.takes(at) for m, at in self._parts(place) if at != _NOT_IT), default=0)

    def _parts(self, place: Place) -> "list[tuple[Within, Place]]":
        size = len(_NOT_IT)
        return [(m, place[n * size : (n + 1) * size]) for n, m in enumerate(self._members)]
