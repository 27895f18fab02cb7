"""Boolean formulas over leaves of any kind, and the little algebra that schemas need.

    conj(a, True, disj(b, c))   -> All((a, Some((b, c))))
    neg(All((a, b)))            -> Some((Not(a), Not(b)))
    one([a, False])             -> a

A formula is `True`, `False`, a leaf, or one of `Not`, `All`, `Some`, `One`. Everything is frozen
and hashable, so a formula can name a state of an automaton. The functions simplify what can be seen
locally (constants, doubles, a leaf beside its negation); they do not try to be canonical.

Schemas become formulas because JSON Schema is boolean: `allOf`, `anyOf`, `oneOf`, `not` and `if`
are `All`, `Some`, `One`, `Not`, and an implication.
"""

from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = [
    "All",
    "Formula",
    "Not",
    "One",
    "Some",
    "conj",
    "disj",
    "evaluate",
    "leaves",
    "neg",
    "one",
    "substitute",
    "supports",
]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a leaf, or of a `One`."""

    part: "Formula"


@dataclass(frozen=True, slots=True)
class All:
    """Each part holds."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True)
class One:
    """Exactly one part holds."""

    parts: "tuple[Formula, ...]"


Formula = bool | Not | All | Some | One | Hashable
"""`Hashable` stands for the leaves; each user of formulas has its own."""


def conj(*parts: Formula) -> Formula:
    """All of the parts."""
    return _joined(parts, All, neutral=True)


def disj(*parts: Formula) -> Formula:
    """At least one of the parts."""
    return _joined(parts, Some, neutral=False)


def _joined(parts: Iterable[Formula], kind: type[All] | type[Some], *, neutral: bool) -> Formula:
    found: dict[Formula, None] = {}
    for part in parts:
        if part is neutral:
            continue
        if isinstance(part, bool):
            return part
        for inner in part.parts if isinstance(part, kind) else (part,):
            found[inner] = None
    for part in found:
        if isinstance(part, Not) and part.part in found:
            return not neutral
    if len(found) > 1:
        return kind(tuple(found))
    return next(iter(found), neutral)


def neg(part: Formula) -> Formula:
    """The opposite."""
    match part:
        case bool():
            return not part
        case Not(inner):
            return inner
        case All(parts):
            return disj(*map(neg, parts))
        case Some(parts):
            return conj(*map(neg, parts))
        case _:
            return Not(part)


def one(parts: Iterable[Formula]) -> Formula:
    """Exactly one of the parts."""
    left = [p for p in parts if p is not False]
    if True in left:
        at = left.index(True)
        return conj(*(neg(p) for i, p in enumerate(left) if i != at))
    if len(left) < 2:
        return left[0] if left else False
    return One(tuple(left))


def substitute(formula: Formula, leaf: Callable[[Any], Formula]) -> Formula:
    """The formula with each leaf replaced, simplified."""
    match formula:
        case bool():
            return formula
        case Not(inner):
            return neg(substitute(inner, leaf))
        case All(parts):
            return conj(*(substitute(p, leaf) for p in parts))
        case Some(parts):
            return disj(*(substitute(p, leaf) for p in parts))
        case One(parts):
            return one(substitute(p, leaf) for p in parts)
        case _:
            return leaf(formula)


def evaluate(formula: Formula, leaf: Callable[[Any], bool]) -> bool:
    """Whether the formula holds, given whether each leaf does."""
    match formula:
        case bool():
            return formula
        case Not(inner):
            return not evaluate(inner, leaf)
        case All(parts):
            return all(evaluate(p, leaf) for p in parts)
        case Some(parts):
            return any(evaluate(p, leaf) for p in parts)
        case One(parts):
            return sum(evaluate(p, leaf) for p in parts) == 1
        case _:
            return leaf(formula)


def leaves(formula: Formula) -> Iterator[Any]:
    """Every leaf, in order, each as often as it stands there."""
    match formula:
        case bool():
            return
        case Not(inner):
            yield from leaves(inner)
        case All(parts) | Some(parts) | One(parts):
            for part in parts:
                yield from leaves(part)
        case _:
            yield formula


def supports(formula: Formula, among: Container[Any]) -> frozenset[frozenset[Any]] | None:
    """The smallest sets of leaves out of some that have to hold, whatever the other leaves are.

        supports(Some((a, All((b, c)))), {a, b, c})   -> {{a}, {b, c}}

    None: one of these leaves stands where it must not hold, or in a `One`.
    """
    match formula:
        case bool():
            return frozenset({frozenset[Any]()} if formula else ())
        case Not() | One():
            is_apart = all(leaf not in among for leaf in leaves(formula))
            return frozenset({frozenset[Any]()}) if is_apart else None
        case All(parts) | Some(parts):
            found: frozenset[frozenset[Any]] | None = None
            for part in parts:
                sets = supports(part, among)
                if sets is None:
                    return None
                if found is None:
                    found = sets
                elif isinstance(formula, Some):
                    found = _smallest(found | sets)
                else:
                    found = _smallest(frozenset(a | b for a in found for b in sets))
            return found
        case _:
            return frozenset({frozenset({formula} if formula in among else ())})


def _smallest(sets: frozenset[frozenset[Any]]) -> frozenset[frozenset[Any]]:
    """Those that hold no other."""
    return frozenset(s for s in sets if not any(other < s for other in sets))
