r"""How the digits of a number stand against what a keyword asks, one digit at a time.

What matters of the digits so far is little. Against a bound: whether they are below, equal or above
its first digits, and how many they are (`bounds`). Against `multipleOf`: a remainder (`steps`). A
*place* is that, as a tuple of a few small integers.

    tracker = Within(Range(low=Decimal(1), high=Decimal(120)))
    place = tracker.digit(tracker.first(negative=False), 2, -1)
    tracker.holds(place)                # True: 2 lies between them

Leading zeros do not come, and a sign comes before all digits. `point` is told of the decimal point,
`scaled` of a power of ten; only numbers with one digit other than 0 before the point have one.
"""

from typing import Literal, Protocol

__all__ = ["ALL_EXPONENTS", "LARGE", "MOST_PLACES", "SMALL", "Form", "Place", "Tracker"]

ALL_EXPONENTS = 999
SMALL, LARGE = 5, 16
"""Powers of ten, down and up, from which on `json.dumps` writes an exponent."""
MOST_PLACES = 16
"""Most digits after the point that it writes then."""

Place = tuple[int, ...]

Form = Literal["plain", "either", "scaled"]
"""Whether an exponent can't come, may come, or has begun."""


class Tracker(Protocol):
    """One keyword."""

    @property
    def tail(self) -> int:
        """So many digits after any others always reach an end, if one can be reached."""
        ...

    @property
    def far_exponent(self) -> int:
        """All powers of ten from here on, up or down, are alike."""
        ...

    def first(self, *, negative: bool) -> Place:
        """Before the first digit."""
        ...

    def digit(self, place: Place, digit: int, size: int) -> Place:
        """After one more digit; `size`: digits behind the point, -1 if no exponent may come."""
        ...

    def point(self, place: Place) -> Place:
        """After the decimal point."""
        ...

    def scaled(self, place: Place, size: int) -> Place | None:
        """What matters once an exponent has begun; None: with none the keyword can hold."""
        ...

    def holds(self, place: Place, exponent: int | None = None) -> bool:
        """Whether the number may end here; with the power of ten that ends it, if it has one."""
        ...

    def needs(self, place: Place, form: Form) -> int | None:
        """So many digits at least are missing; None: nothing helps."""
        ...

    def takes(self, place: Place) -> int:
        """After more further digits before the point nothing helps."""
        ...
