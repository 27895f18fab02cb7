"""Which JSON types a value may have, by the schema of its tool, and which of them a text has.

    types_of({"type": ["string", "null"]}, root) -> ("null", "string")
    read_typed("5", ("string", "integer")) -> Reading("5", is_ambiguous=True)

For a value whose text alone does not tell its type (`<parameter=zip>75001</parameter>`) the schema
decides; where it allows both a string and something else, the text is something else if it reads as
that and the schema accepts it, and the argument is ambiguous. A key that no schema knows may be
anything.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from untemplate.dialect import JsonType, json_type
from untemplate.grammar.schema_check import Draft, draft_of
from untemplate.grammar.validation import validator_of, validator_within
from untemplate.message import JSON, pointer_key
from untemplate.reader.escapes import json_escaped
from untemplate.reader.json_text import JsonFrame
from untemplate.reader.sink import Collected

__all__ = [
    "ALL_KINDS",
    "MOST_GUESSED",
    "Kinds",
    "Reading",
    "accepted_by",
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
_MOST_DEPTH = 32
"""Schemas inside of schemas that are looked at."""
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
    """What a schema asks of a member in any case; None when it asks nothing."""
    if not isinstance(schema, dict):
        return None

    def named(found: Mapping[str, JSON]) -> Iterator[JSON]:
        properties, patterns = found.get("properties"), found.get("patternProperties")
        is_named = isinstance(properties, dict) and key in properties
        if isinstance(properties, dict) and is_named:
            yield properties[key]
        for pattern, member in patterns.items() if isinstance(patterns, dict) else ():
            if _matches(pattern, key):
                is_named = True
                yield member
        more = found.get("additionalProperties")
        if isinstance(more, dict) and not is_named:
            yield more

    return _Search(root, "object", named).asked(schema)


def items_of(schema: JSON, index: int, root: JSON) -> JSON:
    """What a schema asks of an item in any case; None when it asks nothing."""
    if not isinstance(schema, dict):
        return None

    def numbered(found: Mapping[str, JSON]) -> Iterator[JSON]:
        first, rest = found.get("prefixItems"), found.get("items")
        if isinstance(rest, list):
            first, rest = rest, found.get("additionalItems")
        if isinstance(first, list) and index < len(first):
            yield first[index]
        elif isinstance(rest, dict):
            yield rest

    return _Search(root, "array", numbered).asked(schema)


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for what a schema asks of the parts of a value, each subschema once."""

    root: JSON
    kind: JsonType
    """What the value is."""
    inner: Callable[[Mapping[str, JSON]], Iterator[JSON]]
    """What one schema asks of the part."""
    seen: set[int] = field(default_factory=set[int])

    def asked(self, schema: JSON, depth: int = 0) -> JSON:
        """What the schema and all that holds beside it ask; None: nothing."""
        parts = list(self._parts(schema, depth))
        return {"allOf": parts} if len(parts) > 1 else parts[0] if parts else None

    def _parts(self, schema: JSON, depth: int) -> Iterator[JSON]:
        if not isinstance(schema, dict) or id(schema) in self.seen or depth > _MOST_DEPTH:
            return
        self.seen.add(id(schema))
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            yield from self._parts(_at(self.root, reference.removeprefix("#")), depth + 1)
            if _stands_alone(self.root):
                return
        yield from self.inner(schema)
        for branch in _branches(schema, "allOf"):
            yield from self._parts(branch, depth + 1)
        for keyword in ("anyOf", "oneOf"):
            branches = _branches(schema, keyword)
            found = [
                self.asked(b, depth + 1) for b in branches if self.kind in types_of(b, self.root)
            ]
            if found and None not in found:
                yield {"anyOf": found}


def _branches(schema: Mapping[str, JSON], keyword: str) -> list[JSON]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _matches(pattern: str, key: str) -> bool:
    found = validator_of(json.dumps({"pattern": pattern}))
    return found is not None and found.is_valid(key)


def declared_keys(schema: JSON, root: JSON) -> tuple[str, ...]:
    """The members that a schema names."""
    found = _resolved(schema, root)
    properties = found.get("properties") if found else None
    return tuple(properties) if isinstance(properties, dict) else ()


