r"""JSON Schema -> formulas over atoms: what the automaton, the exports and the reader ask a schema.

    schemas = Schemas({"type": "object", "properties": {"n": {"type": "integer"}},
                       "required": ["n"]}, origin="tool f")
    schemas.typed(schemas.root).object
    -> All((Properties((("n", Place("#/properties/n")),), (), rest=False), HasKey("n")))

Drafts 4, 6, 7, 2019-09 and 2020-12 are read; `$schema` says which, 2020-12 if it is absent. `check`
looks at every keyword of every subschema first, so a broken schema is refused whole, with the
pointer. Subschemas are then translated when they are asked for, and once.

A `$ref` leads inside the schema; nothing is ever fetched. In a tool's parameters an object that
lists its properties and says nothing of others is *closed*, which is what people mean; with
`open_objects` it is open, as the specification says. An object that lists none is always open.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import cast

from untemplate.errors import SchemaError
from untemplate.grammar.envelope import CallShape
from untemplate.grammar.schema_atoms import (
    ANYTHING,
    NOTHING,
    Constant,
    Contains,
    HasKey,
    Items,
    Keys,
    Numbers,
    Pattern,
    Place,
    Properties,
    Schema,
    Size,
    Strings,
    Typed,
    Unchecked,
    Unique,
    Whole,
    all_of,
    any_of,
    not_,
    one_of,
)
from untemplate.grammar.schema_branches import are_apart
from untemplate.grammar.schema_calls import call_typed
from untemplate.grammar.schema_check import Draft, check, subschemas
from untemplate.grammar.schema_formula import All, Formula, conj, disj, neg, substitute
from untemplate.grammar.schema_keywords import (
    decimal,
    is_number,
    most_of,
    number_atoms,
    size_atoms,
    string_atoms,
    whole,
)
from untemplate.grammar.schema_references import References
from untemplate.grammar.schema_unevaluated import Kind, Unevaluated
from untemplate.message import JSON, pointer_token

__all__ = ["Schemas"]

_KINDS: Mapping[str, Typed] = {
    "null": Typed(True, False, False, False, False, False, False),
    "boolean": Typed(False, True, True, False, False, False, False),
    "number": Typed(False, False, False, True, False, False, False),
    "integer": Typed(False, False, False, Whole(), False, False, False),
    "string": Typed(False, False, False, False, True, False, False),
    "array": Typed(False, False, False, False, False, True, False),
    "object": Typed(False, False, False, False, False, False, True),
}
_AVOIDING = Place("avoiding")
"""A schema beside those of the root: strings without what is to be avoided."""
_SYNTAX = re.compile(r"[\\^$.*+?()\[\]{}|/]")
"""What stands for something else in an expression."""
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "dependentSchemas")


class Schemas:
    """One root schema and all that it refers to."""

    def __init__(
        self,
        schema: JSON,
        *,
        origin: str,
        open_objects: bool = False,
        avoid: Sequence[str] = (),
    ) -> None:
        """Checks the schema.

        Args:
            schema: the root.
            origin: whose it is, for errors.
            open_objects: whether objects that list properties take others too.
            avoid: texts that no string and no key of a value may hold.

        Raises:
            SchemaError: it is not a valid schema; names origin and pointer.
        """
        self.origin = origin
        self.open_objects = open_objects
        check(schema, origin)
        self.references = References(schema, origin)
        self._typed: dict[Schema, Typed] = {}
        self._everywhere = ANYTHING
        if avoid:
            found = Pattern("|".join(_SYNTAX.sub(r"\\\g<0>", text) for text in avoid))
            self._everywhere = replace(ANYTHING, string=neg(found), object=Keys(_AVOIDING))
            self._typed[_AVOIDING] = self._everywhere
        self._written: dict[Place, Typed] = {}
        self._open: list[Place] = []

    @property
    def root(self) -> Place:
        return self.references.root

    @property
    def draft(self) -> Draft:
        """The draft that the root is written in."""
        return self.references.draft

    def typed(self, schema: Schema) -> Typed:
        """What a subschema says of each kind of value."""
        if isinstance(schema, bool):
            return ANYTHING if schema else NOTHING
        found = self._typed.get(schema)
        if found is None:
            if isinstance(schema, Constant):
                found = self._constant(json.loads(schema.text, parse_float=Decimal))
            else:
                found = self._in_place(schema)
                found = self._closed(schema, found)
            self._typed[schema] = found
        return found

    def typed_goal(self, goal: Formula) -> Typed:
        """The same of a formula whose leaves are subschemas."""

        def part(number: int) -> Formula:
            return substitute(goal, lambda leaf: self.typed(leaf).parts[number])

        if isinstance(goal, bool | Place | Constant):
            found = self.typed(goal)
        else:
            found = Typed(*map(part, range(len(ANYTHING.parts))))
        return found if self._everywhere is ANYTHING else all_of(found, self._everywhere)

    def whole(self, *, is_arguments: bool, apart: Sequence[CallShape] = ()) -> Typed:
        """What the root says of a whole value, without the objects that read as a call.

        Arguments are an object, whether their schema says so or not.
        """
        found = self.typed_goal(self.root)
        if is_arguments:
            found = all_of(found, replace(NOTHING, object=True))
        for number, shape in enumerate(apart):
            typed, places = call_typed(shape, f"call {number}")
            self._typed.update(places)
            found = all_of(found, not_(typed))
        return found

    # -------------------------------------------------------------------------- one place at a time

    def _in_place(self, place: Place) -> Typed:
        """The place as it is written, without closing objects."""
        if place in self._written:
            return self._written[place]
        if place in self._open:
            message = "refers to itself without an end"
            raise SchemaError(message, place=f"{self.origin} {place.pointer}")
        schema = self.references.at(place)
        if not isinstance(schema, dict):
            return ANYTHING if schema else NOTHING
        self._open.append(place)
        try:
            found = all_of(ANYTHING, *self._keywords(schema, place))
        finally:
            self._open.pop()
        self._written[place] = found
        return found

    def _keywords(self, schema: dict[str, JSON], at: Place) -> Iterator[Typed]:
        for target in self.references.targets(schema, at):
            yield self._in_place(target)
            if self.draft < Draft.V2019:
                return
        yield from self._values(schema)
        yield Typed(
            True, True, True, conj(*number_atoms(schema)), conj(*string_atoms(schema)),
            conj(*self._array(schema, at)), conj(*self._object(schema, at)),
        )  # fmt: skip
        yield from self._combined(schema, at)

    def _values(self, schema: dict[str, JSON]) -> Iterator[Typed]:
        kinds = schema.get("type")
        if kinds is not None:
            named = [kinds] if isinstance(kinds, str) else kinds
            assert isinstance(named, list)
            types = [_KINDS[str(k)] for k in named]
            if schema.get("nullable") is True and not self.open_objects:
                types.append(_KINDS["null"])
            yield any_of(*types)
        if isinstance(members := schema.get("enum"), list):
            yield self._enumeration(members)
        if "const" in schema:
            yield self._constant(schema["const"])

    def _combined(self, schema: dict[str, JSON], at: Place) -> Iterator[Typed]:
        for keyword, combine in (("allOf", all_of), ("anyOf", any_of), ("oneOf", one_of)):
            if isinstance(options := schema.get(keyword), list):
                below = [self._typed_below(at, f"/{keyword}/{n}") for n in range(len(options))]
                found = combine(*below)
                if keyword == "oneOf" and self.are_apart(at, below):
                    found = replace(found, object=disj(*(t.object for t in below)))
                yield found
        if "not" in schema:
            yield not_(self._typed_below(at, "/not"))
        if "if" in schema:
            test = self._typed_below(at, "/if")
            if "then" in schema:
                yield any_of(not_(test), self._typed_below(at, "/then"))
            if "else" in schema:
                yield any_of(test, self._typed_below(at, "/else"))
        for keyword in ("dependentSchemas", "dependencies"):
            if isinstance(needs := schema.get(keyword), dict):
                for key, needed in needs.items():
                    if not isinstance(needed, list):
                        inner = self._typed_below(at, f"/{keyword}/{pointer_token(key)}")
                        yield _if_object_has(key, inner)

    def are_apart(self, at: Place, branches: Sequence[Typed]) -> bool:
        """Whether no object is as two branches of the `oneOf` at a place say."""
        live = [n for n, typed in enumerate(branches) if typed.object is not False]
        if len(live) < 2:
            return False
        return are_apart(self.references, [self.references.inner(at, f"/oneOf/{n}") for n in live])

    def _array(self, schema: dict[str, JSON], at: Place) -> Iterator[Formula]:
        items, prefix = schema.get("items"), schema.get("prefixItems")
        keyword, rest = "prefixItems", "items"
        if isinstance(items, list):
            prefix, keyword, rest = items, "items", "additionalItems"
        if prefix is not None or rest in schema:
            count = len(prefix) if isinstance(prefix, list) else 0
            first = tuple(self._asked_below(at, f"/{keyword}/{n}") for n in range(count))
            others = self._asked_below(at, f"/{rest}") if rest in schema else True
            yield Items(first, others)
        yield from size_atoms(schema, "minItems", "maxItems")
        if "contains" in schema:
            least, most = schema.get("minContains", 1), schema.get("maxContains")
            yield Contains(self._asked_below(at, "/contains"), whole(least), most_of(most))
        if schema.get("uniqueItems") is True:
            yield Unique()
        if "unevaluatedItems" in schema:
            # What `contains` finds counts as evaluated too, one item by one.
            is_plain = self.draft < Draft.V2020 or "contains" not in json.dumps(schema)
            yield self._unevaluated("array", "unevaluatedItems", at, is_plain=is_plain)

    def _object(self, schema: dict[str, JSON], at: Place) -> Iterator[Formula]:
        if properties := self._properties(schema, at):
            yield properties
        if isinstance(required := schema.get("required"), list):
            yield from (HasKey(str(key)) for key in required)
        yield from size_atoms(schema, "minProperties", "maxProperties")
        if "propertyNames" in schema:
            yield Keys(self._asked_below(at, "/propertyNames"))
        for keyword in ("dependentRequired", "dependencies"):
            if isinstance(needs := schema.get(keyword), dict):
                for key, needed in needs.items():
                    if isinstance(needed, list):
                        yield disj(neg(HasKey(key)), conj(*(HasKey(str(n)) for n in needed)))
        if "unevaluatedProperties" in schema:
            yield self._unevaluated("object", "unevaluatedProperties", at)

    def _unevaluated(
        self, kind: Kind, keyword: str, at: Place, *, is_plain: bool = True
    ) -> Formula:
        looked = Unevaluated(self.references, self._in_place)
        asked = self._asked_below(at, f"/{keyword}")
        found = looked.formula(at, kind, asked) if is_plain else None
        return Unchecked(keyword, f"{at.pointer}/{keyword}") if found is None else found

    def _properties(self, schema: dict[str, JSON], at: Place) -> Properties | None:
        named = schema.get("properties")
        patterns = schema.get("patternProperties")
        rest: Schema = True
        if "additionalProperties" in schema:
            rest = self._asked_below(at, "/additionalProperties")
        if not named and not patterns and rest is True:
            return None
        return Properties(
            self._children(named, at, "properties"),
            self._children(patterns, at, "patternProperties"),
            rest,
        )

    def _children(self, schemas: JSON, at: Place, keyword: str) -> tuple[tuple[str, Schema], ...]:
        if not isinstance(schemas, dict):
            return ()
        steps = ((key, f"/{keyword}/{pointer_token(key)}") for key in schemas)
        return tuple((k, self._asked_below(at, step)) for k, step in steps)

    def _typed_below(self, at: Place, step: str) -> Typed:
        return self._in_place(self.references.inner(at, step))

    def _asked_below(self, at: Place, step: str) -> Schema:
        """A subschema: a boolean one as the boolean, an empty one as True."""
        place = self.references.inner(at, step)
        node = self.references.at(place)
        if isinstance(node, bool):
            return node
        return place if node else True

    # ------------------------------------------------------------------------------- closed objects

    def _closed(self, place: Place, typed: Typed) -> Typed:
        if self.open_objects or typed.object is False:
            return typed
        keys = self._listed(place, set())
        schema = self.references.at(place)
        lists_none = isinstance(schema, dict) and schema.get("properties") == {}
        if keys is None or not (keys or lists_none):
            return typed
        only = Properties(tuple((k, True) for k in keys), (), False)
        parts = list(typed.parts)
        parts[-1] = _merged(typed.object, only)
        return Typed(*parts)

    def _listed(self, place: Place, seen: set[Place]) -> dict[str, None] | None:
        """Keys that a schema lists in place; None where it says something of others."""
        schema = self.references.at(place)
        found: dict[str, None] = {}
        if not isinstance(schema, dict) or place in seen:
            return found
        seen.add(place)
        silent = {"additionalProperties", "patternProperties", "unevaluatedProperties"}
        if silent & schema.keys():
            return None
        if isinstance(named := schema.get("properties"), dict):
            found |= dict.fromkeys(named)
        inner = [*self.references.targets(schema, place)]
        for step, _ in subschemas(schema):
            if step[1:].partition("/")[0] in _IN_PLACE:
                inner.append(self.references.inner(place, step))
        for other in inner:
            keys = self._listed(other, seen)
            if keys is None:
                return None
            found |= keys
        if found and isinstance(required := schema.get("required"), list):
            found |= dict.fromkeys(map(str, required))
        return found

    # ------------------------------------------------------------------------------------ constants

    def _enumeration(self, members: list[JSON]) -> Typed:
        strings = tuple(dict.fromkeys(m for m in members if isinstance(m, str)))
        numbers = tuple(dict.fromkeys(decimal(m) for m in members if is_number(m)))
        objects = [self._constant(m) for m in members if isinstance(m, dict)]
        arrays = [self._constant(m) for m in members if isinstance(m, list)]
        return Typed(
            null=None in members,
            false=any(m is False for m in members),
            true=any(m is True for m in members),
            number=Numbers(numbers) if numbers else False,
            string=Strings(strings) if strings else False,
            array=disj(*(t.array for t in arrays)),
            object=disj(*(t.object for t in objects)),
        )

    def _constant(self, value: object) -> Typed:
        null = _KINDS["null"] if value is None else NOTHING
        part: Formula
        match value:
            case dict():
                items = cast("dict[str, JSON]", value)
                named = tuple((k, _constant(v)) for k, v in items.items())
                part = conj(Properties(named, (), False), *(HasKey(k) for k, _ in named))
                return Typed(False, False, False, False, False, False, part)
            case list():
                prefix = tuple(_constant(v) for v in cast("list[JSON]", value))
                part = conj(Items(prefix, False), Size(len(prefix), len(prefix)))
                return Typed(False, False, False, False, False, part, False)
            case str():
                return Typed(False, False, False, False, Strings((value,)), False, False)
            case bool():
                return Typed(False, not value, value, False, False, False, False)
            case int() | float() | Decimal():
                return Typed(False, False, False, Numbers((decimal(value),)), False, False, False)
            case _:
                return null


def _constant(value: object) -> Constant:
    return Constant(json.dumps(value, default=str, ensure_ascii=False))


def _merged(formula: Formula, only: Properties) -> Formula:
    """The formula and `only`; where it is a plain list of properties, that closed."""
    own = formula if isinstance(formula, Properties) else None
    if own is not None and {k for k, _ in own.named} == {k for k, _ in only.named}:
        return Properties(own.named, own.patterns, False)
    parts = formula.parts if isinstance(formula, All) else ()
    for n, part in enumerate(parts):
        if isinstance(part, Properties) and part.rest is True:
            keys = dict(part.named)
            named = part.named + tuple((k, True) for k, _ in only.named if k not in keys)
            others = {
                k
                for p in parts[:n] + parts[n + 1 :]
                if isinstance(p, Properties)
                for k, _ in p.named
            }
            if not others <= {k for k, _ in named}:
                break
            return conj(*parts[:n], Properties(named, part.patterns, False), *parts[n + 1 :])
    return conj(only, formula)


def _if_object_has(key: str, needed: Typed) -> Typed:
    return replace(ANYTHING, object=disj(neg(HasKey(key)), needed.object))
