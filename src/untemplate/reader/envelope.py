"""Reads the JSON object around a call's name and arguments, its keys in any order.

    {"name": "f", "arguments": {...}}    {"f": {...}}    {"type": "function", "function": {...}}

Values on the way to name, id and arguments are descended into, others are passed over. What is
found is told as it is found: `name` and `id` when whole, the arguments as they arrive through a
`ValueReader`.
"""

import json
from enum import IntEnum
from typing import cast

from untemplate.grammar.envelope import Envelope
from untemplate.reader.json_text import JsonReader, Note

__all__ = ["EnvelopeReader", "QuotedReader", "ValueReader"]


class QuotedReader:
    """Arguments that are a JSON string with JSON text in it: undone while it arrives."""

    __slots__ = ("_inner", "_left", "_outer", "complete", "notes")

    def __init__(self) -> None:
        self._outer = JsonReader()
        self._inner = JsonReader()
        self._left = b""
        self.notes = [
            Note("quoted_arguments", "arguments that were a JSON string were read as JSON")
        ]
        self.complete = self._inner.complete

    def read(self, data: bytes, at: int) -> int:
        at = self._outer.read(data, at)
        text = self._outer.take().removeprefix('"')
        if self._outer.is_done:
            text = text.removesuffix('"')
        if text and self._inner.bad is None:
            plain = self._left + cast("str", json.loads(f'"{text}"')).encode("utf-8", "replace")
            used = self._inner.read(plain, 0)
            self._left = plain[used:]
        if self._outer.is_done:
            self._inner.end()
        self.notes += self._inner.notes
        self._inner.notes.clear()
        return at

    def take(self) -> str:
        return self._inner.take()

    @property
    def closing(self) -> str:
        return self._inner.closing

    @property
    def has_begun(self) -> bool:
        return self._inner.has_begun

    @property
    def open_pointer(self) -> str:
        return self._inner.open_pointer

    @property
    def is_done(self) -> bool:
        return self._outer.is_done and self._inner.is_done

    @property
    def bad(self) -> Note | None:
        if self._outer.bad or self._inner.bad:
            return self._outer.bad or self._inner.bad
        if self._outer.is_done and (self._left.strip() or not self._inner.is_done):
            return Note("bad_json", "the string of arguments is no whole JSON value")
        return None

    def end(self) -> None:
        self._outer.end()


ValueReader = JsonReader | QuotedReader


class _State(IntEnum):
    BEFORE = 0
    FIRST_KEY = 1
    KEY = 2
    COLON = 3
    VALUE = 4
    AFTER = 5
    DONE = 6


_SPACE = b" \t\r\n"
_SYNONYMS = {"arguments": ("parameters", "args"), "parameters": ("arguments", "args")}


class EnvelopeReader:
    """The state of one envelope that is being read."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._state = _State.BEFORE
        self._path: list[str] = []
        self._key: JsonReader | None = None
        self._sub: JsonReader | None = None
        self._sub_kind = ""
        self.name: str | None = None
        self.id: str | None = None
        self.arguments: ValueReader | None = None
        self.in_arguments = False
        self.is_done = False
        self.bad: Note | None = None
        self.notes: list[Note] = []
        self.part = "structure"
        """What the bytes taken by the last `read` were."""

    def read(self, data: bytes, at: int) -> int:
        """Reads one thing: structure, a key, a value, or a piece of the arguments."""
        self.part = "structure"
        if self.in_arguments:
            return self._read_arguments(data, at)
        if self._sub is not None:
            return self._read_value(data, at)
        if self._key is not None:
            return self._read_key(data, at)
        size = len(data)
        while at < size and data[at] in _SPACE:
            at += 1
        return self._read_structure(data, at) if at < size else at

    def _fail(self, message: str) -> None:
        self.bad = Note("bad_envelope", message)

    def _read_structure(self, data: bytes, at: int) -> int:
        character = chr(data[at])
        match self._state:
            case _State.BEFORE if character == "{":
                self._state = _State.FIRST_KEY
            case _State.FIRST_KEY | _State.KEY if character in "\"'":
                self._key = JsonReader()
                return at
            case _State.FIRST_KEY | _State.KEY if character == "}":
                self._end_object()
            case _State.COLON if character == ":":
                self._state = _State.VALUE
            case _State.VALUE:
                self._begin_value(character)
                return at + (character == "{" and self._sub is None and not self.in_arguments)
            case _State.AFTER if character == ",":
                self._path.pop()
                self._state = _State.KEY
            case _State.AFTER if character == "}":
                self._path.pop()
                self._end_object()
            case _:
                self._fail(f"{character!r} has no place around a call")
                return at
        return at + 1

    def _end_object(self) -> None:
        if self._path:
            self._state = _State.AFTER
        else:
            self._state = _State.DONE
            self.is_done = True

    def _read_key(self, data: bytes, at: int) -> int:
        assert self._key is not None
        at = self._key.read(data, at)
        if self._key.bad:
            self.bad = self._key.bad
        elif self._key.is_done:
            key = cast("str", json.loads(self._key.take()))
            if (
                not self._envelope.name
                and self.name is None
                and (*self._path, "") == self._envelope.arguments[: len(self._path) + 1]
            ):
                self.name, key, self.part = key, "", "name"
            self._path.append(key)
            self._key = None
            self._state = _State.COLON
        return at

    def _leads_to(self, wanted: tuple[str, ...] | None) -> bool:
        path = tuple(self._path)
        return wanted is not None and len(wanted) > len(path) and wanted[: len(path)] == path

    def _is(self, wanted: tuple[str, ...] | None) -> bool:
        path = tuple(self._path)
        if wanted is None or not wanted:
            return False
        if path == wanted:
            return True
        return path[:-1] == wanted[:-1] and path[-1] in _SYNONYMS.get(wanted[-1], ())

    def _begin_value(self, character: str) -> None:
        envelope = self._envelope
        if self._is(envelope.arguments) and self.arguments is None:
            self.arguments = QuotedReader() if character == '"' else JsonReader()
            self.in_arguments = True
            return
        leads = any(self._leads_to(p) for p in (envelope.arguments, envelope.name, envelope.id))
        if leads and character == "{":
            self._state = _State.FIRST_KEY
            return
        self._sub = JsonReader()
        self._sub_kind = (
            "name"
            if self._is(envelope.name) and self.name is None
            else "id"
            if self._is(envelope.id) and self.id is None
            else ""
        )

    def _read_value(self, data: bytes, at: int) -> int:
        assert self._sub is not None
        self.part = self._sub_kind or "structure"
        at = self._sub.read(data, at)
        if self._sub.bad:
            self.bad = self._sub.bad
        elif self._sub.is_done:
            text = self._sub.take()
            if self._sub_kind and text.startswith('"'):
                found = cast("str", json.loads(text))
                if self._sub_kind == "name":
                    self.name = found
                else:
                    self.id = found
            elif self._sub_kind == "name":
                self._fail("the name of the call is no string")
            self._sub = None
            self._state = _State.AFTER
        return at

    def _read_arguments(self, data: bytes, at: int) -> int:
        assert self.arguments is not None
        self.part = "arguments"
        at = self.arguments.read(data, at)
        if self.arguments.bad:
            self.bad = self.arguments.bad
        elif self.arguments.is_done:
            self.in_arguments = False
            self._state = _State.AFTER
        return at
