r"""The vocabulary in which a dialect is said: literal text with holes, and how a value is written.

A `Pattern` is a tuple of literal strings and holes. The call of the Hermes family is

    ('<tool_call>\n{"name": "', Hole.NAME, '", "arguments": ', Hole.ARGUMENTS, '}\n</tool_call>')

The arguments are either `Whole`, one value (mostly a JSON object), or `Pairs`, one after the other,
with a `Written` for each JSON type that says what stands before the value, how it is encoded, and
what stands after it. `Items` and `Pairs` inside a `Written` say a notation of a family's own,
nested to any depth. The same few nodes say tags, Python keywords, attributes and own quotes:

    <parameter=city>\nParis\n</parameter>\n      Pairs(open="<parameter=", tail="", types={
                                                    "string": Written(">\n", Raw(), "\n</p…")})
    city="Paris", days=3                          Pairs(separator=", ", types={
                                                    "string": Written("=", Python(), ""), ...})

Every node here can write. Reading and masking are the business of `reader` and `constrain`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from untemplate.message import JSON

__all__ = [
    "Absent",
    "Arguments",
    "Empty",
    "Encoding",
    "Escaped",
    "Hole",
    "Items",
    "JsonText",
    "JsonType",
    "Notation",
    "Pairs",
    "Part",
    "Pattern",
    "Python",
    "Raw",
    "Whole",
    "Written",
    "fill",
    "json_type",
]

JsonType = Literal["string", "integer", "number", "boolean", "null", "array", "object"]


class Hole(StrEnum):
    """A place in a pattern where something of the message stands."""

    NAME = "name"
    ID = "id"
    INDEX = "index"
    """Number of the call, counted from `CallBlock.index_base`."""
    ARGUMENTS = "arguments"


Part = str | Hole
Pattern = tuple[Part, ...]


def fill(pattern: Pattern, values: Mapping[Hole, str]) -> str:
    """The text of a pattern: `("<", Hole.NAME, ">")` with name "f" gives "<f>"."""
    return "".join(values[p] if isinstance(p, Hole) else p for p in pattern)


def json_type(value: JSON) -> JsonType:
    """The JSON type of a Python value; `integer` for int, `number` for float."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


# ------------------------------------------------------------------------------------- encodings

Scope = Mapping[str, "Items | Pairs"]
"""The notations that `Notation` may name."""

_EMPTY: Scope = {}


@dataclass(frozen=True, slots=True)
class JsonText:
    """The value as JSON. The style is the template's own; any JSON is read."""

    indent: int | None = None
    item_separator: str = ", "
    key_separator: str = ": "
    ascii: bool = False
    sort_keys: bool = False
    margin: int = 0
    """Blanks before each line but the first."""

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:  # noqa: ARG002
        text = json.dumps(
            value,
            indent=self.indent,
            separators=(self.item_separator, self.key_separator),
            ensure_ascii=self.ascii,
            sort_keys=self.sort_keys,
        )
        return text.replace("\n", "\n" + " " * self.margin) if self.margin else text


@dataclass(frozen=True, slots=True)
class Raw:
    """A string as it is: it ends where what is written after it begins."""

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:  # noqa: ARG002
        return str(value)


@dataclass(frozen=True, slots=True)
class Python:
    """The value as a Python literal: `'it''s'`, `True`, `None`. Any Python literal is read."""

    escapes: tuple[tuple[str, str], ...] = ()
    """How a template that quotes strings by itself does so: see `Escaped`. () as Python does."""
    quote: str = "'"

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:
        if self.escapes and isinstance(value, str):
            return self.quote + Escaped(self.escapes).write(value, scope) + self.quote
        return repr(value)


@dataclass(frozen=True, slots=True)
class Escaped:
    """A string with characters replaced by others, as XML does."""

    escapes: tuple[tuple[str, str], ...]
    """(character, what is written for it), the escape character first."""

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:  # noqa: ARG002
        text = str(value)
        for plain, written in self.escapes:
            text = text.replace(plain, written)
        return text


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing is written for the value, but its key is."""

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:  # noqa: ARG002
        return ""


@dataclass(frozen=True, slots=True)
class Absent:
    """Neither the value nor its key is written."""

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:  # noqa: ARG002
        return ""


@dataclass(frozen=True, slots=True)
class Written:
    """How values of one JSON type stand inside a pair or a list."""

    before: str
    encoding: "Encoding"
    after: str
    guard: str = ""
    """Characters that make the template write the `guarded` form (CDATA, say) instead."""
    guarded: "Written | None" = None

    def write(self, value: JSON, scope: Scope = _EMPTY, key: str = "") -> str:
        if self.guarded and any(c in self.guard for c in str(value)):
            return self.guarded.write(value, scope, key)
        before, after = (t.replace(KEY_IN_LITERAL, key) for t in (self.before, self.after))
        return before + self.encoding.write(value, scope) + after


@dataclass(frozen=True, slots=True)
class Items:
    """A list in a notation of the family's own."""

    head: str
    separator: str
    tail: str
    none: str
    """What an empty list is written as."""
    types: Mapping[JsonType, Written] = field(default_factory=dict[JsonType, Written])

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:
        assert isinstance(value, list)
        if not value:
            return self.none
        items = (self.types[json_type(v)].write(v, scope) for v in value)
        return self.head + self.separator.join(items) + self.tail


KEY_IN_LITERAL = "\ue000"
"""Stands for the key in `Written.before` and `.after`, where an element is named like its key."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """An object pair by pair: tagged parameters, Python keywords, a notation of its own."""

    head: str
    open: str
    """What stands before each key."""
    separator: str
    tail: str
    none: str
    """What an empty object is written as."""
    types: Mapping[JsonType, Written] = field(default_factory=dict[JsonType, Written])
    """What stands between a key and the next separator, for each type of value."""
    sort_keys: bool = False
    """Keys are written in alphabetical order, whatever their case."""
    notations: Mapping[str, "Items | Pairs"] = field(default_factory=dict[str, "Items | Pairs"])
    """What `Notation` names inside these pairs, so that values may nest to any depth."""

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:
        assert isinstance(value, dict)
        scope = self.notations or scope
        items = list(value.items())
        if self.sort_keys:
            items.sort(key=lambda item: item[0].lower())
        pairs = [
            self.open + key + self.types[json_type(v)].write(v, scope, key)
            for key, v in items
            if not isinstance(self.types[json_type(v)].encoding, Absent)
        ]
        return self.head + self.separator.join(pairs) + self.tail if pairs else self.none


@dataclass(frozen=True, slots=True)
class Notation:
    """A list or an object in the notation of this name: see `Pairs.notations`."""

    name: str

    def write(self, value: JSON, scope: Scope = _EMPTY) -> str:
        return scope[self.name].write(value, scope)


Encoding = JsonText | Raw | Python | Escaped | Empty | Absent | Items | Pairs | Notation


@dataclass(frozen=True, slots=True)
class Whole:
    """All arguments as one value."""

    encoding: Encoding

    def write(self, value: JSON) -> str:
        return self.encoding.write(value)


Arguments = Whole | Pairs
"""How the arguments of a call are written."""
