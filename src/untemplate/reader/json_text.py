r"""Reads one JSON value as it arrives and says, at any moment, what of it is settled.

    frame = JsonFrame(); frame.read(b'{"a": 12, "b": "x', 0, sink)
    told to the sink: '{"a": 12, "b": "x'      frame.closing -> '"}'      frame.pointer -> "/b"

What was told is valid JSON once `closing` is added. What is not settled waits: a number until the
byte after it, a literal and an escape until they are whole, a key with its comma and colon until
its value begins. Runs inside strings go through a compiled expression; everything else is one step
for each byte. The written text is kept as it is: spacing, escapes, numbers.

Models write JSON with slips. What can be said in JSON without guessing is said in JSON, with a note
for a diagnostic: single quotes, raw newlines in strings, trailing commas, Python's True and None,
keys without quotes. With `python` these are the notation itself. The first value of a key stands; a
second one is kept out. Anything else ends the reading with `bad`.
"""

import json
import re
from typing import cast

from untemplate.message import DiagnosticCode
from untemplate.reader.chain import joined
from untemplate.reader.escapes import escape, json_escaped
from untemplate.reader.follow import MORE, NO, YES
from untemplate.reader.json_open import Open
from untemplate.reader.json_state import (
    AFTER,
    COLON,
    DONE,
    FIRST_ITEM,
    FIRST_KEY,
    KEY,
    KEY_STRING,
    KEY_WORD,
    MOST_DEPTH,
    NUMBER,
    STRING,
    VALUE,
    WORD,
    JsonState,
)
from untemplate.reader.json_words import (
    KEY_BEGINS,
    LETTERS,
    MOST_TOKEN,
    MOST_WORD,
    TOKENS,
    is_number,
    is_python,
    whole_word,
    word_in_json,
)
from untemplate.reader.plain import ESCAPE, Plain, quoted_plain
from untemplate.reader.sink import Note, Sink
from untemplate.reader.utf8 import SPACE, Data, decoded, past_space, whole_characters

__all__ = ["MOST_DEPTH", "JsonFrame"]

_RUN = {
    0x22: re.compile(rb'(?:[^"\\\x00-\x1f]++|' + ESCAPE + rb")++"),
    0x27: re.compile(rb"[^'\"\\\x00-\x1f]++"),
}
_PLAIN = {quote: quoted_plain(quote) for quote in _RUN}
_TOKEN = {NUMBER: TOKENS["number"], WORD: TOKENS["word"], KEY_WORD: TOKENS["key"]}
_CLOSES = {0x7B: "}", 0x5B: "]", 0x28: ")"}


