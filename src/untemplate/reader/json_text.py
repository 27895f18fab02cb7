r"""Reads one JSON value byte by byte and says, at any moment, what of it is settled.

In come pieces of a value, out comes JSON text that is always valid once `closing` is added:

    r = JsonReader(); r.read(b'{"a": 12, "b": "x', 0)
    "".join(r.take()) -> '{"a": 12, "b": "x'      r.closing -> '"}'

What is not settled waits: a number until the byte after it, a literal and an escape until they are
whole, a key with its comma and colon until its value begins. Work is O(1) amortised for each byte:
runs inside strings go through a compiled expression, everything else is one byte at a time.

Models write JSON with slips. What can be said in JSON without guessing is said in JSON, with a note
for a diagnostic: single quotes, raw newlines in strings, trailing commas, Python's True and None.
The first value of a key stands; a second one is kept out (its text goes into the note). Anything
else ends the reading with `bad`.
"""

import json
import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import cast

from untemplate.message import JSON

__all__ = ["JsonReader", "Note", "pointer_token", "whole_characters"]

MOST_DEPTH = 400
"""Deepest nesting that is read; deeper values can't be handed to validators safely."""


class _State(IntEnum):
    VALUE = 0
    FIRST_ITEM = 1
    FIRST_KEY = 2
    KEY = 3
    COLON = 4
    AFTER = 5
    STRING = 6
    KEY_STRING = 7
    NUMBER = 8
    WORD = 9
    DONE = 10


_SPACE = re.compile(rb"[ \t\r\n]+")
_RUN = {
    0x22: re.compile(rb'[^"\\\x00-\x1f]+'),
    0x27: re.compile(rb"[^'\"\\\x00-\x1f]+"),
}
_NUMBER = re.compile(rb"[0-9+\-.eE]+")
_NUMBER_WHOLE = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_WORD = re.compile(rb"[A-Za-z]+")
_WORDS = {b"true": "true", b"false": "false", b"null": "null"}
_PYTHON_WORDS = {b"True": "true", b"False": "false", b"None": "null"}
_PLAIN_ESCAPES = b'"\\/bfnrt'
_HEX = re.compile(rb"[0-9a-fA-F]{4}")


@dataclass(frozen=True, slots=True)
class Note:
    """A slip that was set right: a diagnostic code, and what was done."""

    code: str
    message: str


@dataclass(slots=True)
class _Open:
    """An array or object that has not ended."""

    is_object: bool
    key: str = ""
    keys: set[str] = field(default_factory=set[str])
    items: int = 0


