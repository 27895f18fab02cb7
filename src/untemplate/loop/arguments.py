"""The arguments of a call, from text to checked values: the one way in for what a model wrote.

Text is decoded with bounds on size and depth, then checked against the schema of the tool. All
broken rules are reported, each with its place, keyword and value:

    check(decode('{"days": 30}'), checker)
    -> Invalid((Detail("/days", "maximum", "30 is greater than the maximum of 14", 30),))

A schema never makes the host fetch anything: references outside it are refused when the tool is
made. `canonical` gives the text by which calls are compared: sorted keys, no space.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import jsonschema_rs

from untemplate.errors import SchemaError
from untemplate.loop.outcome import Detail
from untemplate.message import JSON, pointer_token

__all__ = [
    "Arguments",
    "Invalid",
    "SchemaChecker",
    "canonical",
    "check",
    "decode",
    "pointer",
]

_SIZE_MAX = 4 << 20
_DEPTH_MAX = 200
_TEXT_MAX = 300

Arguments = dict[str, JSON]


@dataclass(frozen=True, slots=True)
class Invalid:
    """Why arguments can't be used: at least one detail."""

    details: tuple[Detail, ...]


class _Validator(Protocol):
    def is_valid(self, instance: object) -> bool: ...
    def iter_errors(self, instance: object) -> "Sequence[jsonschema_rs.ValidationError]": ...


class SchemaChecker:
    """A compiled JSON Schema that never fetches what it refers to."""

    def __init__(self, schema: dict[str, JSON], *, place: str) -> None:
        try:
            validator = jsonschema_rs.validator_for(schema, retriever=_refuse)
        except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
            problem = getattr(error, "message", None) or str(error)
            line = str(problem).splitlines()[0] if str(problem) else type(error).__name__
            raise SchemaError(f"the schema is not valid: {line}", place=place) from error
        self._validator = cast("_Validator", validator)

    def errors(self, value: JSON) -> tuple[Detail, ...]:
        """Every broken rule, in the order of the schema."""
        if self._validator.is_valid(value):
            return ()
        return tuple(d for e in self._validator.iter_errors(value) for d in _details(e))


def _details(error: jsonschema_rs.ValidationError) -> list[Detail]:
    """One detail for each field that breaks the rule: what is missing or too much is named."""
    path, rule = error.instance_path, error.kind.name
    facts = error.kind.as_dict()
    if rule == "required":
        return [Detail(pointer([*path, facts["property"]]), rule, "this argument is missing")]
    if rule == "additionalProperties":
        given = cast("dict[str, JSON]", error.instance)
        return [
            Detail(pointer([*path, key]), rule, "there is no such argument", given.get(key))
            for key in facts["unexpected"]
        ]
    return [Detail(pointer(path), rule, error.message[:_TEXT_MAX], cast("JSON", error.instance))]


def _refuse(uri: str) -> JSON:
    raise ValueError(f"a schema may not refer to {uri!r}: put it under $defs")


def decode(text: str) -> JSON | Invalid:
    """The JSON value of a text, bounded in size and depth."""
    if len(text) > _SIZE_MAX:
        return _whole("size", f"more than {_SIZE_MAX:,} characters")
    if _is_too_deep(text):
        return _whole("depth", f"nested more than {_DEPTH_MAX} deep")
    try:
        value = cast("JSON", _decoder.decode(text))
        if "\\u" in text or not text.isascii():
            canonical(value).encode()
    except UnicodeEncodeError:
        return _whole("unicode", "half of a surrogate pair stands alone")
    except ValueError as error:
        return _whole("json", f"not valid JSON ({error})")
    return value


def check(value: JSON | Invalid, checker: SchemaChecker) -> Arguments | Invalid:
    """The arguments of a call, if they are an object that fits the schema."""
    if isinstance(value, Invalid):
        return value
    if not isinstance(value, dict):
        return _whole("type", "the arguments have to be one JSON object", value)
    details = checker.errors(value)
    return Invalid(details) if details else value


def canonical(value: JSON) -> str:
    """One text for equal values: keys sorted, no space."""
    return _canonical.encode(value)


def pointer(path: Sequence[str | int]) -> str:
    """A JSON pointer: `["a/b", 0] -> "/a~1b/0"`."""
    return "".join("/" + pointer_token(str(p)) for p in path)


def _whole(rule: str, message: str, got: JSON = None) -> Invalid:
    return Invalid((Detail("", rule, message, got),))


def _no_constant(name: str) -> JSON:
    raise ValueError(f"{name} is no JSON number")


_decoder = json.JSONDecoder(parse_constant=_no_constant)
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _is_too_deep(text: str) -> bool:
    """Whether brackets outside strings nest deeper than the bound."""
    if text.count("[") + text.count("{") <= _DEPTH_MAX:
        return False
    depth, in_string, escaped = 0, False, False
    for c in text:
        if in_string:
            in_string = escaped or c != '"'
            escaped = c == "\\" and not escaped
        elif c == '"':
            in_string = True
        elif c in "[{":
            depth += 1
            if depth > _DEPTH_MAX:
                return True
        elif c in "]}":
            depth -= 1
    return False
