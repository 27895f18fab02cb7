r"""`unevaluatedProperties` and `unevaluatedItems` as formulas over ordinary atoms.

    {"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}, "required": ["b"]}, {}],
     "unevaluatedProperties": false}

    -> only a     or     (HasKey(b) and what else the first branch asks) and only a, b

What a schema evaluates depends on which of the subschemas beside it hold. Each way for some of them
to hold is one part of the formula: what they ask, and that all keys but theirs are as the keyword
says. More subschemas holding only evaluate more, so no part has to say that others fail.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

from untemplate.grammar.schema_atoms import HasKey, Items, Place, Properties, Schema, Typed
from untemplate.grammar.schema_formula import Formula, conj, disj, neg
from untemplate.grammar.schema_references import References
from untemplate.message import JSON, pointer_token

__all__ = ["Unevaluated"]

_MOST_WAYS = 64

Kind = Literal["array", "object"]


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """What is evaluated where a condition holds."""

    condition: Formula
    keys: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    items: int = 0
    """The first so many items."""
    rest: bool = False
    """All keys, or items."""


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """Looks at the subschemas of one root."""

    references: References
    typed: Callable[[Place], Typed]

    def formula(self, place: Place, kind: Kind, asked: Schema) -> Formula | None:
        """What `asked` of all that is not evaluated asks of the whole; None: too many ways."""
        found = [
            e
            for e in self._inside(place, kind, (place,))
            if e.keys or e.patterns or e.items or e.rest
        ]
        if any(e.condition is True and e.rest for e in found):
            return True
        sure = [e for e in found if e.condition is True]
        grouped: dict[Formula, list[_Evaluated]] = {}
        for e in found:
            if e.condition is not True:
                grouped.setdefault(e.condition, []).append(e)
        if 2 ** len(grouped) > _MOST_WAYS:
            return None
        ways: list[Formula] = []
        for chosen in product((False, True), repeat=len(grouped)):
            holding = [c for c, is_chosen in zip(grouped, chosen, strict=True) if is_chosen]
            evaluated = sure + [e for c in holding for e in grouped[c]]
            ways.append(conj(*holding, _others(kind, evaluated, asked)))
        return disj(*ways)

    def _inside(self, place: Place, kind: Kind, seen: tuple[Place, ...]) -> Iterator[_Evaluated]:
        """What a subschema evaluates, and what hangs on others in the same place."""
        schema = self.references.at(place)
        if not isinstance(schema, dict):
            return
        yield self._own(schema, kind, is_root=len(seen) == 1)
        for inner, condition in self._beside(place, schema, kind):
            if inner in seen:
                continue
            for found in self._inside(inner, kind, (*seen, inner)):
                joined = conj(condition, found.condition)
                if joined is not False:
                    yield _Evaluated(joined, found.keys, found.patterns, found.items, found.rest)

    def _own(self, schema: dict[str, JSON], kind: Kind, *, is_root: bool) -> _Evaluated:
        if kind == "object":
            rest = "additionalProperties" in schema
            return _Evaluated(
                True,
                frozenset(_keys(schema, "properties")),
                frozenset(_keys(schema, "patternProperties")),
                rest=rest or (not is_root and "unevaluatedProperties" in schema),
            )
        items, prefix = schema.get("items"), schema.get("prefixItems")
        rest = "items" in schema
        if isinstance(items, list):
            prefix, rest = items, "additionalItems" in schema
        rest = rest or (not is_root and "unevaluatedItems" in schema)
        return _Evaluated(True, items=len(prefix) if isinstance(prefix, list) else 0, rest=rest)

    def _beside(
        self, place: Place, schema: dict[str, JSON], kind: Kind
    ) -> Iterator[tuple[Place, Formula]]:
        """Subschemas that speak of the same value, and what has to hold for them to count."""
        below = self.references.inner

        def holds(inner: Place) -> Formula:
            return self.typed(inner).array if kind == "array" else self.typed(inner).object

        for target in self.references.targets(schema, place):
            yield target, True
        for keyword in ("allOf", "anyOf", "oneOf"):
            options = schema.get(keyword)
            for n in range(len(options) if isinstance(options, list) else 0):
                inner = below(place, f"/{keyword}/{n}")
                yield inner, True if keyword == "allOf" else holds(inner)
        if "if" in schema:
            test = below(place, "/if")
            yield test, holds(test)
            if "then" in schema:
                yield below(place, "/then"), holds(test)
            if "else" in schema:
                yield below(place, "/else"), neg(holds(test))
        for key in _keys(schema, "dependentSchemas") if kind == "object" else ():
            yield below(place, f"/dependentSchemas/{pointer_token(key)}"), HasKey(key)


def _keys(schema: dict[str, JSON], keyword: str) -> tuple[str, ...]:
    found = schema.get(keyword)
    return tuple(found) if isinstance(found, dict) else ()


def _others(kind: Kind, evaluated: list[_Evaluated], asked: Schema) -> Formula:
    """That all but what is evaluated is as it is asked."""
    if any(e.rest for e in evaluated):
        return True
    if kind == "array":
        return Items((True,) * max((e.items for e in evaluated), default=0), asked)
    keys = sorted(frozenset[str]().union(*(e.keys for e in evaluated)))
    patterns = sorted(frozenset[str]().union(*(e.patterns for e in evaluated)))
    return Properties(tuple((k, True) for k in keys), tuple((p, True) for p in patterns), asked)
