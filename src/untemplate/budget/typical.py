"""What arguments of a tool usually look like: an example value for its schema.

    typical_arguments({"type": "object", "properties": {"city": {"type": "string"}}})
    -> {"city": "a few words of text, as"}

Required members are there, and those optional ones that have no default (who declares a default
expects it to be left out). Examples in the schema are taken before anything made up. The value is
for its size in tokens, nothing else; it need not be valid under every keyword.
"""

from collections.abc import Mapping
from typing import cast

from untemplate.message import JSON, pointer_key

__all__ = ["typical_arguments"]

_TEXT = "a few words of text, as one would write them here, and then some more of the same kind. "
_TEXT_CHARACTERS = 24
_ITEMS = 2
_DEPTH_MAX = 5
_FORMATS: Mapping[str, str] = {
    "date": "2026-03-14",
    "date-time": "2026-03-14T09:26:53Z",
    "email": "anna.schmidt@example.com",
    "time": "09:26:53Z",
    "uri": "https://example.com/path/to/page",
    "uuid": "3f2b8c9e-1d4a-4e7b-9c6d-5a8f0e2b7d41",
}


def typical_arguments(parameters: Mapping[str, JSON]) -> dict[str, JSON]:
    """Arguments of usual size."""
    value = _value(dict(parameters), parameters, 0)
    return value if isinstance(value, dict) else {}


def _value(schema: JSON, root: Mapping[str, JSON], depth: int) -> JSON:
    if not isinstance(schema, dict) or depth > _DEPTH_MAX:
        return _TEXT[:_TEXT_CHARACTERS]
    for keyword in ("examples", "enum"):
        options = schema.get(keyword)
        if isinstance(options, list) and options:
            return sorted(options, key=lambda o: len(str(o)))[len(options) // 2]
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    if isinstance(reference := schema.get("$ref"), str):
        return _value(_resolved(reference, root), root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        if isinstance(options, list) and options:
            return _value(options[0], root, depth + 1)
    parts = schema.get("allOf")
    if isinstance(parts, list) and parts:
        values = [_value(p, root, depth + 1) for p in parts]
        objects = [v for v in values if isinstance(v, dict)]
        return {k: v for o in objects for k, v in o.items()} if objects else values[0]
    return _of_type(schema, root, depth)


def _of_type(schema: dict[str, JSON], root: Mapping[str, JSON], depth: int) -> JSON:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, root, depth)
    match kind:
        case "array":
            count = _within(_ITEMS, schema, "minItems", "maxItems")
            return [_value(schema.get("items", {}), root, depth + 1) for _ in range(min(count, 99))]
        case "integer":
            return _within(42, schema, "minimum", "maximum")
        case "number":
            return float(_within(42, schema, "minimum", "maximum")) + 0.5
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _string(schema)


def _object(schema: dict[str, JSON], root: Mapping[str, JSON], depth: int) -> dict[str, JSON]:
    properties = schema.get("properties")
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return {
        name: _value(inner, root, depth + 1)
        for name, inner in (properties.items() if isinstance(properties, dict) else ())
        if name in names or not (isinstance(inner, dict) and "default" in inner)
    }


def _string(schema: dict[str, JSON]) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[cast("str", schema["format"])]
    size = _within(_TEXT_CHARACTERS, schema, "minLength", "maxLength")
    return (_TEXT * (min(size, 100_000) // len(_TEXT) + 1))[:size]


def _within(value: int, schema: dict[str, JSON], least: str, most: str) -> int:
    low, high = schema.get(least), schema.get(most)
    if isinstance(low, int | float):
        value = max(value, int(low))
    if isinstance(high, int | float):
        value = min(value, int(high))
    return value


def _resolved(reference: str, root: Mapping[str, JSON]) -> JSON:
    """What a reference inside the schema means; nothing else is ever fetched."""
    found: JSON = dict(root)
    for step in reference.removeprefix("#/").split("/"):
        if not isinstance(found, dict):
            return {}
        found = found.get(pointer_key(step), {})
    return found
