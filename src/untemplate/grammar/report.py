r"""What becomes of each keyword of each schema: enforced, checked afterwards, or nothing.

    print(grammar.report())
    tool pay #/properties/to/type: exact
    tool pay #/properties/to/pattern: checked; the pattern has no automaton: a back-reference
    tool pay #/properties/to/minLenght: ignored; not a keyword

`exact`: no mask lets a value through that breaks the keyword, and none refuses a valid one beyond
what the reason says (digits are bounded). `checked`: the value may break it, so it is validated
once it is written, and marked where it does. `ignored`: it asks nothing, by JSON Schema itself.

Every subschema that a value can be held against is looked at, so that what is wrong with a schema,
a `$ref` that leads nowhere, is found here and not when a value gets there.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from untemplate.dialect import CallBlock, Dialect, Items, Notation, Pairs
from untemplate.errors import SchemaError
from untemplate.grammar.answer import ANSWER
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import (
    MOST_CHARACTERS,
    MOST_DIGITS,
    Format,
    Keys,
    Length,
    Multiple,
    Pattern,
    Place,
    Properties,
    Size,
    Typed,
    Whole,
)
from untemplate.grammar.schema_atoms import Items as ItemsAtom
from untemplate.grammar.schema_check import Draft, in_depth, schema_text, subschemas
from untemplate.grammar.schema_formats import CHECKED, FORMATS, NARROWER
from untemplate.grammar.schema_formula import All, Formula, leaves
from untemplate.grammar.schema_keywords import decimal
from untemplate.grammar.schema_relax import Known, asks_keys_only, why_unknown
from untemplate.grammar.validation import is_expression
from untemplate.message import JSON, Tool, pointer_token

__all__ = ["InPairs", "Keyword", "Report", "Status", "in_pairs", "refuse_inexact", "report_on"]

Status = Literal["exact", "checked", "ignored"]
InPairs = Literal["", "arguments", "values"]
"""`arguments`: only these; `values`: and all objects and arrays in them."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword at one place."""

    origin: str
    """`tool NAME`, or `response_schema`."""
    pointer: str
    status: Status
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.origin} {self.pointer}: {self.status}" + f"; {self.reason}" * bool(
            self.reason
        )


@dataclass(frozen=True, slots=True)
class Report:
    """All keywords of all schemas of a grammar."""

    keywords: tuple[Keyword, ...]

    @property
    def checked(self) -> tuple[Keyword, ...]:
        """Those that only validation enforces."""
        return tuple(k for k in self.keywords if k.status == "checked")

    def __str__(self) -> str:
        return "\n".join(map(str, self.keywords))


def report_on(
    tools: tuple[Tool, ...],
    response_schema: JSON,
    *,
    open_objects: bool,
    in_pairs: InPairs = "",
) -> Report:
    """The report on some schemas; `in_pairs`: what of the arguments is written pair by pair.

    Raises:
        SchemaError: one of them is not valid; names origin and pointer.
        LimitError: one of them is too large.
    """
    found: list[Keyword] = []
    for tool in tools:
        origin = f"tool {tool.name}"
        text = schema_text(tool.parameters, origin)
        found += _keywords(origin, text, open_objects, in_pairs)
    if response_schema is not None:
        found += _keywords(ANSWER, schema_text(response_schema, ANSWER), True, "")
    return Report(tuple(found))


def in_pairs(dialect: Dialect) -> InPairs:
    """What of the arguments a dialect writes pair by pair."""
    blocks = (b for b in dialect.blocks.values() if isinstance(b, CallBlock))
    pairs = [b.arguments for b in blocks if isinstance(b.arguments, Pairs)]
    types = [
        p.types[kind].encoding for p in pairs for kind in ("array", "object") if kind in p.types
    ]
    if any(isinstance(e, Notation | Items | Pairs) for e in types):
        return "values"
    return "arguments" if pairs else ""