def _stands_alone(root: JSON) -> bool:
    """Whether nothing counts that stands beside `$ref`, as in old drafts."""
    return draft_of(root) < Draft.V2019


def types_of(schema: JSON, root: JSON) -> Kinds:
    """Types that a value of the schema may have, as far as it names them."""
    if not isinstance(schema, dict):
        return ALL_KINDS
    found = _types(schema, root, {})
    return tuple(k for k in ALL_KINDS if k in found) or ALL_KINDS


_Known = dict[int, frozenset[JsonType]]
"""The types of the schemas that were looked at, by their identity."""
_ANY = frozenset(ALL_KINDS)


def _types(schema: JSON, root: JSON, known: _Known, depth: int = 0) -> frozenset[JsonType]:
    if not isinstance(schema, dict) or depth > _MOST_DEPTH:
        return _ANY
    if id(schema) not in known:
        known[id(schema)] = _ANY  # inside itself it adds nothing
        known[id(schema)] = _ANY.intersection(*_type_sets(schema, root, known, depth + 1))
    return known[id(schema)]


def _type_sets(
    schema: Mapping[str, JSON], root: JSON, known: _Known, depth: int
) -> Iterator[Collection[JsonType]]:
    """For each keyword that names types: those that it allows."""
    reference, named = schema.get("$ref"), schema.get("type")
    if isinstance(reference, str) and reference.startswith("#"):
        yield _types(_at(root, reference.removeprefix("#")), root, known, depth)
        if _stands_alone(root):
            return
    if isinstance(named, (str, list)):
        wanted = [named] if isinstance(named, str) else list(named)
        wanted += ["integer"] * ("number" in wanted) + ["null"] * (schema.get("nullable") is True)
        yield [k for k in ALL_KINDS if k in wanted] or ALL_KINDS
    for values in (schema.get("enum"), [schema["const"]] if "const" in schema else None):
        if isinstance(values, list) and values:
            yield {json_type(v) for v in values}
    for keyword in ("anyOf", "oneOf"):
        if branches := _branches(schema, keyword):
            yield {k for b in branches for k in _types(b, root, known, depth)}
    for branch in _branches(schema, "allOf"):
        yield _types(branch, root, known, depth)
    if "if" in schema:
        tested = _types(schema["if"], root, known, depth) & _types(
            schema.get("then"), root, known, depth
        )
        yield tested | _types(schema.get("else"), root, known, depth)
    refused = schema.get("not")
    if isinstance(refused, dict) and refused.keys() == {"type"}:
        yield _ANY - _types(refused, root, known, depth)


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


def read_typed(
    text: str, kinds: Kinds, *, empty: str = "", accepts: Callable[[str], bool] = bool
) -> Reading:
    """The value that a text stands for, when its type may be any of these.

    Args:
        text: what stands for the value.
        kinds: the types that it may have.
        empty: the JSON text of the value for which nothing at all stands, if there is one.
        accepts: whether the schema accepts a JSON text; asked where there are two readings.
    """
    may_be_string = "string" in kinds
    body = text.lstrip(_SPACE).encode("utf-8", "surrogatepass")
    if may_be_string and len(body) > MOST_GUESSED and body[:1] not in (b"[", b"{"):
        return Reading(f'"{json_escaped(text)}"')
    if empty and not text:
        if not may_be_string or (accepts(empty) and not accepts('""')):
            return Reading(empty)
        return Reading('""', is_ambiguous=True)
    written = _as_json(text)
    if written is not None and (kind := _kind_of(written)) != "string":
        if kind in kinds or (kind == "integer" and "number" in kinds):
            quoted = f'"{json_escaped(text)}"'
            if may_be_string and not accepts(written) and accepts(quoted):
                return Reading(quoted, is_ambiguous=True)
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


def accepted_by(schema: JSON, root: JSON) -> Callable[[str], bool]:
    """Whether a part of a tool's schema accepts the value of a JSON text."""

    def accepts(written: str) -> bool:
        validator = None if schema is None else validator_within(schema, root)
        try:
            return validator is None or validator.is_valid(json.loads(written))
        except (ValueError, RecursionError):
            return True

    return accepts


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
