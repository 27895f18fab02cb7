r"""Sees whether arguments stand inside another object, as one argument that no tool declares.

    {"arguments": {"city": "Paris"}}                       -> {"city": "Paris"}
    <parameter=input>{"city": "Paris"}</parameter>         -> {"city": "Paris"}

Only a name that means arguments is taken for a wrapper, only where the tool does not declare it,
and only if the first key inside is one that it does. Until that key is there nothing is told.
"""

import json
import re
from collections.abc import Mapping

from untemplate.message import JSON
from untemplate.reader.follow import MORE, NO, YES
from untemplate.reader.utf8 import Data

__all__ = ["is_wrapper", "opens_arguments", "opens_wrapper"]

_WRAPPERS = frozenset({"arguments", "parameters", "args", "params", "input", "properties"})
_MOST_KEY_BYTES = 256
_KEY = rb"""("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')"""
_OPENING = re.compile(rb"\{[ \t\r\n]*+" + _KEY + rb"[ \t\r\n]*+:[ \t\r\n]*+", re.DOTALL)


def _declared(schema: JSON) -> Mapping[str, JSON]:
    """The members of a schema that takes no others."""
    declared = schema.get("properties") if isinstance(schema, dict) else None
    is_open = isinstance(schema, dict) and schema.get("additionalProperties", False) is not False
    return declared if isinstance(declared, dict) and not is_open else {}


def is_wrapper(schema: JSON, key: str) -> bool:
    """Whether a key that the tool does not declare is a name for all arguments."""
    declared = _declared(schema)
    return bool(declared) and key in _WRAPPERS and key not in declared


def opens_arguments(schema: JSON, data: Data, at: int) -> int:
    """Whether an object stands at `at` whose first key the tool declares."""
    verdict, key, _ = _first_key(data, at)
    return verdict if verdict != YES else YES if key in _declared(schema) else NO


def opens_wrapper(schema: JSON, data: Data, at: int) -> tuple[int, int]:
    """Whether an object stands at `at` that wraps the arguments, and where they begin."""
    if not _declared(schema):
        return NO, at
    verdict, key, inner = _first_key(data, at)
    if verdict != YES:
        may_be = any(w.startswith(key) for w in _WRAPPERS)
        return (verdict if may_be else NO), at
    if not is_wrapper(schema, key):
        return NO, at
    return opens_arguments(schema, data, inner), inner


def _first_key(data: Data, at: int) -> tuple[int, str, int]:
    """Whether an object with a key is there, its first key so far, and where its value begins."""
    found = _OPENING.match(data, at)
    if found is not None and found.end() < len(data):
        return YES, _text(found.group(1)), found.end()
    head = bytes(data[at : at + _MOST_KEY_BYTES])
    if not b"{".startswith(head[:1]) or len(head) == _MOST_KEY_BYTES:
        return NO, "", at
    rest = head[1:].lstrip()
    if rest[:1] not in (b"", b'"', b"'"):
        return NO, "", at
    key = rest[1:].split(rest[:1])[0] if rest else b""
    behind = rest[1 + len(key) + 1 :].strip()
    return (MORE if behind in (b"", b":") else NO), key.decode("utf-8", "replace"), at


def _text(written: bytes) -> str:
    text = written.decode("utf-8", "replace")
    try:
        return str(json.loads(text)) if text[0] == '"' else text[1:-1]
    except ValueError:
        return text[1:-1]