def refuse_inexact(
    report: Report, tools: tuple[Tool, ...], *, is_answer_strict: bool = False
) -> None:
    """Refuses what can't be exact in a tool that is strict, or in the response's schema if it is.

    Raises:
        SchemaError: names the tool and the pointer of the first such keyword.
    """
    strict = {f"tool {tool.name}": "tool" for tool in tools if tool.strict}
    if is_answer_strict:
        strict[ANSWER] = "schema"
    for keyword in report.checked:
        if keyword.origin in strict:
            raise SchemaError(
                f"the {strict[keyword.origin]} is strict, "
                f"but this can't be enforced exactly: {keyword.reason}",
                place=f"{keyword.origin} {keyword.pointer}",
            )


@lru_cache(maxsize=1024)
def _keywords(
    origin: str, schema: str, open_objects: bool, in_pairs: InPairs
) -> tuple[Keyword, ...]:
    with in_depth(origin):
        schemas = Schemas(json.loads(schema), origin=origin, open_objects=open_objects)
        return tuple(_Walk(schemas, in_pairs=in_pairs).keywords())


_ANNOTATIONS = frozenset(
    {
        "$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema",
        "$vocabulary", "default", "definitions", "deprecated", "description", "discriminator",
        "example", "examples", "externalDocs", "id", "readOnly", "strict", "title", "writeOnly",
        "xml",
    }
)  # fmt: skip
_CONTENT = ("contentEncoding", "contentMediaType", "contentSchema")
_IN_PAIRS = frozenset(
    {
        "anyOf", "const", "dependencies", "dependentRequired", "dependentSchemas", "else", "enum",
        "if", "not", "oneOf", "then",
    }
)  # fmt: skip
"""What may not be followed where an object is written pair by pair."""
_IN_ITEMS = frozenset(
    {
        "anyOf", "const", "contains", "else", "enum", "if", "maxContains", "minContains", "not",
        "oneOf", "then", "unevaluatedItems", "uniqueItems",
    }
)  # fmt: skip
"""What may not be followed where an array is written item by item."""
_BESIDE = frozenset(
    {
        "$dynamicRef", "$recursiveRef", "$ref", "allOf", "anyOf", "dependencies",
        "dependentSchemas", "else", "if", "not", "oneOf", "then",
    }
)  # fmt: skip
"""Keywords whose schemas are about the same value."""
_EXACT = frozenset(
    {
        "$dynamicRef", "$recursiveRef", "$ref", "additionalItems", "additionalProperties", "allOf",
        "anyOf", "const", "contains", "dependencies", "dependentRequired", "dependentSchemas",
        "else", "enum", "exclusiveMaximum", "exclusiveMinimum", "if", "items", "maxContains",
        "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength",
        "minProperties", "minimum", "not", "nullable", "oneOf", "patternProperties", "prefixItems",
        "properties", "propertyNames", "required", "then", "type",
    }
)  # fmt: skip
_CHARACTERS = f"strings whose length is bounded have at most {MOST_CHARACTERS} characters"
_DIGITS = f"numbers have at most {MOST_DIGITS} digits before and after the point"


_NOT_IN_PAIRS = "not followed in what is written pair by pair"
_NOT_IN_ITEMS = "not followed in what is written item by item"


@dataclass(frozen=True, slots=True)
class _Visit:
    """One way to come to a subschema."""

    place: Place
    must: bool = True
    """Every value held against it has to be so; else it is only asked whether it is."""
    dropped: str = ""
    """Why nothing in it is enforced."""
    in_pairs: bool = False
    """Whether its values, if objects or arrays, are written in a notation of the dialect's own."""


