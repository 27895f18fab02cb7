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
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from untemplate.dialect import CallBlock, Dialect, Pairs
from untemplate.errors import SchemaError
from untemplate.grammar.answer import ANSWER
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import (
    MOST_DIGITS,
    Format,
    Items,
    Length,
    Multiple,
    Pattern,
    Place,
    Typed,
    Whole,
)
from untemplate.grammar.schema_check import Draft, subschemas
from untemplate.grammar.schema_formats import CHECKED, FORMATS
from untemplate.grammar.schema_formula import All, Formula, leaves
from untemplate.grammar.schema_keywords import decimal
from untemplate.grammar.schema_relax import Known, why_unknown
from untemplate.message import JSON, Tool, pointer_token

__all__ = ["Keyword", "Report", "Status", "is_in_pairs", "refuse_inexact", "report_on"]

Status = Literal["exact", "checked", "ignored"]


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
    tools: tuple[Tool, ...], response_schema: JSON, *, open_objects: bool, in_pairs: bool
) -> Report:
    """The report on some schemas; `in_pairs`: arguments are written pair by pair.

    Raises:
        SchemaError: one of them is not valid; names origin and pointer.
        LimitError: one of them is too large.
    """
    found: list[Keyword] = []
    for tool in tools:
        found += _keywords(f"tool {tool.name}", json.dumps(tool.parameters), open_objects, in_pairs)
    if response_schema is not None:
        found += _keywords(ANSWER, json.dumps(response_schema), True, False)
    return Report(tuple(found))


def is_in_pairs(dialect: Dialect) -> bool:
    """Whether a dialect writes arguments pair by pair."""
    blocks = (b for b in dialect.blocks.values() if isinstance(b, CallBlock))
    return any(isinstance(b.arguments, Pairs) for b in blocks)


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
def _keywords(origin: str, schema: str, open_objects: bool, in_pairs: bool) -> tuple[Keyword, ...]:
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
_IN_PAIRS = (
    "anyOf", "dependencies", "dependentRequired", "dependentSchemas", "else", "if", "not", "oneOf",
    "patternProperties", "propertyNames", "then",
)  # fmt: skip
"""What is not followed where an object is written pair by pair."""
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
_DIGITS = f"numbers have at most {MOST_DIGITS} digits before and after the point"


class _Walk:
    """Goes from the root to every subschema that a value can be held against."""

    def __init__(self, schemas: Schemas, *, in_pairs: bool) -> None:
        self._schemas = schemas
        self._is_known = Known(schemas)
        self._in_pairs = in_pairs
        self._found: dict[str, Keyword] = {}
        self._seen: set[tuple[str, bool, str]] = set()

    def keywords(self) -> list[Keyword]:
        pending: list[tuple[Place, bool, str]] = [(self._schemas.root, True, "")]
        while pending:
            place, must, dropped = pending.pop()
            if (place.pointer, must, dropped) not in self._seen:
                self._seen.add((place.pointer, must, dropped))
                pending += reversed(list(self._visit(place, must, dropped)))
        return list(self._found.values())

    def _visit(self, place: Place, must: bool, dropped: str) -> Iterator[tuple[Place, bool, str]]:
        """Tells the keywords of a subschema; gives those inside of it.

        `must`: every value held against it has to be so; else it is only asked whether it is.
        `dropped`: why nothing in it is enforced.
        """
        typed = self._schemas.typed(place)
        schema = self._schemas.at(place)
        if not isinstance(schema, dict):
            return
        for keyword, value in schema.items():
            status, reason = self._status(keyword, value, schema, typed, must)
            why = dropped or self._dropped(place, keyword, schema)
            if why and status == "exact":
                status, reason = "checked", why
            if status != "exact" or keyword not in _ANNOTATIONS:
                self._tell(f"{place.pointer}/{pointer_token(keyword)}", status, reason)
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(reference := schema.get(keyword), str):
                yield self._schemas.target(reference, f"{place.pointer}/{keyword}"), must, dropped
        if "$ref" in schema and self._schemas.draft < Draft.V2019:
            return
        for step, _ in subschemas(schema):
            keyword = step[1:].partition("/")[0]
            if keyword in ("$defs", "definitions"):
                continue
            why = dropped or self._dropped(place, keyword, schema)
            in_must = must and keyword not in ("anyOf", "oneOf", "not", "if", "contains")
            yield Place(place.pointer + step), in_must, why

    def _tell(self, pointer: str, status: Status, reason: str) -> None:
        """Of what is told twice of a keyword the worse stands."""
        known = self._found.get(pointer)
        if known is None or (known.status == "exact" and status != "exact"):
            self._found[pointer] = Keyword(self._schemas.origin, pointer, status, reason)

    def _dropped(self, place: Place, keyword: str, schema: dict[str, JSON]) -> str:
        """Why nothing that stands under a keyword is enforced."""
        if self._in_pairs and place == self._schemas.root and keyword in _IN_PAIRS:
            return "not followed in arguments that are written pair by pair"
        tests: list[str] = []
        if keyword == "oneOf" and isinstance(options := schema.get("oneOf"), list):
            tests = [f"/oneOf/{n}" for n in range(len(options))]
        elif keyword in ("if", "then", "else") and "if" in schema:
            tests = ["/if"]
        elif keyword == "not":
            tests = ["/not"]
        for test in tests:
            if not self._is_known(Place(place.pointer + test)):
                return f"{place.pointer}{test} is not enforced, and {keyword} hangs on it"
        return ""

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
                return _checked(why_unknown(Format(value)))
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
        items = [leaf for leaf in leaves(typed.array) if isinstance(leaf, Items)]
        for item in [s for i in items for s in (*i.prefix, i.rest)] if items else [True]:
            kinds = self._schemas.typed(item)
            if kinds.array is not False or kinds.object is not False:
                return "items that are arrays or objects are not compared"
            is_endless = any(map(_is_endless, (kinds.number, kinds.string)))
            if not is_endless and (kinds.members is None or any(i.prefix for i in items)):
                return "there may be no further item, and then one is repeated"
        return None


def _is_endless(formula: Formula) -> bool:
    """Whether there is always one more number, or string."""
    parts = formula.parts if isinstance(formula, All) else (formula,)
    return all(part is True or isinstance(part, Whole | Length | Multiple) for part in parts)


_OK: tuple[Status, str] = ("exact", "")


def _checked(problem: str | None) -> tuple[Status, str]:
    return _OK if problem is None else ("checked", problem)
