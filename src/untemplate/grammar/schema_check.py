r"""Whether a value is a JSON Schema at all, said before anything is built from it.

    check({"type": "strin"}, "tool pay")
    -> SchemaError: tool pay #/type: "strin" is not a type; ...

Every keyword that has a meaning must have a value of the right kind, in every subschema. Keywords
that are not known are ignored, as JSON Schema says. Depth and number of subschemas are bounded.

A schema goes on as the text that `schema_text` makes of it; that is where what is no JSON is found.
"""

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from math import isfinite
from typing import cast

from untemplate.errors import LimitError, SchemaError
from untemplate.grammar.schema_atoms import MOST_LEAST
from untemplate.message import JSON, kind_of, pointer_token

__all__ = ["Draft", "check", "draft_of", "in_depth", "schema_text", "subschemas", "with_subschemas"]

_MOST_DEPTH = 128
"""Of lists and objects in each other, constants and all."""
_MOST_SUBSCHEMAS = 50_000


class Draft(IntEnum):
    """Versions of JSON Schema, as far as they differ here."""

    V4 = 4
    V6 = 6
    V7 = 7
    V2019 = 2019
    V2020 = 2020


def draft_of(schema: JSON) -> Draft:
    """Which draft a schema says that it is written in."""
    name = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(name, str):
        return Draft.V2020
    found = re.search(r"draft[-/]?(0[346]|4|6|7|07|2019-09|2020-12)\b", name)
    if found is None:
        return Draft.V2020
    number = found.group(1).lstrip("0")
    by_name = {"3": Draft.V4, "4": Draft.V4, "6": Draft.V6, "7": Draft.V7, "2019-09": Draft.V2019}
    return by_name.get(number, Draft.V2020)


_SINGLE = (
    "additionalItems", "additionalProperties", "contains", "else", "if", "not", "propertyNames",
    "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = (
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"
)  # fmt: skip


def subschemas(schema: dict[str, JSON]) -> Iterator[tuple[str, JSON]]:
    """Each subschema one level below, with the pointer from here (`/properties/a`)."""
    for keyword in _SINGLE:
        if keyword in schema:
            yield f"/{keyword}", schema[keyword]
    items = schema.get("items")
    if "items" in schema and not isinstance(items, list):
        yield "/items", items
    for keyword in (*_LISTS, "items"):
        if isinstance(found := schema.get(keyword), list):
            yield from ((f"/{keyword}/{n}", inner) for n, inner in enumerate(found))
    for keyword in _MAPS:
        if isinstance(found := schema.get(keyword), dict):
            for key, inner in found.items():
                # `dependencies` holds schemas and lists of keys side by side.
                if keyword != "dependencies" or not isinstance(inner, list):
                    yield f"/{keyword}/{pointer_token(key)}", inner


def with_subschemas(schema: dict[str, JSON], change: Callable[[JSON], JSON]) -> dict[str, JSON]:
    """The schema with each subschema one level below changed."""
    found = dict(schema)
    for keyword in (*_SINGLE, "items"):
        if keyword in found and not isinstance(found[keyword], list):
            found[keyword] = change(found[keyword])
    for keyword in (*_LISTS, "items"):
        if isinstance(options := found.get(keyword), list):
            found[keyword] = [change(option) for option in options]
    for keyword in _MAPS:
        if isinstance(named := found.get(keyword), dict):
            found[keyword] = {
                key: inner if isinstance(inner, list) else change(inner)
                for key, inner in named.items()
            }
    return found


_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


_LEAST = ("minContains", "minItems", "minLength", "minProperties")


def _is_count(value: JSON) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool) and value >= 0  # type: ignore[operator]


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_strings(value: JSON) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _is_bound(value: JSON) -> bool:
    return isinstance(value, bool) or _is_number(value)


def _is_step(value: JSON) -> bool:
    return _is_number(value) and value > 0  # type: ignore[operator]


_MUST_BE: Mapping[str, tuple[str, Callable[[JSON], bool]]] = {
    **dict.fromkeys(
        ("maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems",
         "minLength", "minProperties"),
        ("a whole number, 0 or more", _is_count),
    ),
    **dict.fromkeys(("maximum", "minimum"), ("a number", _is_number)),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), ("a number", _is_bound)),
    "multipleOf": ("a number above 0", _is_step),
    **dict.fromkeys(
        ("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "format", "pattern"),
        ("a string", lambda v: isinstance(v, str)),
    ),
    "dependentRequired": (
        "an object of lists of strings",
        lambda v: isinstance(v, dict) and all(map(_is_strings, v.values())),
    ),
    **dict.fromkeys(
        ("allOf", "anyOf", "oneOf"),
        ("a list of schemas, not empty", lambda v: isinstance(v, list) and bool(v)),
    ),
    "prefixItems": ("a list of schemas", lambda v: isinstance(v, list)),
    **dict.fromkeys(_MAPS, ("an object", lambda v: isinstance(v, dict))),
    "enum": ("a list", lambda v: isinstance(v, list)),
    **dict.fromkeys(("nullable", "uniqueItems"), ("true or false", lambda v: isinstance(v, bool))),
}  # fmt: skip