class JsonReader:
    """The state of one value that is being read."""

    __slots__ = (
        "_held",
        "_key",
        "_muted",
        "_out",
        "_quote",
        "_stack",
        "_state",
        "_token",
        "_value",
        "bad",
        "complete",
        "is_done",
        "notes",
    )

    def __init__(self) -> None:
        self._state = _State.VALUE
        self._stack: list[_Open] = []
        self._out: list[str] = []
        self._held: list[str] = []
        """Comma, key, colon and space before a value that has not begun."""
        self._token = b""
        """Number or word so far."""
        self._key: list[str] = []
        self._quote = 0x22
        self._muted: tuple[int, list[str]] | None = None
        """Depth at which a duplicate key's value is kept out, and its text."""
        self._value: list[str] = []
        """Text of the top-level member that is being read."""
        self.is_done = False
        self.bad: Note | None = None
        self.notes: list[Note] = []
        self.complete: list[tuple[str, JSON]] = []
        """Top-level members that have become complete and were not yet taken by the caller."""

    def clone(self) -> "JsonReader":
        """An independent copy; O(depth) but for the keys of open objects."""
        other = JsonReader()
        other._state, other._quote, other._token = self._state, self._quote, self._token
        other._stack = [_Open(o.is_object, o.key, set(o.keys), o.items) for o in self._stack]
        other._out, other._held = list(self._out), list(self._held)
        other._key, other._value = list(self._key), list(self._value)
        other._muted = None if self._muted is None else (self._muted[0], list(self._muted[1]))
        other.is_done, other.bad = self.is_done, self.bad
        other.notes, other.complete = list(self.notes), list(self.complete)
        return other

    def take(self) -> str:
        """The text that has been settled since the last call."""
        text = "".join(self._out)
        self._out.clear()
        return text

    @property
    def has_begun(self) -> bool:
        return self._state is not _State.VALUE or bool(self._stack)

    @property
    def closing(self) -> str:
        """What makes the settled text valid JSON; empty before a value has begun."""
        depth = len(self._stack) if self._muted is None else self._muted[0]
        quote = '"' if self._state is _State.STRING and self._muted is None else ""
        brackets = ("}" if o.is_object else "]" for o in reversed(self._stack[:depth]))
        return quote + "".join(brackets)

    @property
    def open_pointer(self) -> str:
        """JSON pointer of the innermost value that has begun but is not complete."""
        opened = self._stack
        if (
            self._state
            in (
                _State.FIRST_KEY,
                _State.KEY,
                _State.KEY_STRING,
                _State.AFTER,
            )
            or self._state == _State.FIRST_ITEM
        ):
            opened = opened[:-1]
        tokens = (o.key if o.is_object else str(o.items) for o in opened)
        return "".join("/" + pointer_token(t) for t in tokens)

    def read(self, data: bytes, at: int) -> int:
        """Read on from `at`; gives the position of the first byte that was not used.

        Bytes are left over when the value has ended, when it is bad, or when an escape or a
        character is not whole: those are to be given again with what follows.
        """
        size = len(data)
        while at < size and not self.is_done and self.bad is None:
            state = self._state
            if state is _State.STRING or state is _State.KEY_STRING:
                before, before_state = at, state
                at = self._read_string(data, at)
                if at == before and self._state is before_state:
                    break  # an escape or a character is not whole
            elif state is _State.NUMBER or state is _State.WORD:
                at = self._read_token(data, at)
            else:
                space = _SPACE.match(data, at)
                if space:
                    self._put_held(space.group().decode())
                    at = space.end()
                    continue
                at = self._read_structure(data[at], at)
        return at

    def end(self) -> None:
        """No byte follows: a number that stands alone is complete."""
        if self._state is _State.NUMBER and not self._stack:
            self._end_token()

    # ------------------------------------------------------------------------------- structure

    def _read_structure(self, byte: int, at: int) -> int:
        state, character = self._state, chr(byte)
        if state in (_State.VALUE, _State.FIRST_ITEM):
            return self._begin_value(byte, at)
        if state in (_State.FIRST_KEY, _State.KEY):
            if character in "\"'":
                self._begin_string(byte, _State.KEY_STRING)
            elif character == "}":
                self._close(is_object=True, trailing=state is _State.KEY)
            else:
                return self._fail(at, f"a key was expected, not {character!r}")
        elif state is _State.COLON:
            if character != ":":
                return self._fail(at, f"a colon was expected, not {character!r}")
            self._put_held(":")
            self._state = _State.VALUE
        elif character == ",":
            self._put_held(",")
            self._state = _State.KEY if self._stack[-1].is_object else _State.VALUE
        elif character in "}]":
            self._close(is_object=character == "}", trailing=False)
        else:
            return self._fail(at, f"a comma or an end was expected, not {character!r}")
        return at + 1

    def _begin_value(self, byte: int, at: int) -> int:
        character = chr(byte)
        if character in "\"'":
            self._flush()
            self._put('"')
            self._begin_string(byte, _State.STRING)
        elif character in "{[":
            if len(self._stack) >= MOST_DEPTH:
                return self._fail(at, f"nested more than {MOST_DEPTH} deep")
            self._flush()
            self._put(character)
            self._stack.append(_Open(is_object=character == "{"))
            self._state = _State.FIRST_KEY if character == "{" else _State.FIRST_ITEM
        elif character == "]" and self._stack and not self._stack[-1].is_object:
            self._close(is_object=False, trailing=self._state is _State.VALUE)
        elif character in "-0123456789":
            self._state = _State.NUMBER
            return at
        elif character.isalpha():
            self._state = _State.WORD
            return at
        else:
            return self._fail(at, f"a value was expected, not {character!r}")
        return at + 1

    def _close(self, *, is_object: bool, trailing: bool) -> None:
        if not self._stack or self._stack[-1].is_object is not is_object:
            self.bad = Note("bad_json", "a bracket closes what was not opened")
            return
        if trailing:
            self.notes.append(Note("trailing_comma", "a comma before the end was left out"))
            self._held = [piece for piece in self._held if piece != ","]
        self._flush()
        self._put("}" if is_object else "]")
        self._stack.pop()
        self._end_value()

    def _end_value(self) -> None:
        depth = len(self._stack)
        if self._muted is not None and self._muted[0] == depth:
            text = "".join(self._muted[1])
            self.notes.append(
                Note("duplicate_key", f"the first value stands; kept out: {text.strip(' ,')}")
            )
            self._muted = None
            self._state = _State.AFTER
            return
        if not depth:
            self._state = _State.DONE
            self.is_done = True
            return
        top = self._stack[-1]
        if depth == 1 and top.is_object and self._muted is None:
            self.complete.append((top.key, _parsed("".join(self._value))))
            self._value = []
        if not top.is_object:
            top.items += 1
        self._state = _State.AFTER

    # ----------------------------------------------------------------------- numbers and words

    def _read_token(self, data: bytes, at: int) -> int:
        pattern = _NUMBER if self._state is _State.NUMBER else _WORD
        found = pattern.match(data, at)
        if found:
            self._token += found.group()
            at = found.end()
        if at < len(data) or self._token in _WORDS:
            self._end_token()
        elif len(self._token) > 4096:
            self._fail(at, "a number or word has more than 4096 characters")
        return at

    def _end_token(self) -> None:
        token, self._token = self._token, b""
        if self._state is _State.NUMBER:
            if not _NUMBER_WHOLE.match(token):
                self.bad = Note("bad_json", f"{token.decode()!r} is no number")
                return
            written = token.decode()
        elif token in _WORDS:
            written = _WORDS[token]
        elif token in _PYTHON_WORDS:
            written = _PYTHON_WORDS[token]
            self.notes.append(Note("python_literal", f"{token.decode()} was read as {written}"))
        else:
            self.bad = Note("bad_json", f"{token.decode()!r} is no JSON value")
            return
        self._flush()
        self._put(written)
        self._end_value()

    # --------------------------------------------------------------------------------- strings

    def _begin_string(self, quote: int, state: _State) -> None:
        if quote == 0x27:
            self.notes.append(Note("single_quotes", "a string in single quotes was read as one"))
        self._quote, self._state = quote, state

    def _read_string(self, data: bytes, at: int) -> int:
        put = self._put if self._state is _State.STRING else self._key.append
        found = _RUN[self._quote].match(data, at)
        if found:
            end = found.end()
            if end == len(data):
                end = whole_characters(data, at, end)
            if end > at:
                put(data[at:end].decode("utf-8", "replace"))
            at = end
            if found.end() == len(data):
                return at
        byte = data[at]
        if byte == self._quote:
            self._end_string()
            return at + 1
        if byte == 0x5C:
            return self._read_escape(data, at)
        if byte == 0x22:
            put('\\"')
            return at + 1
        self.notes.append(Note("raw_control", f"a raw U+{byte:04X} in a string was escaped"))
        put(json.dumps(chr(byte))[1:-1])
        return at + 1

    def _read_escape(self, data: bytes, at: int) -> int:
        put = self._put if self._state is _State.STRING else self._key.append
        if at + 1 == len(data):
            return at
        byte = data[at + 1]
        if byte in _PLAIN_ESCAPES:
            put("\\" + chr(byte))
            return at + 2
        if byte != 0x75:
            kept = chr(byte) if byte == 0x27 else json.dumps("\\" + chr(byte))[1:-1]
            if byte < 0x20 or byte >= 0x80:
                put("\\\\")
                self.notes.append(Note("bad_escape", "a lone backslash was escaped"))
                return at + 1
            put(kept)
            self.notes.append(Note("bad_escape", f"\\{chr(byte)} is no escape; kept as written"))
            return at + 2
        if not _HEX.match(data, at + 2):
            if len(data) < at + 6 and re.fullmatch(rb"[0-9a-fA-F]*", data[at + 2 :]):
                return at
            put("\\\\u")
            self.notes.append(Note("bad_escape", "\\u without four hex digits was kept as written"))
            return at + 2
        code = int(data[at + 2 : at + 6], 16)
        if 0xD800 <= code < 0xDC00:
            following = data[at + 6 : at + 12]
            if len(following) < 6 and b"\\u".startswith(following[:2]):
                return at
            if _HEX.match(following, 2) and 0xDC00 <= int(following, 0) < 0xE000:
                put(data[at : at + 12].decode())
                return at + 12
        if 0xD800 <= code < 0xE000:
            put("\ufffd")
            self.notes.append(Note("lone_surrogate", "half a surrogate pair became U+FFFD"))
        else:
            put(data[at : at + 6].decode())
        return at + 6

    def _end_string(self) -> None:
        if self._state is _State.STRING:
            self._put('"')
            self._end_value()
            return
        text = "".join(self._key)
        self._key = []
        key = str(_parsed(f'"{text}"'))
        top = self._stack[-1]
        if key in top.keys and self._muted is None:
            self._muted = (len(self._stack), self._held)
            self._held = []
        else:
            self._put_held(f'"{text}"')
            if self._muted is None and len(self._stack) == 1:
                self._value = []
        top.keys.add(key)
        top.key = key
        self._state = _State.COLON

    # ---------------------------------------------------------------------------------- output

    def _put(self, text: str) -> None:
        if self._muted is not None:
            self._muted[1].append(text)
            return
        self._out.append(text)
        if len(self._stack) > 1 or (self._stack and self._state is not _State.FIRST_KEY):
            self._value.append(text)

    def _put_held(self, text: str) -> None:
        if self._muted is not None:
            self._muted[1].append(text)
        else:
            self._held.append(text)

    def _flush(self) -> None:
        if not self._held:
            return
        self._out.extend(self._held)
        if len(self._stack) > 1:
            self._value.extend(self._held)
        self._held.clear()

    def _fail(self, at: int, message: str) -> int:
        self.bad = Note("bad_json", message)
        return at


def _parsed(text: str) -> JSON:
    return cast("JSON", json.loads(text))


def pointer_token(key: str) -> str:
    """A key as one token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def whole_characters(data: bytes, start: int, end: int) -> int:
    """The end of the last whole UTF-8 character in data[start:end]; bytes that are none count."""
    for back in range(1, min(4, end - start + 1)):
        byte = data[end - back]
        if byte < 0x80:
            return end
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4 if byte < 0xF8 else 1
            return end - back if length > back else end
    return end
