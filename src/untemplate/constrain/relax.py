"""Leaves out of a formula what no machine can enforce while the value is written.

    relax(All((Length(1), Pattern("a"))))   -> Length(1)

The result is never narrower. What is left out is checked by validation afterwards, and the report
of the grammar names it; see `grammar.schema_report`.
"""

from untemplate.constrain.patterns import pattern_formula
from untemplate.grammar.schema_atoms import (
    Contains,
    Format,
    HasKey,
    Items,
    Keys,
    Length,
    Pattern,
    Properties,
    Size,
    Strings,
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

__all__ = ["relax", "relax_compound"]


def relax(formula: Formula) -> Formula:
    """The formula over atoms that a machine knows."""
    return _relaxed(formula, positive=True)


def relax_compound(formula: Formula) -> tuple[Items | Properties | Size | HasKey, ...]:
    """For arrays and objects: the atoms that have to hold whatever else does."""
    relaxed = relax(formula)
    parts = relaxed.parts if isinstance(relaxed, All) else (relaxed,)
    return tuple(p for p in parts if isinstance(p, Items | Properties | Size | HasKey))


def _relaxed(formula: Formula, *, positive: bool) -> Formula:
    match formula:
        case bool():
            return formula
        case Not(inner):
            return neg(_relaxed(inner, positive=not positive))
        case All(parts):
            return conj(*(_relaxed(p, positive=positive) for p in parts))
        case Some(parts):
            return disj(*(_relaxed(p, positive=positive) for p in parts))
        case One(parts):
            if any(map(_has_unknown, parts)):
                return positive
            return one(_relaxed(p, positive=True) for p in parts)
        case Pattern() | Format():
            found = pattern_formula(formula)
            return positive if found is None else found
        case Unchecked() | Unique() | Contains() | Keys():
            return positive
        case Properties(named, patterns, _) if patterns:
            return Properties(named, (), True) if positive else False
        case Length() | Strings():
            return formula
        case _:
            return formula


def _has_unknown(formula: Formula) -> bool:
    """Whether some leaf is one that no machine knows."""
    return any(isinstance(_relaxed(leaf, positive=True), bool) for leaf in leaves(formula))
