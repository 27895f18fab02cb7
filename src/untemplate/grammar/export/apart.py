r"""Whether two cases can't both hold: seen by their constants, types and required keys.

    {"kind": {"const": "a"}} required, {"kind": {"const": "b"}} required    apart
    {"a": ...} required, {"b": ...} required                                may both hold

This is what tells whether options of a `oneOf` need the opposite of each other. It looks a few
levels deep and is never wrong when it says apart.
"""

from collections.abc import Iterable
from functools import partial

from untemplate.grammar.export.cases import Apart, Case, cases
from untemplate.grammar.export.shapes import goal_of
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import HasKey, Numbers, Properties, Strings, Typed
from untemplate.grammar.schema_formula import Not

__all__ = ["apart_in"]

_MOST_DEPTH = 3


def apart_in(schemas: Schemas) -> Apart:
    """The test for cases of one root schema."""
    return partial(_apart, schemas, _MOST_DEPTH)


def _apart(schemas: Schemas, depth: int, first: Case, second: Case) -> bool:
    if any(Not(atom) in second for atom in first) or any(Not(atom) in first for atom in second):
        return True
    members = [_members(first), _members(second)]
    if members[0] is not None and members[1] is not None:
        return not members[0] & members[1]
    if not depth:
        return False
    keys = [a for a in first if isinstance(a, HasKey) and a in second]
    return any(
        _typed_apart(schemas, depth - 1, *(_value(schemas, c, k.key) for c in (first, second)))
        for k in keys
    )


def _members(case: Case) -> set[object] | None:
    """The constants that the case lists; None: it lists none."""
    found: list[set[object]] = [{*a.members} for a in case if isinstance(a, Strings | Numbers)]
    return set[object].intersection(*found) if found else None


def _value(schemas: Schemas, case: Iterable[object], key: str) -> Typed:
    properties = [a for a in case if isinstance(a, Properties)]
    return schemas.typed_goal(goal_of(key, properties, _ignored))


def _typed_apart(schemas: Schemas, depth: int, first: Typed, second: Typed) -> bool:
    return all(
        a is False
        or b is False
        or all(_apart(schemas, depth, x, y) for x in cases(a, _ignored) for y in cases(b, _ignored))
        for a, b in zip(first.parts, second.parts, strict=True)
    )


def _ignored(_message: str) -> None:
    """Nothing is written from what is looked at here, so nothing is noted."""
