r"""Whether a value is a JSON Schema at all, said before anything is built from it.

    check({"type": "strin"}, "tool pay")
    -> SchemaError: tool pay #/type: 'strin' is not a type; ...

Every keyword that has a meaning must have a value of the right kind, in every subschema. Keywords
that are not known are ignored, as JSON Schema says. Depth and number of subschemas are bounded.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum

from untemplate.errors import LimitError, SchemaError
from untemplate.message import JSON, pointer_token

__all__ = ["Draft", "check", "draft_of", "subschemas"]

_MOST_DEPTH = 200
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


_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


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
    **dict.fromkeys(("$ref", "pattern", "format"), ("a string", lambda v: isinstance(v, str))),
    **dict.fromkeys(
        ("allOf", "anyOf", "oneOf"),
        ("a list of schemas, not empty", lambda v: isinstance(v, list) and bool(v)),
    ),
    "prefixItems": ("a list of schemas", lambda v: isinstance(v, list)),
    **dict.fromkeys(_MAPS, ("an object", lambda v: isinstance(v, dict))),
    "enum": ("a list", lambda v: isinstance(v, list)),
    "uniqueItems": ("true or false", lambda v: isinstance(v, bool)),
}  # fmt: skip


def check(schema: JSON, origin: str, at: str = "#") -> None:
    """Raises SchemaError with the pointer of the first thing that is wrong at a place or below."""
    left = _MOST_SUBSCHEMAS
    pending: list[tuple[str, JSON, int]] = [(at, schema, 0)]
    while pending:
        pointer, node, depth = pending.pop()
        left -= 1
        if depth > _MOST_DEPTH or left < 0:
            what = f"deeper than {_MOST_DEPTH}" if left >= 0 else f"more than {_MOST_SUBSCHEMAS}"
            raise LimitError(f"{what} subschemas", place=f"{origin} {pointer}")
        if isinstance(node, bool):
            continue
        if not isinstance(node, dict):
            shown = type(node).__name__.replace("NoneType", "null").replace("str", "string")
            raise SchemaError(
                f"a {shown} stands where a schema is needed", place=f"{origin} {pointer}"
            )
        _check_one(node, pointer, origin)
        pending += [(pointer + step, inner, depth + 1) for step, inner in subschemas(node)]


def _check_one(schema: dict[str, JSON], pointer: str, origin: str) -> None:
    for keyword, (wanted, holds) in _MUST_BE.items():
        if keyword in schema and not holds(schema[keyword]):
            raise SchemaError(f"must be {wanted}", place=f"{origin} {pointer}/{keyword}")
    # Beside the list that it is there was a draft in which it was true or false.
    required = schema.get("required", False)
    if not isinstance(required, bool) and not _is_strings(required):
        raise SchemaError("must be a list of strings", place=f"{origin} {pointer}/required")
    kinds = schema.get("type", [])
    if "type" in schema and kinds == []:
        raise SchemaError("must name a type", place=f"{origin} {pointer}/type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in _TYPES:
            known = ", ".join(_TYPES)
            raise SchemaError(
                f"{kind!r} is not a type; the types are {known}", place=f"{origin} {pointer}/type"
            )