class JsonFrame(JsonState):
    """Reads one value."""

    __slots__ = ()
    bad: Note | None
    cursor: object
    is_ambiguous: bool
    is_undecided: bool

    def settle(self, data: Data, at: int, sink: Sink) -> None:
        """Nothing waits for what follows a closer."""

    @property
    def plain(self) -> Plain | None:
        """Tests for pieces of data that are text of the open string and nothing else."""
        if self._state == STRING and self._muted < 0 and self.bad is None:
            return _PLAIN[self._quote]
        return None

    # ------------------------------------------------------------------------------------- read

    def read(self, data: Data, at: int, sink: Sink, *, final: bool = False) -> int:
        """Read on from `at`; gives the position of the first byte that was not used.

        Bytes are left over when the value has ended, when it is bad, or when an escape or a
        character is not whole: those are to be given again with what follows.
        """
        size = len(data)
        while at < size and not self.is_done and self.bad is None:
            state = self._state
            if state in (STRING, KEY_STRING):
                new = self._read_string(data, at, sink, final=final)
                if new == at:
                    break
                at = new
            elif state in (NUMBER, WORD, KEY_WORD):
                at = self._read_token(data, at, sink)
            else:
                byte = data[at]
                if byte in SPACE:
                    after = past_space(data, at)
                    self._hold(bytes(data[at:after]).decode())
                    at = after
                else:
                    at = self._read_structure(byte, at, sink)
        self._tell(sink)
        if self._muted >= 0:
            sink.lost(at)
        return at

    def end(self, at: int, sink: Sink) -> None:
        """The value ends before `at`, as what stands there shows: a number is complete."""
        if self._state in (NUMBER, WORD) and not self._stack:
            self._end_token(at, sink)
            self._tell(sink)

    # ------------------------------------------------------------------------------- structure

    def _read_structure(self, byte: int, at: int, sink: Sink) -> int:
        state = self._state
        if state in (VALUE, FIRST_ITEM):
            return self._begin_value(byte, at, sink)
        if state in (FIRST_KEY, KEY):
            if byte in b"\"'":
                self._begin_string(byte, KEY_STRING, at, sink)
            elif byte == 0x7D:
                return self._close("}", at, sink, trailing=state == KEY)
            elif byte in KEY_BEGINS:
                self._state = KEY_WORD
                return at
            else:
                return self._fail(at, f"a key was expected, not {chr(byte)!r}")
        elif state == COLON:
            if byte != 0x3A:
                return self._fail(at, f"a colon was expected, not {chr(byte)!r}")
            self._hold(":")
            self._state = VALUE
        elif byte == 0x2C:
            self._hold(",")
            self._state = KEY if self._stack[-1].is_object else VALUE
        elif byte in b"}])":
            return self._close(chr(byte), at, sink, trailing=False)
        else:
            return self._fail(at, f"a comma or an end was expected, not {chr(byte)!r}")
        return at + 1

    def _begin_value(self, byte: int, at: int, sink: Sink) -> int:
        if byte in b"\"'":
            self._begin(at, sink)
            self._begin_string(byte, STRING, at, sink)
            self._put('"', at + 1)
        elif byte in b"-0123456789":
            self._state = NUMBER
            return at
        elif byte in b"{[" or (byte == 0x28 and self._python):
            if len(self._stack) >= MOST_DEPTH:
                return self._fail(at, f"nested more than {MOST_DEPTH} deep", "too_deep")
            self._begin(at, sink)
            self._put("{" if byte == 0x7B else "[", at + 1)
            self._stack.append(Open(_CLOSES[byte]))
            self._state = FIRST_KEY if byte == 0x7B else FIRST_ITEM
        elif byte in b"])" and self._stack and not self._stack[-1].is_object:
            return self._close(chr(byte), at, sink, trailing=self._state == VALUE)
        elif byte in LETTERS:
            self._state = WORD
            return at
        else:
            return self._fail(at, f"a value was expected, not {chr(byte)!r}")
        return at + 1

    def _close(self, character: str, at: int, sink: Sink, *, trailing: bool) -> int:
        if not self._stack or self._stack[-1].close != character:
            return self._fail(at, f"{character!r} closes what was not opened")
        if trailing:
            if not self._python:
                self._note(sink, "trailing_comma", "a comma before an end was left out", at, at + 1)
            self._held = (None, joined(self._held).replace(",", "")) if self._held else None
        self._put_held(at)
        self._put("]" if character != "}" else "}", at + 1)
        self._stack.pop()
        self._end_value(at + 1, sink)
        return at + 1

    def _begin(self, at: int, sink: Sink) -> None:
        """A value begins at `at`: its key and what stands before it are told."""
        if self._muted == len(self._stack):
            self._muted_text = None  # only the value of a repeated key is reported
        is_argument = self._members and len(self._stack) == 1 and self._muted < 0
        if is_argument:
            self._tell(sink)
            sink.begin_argument(self._stack[0].key)
        self._put_held(at)
        if is_argument or not self._stack:
            self._tell(sink)
            self.cursor = sink.cursor()

    def _end_value(self, at: int, sink: Sink) -> None:
        depth = len(self._stack)
        self._state = AFTER if depth else DONE
        if self._muted == depth:
            text = joined(self._muted_text)
            self._muted, self._muted_text = -1, None
            sink.lost(at)
            message = f"the first value of the key stands; kept out: {text}"
            sink.note("duplicate_key", message, at, at)
            return
        if not depth:
            self.is_done = True
        elif not (top := self._stack[-1]).is_object:
            top.items += 1
        elif depth == 1 and self._members:
            self._tell(sink)
            sink.argument(top.key, self.cursor)

    # ----------------------------------------------------------------------- numbers and words

    def _read_token(self, data: Data, at: int, sink: Sink) -> int:
        if self._state == WORD:
            word = whole_word(self._token + bytes(data[at : at + MOST_WORD]))
            if word:  # nothing that follows can make it another value
                at += len(word) - len(self._token)
                self._token = word
                self._end_token(at, sink)
                return at
        room = MOST_TOKEN + 1 - len(self._token)
        found = _TOKEN[self._state].match(data, at, at + room)
        if found:
            self._token += found.group()
            at = found.end()
        if len(self._token) > MOST_TOKEN:
            return self._fail(at, f"a number or word has more than {MOST_TOKEN} characters")
        if at < len(data):
            self._end_token(at, sink)
        return at

    def _end_token(self, at: int, sink: Sink) -> None:
        token = self._token
        text = token.decode()
        start = at - len(token)
        if self._state == KEY_WORD:
            self._note(sink, "unquoted_key", f"the key {text} has no quotes", start, at)
            self._token = b""
            self._end_key(text, json_escaped(text), at, sink)
            return
        if self._state == NUMBER:
            written = text if is_number(token) else None
        else:
            written = word_in_json(token)
        if written is None:
            kind = "number" if self._state == NUMBER else "value"
            self.bad = Note("bad_json", f"{text!r} is no {kind}")
            return
        if is_python(token) and not self._python:
            self._note(sink, "python_literal", f"{text} was read as {written}", start, at)
        self._token = b""
        self._begin(start, sink)
        self._put(written, at)
        self._end_value(at, sink)

    # --------------------------------------------------------------------------------- strings

    def _begin_string(self, quote: int, state: int, at: int, sink: Sink) -> None:
        self._quote, self._state, self._noted = quote, state, ()
        if quote == 0x27 and not self._python:
            message = "a string in single quotes was read as a string"
            self._note(sink, "single_quotes", message, at, at + 1)

    def _read_string(self, data: Data, at: int, sink: Sink, *, final: bool) -> int:
        found = _RUN[self._quote].match(data, at)
        if found:
            end = found.end()
            if end < len(data):
                self._put_decoded(data, at, end, sink)
                at = end
            else:
                end = whole_characters(data, at, end)
                if end > at:
                    self._put_decoded(data, at, end, sink)
                return end
        byte = data[at]
        if byte == self._quote:
            verdict = self._ends_string(data, at + 1, final=final)
            self.is_undecided = verdict == MORE
            if verdict == YES:
                self._end_string(at + 1, sink)
            elif verdict == NO:
                self.is_ambiguous = True
                self._note_once(sink, "unescaped_quote", "a quote was read as text", at, at + 1)
                self._put_string(json_escaped(chr(byte)), at + 1)
            return at if verdict == MORE else at + 1
        if byte == 0x5C:
            return self._read_escape(data, at, sink)
        if byte == 0x22:
            self._put_string('\\"', at + 1)
            return at + 1
        self._note_once(sink, "raw_control", f"a raw U+{byte:04X} was escaped", at, at + 1)
        self._put_string(json_escaped(chr(byte)), at + 1)
        return at + 1

    def _ends_string(self, data: Data, at: int, *, final: bool) -> int:
        """Whether the quote in front of `at` ends the string."""
        if self._follow is None or self._stack or self._state != STRING:
            return YES
        return self._follow.test(data, at, final=final)

    def _read_escape(self, data: Data, at: int, sink: Sink) -> int:
        found = escape(data, at, python=self._python)
        if found is None:
            return at
        if found.code and not (self._python and found.text == "'"):
            self._note_once(sink, found.code, found.message, at, found.end)
        self._put_string(found.text, found.end)
        return found.end

    def _put_decoded(self, data: Data, at: int, end: int, sink: Sink) -> None:
        text, wrong = decoded(data, at, end)
        if wrong and "invalid_utf8" not in self._noted:
            self._put_string(decoded(data, at, wrong[1])[0], wrong[1])
            message = "bytes that are not UTF-8 became U+FFFD"
            self._note_once(sink, "invalid_utf8", message, *wrong)
            at = wrong[1]
            text = decoded(data, at, end)[0]
        self._put_string(text, end)

    def _put_string(self, text: str, end: int) -> None:
        if self._state == STRING:
            self._put(text, end)
        else:
            self._key = (self._key, text)

    def _end_string(self, at: int, sink: Sink) -> None:
        if self._state == STRING:
            self._put('"', at)
            self._end_value(at, sink)
            return
        text, self._key = joined(self._key), None
        self._end_key(str(cast("str", json.loads(f'"{text}"'))), text, at, sink)

    def _end_key(self, key: str, written: str, at: int, sink: Sink) -> None:
        top = self._stack[-1]
        self._state = COLON
        if self._muted < 0 and not top.keys.add(key):
            self._tell(sink)
            self._muted = len(self._stack)
            self._muted_text = None
            self._held = None
            sink.lost(at)
        elif self._muted < 0:
            top.key = key
        self._hold(f'"{written}"')

    # ---------------------------------------------------------------------------------- output

    def _put(self, text: str, end: int) -> None:
        if self._muted >= 0:
            self._muted_text = (self._muted_text, text)
        else:
            self._out.append(text)
            self._end = end

    def _hold(self, text: str) -> None:
        if self._muted >= 0:
            self._muted_text = (self._muted_text, text)
        else:
            self._held = (self._held, text)

    def _put_held(self, end: int) -> None:
        if self._held is not None:
            self._out.append(joined(self._held))
            self._held, self._end = None, end

    def _tell(self, sink: Sink) -> None:
        if self._out:
            sink.text("".join(self._out), self._end)
            self._out.clear()

    def _note(self, sink: Sink, code: DiagnosticCode, message: str, start: int, end: int) -> None:
        if self._muted < 0:
            self._tell(sink)
            sink.note(code, message, start, end)

    def _note_once(
        self, sink: Sink, code: DiagnosticCode, message: str, start: int, end: int
    ) -> None:
        if code not in self._noted:
            self._noted += (code,)
            self._note(sink, code, message, start, end)

    def _fail(self, at: int, message: str, code: DiagnosticCode = "bad_json") -> int:
        self.bad = Note(code, message)
        return at
