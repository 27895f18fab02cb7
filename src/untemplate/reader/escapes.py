r"""Backslash escapes inside quoted strings, as JSON text that means the same.

escape(rb'\n', 0)       -> Escape(r'\n', 2)            a JSON escape stays as it is written
escape(rb'\u12', 0)     -> None                        more bytes decide
escape(rb'\d', 0)       -> Escape(r'\\d', 2, "bad_escape", ...)
escape(rb"\x41", 0, python=True) -> Escape("A", 4)
"""

import re
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Literal

from untemplate.message import DiagnosticCode
from untemplate.reader.utf8 import Data

__all__ = ["Escape", "escape", "json_escaped"]

_PLAIN = b'"\\/bfnrt'
_HEX4 = re.compile(rb"[0-9a-fA-F]{4}")
_PYTHON = re.compile(
    rb"(?:x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|[0-7]{1,3}|[av'\n])",
)
_PYTHON_PARTIAL = re.compile(rb"(?:x[0-9a-fA-F]{0,1}|U[0-9a-fA-F]{0,7}|[0-7]{1,2})\Z")
_PYTHON_PLAIN = {b"a": "\a", b"v": "\v", b"'": "'", b"\n": ""}


@dataclass(frozen=True, slots=True)
class Escape:
    """JSON text for an escape, the position behind it, and what was not right about it."""

    text: str
    end: int
    code: DiagnosticCode | Literal[""] = ""
    message: str = ""


def json_escaped(text: str) -> str:
    """The text as it stands inside a JSON string."""
    return encode_basestring(text)[1:-1]


def escape(data: Data, at: int, *, python: bool = False) -> Escape | None:
    """The escape that begins at the backslash data[at]; None when it is not whole."""
    if at + 1 == len(data):
        return None
    byte = data[at + 1]
    if byte in _PLAIN:
        return Escape("\\" + chr(byte), at + 2)
    if byte == 0x75:
        return _unicode(data, at)
    if python:
        found = _PYTHON.match(data, at + 1)
        if _PYTHON_PARTIAL.match(data, at + 1):
            return None
        if found:
            return _python(found.group(), found.end())
    if byte == 0x27:
        return Escape("'", at + 2, "bad_escape", "\\' is no escape of JSON; read as '")
    if byte < 0x20 or byte >= 0x7F:
        return Escape("\\\\", at + 1, "bad_escape", "a lone backslash was kept")
    message = f"\\{chr(byte)} is no escape; kept as written"
    return Escape("\\\\" + chr(byte), at + 2, "bad_escape", message)


def _python(body: bytes, end: int) -> Escape:
    if body in _PYTHON_PLAIN:
        return Escape(json_escaped(_PYTHON_PLAIN[body]), end)
    code = int(body, 8) if body[:1].isdigit() else int(body[1:], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return Escape("\ufffd", end, "bad_escape", f"U+{code:X} is no character")
    return Escape(json_escaped(chr(code)), end)


def _unicode(data: Data, at: int) -> Escape | None:
    r"""`\uXXXX`, or two of them for one character outside the basic plane."""
    if not _HEX4.match(data, at + 2):
        short = bytes(data[at + 2 : at + 6])
        if len(short) < 4 and re.fullmatch(rb"[0-9a-fA-F]*", short):
            return None
        message = "\\u without four hex digits was kept as written"
        return Escape("\\\\u", at + 2, "bad_escape", message)
    code = int(bytes(data[at + 2 : at + 6]), 16)
    if 0xD800 <= code < 0xDC00:
        following = bytes(data[at + 6 : at + 12])
        if _HEX4.match(following, 2) and following.startswith(b"\\u"):
            if 0xDC00 <= int(following[2:6], 16) < 0xE000:
                return Escape(bytes(data[at : at + 12]).decode(), at + 12)
        elif re.fullmatch(rb"(?:\\(?:u[0-9a-fA-F]{0,3})?)?", following):
            return None
    if 0xD800 <= code < 0xE000:
        message = "half a surrogate pair became U+FFFD"
        return Escape("\ufffd", at + 6, "lone_surrogate", message)
    return Escape(bytes(data[at : at + 6]).decode(), at + 6)
