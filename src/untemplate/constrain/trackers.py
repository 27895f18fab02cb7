"""The trackers of number keywords, and how far an exponent may follow beside them."""

from math import lcm

from untemplate.constrain.bounds import OneOf, Within
from untemplate.constrain.digits import ALL_EXPONENTS, LARGE, MOST_PLACES, Tracker
from untemplate.constrain.steps import IsWhole, Steps
from untemplate.grammar.schema_atoms import MOST_DIGITS, Multiple, Numbers, Range, Whole
from untemplate.grammar.schema_formula import Formula

__all__ = ["most_places", "tracker_of"]

_MOST_ODD, _MOST = 16, 400
"""Steps with a larger common multiple, or with one beside 2s and 5s, have no exponents."""


def tracker_of(atom: object) -> Tracker:
    """The tracker of one atom."""
    match atom:
        case Whole():
            return IsWhole()
        case Range():
            return Within(atom)
        case Multiple():
            return Steps(atom)
        case Numbers():
            return OneOf(atom)
        case _:
            raise AssertionError(atom)


def most_places(trackers: tuple[Tracker, ...], top: tuple[Formula, ...]) -> tuple[int, int]:
    """Most digits behind the point of a number with an exponent, positive or negative.

    `top` is what has to hold of all numbers. -1 where there is no exponent, `MOST_DIGITS` where
    digits are not counted. So near to the first of the large powers of ten few multiples are left:
    not worth the search.
    """
    steps = [t for t in trackers if isinstance(t, Steps)]
    is_many = lcm(*(t.odd for t in steps)) > _MOST_ODD or lcm(*(t.step for t in steps)) > _MOST
    if Whole() in top or is_many:
        return -1, -1
    if not steps:
        counts = any(isinstance(t, IsWhole) for t in trackers)
        return (MOST_PLACES, MOST_PLACES) if counts else (MOST_DIGITS, MOST_DIGITS)
    small = max(*(t.most_small for t in steps), -1)
    high, low = (MOST_PLACES if most >= LARGE + 4 else small for most in _largest(top))
    return high, low


def _largest(top: tuple[Formula, ...]) -> tuple[int, int]:
    """The highest powers of ten of positive and of negative numbers within some bounds."""
    ranges = [a for a in top if isinstance(a, Range)]
    highs = [a.high.adjusted() for a in ranges if a.high is not None]
    lows = [a.low.adjusted() for a in ranges if a.low is not None]
    return min(highs, default=ALL_EXPONENTS), min(lows, default=ALL_EXPONENTS)
