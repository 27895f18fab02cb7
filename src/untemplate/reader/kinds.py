"""Which JSON types a value may have, by the schema of its tool, and which of them a text has.

    types_of({"type": ["string", "null"]}, root) -> ("string", "null")
    Guess(("string", "integer")).of("5") -> Reading('5', "integer", ambiguous=True)

For a value whose text alone does not tell its type (`<parameter=zip>75001</parameter>`) the schema
decides; where it allows both a string and something else, the text is something else if it reads as
that, and the argument is ambiguous. A key that no schema knows may be anything.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from untemplate.dialect import JsonType, json_type
from untemplate.message import JSON, pointer_key
from untemplate.reader.escapes import json_escaped
from untemplate.reader.json_text import JsonFrame
from untemplate.reader.sink import Collected

__all__ = [
    "ALL_KINDS",
    "MOST_GUESSED",
    "Kinds",
    "Reading",
    "declared_keys",
    "items_of",
    "may_be",
    "property_of",
    "read_typed",
    "types_of",
]

Kinds = tuple[JsonType, ...]

ALL_KINDS: Kinds = ("string", "integer", "number", "boolean", "null", "array", "object")
_MOST_HOPS = 16
_SPACE = " \t\r\n"
MOST_GUESSED = 256
"""A number or a word that is longer is text."""


def _resolved(schema: JSON, root: JSON) -> Mapping[str, JSON] | None:
    """The schema behind local references; None when it says nothing."""
    for _ in range(_MOST_HOPS):
        if not isinstance(schema, dict):
            return None
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        if not reference.startswith("#"):
            return None
        schema = _at(root, reference.removeprefix("#"))
    return None


def _at(root: JSON, pointer: str) -> JSON:
    node = root
    for token in pointer.split("/")[1:]:
        key = pointer_key(token)
        node = node.get(key) if isinstance(node, dict) else None
    return node


def property_of(schema: JSON, key: str, root: JSON) -> JSON:
    """The schema of a member; None when none is declared."""
    found = _resolved(schema, root)
    properties = found.get("properties") if found else None
    if isinstance(properties, dict) and key in properties:
        return properties[key]
    more = found.get("additionalProperties") if found else None
    return more if isinstance(more, dict) else None


def declared_keys(schema: JSON, root: JSON) -> tuple[str, ...]:
    """The members that a schema names."""
    found = _resolved(schema, root)
    properties = found.get("properties") if found else None
    return tuple(properties) if isinstance(properties, dict) else ()


def items_of(schema: JSON, index: int, root: JSON) -> JSON:
    """The schema of an item."""
    found = _resolved(schema, root)
    if not found:
        return None
    first = found.get("prefixItems")
    if isinstance(first, list) and index < len(first):
        return first[index]
    return found.get("items")


def types_of(schema: JSON, root: JSON, hops: int = 0) -> Kinds:
    """Types that a schema names, at its top or in the branches of a union."""
    found = _resolved(schema, root)
    if found is None or hops > _MOST_HOPS:
        return ALL_KINDS
    named = found.get("type")
    if isinstance(named, str):
        named = [named]
    if isinstance(named, list):
        wanted = [*named, "integer"] if "number" in named else named
        return tuple(k for k in ALL_KINDS if k in wanted) or ALL_KINDS
    for values in (found.get("enum"), [found["const"]] if "const" in found else None):
        if isinstance(values, list) and values:
            return tuple(k for k in ALL_KINDS if any(json_type(v) == k for v in values))
    for key in ("anyOf", "oneOf"):
        if isinstance(branches := found.get(key), list) and branches:
            union = [k for b in branches for k in types_of(b, root, hops + 1)]
            return tuple(k for k in ALL_KINDS if k in union)
    if isinstance(branches := found.get("allOf"), list):
        allowed = [types_of(b, root, hops + 1) for b in branches]
        return tuple(k for k in ALL_KINDS if all(k in a for a in allowed)) or ALL_KINDS
    return ALL_KINDS


# --------------------------------------------------------------------------------------- by text

_BEGINS: Mapping[JsonType, str] = {
    "null": r"n(?:u(?:l(?:l)?)?)?|N(?:o(?:n(?:e)?)?)?",
    "boolean": r"t(?:r(?:ue?)?)?|T(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|F(?:a(?:l(?:se?)?)?)?",
    "integer": r"-?[0-9]*",
    "number": r"-?(?:[0-9][0-9.eE+\-]*)?",
    "array": r"\[.*",
    "object": r"\{.*",
}


@lru_cache(maxsize=256)
def _beginning(kinds: Kinds) -> re.Pattern[bytes]:
    options = "|".join(_BEGINS[k] for k in kinds if k != "string")
    return re.compile(rf"(?:{options or '(?!)'})[ \t\r\n]*".encode(), re.DOTALL)


def may_be(text: bytes, kinds: Kinds, *, is_long: bool = False) -> bool:
    """Whether the text may still become a value that is no string, of one of these types.

    With `is_long` only lists and objects are thought of, and the first byte is enough.
    """
    if is_long:
        return (text[:1] == b"[" and "array" in kinds) or (text[:1] == b"{" and "object" in kinds)
    return bool(_beginning(kinds).fullmatch(text))


@dataclass(frozen=True, slots=True)
class Reading:
    """A value's JSON text, and how sure it is."""

    written: str
    is_ambiguous: bool = False
    wrong_type: str = ""
    """What is not as declared."""


def read_typed(text: str, kinds: Kinds, *, empty: str = "") -> Reading:
    """The value that a text stands for, when its type may be any of these.

    `empty`: the JSON text of the value for which nothing at all stands, if there is one.
    """
    may_be_string = "string" in kinds
    body = text.lstrip(_SPACE).encode("utf-8", "surrogatepass")
    if may_be_string and len(body) > MOST_GUESSED and body[:1] not in (b"[", b"{"):
        return Reading(f'"{json_escaped(text)}"')
    if empty and not text:
        return Reading(empty) if not may_be_string else Reading('""', is_ambiguous=True)
    written = _as_json(text)
    if written is not None and (kind := _kind_of(written)) != "string":
        if kind in kinds or (kind == "integer" and "number" in kinds):
            return Reading(written, is_ambiguous=may_be_string)
        if not may_be_string:
            return Reading(written, wrong_type=f"{kind} where {' or '.join(kinds)} is declared")
    if may_be_string:
        return Reading(f'"{json_escaped(text)}"')
    if written is not None:
        return Reading(written, wrong_type=f"a string where {' or '.join(kinds)} is declared")
    return Reading(
        f'"{json_escaped(text)}"', wrong_type=f"text where {' or '.join(kinds)} is declared"
    )


def _as_json(text: str) -> str | None:
    """The text as JSON, if it is a JSON value or a Python literal."""
    data = text.strip(_SPACE).encode("utf-8", "surrogatepass")
    frame, word = JsonFrame(python=True), Collected()
    used = frame.read(data, 0, word)
    frame.end(used, word)
    return word.all_text() if frame.is_done and used == len(data) else None


def _kind_of(written: str) -> JsonType:
    first = written[0]
    if first in '"{[ntf':
        return cast(
            "JsonType",
            {
                '"': "string",
                "{": "object",
                "[": "array",
                "n": "null",
                "t": "boolean",
                "f": "boolean",
            }[first],
        )
    return "integer" if written.lstrip("-").isdigit() else "number"
