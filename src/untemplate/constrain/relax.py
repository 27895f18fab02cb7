"""Leaves out of a formula what no machine can enforce while the value is written.

    relax(All((Length(1, 5), Format("regex"))))   -> Length(1, 5)

The result is never narrower. What is left out is checked by validation afterwards, and the report
of the grammar names it. Patterns and formats become formulas over expressions on the way.
"""

from collections.abc import Callable

from untemplate.grammar.schema_atoms import (
    Contains,
    Format,
    Items,
    Keys,
    Pattern,
    Properties,
    Schema,
    Unchecked,
    Unique,
)
from untemplate.grammar.schema_formula import (
    All,
    Formula,
    Not,
    One,
    Some,
    conj,
    disj,
    leaves,
    neg,
    one,
)
from untemplate.grammar.schema_patterns import pattern_formula

__all__ = ["children_of", "is_known_leaf", "relax"]

IsKnown = Callable[[Schema], bool]


def relax(formula: Formula, is_known: IsKnown) -> Formula:
    """The formula over atoms that a machine knows.

    `is_known` says whether all that a subschema asks is known: where a part must *not* hold, a
    subschema that would be relaxed can't be used.
    """
    return _relaxed(formula, True, is_known)


def _relaxed(formula: Formula, positive: bool, is_known: IsKnown) -> Formula:
    match formula:
        case bool():
            return formula
        case Not(inner):
            return neg(_relaxed(inner, not positive, is_known))
        case All(parts):
            return conj(*(_relaxed(p, positive, is_known) for p in parts))
        case Some(parts):
            return disj(*(_relaxed(p, positive, is_known) for p in parts))
        case One(parts):
            if not all(_is_known(leaf, is_known) for p in parts for leaf in leaves(p)):
                return positive
            return one(_relaxed(p, True, is_known) for p in parts)
        case Pattern() | Format():
            found = pattern_formula(formula)
            return positive if found is None else found
        case Unique():
            return formula if positive else False
        case Properties(named, patterns, _):
            if positive and any(pattern_formula(Pattern(p)) is None for p, _ in patterns):
                # A key that the pattern may match or not takes any value.
                known = tuple(p for p in patterns if pattern_formula(Pattern(p[0])) is not None)
                return Properties(named, known, True)
            return formula if positive or _is_known(formula, is_known) else False
        case _:
            if is_known_leaf(formula) and (positive or _is_known(formula, is_known)):
                return formula
            return positive


def _is_known(leaf: Formula, is_known: IsKnown) -> bool:
    return is_known_leaf(leaf) and all(map(is_known, children_of(leaf)))


def is_known_leaf(leaf: object) -> bool:
    """Whether a machine knows an atom, its subschemas aside."""
    match leaf:
        case Unchecked() | Unique():
            # Unique items are kept by masks, so only where they have to be.
            return False
        case Pattern() | Format():
            return pattern_formula(leaf) is not None
        case Properties(_, patterns, _):
            return all(pattern_formula(Pattern(p)) is not None for p, _ in patterns)
        case _:
            return True


def children_of(leaf: object) -> tuple[Schema, ...]:
    """The subschemas of an atom."""
    match leaf:
        case Properties(named, patterns, rest):
            return (*(s for _, s in named), *(s for _, s in patterns), rest)
        case Items(prefix, rest):
            return (*prefix, rest)
        case Contains(item):
            return (item,)
        case Keys(schema):
            return (schema,)
        case _:
            return ()
