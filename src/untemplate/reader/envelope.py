"""Reads the JSON object around a call's name and arguments, its keys in any order.

    {"name": "f", "arguments": {...}}    {"f": {...}}    {"type": "function", "function": {...}}

Values on the way to name, id and arguments are descended into, others are passed over. Arguments
are told as they arrive, name and id when they are whole. Common other keys for the arguments, and
the object `function` around both, are read with a note.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from untemplate.grammar.envelope import Envelope
from untemplate.message import Tool
from untemplate.reader.copies import copied
from untemplate.reader.events import PartKind
from untemplate.reader.follow import MORE, YES
from untemplate.reader.json_text import JsonFrame
from untemplate.reader.quoted import QuotedFrame
from untemplate.reader.sink import CallSink, Note, Word
from untemplate.reader.utf8 import Data
from untemplate.reader.wrapped import opens_wrapper

if TYPE_CHECKING:
    from untemplate.reader.chain import Chain
    from untemplate.reader.frame import Frame

__all__ = ["EnvelopeFrame"]


_BEFORE, _FIRST_KEY, _KEY, _COLON, _VALUE, _ARGUMENTS, _AFTER, _DONE = range(8)

_SYNONYMS = ("arguments", "parameters", "args", "input")
_WRAPPER = "function"
_NAMES = ("name", "tool_name", "function_name", "tool", _WRAPPER)
_OTHER_KEYS = frozenset({"type", "id", "tool_call_id", "index", *_NAMES, *_SYNONYMS})
"""Keys that may stand in a call of any family."""
_COMMON = Envelope(
    before="", after="", arguments=("arguments",), name=("name",), id=("id",), fixed=()
)
"""What most families write, and models of others slip into."""


class EnvelopeFrame:
    """The state of one envelope that is being read."""

    def __init__(
        self,
        envelope: Envelope,
        tools: Mapping[str, Tool],
        *,
        python: bool = False,
        pauses: bool = False,
        is_strict: bool = False,
    ) -> None:
        self._envelope = envelope
        self._tools = tools
        self._pauses = pauses
        """Whether a step ends where it may be decided on the call: in front of the arguments, or of
        what no call has."""
        self._python = python
        self._is_strict = is_strict
        """Whether only the family's own keys lead to arguments, and only an object is one."""
        self._state = _BEFORE
        self._path: tuple[str, ...] = ()
        self._is_wrapped = False
        """Whether the arguments stand inside an object of their own, by a name that says so."""
        self._sub: JsonFrame | None = None
        """Reads a key or a value that is not the arguments."""
        self._sub_kind = ""
        self._word: Chain[str] = None
        self.name: str | None = None
        self.arguments: Frame | None = None
        self.has_arguments = False
        """Whether the key of the arguments was met."""
        self.is_plausible = True
        """Whether every key may stand in a call, and no list or object where none belongs: what
        decides on an object without markers."""
        self.is_done = False
        self.bad: Note | None = None

    def clone(self) -> "EnvelopeFrame":
        other = copied(self)
        other._sub = self._sub.clone() if self._sub else None  # noqa: SLF001
        other.arguments = self.arguments.clone() if self.arguments else None
        return other

    @property
    def is_in_arguments(self) -> bool:
        """Whether the value that is being read is the arguments; they may have ended by now."""
        return self._state == _ARGUMENTS

    @property
    def shows_call(self) -> bool:
        """Whether there are arguments, so that even without a marker it may be a call."""
        whole = isinstance(self.arguments, JsonFrame)
        return self.arguments is not None and (whole or self.arguments.is_done)

    @property
    def lacks_end(self) -> bool:
        """Whether name and arguments are there, but not the ends of the objects around them."""
        whole = self.name is not None and self.arguments is not None and self.arguments.is_done
        return whole and self._state == _AFTER and not self.is_done

    def step(self, data: Data, at: int, sink: CallSink, *, final: bool) -> int:
        """Reads one thing: structure, a key, a value, or a piece of the arguments."""
        if self._sub is None and not self.is_in_arguments:
            first = sink.past_space(data, at)
            if first == len(data):
                return at
            at = self._read_structure(data, first, sink)
            sink.part("structure", at)
            whole = self.is_in_arguments and isinstance(self.arguments, JsonFrame)
            if self._pauses and (not self.is_plausible or (whole and self.name is not None)):
                return at
        if self.is_in_arguments:
            return self._read_arguments(data, at, sink, final=final)
        return self._read_sub(self._sub, data, at, sink) if self._sub else at

    def _fail(self, at: int, message: str) -> int:
        self.bad = Note("bad_envelope", message)
        return at

    # ------------------------------------------------------------------------------- structure

    def _read_structure(self, data: Data, at: int, sink: CallSink) -> int:
        character = chr(data[at])
        state = self._state
        if state == _BEFORE and character == "{":
            self._state = _FIRST_KEY
        elif state in (_FIRST_KEY, _KEY) and character in "\"'":
            self._begin_sub("key")
            return at
        elif (state in (_FIRST_KEY, _KEY) or (state == _AFTER and self._path)) and (
            character == "}"
        ):
            self._end_object(at, sink, trailing=state == _KEY)
        elif state == _COLON and character == ":":
            self._state = _VALUE
        elif state == _VALUE:
            return self._begin_value(data, at, sink)
        elif state == _AFTER and character == ",":
            self._path = self._path[:-1]
            self._state = _KEY
        else:
            return self._fail(at, f"{character!r} has no place around a call")
        return at + 1

    def _end_object(self, at: int, sink: CallSink, *, trailing: bool) -> None:
        if trailing:
            sink.note("trailing_comma", "a comma before an end was left out", at, at + 1)
        if self._state == _AFTER:
            self._path = self._path[:-1]
        if self._path:
            self._state = _AFTER
        else:
            self._state = _DONE
            self.is_done = True

    def _begin_sub(self, kind: str) -> None:
        self._sub, self._sub_kind, self._word = JsonFrame(), kind, None

    def _here(self) -> tuple[str, ...]:
        """Where we are, seen without a wrapper that the family does not have."""
        path = self._path[:-1] if self._is_wrapped and not self.has_arguments else self._path
        if self._is_strict:
            return path
        if path[:1] == (_WRAPPER,) and self._envelope.arguments[:1] != (_WRAPPER,):
            return path[1:]
        return path

    # ------------------------------------------------------------------------------------ values

    def _begin_value(self, data: Data, at: int, sink: CallSink) -> int:
        envelope, path, character = self._envelope, self._here(), chr(data[at])
        if not self.has_arguments and self._is_arguments(path):
            tool = self._tools.get(self.name or "")
            if tool and not self._is_wrapped:
                verdict, _ = opens_wrapper(tool.parameters, data, at)
                if verdict == MORE:
                    return at
                sink.part("structure", at)
                if verdict == YES:
                    sink.note("wrapped_arguments", "the arguments stand in an object", at, at)
                    self._is_wrapped, self._state = True, _FIRST_KEY
                    return at + 1
            self.has_arguments = True
            if path != envelope.arguments:
                message = f"the arguments stand under {path[-1]!r}"
                sink.note("renamed_key", message, at, at)
            return self._begin_arguments(character, at, sink)
        ways = (envelope.arguments, envelope.name, envelope.id)
        if self._is_renamed_name(character):
            sink.note("renamed_key", f"the name stands under {self._path[-1]!r}", at, at)
            self._begin_sub("name")
            return at
        leads = not path or any(w and len(w) > len(path) and w[: len(path)] == path for w in ways)
        if leads and character == "{":
            self._state = _FIRST_KEY
            return at + 1
        if path == envelope.name and self.name is None:
            if character not in "\"'":  # known at once, so that nested ones are not read twice
                return self._fail(at, "the name of the call is no string")
            self._begin_sub("name")
            return at
        self.is_plausible = self.is_plausible and character not in "{["
        self._begin_sub("id" if path == envelope.id else "other")
        return at

    def _is_arguments(self, path: tuple[str, ...]) -> bool:
        wanted = self._envelope.arguments
        if path == wanted or self._is_strict:
            return path == wanted
        return (
            bool(path)
            and path[:-1] == wanted[:-1]
            and (wanted[-1] in _SYNONYMS and path[-1] in _SYNONYMS)
        )

    def _begin_arguments(self, character: str, at: int, sink: CallSink) -> int:
        if character == "{" or (character == '"' and not self._is_strict):
            self._state = _ARGUMENTS
            self.arguments = (
                JsonFrame(members=True, python=self._python) if character == "{" else QuotedFrame()
            )
        elif character in "nN":
            sink.note("null_arguments", "null in place of arguments was read as none", at, at)
            self._begin_sub("other")
        else:
            self.bad = Note("bad_arguments", f"{character!r} does not begin an object of arguments")
        return at

    def _read_arguments(self, data: Data, at: int, sink: CallSink, *, final: bool) -> int:
        assert self.arguments is not None
        at = self.arguments.read(data, at, sink, final=final)
        if self.arguments.bad:
            self.bad = self.arguments.bad
        elif self.arguments.is_done:
            self._state = _AFTER
        return at

    def _read_sub(self, sub: JsonFrame, data: Data, at: int, sink: CallSink) -> int:
        kind = "name" if self._names_here() else self._sub_kind
        part = _PARTS.get(kind, "structure")
        word = Word(self._word, part, sink)
        at = sub.read(data, at, word)
        self._word = word.pieces
        sink.part(part, at - sub.pending)
        if sub.bad:
            self.bad = sub.bad
        elif sub.is_done:
            self._sub = None
            self._end_sub(word.all_text(), kind, at, sink)
        return at

    def _names_here(self) -> bool:
        """Whether the key being read is the name of the call itself."""
        envelope = self._envelope
        return (
            self._sub_kind == "key"
            and not envelope.name
            and self.name is None
            and self._here() == envelope.arguments[:-1]
        )

    def _turns_common(self, key: str) -> bool:
        """Whether the key shows that the object is what most families write, not this one's."""
        names_itself = not self._envelope.name and self.name is None and not self._is_strict
        common = ("name", "arguments", "parameters")
        return names_itself and not self._path and key in common and key not in self._tools

    def _is_renamed_name(self, character: str) -> bool:
        """Whether a string is the name of the call, under a key that is not the family's."""
        own, path = self._envelope.name, self._path
        is_free = self.name is None and not self._is_strict and len(own) == len(path) == 1
        return is_free and path != own and path[0] in _NAMES and character == '"'

    def _end_sub(self, written: str, kind: str, at: int, sink: CallSink) -> None:
        value = json.loads(written)
        if self._sub_kind == "key":
            key = cast("str", value)
            if self._turns_common(key):
                message = f"name and arguments stand under keys of their own: {key!r}"
                sink.note("renamed_key", message, at, at)
                self._envelope = _COMMON
            elif kind == "name":
                self.name, key = key, ""
            elif key not in _OTHER_KEYS and not self._leads_on(key) and not self._is_wrapped:
                self.is_plausible = False
            self._path = (*self._path, key)
            self._state = _COLON
            return
        self._state = _AFTER
        if kind == "name":
            self.name = cast("str", value)
        elif kind == "id":
            sink.written_id(value if isinstance(value, str) else written)

    def _leads_on(self, key: str) -> bool:
        envelope, path = self._envelope, (*self._here(), key)
        ways = (envelope.arguments, envelope.name, envelope.id, *(f[0] for f in envelope.fixed))
        return any(w and w[: len(path)] == path for w in ways)


_PARTS: dict[str, PartKind] = {"name": "name", "id": "id"}
