r"""Formulas over number keywords, simplified by what arithmetic knows and digits don't show.

    simplify(All((Multiple(4), Multiple(6))))          -> Multiple(12)
    simplify(All((Multiple(6), Not(Multiple(3)))))     -> False
    simplify(All((Multiple(50), Range(1, 99))))        -> Numbers((50,))

A formula becomes a choice of *terms*, conjunctions of keywords and of what must not hold. A term
that no number satisfies is left out: to find that digit by digit would take a walk through all
remainders. Formulas with very many terms stay as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor, lcm

from untemplate.constrain.verdicts import Verdicts, top_parts
from untemplate.grammar.schema_atoms import Multiple, Numbers, Range, Whole
from untemplate.grammar.schema_formula import (
    All,
    Formula,
    Not,
    One,
    Some,
    conj,
    disj,
    neg,
)

__all__ = ["goal_of", "simplify"]

_MOST_TERMS = 64
_MOST_ASKS = 4
_MOST_LISTED = 12
"""As many multiples within a range are listed one by one."""
_EXACT = Context(prec=5000)

_Term = tuple[Formula, ...]


class _TooManyError(Exception):
    """The formula has more terms than are looked at."""


def simplify(formula: Formula) -> Formula:
    """An equal formula, of terms that some number may satisfy each. O(terms^2 * keywords^2)."""
    try:
        return _joined(list(_terms(formula)))
    except _TooManyError:
        return formula


def goal_of(verdicts: Verdicts) -> Formula:
    """What has to hold, simplified; where a frame judges, one of what it takes as well."""
    must, asks = verdicts.must, verdicts.formulas[1:]
    if verdicts.judge is not None and len(asks) <= _MOST_ASKS:
        results = list(product((True, False), repeat=len(asks)))
        taken = [r for r in results if verdicts.takes(r)]
        if len(taken) < len(results):
            ways = (
                conj(*(f if t else neg(f) for f, t in zip(asks, result, strict=True)))
                for result in taken
            )
            must = conj(must, disj(*ways))
    return simplify(must)


def _terms(formula: Formula) -> dict[Formula, None]:
    """The terms one of which has to hold."""
    match formula:
        case bool():
            return {True: None} if formula else {}
        case All(parts):
            found: dict[Formula, None] = {True: None}
            for part in parts:
                more = _terms(part)
                found = _kept(
                    _simplified((*top_parts(a), *top_parts(b))) for a in found for b in more
                )
            return found
        case Some(parts):
            return _kept(term for part in parts for term in _terms(part))
        case One(parts):
            return _kept(term for f in _exactly_one(parts) for term in _terms(f))
        case Not(One(parts)):
            pairs = [conj(a, b) for n, a in enumerate(parts) for b in parts[:n]]
            none = conj(*map(neg, parts))
            return _kept(term for f in (none, *pairs) for term in _terms(f))
        case _:
            return _kept((_simplified((formula,)),))


def _kept(terms: Iterable[Formula]) -> dict[Formula, None]:
    """The terms without those that another one covers."""
    found: dict[Formula, None] = {}
    for term in terms:
        if term is False or any(_covers(other, term) for other in found):
            continue
        found = {t: None for t in found if not _covers(term, t)}
        found[term] = None
        if len(found) > _MOST_TERMS:
            raise _TooManyError
    return found


def _covers(wide: Formula, term: Formula) -> bool:
    """Whether each part of one term is implied by a part of the other."""
    parts = top_parts(term)
    return all(any(_implies(p, w) for p in parts) for w in top_parts(wide))


def _implies(part: Formula, wide: Formula) -> bool:
    if part == wide:
        return True
    grain = Fraction(part.step) if isinstance(part, Multiple) else None
    grain = Fraction(1) if isinstance(part, Whole) else grain
    return grain is not None and isinstance(wide, Multiple) and _divides(wide, grain)


def _exactly_one(parts: Sequence[Formula]) -> Iterator[Formula]:
    for n, part in enumerate(parts):
        yield conj(part, *(neg(p) for i, p in enumerate(parts) if i != n))


@dataclass(slots=True)
class _Parts:
    """A term, by what its parts are about."""

    is_whole: bool = False
    steps: list[Multiple] = field(default_factory=list[Multiple])
    ranges: list[Range] = field(default_factory=list[Range])
    numbers: list[Numbers] = field(default_factory=list[Numbers])
    negative: list[Formula] = field(default_factory=list[Formula])
    """Atoms that must not hold."""


def _simplified(term: _Term) -> Formula:
    parts = _Parts()
    for part in term:
        _sort(part, parts)
    if parts.numbers:
        return _listed(parts.numbers[0].members, parts)
    step = _common(parts.steps)
    if step is None and parts.steps:
        return conj(*term)
    grain = _grain(step, is_whole=parts.is_whole)
    if grain is not None and any(_divides(atom, grain) for atom in parts.negative):
        return False
    within = _merged(parts.ranges)
    if within is not None:
        if _is_empty(within):
            return False
        if within.low is not None and within.low == within.high:
            return _listed((within.low,), parts)
        if grain is not None and within.low is not None and within.high is not None:
            first, last = _multiples(within, grain)
            if last < first:
                return False
            if step is not None and last - first < _MOST_LISTED:
                members = [n * grain for n in range(first, last + 1)]
                return _listed(tuple(map(_decimal, members)), parts)
    if parts.is_whole and step is not None and grain is not None:
        step = None if grain == 1 else Multiple(_decimal(grain))
    kept = [a for a in parts.negative if not _is_implied(a, parts.negative)]
    found = [a for a in (step, within) if a is not None]
    return conj(*([Whole()] if parts.is_whole else []), *found, *map(neg, kept))


def _sort(part: Formula, parts: _Parts) -> None:
    match part:
        case Whole():
            parts.is_whole = True
        case Multiple():
            parts.steps.append(part)
        case Range():
            parts.ranges.append(part)
        case Numbers():
            parts.numbers.append(part)
        case Not(Range(low, None) as atom) if low is not None:
            parts.ranges.append(Range(high=low, high_open=not atom.low_open))
        case Not(Range(None, high) as atom) if high is not None:
            parts.ranges.append(Range(low=high, low_open=not atom.high_open))
        case Not(inner):
            parts.negative.append(inner)
        case _:
            raise AssertionError(part)


def _listed(members: tuple[Decimal, ...], parts: _Parts) -> Formula:
    """Those of some numbers that are as the term says."""
    must: list[Formula] = [*parts.steps, *parts.ranges, *parts.numbers]
    if parts.is_whole:
        must.append(Whole())
    good = tuple(
        m
        for m in dict.fromkeys(members)
        if all(_holds(a, m) for a in must) and not any(_holds(a, m) for a in parts.negative)
    )
    return conj(*([Whole()] if parts.is_whole else []), Numbers(good)) if good else False


def _holds(atom: Formula, number: Decimal) -> bool:
    match atom:
        case Whole():
            return Fraction(number).denominator == 1
        case Multiple(step):
            return (Fraction(number) / Fraction(step)).denominator == 1
        case Range(low, high, low_open, high_open):
            is_above = low is None or number > low or (number == low and not low_open)
            is_below = high is None or number < high or (number == high and not high_open)
            return is_above and is_below
        case Numbers(members):
            return number in members
        case _:
            raise AssertionError(atom)


def _common(steps: Sequence[Multiple]) -> Multiple | None:
    """The step of the numbers that are multiples of all; None where digits can't follow it."""
    if len(steps) < 2:
        return steps[0] if steps else None
    found = Fraction(1) * Fraction(steps[0].step)
    for atom in steps[1:]:
        found = _lcm(found, Fraction(atom.step))
    common = Multiple(_decimal(found))
    return common if common.is_followed else None


