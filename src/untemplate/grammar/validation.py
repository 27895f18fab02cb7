"""Holds values against schemas: for what a mask can't enforce, and where a text has two readings.

    validator_of('{"type": "integer"}').is_valid(3)     # True

Nothing is ever fetched. What a validator makes nothing of has none.
"""

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, cast

from untemplate.message import JSON

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jsonschema_rs

__all__ = ["Validator", "moved", "validator_of", "validator_within"]


class Validator(Protocol):
    """What is used of a validator."""

    def is_valid(self, instance: object) -> bool: ...

    def iter_errors(self, instance: object) -> "Iterator[jsonschema_rs.ValidationError]": ...


@lru_cache(maxsize=256)
def validator_of(schema: str) -> Validator | None:
    """The validator of a schema, given as JSON text; formats are asserted."""
    import jsonschema_rs  # noqa: PLC0415  few turns need it

    try:
        found = jsonschema_rs.validator_for(
            json.loads(schema), validate_formats=True, retriever=_refuse
        )
    except (ValueError, TypeError, jsonschema_rs.ReferencingError):
        return None  # it knows less of schemas than the grammar
    return cast("Validator", found)


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
