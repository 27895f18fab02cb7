r"""Reads arguments that are written pair by pair, and gives them as JSON text while they arrive.

    <parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n
    -> {"city": "Paris", "days": 3}

A raw string streams, escaped on the fly. A value whose type only its text can tell (a number, an
object, a union) waits for its closer. Which it is comes from the text before it where that tells
the type (an attribute), else from the tool's schema; a key that the schema does not know, or a
text that is not of the declared type, is read as JSON if it is JSON and as a string if not, with a
note.

A closer inside a raw value: the value ends at the first closer that is followed by what may follow
it, another pair or the end of the arguments. Until that is seen the argument is `undecided`.
"""

import json
from collections.abc import Mapping
from typing import cast

from untemplate.dialect import KEY_IN_LITERAL, JsonType, Pairs, Raw, Written
from untemplate.grammar.marks import marks
from untemplate.message import JSON, Tool
from untemplate.reader.json_text import JsonReader, Note, pointer_token, whole_characters

__all__ = ["PairsReader"]

_SPACE = b" \t\r\n"
MOST_KEY_BYTES = 1024


class PairsReader:
    """The state of arguments that are being read pair by pair."""

    def __init__(self, pairs: Pairs, following: tuple[bytes, ...], tool: Tool | None) -> None:
        self._pairs = pairs
        tail = tuple(m.encode() for m in marks(pairs.tail))
        self._ends = (tail or following)[:1]
        self._tail = tail[0] if tail else b""
        self._open = pairs.open.strip().encode()
        self._separator = pairs.separator.strip().encode()
        self._properties = _properties(tool)
        self._state = "open"
        self._key = ""
        self._keys: set[str] = set()
        self._forms: tuple[tuple[str, tuple[JsonType, ...]], ...] = ()
        self._types: tuple[JsonType, ...] = ()
        self._after = b""
        self._lead = b""
        self._skip = b""
        self._head = ""
        self._is_raw = False
        self._is_muted = False
        self._text: list[bytes] = []
        self._out: list[str] = []
        self._value: list[str] = []
        self.has_begun = False
        self.is_done = False
        self.bad: Note | None = None
        self.notes: list[Note] = []
        self.complete: list[tuple[str, JSON]] = []
        self.is_undecided = False
        """A closer was seen, but not yet what follows it."""

    def take(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    @property
    def closing(self) -> str:
        if self.is_done or not self.has_begun:
            return "" if self.is_done else "{}"
        return '"}' if self._state == "value" and self._is_raw and not self._is_muted else "}"

    @property
    def open_pointer(self) -> str:
        return "/" + pointer_token(self._key) if self._state in ("before", "value") else ""

    def end(self) -> None:
        """No byte follows; nothing that waits can be settled by that."""

    def read(self, data: bytes, at: int, *, final: bool) -> int:
        """Read on; gives the position of the first byte not taken."""
        while not self.is_done and self.bad is None:
            before, state = at, self._state
            match state:
                case "open":
                    at = self._read_open(data, at, final=final)
                case "key":
                    at = self._read_key(data, at)
                case "before":
                    at = self._read_before(data, at, final=final)
                case _:
                    at = self._read_value(data, at, final=final)
            if at == before and state == self._state:
                break
        return at

    # -------------------------------------------------------------------------------- structure

    def _begin(self) -> None:
        if not self.has_begun:
            self.has_begun = True
            self._out.append("{")

    def _read_open(self, data: bytes, at: int, *, final: bool) -> int:
        """Between pairs: another pair, or the end of the arguments."""
        start, size = at, len(data)
        while at < size and (data[at] in _SPACE or data[at : at + 1] == self._separator != b""):
            at += 1
        rest = data[at:]
        if not rest and not final:
            return start
        if self._open and rest.startswith(self._open):
            self._begin()
            self._state = "key"
            return at + len(self._open)
        if self._ends and rest.startswith(self._ends[0]):
            self._begin()
            self._out.append("}")
            self.is_done = True
            return at + len(self._tail)
        if not final and any(w.startswith(rest) for w in (self._open, *self._ends)):
            return start
        if final or not rest:
            return start
        self.bad = Note("bad_arguments", "neither an argument nor the end of the call stands there")
        return at

    def _read_key(self, data: bytes, at: int) -> int:
        stops = {
            self._first(w.before.replace(KEY_IN_LITERAL, "")) for w in self._pairs.types.values()
        }
        found = min((p for s in stops if s and (p := data.find(s, at)) >= 0), default=-1)
        if found < 0:
            if len(data) - at > MOST_KEY_BYTES:
                self.bad = Note("bad_arguments", "a key does not end")
            return at
        self._key = data[at:found].decode("utf-8", "replace").strip()
        forms: dict[str, list[JsonType]] = {}
        for kind, written in self._pairs.types.items():
            forms.setdefault(written.before, []).append(kind)
        self._forms = tuple((b, tuple(k)) for b, k in forms.items())
        self._state = "before"
        return found

    @staticmethod
    def _first(literal: str) -> bytes:
        found = marks(literal)
        return found[0].encode() if found else literal.encode()

    def _read_before(self, data: bytes, at: int, *, final: bool) -> int:
        """The literal between key and value; where types differ in it, it tells the type."""
        waiting = False
        for before, kinds in sorted(self._forms, key=lambda f: -len(f[0])):
            core = before.replace(KEY_IN_LITERAL, self._key).rstrip().encode()
            rest = data[at : at + len(core)]
            if rest == core:
                self._begin_value(before, kinds)
                return at + len(core)
            waiting = waiting or core.startswith(rest)
        if not waiting or final:
            self.bad = None if waiting else Note("bad_arguments", "a key is followed by no value")
        return at

    def _begin_value(self, before: str, kinds: tuple[JsonType, ...]) -> None:
        self._types = self._declared(kinds)
        written: Written = self._pairs.types[self._types[0]]
        after = written.after.replace(KEY_IN_LITERAL, self._key)
        self._lead = after[: len(after) - len(after.lstrip())].encode()
        found = marks(after)
        self._after = found[0].encode() if found else self._separator
        self._skip = before[len(before.rstrip()) :].encode()
        self._is_raw = self._types == ("string",) and isinstance(written.encoding, Raw)
        self._is_muted = self._key in self._keys
        self._state = "value"
        self._value = []
        if not self._is_muted:
            lead = ", " if self._keys else ""
            head = f"{lead}{json.dumps(self._key, ensure_ascii=False)}: "
            # The key of a value that waits is told with its value: `closing` adds no value.
            self._text = []
            self._head = head
            if self._is_raw:
                self._out.append(head + '"')
                self._value.append('"')
        self._keys.add(self._key)

    def _declared(self, kinds: tuple[JsonType, ...]) -> tuple[JsonType, ...]:
        """Types that this value may have: what stands before it and the schema allow."""
        schema = self._properties.get(self._key)
        declared = _types(schema)
        both = tuple(k for k in declared if k in kinds)
        return both or kinds

    # ------------------------------------------------------------------------------------ values

    def _read_value(self, data: bytes, at: int, *, final: bool) -> int:
        size = len(data)
        while self._skip and at < size:
            if data[at] != self._skip[0]:
                self._skip = b""
                break
            at += 1
            self._skip = self._skip[1:]
        search = at
        while True:
            found = data.find(self._after, search)
            if found < 0:
                break
            verdict, end = self._ends_at(data, found + len(self._after), final=final)
            if verdict == "yes":
                stop = found
                if self._lead and data[max(at, found - len(self._lead)) : found] == self._lead:
                    stop = found - len(self._lead)
                self._put(data[at:stop])
                self.is_undecided = False
                self._end_value()
                return end
            if verdict == "more":
                self.is_undecided = True
                return self._put_safe(data, at, found)
            search = found + 1
        self.is_undecided = False
        if final:
            return at
        return self._put_safe(data, at, size - _overlap(data, self._after, at))

    def _put_safe(self, data: bytes, at: int, end: int) -> int:
        """Takes the value up to `end`, but for white space that may belong to the closer."""
        end = max(at, whole_characters(data, at, end)) if end == len(data) else end
        keep = 0
        while keep < len(self._lead) and end - keep > at and data[end - keep - 1] in _SPACE:
            keep += 1
        end -= keep
        self._put(data[at:end])
        return end

    def _ends_at(self, data: bytes, at: int, *, final: bool) -> tuple[str, int]:
        """Whether what follows a closer may follow it; and the position behind the closer."""
        rest = data[at:].lstrip(_SPACE)
        if rest.startswith(self._separator):
            rest = rest[len(self._separator) :].lstrip(_SPACE)
        wanted = [w for w in (self._open, *self._ends) if w]
        if any(rest.startswith(w) for w in wanted):
            return "yes", at
        if any(w.startswith(rest) for w in wanted):
            return ("no" if final else "more"), at
        return "no", at

    def _put(self, data: bytes) -> None:
        if not data:
            return
        if self._is_raw and not self._is_muted:
            text = json.dumps(data.decode("utf-8", "replace"), ensure_ascii=False)[1:-1]
            self._out.append(text)
            self._value.append(text)
        else:
            self._text.append(data)

    def _end_value(self) -> None:
        self._state = "open"
        if self._is_muted:
            text = b"".join(self._text).decode("utf-8", "replace")
            self.notes.append(Note("duplicate_key", f"the first value stands; kept out: {text}"))
            self._text = []
            return
        if self._is_raw:
            self._out.append('"')
            self._value.append('"')
        else:
            written = self._typed(b"".join(self._text).decode("utf-8", "replace"))
            self._out.append(self._head + written)
            self._value.append(written)
        self.complete.append((self._key, cast("JSON", json.loads("".join(self._value)))))
        self._text = []

    def _typed(self, text: str) -> str:
        """JSON text of a value whose type its text and the schema tell."""
        reader = JsonReader()
        data = text.strip().encode()
        used = reader.read(data, 0)
        reader.end()
        if reader.is_done and used == len(data):
            written = reader.take()
            if _has_type(written, self._types):
                self.notes += reader.notes
                return written
            if "string" not in self._types:
                self.notes += [
                    *reader.notes,
                    Note("wrong_type", f"{self._key} is no {self._wanted}"),
                ]
                return written
        elif "string" not in self._types:
            self.notes.append(
                Note("wrong_type", f"{self._key} is no {self._wanted}; read as a string")
            )
        return json.dumps(text, ensure_ascii=False)

    @property
    def _wanted(self) -> str:
        return " or ".join(self._types)


def _properties(tool: Tool | None) -> Mapping[str, JSON]:
    properties = tool.parameters.get("properties") if tool else None
    return properties if isinstance(properties, dict) else {}


_ALL: tuple[JsonType, ...] = ("string", "integer", "number", "boolean", "null", "array", "object")


def _types(schema: JSON) -> tuple[JsonType, ...]:
    """Types that a property's schema names, at its top or in the branches of a union."""
    if not isinstance(schema, dict):
        return _ALL
    named = schema.get("type")
    if isinstance(named, str):
        named = [named]
    if isinstance(named, list):
        return tuple(t for t in _ALL if t in named or (t == "integer" and "number" in named))
    for key in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(key), list):
            union = {t for b in branches for t in _types(b)}
            return tuple(t for t in _ALL if t in union)
    values = schema.get("enum")
    if isinstance(values, list) and all(isinstance(v, str) for v in values):
        return ("string",)
    return _ALL


def _has_type(written: str, types: tuple[JsonType, ...]) -> bool:
    first = written[0]
    kind: JsonType = (
        "string"
        if first == '"'
        else "object"
        if first == "{"
        else "array"
        if first == "["
        else "null"
        if first == "n"
        else "boolean"
        if first in "tf"
        else "integer"
        if written.lstrip("-").isdigit()
        else "number"
    )
    if kind == "string":
        return False  # quoted text of a raw string is text with its quotes
    return kind in types or (kind == "integer" and "number" in types)


def _overlap(data: bytes, mark: bytes, at: int) -> int:
    """How many bytes at the end of the data may be the beginning of the mark."""
    for size in range(min(len(mark) - 1, len(data) - at), 0, -1):
        if data.endswith(mark[:size]):
            return size
    return 0