def _grain(step: Multiple | None, *, is_whole: bool) -> Fraction | None:
    """All numbers of the term are multiples of this."""
    if step is None:
        return Fraction(1) if is_whole else None
    found = Fraction(step.step)
    return _lcm(found, Fraction(1)) if is_whole else found


def _lcm(a: Fraction, b: Fraction) -> Fraction:
    scale = lcm(a.denominator, b.denominator)
    return Fraction(lcm(int(a * scale), int(b * scale)), scale)


def _decimal(value: Fraction) -> Decimal:
    """A fraction of a power of ten, exactly."""
    return _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


def _divides(atom: Formula, grain: Fraction) -> bool:
    """Whether all multiples of the grain satisfy the atom."""
    match atom:
        case Whole():
            return grain.denominator == 1
        case Multiple(step):
            return (grain / Fraction(step)).denominator == 1
        case _:
            return False


def _is_implied(atom: Formula, negative: Sequence[Formula]) -> bool:
    """Whether what holds of no other atom does not hold of this one either."""
    if not isinstance(atom, Multiple | Whole):
        return False
    own = _step_of(atom)
    steps = [o for o in negative if isinstance(o, Multiple | Whole)]
    # Of those that ask the same the first stays.
    return any(
        _divides(other, own) and (_step_of(other) != own or steps.index(other) < steps.index(atom))
        for other in steps
        if other != atom
    )


def _step_of(atom: Multiple | Whole) -> Fraction:
    return Fraction(1) if isinstance(atom, Whole) else Fraction(atom.step)


def _merged(ranges: Sequence[Range]) -> Range | None:
    if len(ranges) < 2:
        return ranges[0] if ranges else None
    lows = [(r.low, r.low_open) for r in ranges if r.low is not None]
    highs = [(r.high, not r.high_open) for r in ranges if r.high is not None]
    low, low_open = max(lows, default=(None, False))
    high, high_closed = min(highs, default=(None, True))
    return Range(low, high, low_open, not high_closed)


def _is_empty(within: Range) -> bool:
    if within.low is None or within.high is None:
        return False
    is_open = within.low_open or within.high_open
    return within.low > within.high or (within.low == within.high and is_open)


def _multiples(within: Range, grain: Fraction) -> tuple[int, int]:
    """The first and the last multiple within a range that is bounded on both sides."""
    assert within.low is not None
    assert within.high is not None
    low, high = Fraction(within.low) / grain, Fraction(within.high) / grain
    first = floor(low) + 1 if within.low_open else ceil(low)
    last = ceil(high) - 1 if within.high_open else floor(high)
    return first, last


def _joined(terms: list[Formula]) -> Formula:
    """One of the terms; what all of them ask stands before the choice."""
    if len(terms) < 2:
        return disj(*terms)
    parts = [t.parts if isinstance(t, All) else (t,) for t in terms]
    shared = [p for p in parts[0] if all(p in other for other in parts)]
    rest = [conj(*(p for p in own if p not in shared)) for own in parts]
    return conj(*shared, disj(*rest))