@contextmanager
def in_depth(origin: str) -> Generator[None]:
    """Schemas are followed by recursion: what passes Python's bound passes one of ours.

    References lead deeper than a schema is nested, so no bound on its text can see it before.

    Raises:
        LimitError: names the origin.
    """
    try:
        yield
    except RecursionError:
        raise LimitError("nested too deep, or references lead too deep", place=origin) from None


def schema_text(schema: JSON, origin: str) -> str:
    """The schema as JSON text.

    Raises:
        SchemaError: it is no JSON; names origin and pointer.
        LimitError: it is nested too deep.
    """
    try:
        return json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        _check_depth(schema, origin)
        raise SchemaError("is not JSON", place=f"{origin} {_not_json(schema)}") from None


def _check_depth(schema: JSON, origin: str) -> None:
    level = [schema]
    for _ in range(_MOST_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise LimitError(f"nested deeper than {_MOST_DEPTH} levels", place=f"{origin} #")


def _inside(value: JSON) -> list[JSON]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in inner if isinstance(item, dict | list)]


def _not_json(schema: JSON) -> str:
    """The pointer of the first value that JSON does not know."""
    pending: list[tuple[str, object]] = [("#", schema)]
    while pending:
        pointer, node = pending.pop()
        match node:
            case dict():
                items = cast("dict[object, object]", node).items()
                pending += [(f"{pointer}/{pointer_token(str(k))}", v) for k, v in items]
            case list() | tuple():
                values = cast("Sequence[object]", node)
                pending += [(f"{pointer}/{n}", v) for n, v in enumerate(values)]
            case None | str() | int():
                pass
            case float() if isfinite(node):
                pass
            case _:
                return pointer
    return "#"


def check(schema: JSON, origin: str, at: str = "#") -> None:
    """Raises SchemaError with the pointer of the first thing that is wrong at a place or below."""
    _check_depth(schema, origin)
    left = _MOST_SUBSCHEMAS
    pending: list[tuple[str, JSON]] = [(at, schema)]
    while pending:
        pointer, node = pending.pop()
        left -= 1
        if left < 0:
            message = f"more than {_MOST_SUBSCHEMAS} subschemas"
            raise LimitError(message, place=f"{origin} {pointer}")
        if isinstance(node, bool):
            continue
        if not isinstance(node, dict):
            raise SchemaError(
                f"{kind_of(node)} stands where a schema is needed", place=f"{origin} {pointer}"
            )
        _check_one(node, pointer, origin)
        pending += [(pointer + step, inner) for step, inner in subschemas(node)]


def _check_one(schema: dict[str, JSON], pointer: str, origin: str) -> None:
    for keyword, (wanted, holds) in _MUST_BE.items():
        if keyword in schema and not holds(schema[keyword]):
            raise SchemaError(f"must be {wanted}", place=f"{origin} {pointer}/{keyword}")
    for keyword in _LEAST:
        if schema.get(keyword, 0) > MOST_LEAST:  # type: ignore[operator]
            message = f"asks for more than {MOST_LEAST}"
            raise LimitError(message, place=f"{origin} {pointer}/{keyword}")
    # Beside the list that it is there was a draft in which it was true or false.
    required = schema.get("required", False)
    if not isinstance(required, bool) and not _is_strings(required):
        raise SchemaError("must be a list of strings", place=f"{origin} {pointer}/required")
    dependencies = schema.get("dependencies")
    for key, inner in dependencies.items() if isinstance(dependencies, dict) else ():
        if isinstance(inner, list) and not _is_strings(inner):
            place = f"{origin} {pointer}/dependencies/{pointer_token(key)}"
            raise SchemaError("must be a schema or a list of strings", place=place)
    kinds = schema.get("type", [])
    if "type" in schema and kinds == []:
        raise SchemaError("must name a type", place=f"{origin} {pointer}/type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in _TYPES:
            known = ", ".join(_TYPES)
            shown = repr(kind[:40]) if isinstance(kind, str) else kind_of(kind)
            raise SchemaError(
                f"{shown} is not a type; the types are {known}", place=f"{origin} {pointer}/type"
            )
