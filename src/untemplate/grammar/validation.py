"""Holds values against schemas: for what a mask can't enforce, and where a text has two readings.

    validator_of('{"type": "integer"}').is_valid(3)     # True

Nothing is ever fetched. The grammar reads more than a validator takes: words of one draft in
another, `nullable`, patterns that are no more than odd. A schema with such is put into plain words
first, so that the rest of it is still held against. What a validator makes nothing of has none.
"""

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, cast

from untemplate.grammar.schema_check import with_subschemas
from untemplate.message import JSON

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jsonschema_rs

__all__ = ["Validator", "is_expression", "moved", "validator_of", "validator_within"]


class Validator(Protocol):
    """What is used of a validator."""

    def is_valid(self, instance: object) -> bool: ...

    def iter_errors(self, instance: object) -> "Iterator[jsonschema_rs.ValidationError]": ...


@lru_cache(maxsize=256)
def validator_of(schema: str, *, nullable: bool = False) -> Validator | None:
    """The validator of a schema, given as JSON text; formats are asserted.

    `nullable`: whether that is a keyword.
    """
    value: JSON = json.loads(schema)
    if nullable and '"nullable"' in schema:
        return _built(_plain(value))
    return _built(value) or _built(_plain(value))


def is_expression(pattern: str) -> bool:
    """Whether a validator makes anything of a pattern."""
    return _built({"pattern": pattern}) is not None


def _built(schema: JSON) -> Validator | None:
    import jsonschema_rs  # noqa: PLC0415  few turns need it

    try:
        found = jsonschema_rs.validator_for(
            cast("dict[str, JSON]", schema), validate_formats=True, retriever=_refuse
        )
    except (ValueError, TypeError, jsonschema_rs.ReferencingError):
        return None  # it knows less of schemas than the grammar
    return cast("Validator", found)


_SPOKEN = ("$comment", "description", "nullable", "title")
"""Asks nothing of a value, here."""


def _plain(schema: JSON) -> JSON:
    """The schema as the grammar reads it, in the words of draft 2020-12."""
    if not isinstance(schema, dict):
        return schema
    found = with_subschemas(schema, _plain)
    found.pop("$schema", None)
    kinds = found.get("type")
    if isinstance(kinds, (str, list)):
        named: list[JSON] = [kinds] if isinstance(kinds, str) else kinds
        more: list[JSON] = ["null"] if found.get("nullable") is True else []
        found["type"] = list(dict.fromkeys(map(str, [*named, *more])))
    for keyword in _SPOKEN:
        found.pop(keyword, None)
    for bound, open_bound in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(found.get(open_bound), bool) and found.pop(open_bound) and bound in found:
            found[open_bound] = found.pop(bound)
    if isinstance(found.get("items"), list):
        found["prefixItems"] = found.pop("items")
        if "additionalItems" in found:
            found["items"] = found.pop("additionalItems")
    required = found.pop("required", None)
    if isinstance(required, list):
        found["required"] = list(dict.fromkeys(map(str, required)))
    if not is_expression(str(found.get("pattern", ""))):
        del found["pattern"]
    if isinstance(patterns := found.get("patternProperties"), dict):
        found["patternProperties"] = {p: s for p, s in patterns.items() if is_expression(p)}
    return found


def validator_within(schema: JSON, root: JSON) -> Validator | None:
    """The validator of a part of a schema, whose references lead into the whole."""
    whole: dict[str, JSON] = {"allOf": [moved(schema, _WHOLE)]}
    if isinstance(root, dict):
        own = {k: v for k, v in root.items() if k not in ("$schema", "$id", "id")}
        whole["$defs"] = {_WHOLE: moved(own, _WHOLE)}
        if "$schema" in root:
            whole["$schema"] = root["$schema"]
    return validator_of(json.dumps(whole))


_WHOLE = "whole"


def moved(schema: JSON, name: str) -> JSON:
    """The schema for a place below `$defs` of another one: references to its root lead to `name`.

    `nullable` is said in words of JSON Schema, which has no such keyword.
    """
    if isinstance(schema, list):
        return [moved(item, name) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {k: moved(v, name) for k, v in schema.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str) and (reference + "/")[:2] == "#/":
        found["$ref"] = f"#/$defs/{name}{reference[1:]}"
    named = found.get("type")
    if found.get("nullable") is True and isinstance(named, (str, list)):
        found["type"] = [*([named] if isinstance(named, str) else named), "null"]
    return found


def _refuse(uri: str) -> JSON:
    raise ValueError(f"nothing is fetched: {uri}")
