"""What of a call's arguments its tool does not declare: found once, when the call has ended.

    list(find_faults({"city": "Paris", "days": "three", "zone": "CET"}, weather_schema))
    -> [Note("wrong_type", "days is a string, not an integer"),
        Note("undeclared_argument", "zone is not declared")]

Only what is plain is said: a member that the schema leaves no room for, and a value whose JSON type
the schema does not name. Whether a value is valid in every respect is for a validator to say.
"""

from collections.abc import Iterator, Mapping

from untemplate.message import JSON
from untemplate.reader.kinds import property_of, types_of
from untemplate.reader.sink import Note

__all__ = ["find_faults"]

_OPENING = frozenset(
    {
        "$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas",
        "unevaluatedProperties",
    }
)  # fmt: skip
"""Keywords beside which a member may be declared elsewhere."""


def find_faults(
    arguments: Mapping[str, JSON], schema: dict[str, JSON], *, open_objects: bool = False
) -> Iterator[Note]:
    """The faults of the arguments, in the order of their keys."""
    declared = schema.get("properties")
    if not isinstance(declared, dict):
        return
    more = schema.get("additionalProperties", open_objects)
    is_closed = more is False and not _OPENING & schema.keys()
    # What is required may be written even where nothing else is said of it, as in the grammar.
    required = schema.get("required")
    asked = required if isinstance(required, list) and "additionalProperties" not in schema else ()
    for key, value in arguments.items():
        if key not in declared:
            if is_closed and key not in asked:
                yield Note("undeclared_argument", f"{key} is not declared")
            continue
        member = property_of(schema, key, schema)
        found, wanted = _types(value), types_of(member, schema)
        is_null = value is None and isinstance(member, dict) and member.get("nullable") is True
        if not is_null and not any(kind in wanted for kind in found):
            yield Note("wrong_type", f"{key} is of type {found[0]}, not {' or '.join(wanted)}")


def _types(value: JSON) -> tuple[str, ...]:
    """The JSON types of a value: 3.0 is an integer too."""
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer",)
        case float():
            return ("number", "integer") if value.is_integer() else ("number",)
        case str():
            return ("string",)
        case list():
            return ("array",)
        case dict():
            return ("object",)
