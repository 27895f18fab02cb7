"""Leaves out of a formula what no machine can enforce while the value is written.

    relax(All((Length(1, 5), Format("regex"))), known)   -> Length(1, 5)
    why_unknown(Format("regex"))                         -> "the format regex has no automaton"

The result is never narrower. What is left out is checked by validation afterwards, and the report
of the grammar names it. Patterns and formats become formulas over expressions on the way.
"""

from collections.abc import Callable

from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import (
    Contains,
    Format,
    HasKey,
    Items,
    Keys,
    Multiple,
    Pattern,
    Properties,
    Schema,
    Size,
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
from untemplate.grammar.schema_patterns import pattern_formula, pattern_problem

__all__ = ["Known", "about_keys", "asks_keys_only", "relax", "why_unknown"]

IsKnown = Callable[[Schema], bool]


class Known:
    """Whether everything that a subschema asks is enforced while it is written."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._known: dict[Schema, bool] = {}

    def __call__(self, schema: Schema) -> bool:
        if isinstance(schema, bool):
            return True
        if schema not in self._known:
            self._known[schema] = True  # inside itself it adds nothing
            self._known[schema] = all(map(self.whole, self._schemas.typed(schema).parts))
        return self._known[schema]

    def whole(self, formula: Formula) -> bool:
        """The same of a formula."""
        return all(_is_known(leaf, self) for leaf in frozenset(leaves(formula)))


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
            wide = [_relaxed(p, True, is_known) for p in parts]
            are_known = [all(_is_known(leaf, is_known) for leaf in leaves(p)) for p in parts]
            if all(are_known):
                return one(wide)
            exact = [p for p, is_so in zip(wide, are_known, strict=True) if is_so]
            # Some part holds, and of those that are known no two.
            at_most_one = disj(one(exact), neg(disj(*exact)))
            return conj(disj(*wide), at_most_one) if positive else False
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
            if why_unknown(formula) is None and (positive or _is_known(formula, is_known)):
                return formula
            return positive


def about_keys(formula: Formula) -> Formula:
    """What a formula over objects asks of their keys alone; never narrower."""
    return _about_keys(formula, True)


def asks_keys_only(formula: Formula) -> bool:
    """Whether a formula over objects asks for no values."""
    return all(isinstance(leaf, HasKey | Size) for leaf in leaves(formula))


def _about_keys(formula: Formula, positive: bool) -> Formula:
    match formula:
        case bool() | HasKey() | Size():
            return formula
        case Not(inner):
            return neg(_about_keys(inner, not positive))
        case All(parts):
            return conj(*(_about_keys(p, positive) for p in parts))
        case Some(parts):
            return disj(*(_about_keys(p, positive) for p in parts))
        case One(parts) if asks_keys_only(formula):
            return one(parts)
        case _:
            return positive


def _is_known(leaf: Formula, is_known: IsKnown) -> bool:
    return why_unknown(leaf) is None and all(map(is_known, _children_of(leaf)))


def why_unknown(leaf: object) -> str | None:
    """Why no machine knows an atom, its subschemas aside; None: one does."""
    match leaf:
        case Unchecked(keyword):
            return f"{keyword} is too large here"
        case Unique():
            # Unique items are kept by masks, so only where they have to be.
            return "items may be compared only where they must differ"
        case Pattern() | Format():
            return pattern_problem(leaf)
        case Multiple():
            return None if leaf.is_followed else "it has too many remainders"
        case Properties(_, patterns, _):
            problems = (pattern_problem(Pattern(p)) for p, _ in patterns)
            return next((p for p in problems if p is not None), None)
        case _:
            return None


def _children_of(leaf: object) -> tuple[Schema, ...]:
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
