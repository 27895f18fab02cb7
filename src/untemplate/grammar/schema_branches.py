"""Whether the branches of a `oneOf` tell objects apart by themselves, so that one at most holds.

    {"oneOf": [{"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
               {"properties": {"kind": {"enum": ["b", "c"]}}, "required": ["kind"]}]}   -> they do

Most are written so: each branch requires a key whose constant no other branch has. Then `oneOf` is
`anyOf`, and no branch has to be followed only to see that it fails.
"""

import json
from collections.abc import Iterator, Sequence

from untemplate.grammar.schema_atoms import Place
from untemplate.grammar.schema_check import Draft
from untemplate.grammar.schema_references import References
from untemplate.message import JSON, pointer_token

__all__ = ["are_apart"]

_MOST_STEPS = 4
"""Of references and `allOf`, one in the other."""


def are_apart(references: References, branches: Sequence[Place]) -> bool:
    """Whether no object is as two of the branches say; O(their size)."""
    tags = [_tags(references, branch) for branch in branches]
    return any(_differ([t.get(key) for t in tags]) for key in (tags[0] if tags else ()))


def _differ(constants: Sequence[frozenset[str] | None]) -> bool:
    """Whether no constant is in two sets."""
    known = [c for c in constants if c is not None]
    total = sum(map(len, known))
    return len(known) == len(constants) and len(frozenset[str]().union(*known)) == total


def _tags(references: References, branch: Place) -> dict[str, frozenset[str]]:
    """Keys that a branch requires, and the constants that each may have."""
    required: set[str] = set()
    found: dict[str, frozenset[str]] = {}
    for place, schema in _conjuncts(references, branch, _MOST_STEPS):
        if isinstance(keys := schema.get("required"), list):
            required |= {key for key in keys if isinstance(key, str)}
        named = schema.get("properties")
        for key in named if isinstance(named, dict) else ():
            inner = references.inner(place, f"/properties/{pointer_token(key)}")
            for _, asked in _conjuncts(references, inner, _MOST_STEPS):
                if (constants := _constants(asked)) is not None:
                    found[key] = constants
    return {key: constants for key, constants in found.items() if key in required}


def _conjuncts(
    references: References, place: Place, left: int
) -> Iterator[tuple[Place, dict[str, JSON]]]:
    """The schemas that all have to hold: this, those it refers to, and those of its `allOf`."""
    schema = references.at(place)
    if not isinstance(schema, dict) or not left:
        return
    for target in references.targets(schema, place):
        yield from _conjuncts(references, target, left - 1)
        if references.draft < Draft.V2019:
            return
    yield place, schema
    parts = schema.get("allOf")
    for number in range(len(parts) if isinstance(parts, list) else 0):
        inner = references.inner(place, f"/allOf/{number}")
        yield from _conjuncts(references, inner, left - 1)


def _constants(schema: dict[str, JSON]) -> frozenset[str] | None:
    """All values of a schema, where it lists them and each has one spelling."""
    members = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(members, list):
        return None
    if any(not isinstance(m, str | int) and m is not None for m in members):
        return None
    return frozenset(map(json.dumps, members))