class _Walk:
    """Goes from the root to every subschema that a value can be held against."""

    def __init__(self, schemas: Schemas, *, in_pairs: InPairs) -> None:
        self._schemas = schemas
        self._is_known = Known(schemas)
        self._in_pairs: InPairs = in_pairs
        self._found: dict[str, Keyword] = {}
        self._seen: set[_Visit] = set()

    def keywords(self) -> list[Keyword]:
        pending = [_Visit(self._schemas.root, in_pairs=self._in_pairs != "")]
        while pending:
            visit = pending.pop()
            if visit not in self._seen:
                self._seen.add(visit)
                pending += reversed(list(self._inner(visit)))
        return list(self._found.values())

    def _inner(self, visit: "_Visit") -> Iterator["_Visit"]:
        """Tells the keywords of a subschema; gives those inside of it."""
        place, must, dropped = visit.place, visit.must, visit.dropped
        typed = self._schemas.typed(place)
        schema = self._schemas.references.at(place)
        if not isinstance(schema, dict):
            return
        self._refuse_unknown(place, schema)
        for keyword, value in schema.items():
            status, reason = self._status(keyword, value, schema, typed, must)
            why = dropped or self._dropped(visit, keyword, schema)
            if why and status == "exact":
                status, reason = "checked", why
            if status != "exact" or keyword not in _ANNOTATIONS:
                self._tell(f"{place.pointer}/{pointer_token(keyword)}", status, reason)
        for target in self._schemas.references.targets(schema, place):
            yield replace(visit, place=target)
        if "$ref" in schema and self._schemas.draft < Draft.V2019:
            return
        for step, _ in subschemas(schema):
            keyword = step[1:].partition("/")[0]
            if keyword in ("$defs", "definitions"):
                continue
            why = dropped or self._dropped(visit, keyword, schema)
            in_must = must and self._must_hold(place, keyword, schema, step)
            is_in_pairs = visit.in_pairs if keyword in _BESIDE else self._in_pairs == "values"
            inner = self._schemas.references.inner(place, step)
            yield _Visit(inner, in_must, why, in_pairs=is_in_pairs)

    def _must_hold(self, place: Place, keyword: str, schema: dict[str, JSON], step: str) -> bool:
        """Whether what is held against a subschema has to be so.

        A branch must hold for arrays, or objects, that no other branch takes.
        """
        if keyword not in ("anyOf", "oneOf"):
            return keyword not in ("not", "if", "contains")
        branches = schema[keyword]
        assert isinstance(branches, list)
        inner = self._schemas.references.inner
        others = [f"/{keyword}/{n}" for n in range(len(branches)) if f"/{keyword}/{n}" != step]
        typed = [self._schemas.typed(inner(place, s)) for s in (step, *others)]
        kinds = (tuple(t.array for t in typed), tuple(t.object for t in typed))
        return all(own is False or not any(o is not False for o in rest) for own, *rest in kinds)

    def _refuse_unknown(self, place: Place, schema: dict[str, JSON]) -> None:
        """Refuses patterns that neither a mask nor a validator can follow."""
        found = [("/pattern", schema["pattern"])] if "pattern" in schema else []
        if isinstance(named := schema.get("patternProperties"), dict):
            found += [(f"/patternProperties/{pointer_token(p)}", p) for p in named]
        for step, pattern in found:
            why = why_unknown(Pattern(str(pattern)))
            if why and not is_expression(str(pattern)):
                raise SchemaError(
                    f"nothing can enforce this: {why}",
                    place=f"{self._schemas.origin} {place.pointer}{step}",
                )

    def _tell(self, pointer: str, status: Status, reason: str) -> None:
        """Of what is told twice of a keyword the worse stands."""
        known = self._found.get(pointer)
        if known is None or (known.status == "exact" and status != "exact"):
            self._found[pointer] = Keyword(self._schemas.origin, pointer, status, reason)

    def _dropped(self, visit: "_Visit", keyword: str, schema: dict[str, JSON]) -> str:
        """Why nothing that stands under a keyword is enforced."""
        place = visit.place
        if visit.in_pairs and (why := self._dropped_in_pairs(place, keyword)):
            return why
        tests: list[str] = []
        if keyword == "oneOf" and isinstance(options := schema.get("oneOf"), list):
            tests = list(self._unknown_among(place, [f"/oneOf/{n}" for n in range(len(options))]))
        elif keyword in ("if", "then", "else") and "if" in schema:
            tests = ["/if"]
        elif keyword == "not":
            tests = ["/not"]
        for test in tests:
            if not self._is_known(self._schemas.references.inner(place, test)):
                return f"{place.pointer}{test} is not enforced, and {keyword} hangs on it"
        return ""

    def _unknown_among(self, place: Place, branches: list[str]) -> Iterator[str]:
        """Those of which it can't be said whether they hold, beside others for the same values."""
        inner = self._schemas.references.inner
        typed = [self._schemas.typed(inner(place, branch)) for branch in branches]
        kinds = [*zip(*(t.parts for t in typed), strict=True)]
        if self._schemas.are_apart(place, typed):
            kinds.pop()  # objects
        for kind in kinds:
            live = [n for n, part in enumerate(kind) if part is not False]
            if len(live) > 1:
                yield from (branches[n] for n in live if not self._is_known.whole(kind[n]))

    def _dropped_in_pairs(self, place: Place, keyword: str) -> str:
        typed = self._schemas.typed(place)
        if keyword in _IN_PAIRS and not all(map(_is_in_pairs, _top(typed.object))):
            return _NOT_IN_PAIRS
        is_root = self._in_pairs == "arguments"
        whole = all(isinstance(part, bool | ItemsAtom | Size) for part in _top(typed.array))
        return "" if is_root or whole or keyword not in _IN_ITEMS else _NOT_IN_ITEMS

    def _status(
        self, keyword: str, value: JSON, schema: dict[str, JSON], typed: Typed, must: bool
    ) -> tuple[Status, str]:
        if "$ref" in schema and keyword != "$ref" and self._schemas.draft < Draft.V2019:
            ignored = keyword not in _ANNOTATIONS
            return ("ignored", "beside $ref, where this draft asks nothing") if ignored else _OK
        match (keyword, value):
            case "pattern", str():
                return _checked(why_unknown(Pattern(value)))
            case "format", str():
                if value not in FORMATS and value not in CHECKED:
                    return "ignored", f"the format {value} is not asserted"
                why = why_unknown(Format(value))
                return ("checked", why) if why else ("exact", NARROWER.get(value, ""))
            case "patternProperties", dict():
                problems = (why_unknown(Pattern(p)) for p in value)
                return _checked(next((p for p in problems if p), None))
            case "multipleOf", int() | float():
                return _checked(why_unknown(Multiple(decimal(value))))
            case "uniqueItems", True:
                return _checked(self._why_not_unique(typed, must))
            case "uniqueItems", _:
                return _OK
            case (("unevaluatedItems" | "unevaluatedProperties"), _):
                part = typed.array if keyword == "unevaluatedItems" else typed.object
                whys = (why_unknown(leaf) for leaf in leaves(part))
                return _checked(next((w for w in whys if w and keyword in w), None))
            case "required", bool():
                return "ignored", "it has to be a list"
            case "maxLength", int() | float() if value > MOST_CHARACTERS:
                return "exact", _CHARACTERS
            case "type", _:
                kinds = value if isinstance(value, list) else [value]
                return "exact", _DIGITS if {"integer", "number"} & set(map(str, kinds)) else ""
            case "nullable", _ if self._schemas.open_objects:
                return "ignored", "not a keyword of JSON Schema"
            case _:
                pass
        if keyword in _EXACT or keyword in _ANNOTATIONS:
            return _OK
        if keyword in _CONTENT:
            return "ignored", "contents are not looked into"
        return "ignored", "not a keyword"

    def _why_not_unique(self, typed: Typed, must: bool) -> str | None:
        if not must:
            return "items are compared only where they must differ in any case"
        items = [leaf for leaf in leaves(typed.array) if isinstance(leaf, ItemsAtom)]
        for item in [s for i in items for s in (*i.prefix, i.rest)] if items else [True]:
            kinds = self._schemas.typed(item)
            if kinds.array is not False or kinds.object is not False:
                return "items that are arrays or objects may be repeated where a budget ends"
            is_endless = any(map(_is_endless, (kinds.number, kinds.string)))
            if not is_endless and (kinds.members is None or any(i.prefix for i in items)):
                return "there may be no further item, and then one is repeated"
        return None


def _top(formula: Formula) -> tuple[Formula, ...]:
    """The parts that all have to hold."""
    return formula.parts if isinstance(formula, All) else (formula,)


def _is_in_pairs(part: Formula) -> bool:
    """Whether a part is followed where an object is written pair by pair."""
    return isinstance(part, Properties | Keys) or asks_keys_only(part)


def _is_endless(formula: Formula) -> bool:
    """Whether there is always one more number, or string."""
    parts = formula.parts if isinstance(formula, All) else (formula,)
    return all(part is True or isinstance(part, Whole | Length | Multiple) for part in parts)


_OK: tuple[Status, str] = ("exact", "")


def _checked(problem: str | None) -> tuple[Status, str]:
    return _OK if problem is None else ("checked", problem)
