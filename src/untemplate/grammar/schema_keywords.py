r"""Keywords of numbers, of strings and of sizes -> atoms: what a schema says without subschemas.

list(number_atoms({"minimum": 1, "exclusiveMaximum": 5}))
-> [Range(low=1), Range(high=5, high_open=True)]
"""

from collections.abc import Iterator
from decimal import Decimal

from untemplate.grammar.schema_atoms import (
    MOST_CHARACTERS,
    Format,
    Length,
    Multiple,
    Pattern,
    Range,
    Size,
)
from untemplate.grammar.schema_formula import Formula
from untemplate.message import JSON

__all__ = [
    "decimal",
    "is_number",
    "most_of",
    "number_atoms",
    "size_atoms",
    "string_atoms",
    "whole",
]


def decimal(value: object) -> Decimal:
    """A JSON number, exactly as it would be written."""
    return value if isinstance(value, Decimal) else Decimal(repr(value))


def number_atoms(schema: dict[str, JSON]) -> Iterator[Formula]:
    low, high = schema.get("minimum"), schema.get("maximum")
    low_open, high_open = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    # Draft 4 says by a boolean that the bound itself does not belong to the range.
    if low is not None:
        yield Range(low=decimal(low), low_open=low_open is True)
    if high is not None:
        yield Range(high=decimal(high), high_open=high_open is True)
    if is_number(low_open):
        yield Range(low=decimal(low_open), low_open=True)
    if is_number(high_open):
        yield Range(high=decimal(high_open), high_open=True)
    if (step := schema.get("multipleOf")) is not None:
        yield Multiple(decimal(step))


def string_atoms(schema: dict[str, JSON]) -> Iterator[Formula]:
    least, most = whole(schema.get("minLength", 0)), most_of(schema.get("maxLength"))
    if least or most is not None:
        yield Length(least, None if most is None else min(most, MOST_CHARACTERS))
    if isinstance(pattern := schema.get("pattern"), str):
        yield Pattern(pattern)
    if isinstance(name := schema.get("format"), str):
        yield Format(name)


def size_atoms(schema: dict[str, JSON], least: str, most: str) -> Iterator[Formula]:
    low, high = whole(schema.get(least, 0)), most_of(schema.get(most))
    if low or high is not None:
        yield Size(low, high)


def is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(value: JSON) -> int:
    assert isinstance(value, int | float)
    return int(value)


def most_of(value: JSON) -> int | None:
    return None if value is None else whole(value)
