"""The state of one JSON value that is being read, and the quick way to read more of it.

`JsonFrame` in `json_text` reads byte by byte and says what is not right. Where inner arrays and
objects go on as JSON is written, a whole step is skimmed with one expression (`json_steps`). Both
leave the same state and tell the same text: `tests/reader/test_skim.py` compares them.
"""

import re
from typing import TYPE_CHECKING, Self

from untemplate.message import pointer_token
from untemplate.reader.copies import copied
from untemplate.reader.follow import Follow
from untemplate.reader.json_open import Open
from untemplate.reader.json_steps import MOST_WAITING, in_json, json_steps
from untemplate.reader.plain import Skim
from untemplate.reader.utf8 import Data

if TYPE_CHECKING:
    from untemplate.reader.chain import Chain
    from untemplate.reader.sink import Note

__all__ = [
    "AFTER",
    "COLON",
    "DONE",
    "FIRST_ITEM",
    "FIRST_KEY",
    "KEY",
    "KEY_STRING",
    "KEY_WORD",
    "MOST_DEPTH",
    "NUMBER",
    "STRING",
    "VALUE",
    "WORD",
    "JsonState",
]

(
    VALUE,
    FIRST_ITEM,
    FIRST_KEY,
    KEY,
    COLON,
    AFTER,
    STRING,
    KEY_STRING,
    NUMBER,
    WORD,
    KEY_WORD,
    DONE,
) = range(12)


_SKIMMED = (AFTER, FIRST_KEY, FIRST_ITEM)
MOST_DEPTH = 400
"""Deepest nesting that is read; deeper values can't be handed to validators safely."""


class JsonState:
    """The state of one value that is being read."""

    __slots__ = (
        "_end",
        "_follow",
        "_held",
        "_key",
        "_members",
        "_muted",
        "_muted_text",
        "_noted",
        "_out",
        "_python",
        "_quote",
        "_stack",
        "_state",
        "_token",
        "bad",
        "cursor",
        "is_ambiguous",
        "is_done",
        "is_undecided",
    )

    def __init__(
        self,
        *,
        members: bool = False,
        python: bool = False,
        head: str = "",
        follow: Follow | None = None,
    ) -> None:
        self._members = members
        """Whether the members of the outermost object are arguments, to be told when complete."""
        self._python = python
        self._follow = follow
        """What has to stand behind the quote that ends a string, if the value is one."""
        self.is_undecided = False
        self._state = VALUE
        self._stack: list[Open] = []
        self._held: Chain[str] = (None, head) if head else None
        """Comma, key, colon and space before a value that has not begun."""
        self._token = b""
        """Number or word so far."""
        self._key: Chain[str] = None
        self._quote = 0x22
        self._noted: tuple[str, ...] = ()
        """Slips of this string that have been told."""
        self._muted = -1
        """Depth at which the value of a repeated key is kept out, or -1."""
        self._muted_text: Chain[str] = None
        self.cursor: object = None
        self.is_done = False
        self.is_ambiguous = False
        self.bad: Note | None = None
        # Only used while `read` runs: what is to be told next, and where its bytes end.
        self._out: list[str] = []
        self._end = 0

    def clone(self) -> Self:
        """An independent copy; O(depth)."""
        other = copied(self)
        other._stack = [o.clone() for o in self._stack]  # noqa: SLF001
        other._out = []  # noqa: SLF001
        return other

    # ------------------------------------------------------------------------------------ state

    @property
    def has_begun(self) -> bool:
        return self._state != VALUE or bool(self._stack)

    @property
    def is_object(self) -> bool:
        """Whether the outermost value is an object, as far as is known."""
        return bool(self._stack) and self._stack[0].is_object

    @property
    def is_in_string(self) -> bool:
        """Whether a string or a key in quotes is open."""
        return self._state in (STRING, KEY_STRING)

    @property
    def closing(self) -> str:
        """What makes the told text valid JSON; empty before a value has begun."""
        depth = len(self._stack) if self._muted < 0 else self._muted
        quote = '"' if self._state == STRING and self._muted < 0 else ""
        brackets = ("}" if o.is_object else "]" for o in reversed(self._stack[:depth]))
        return quote + "".join(brackets)

    @property
    def pointer(self) -> str:
        """JSON pointer of the innermost value that has begun but is not complete."""
        opened = self._stack
        if self._muted >= 0:
            opened = opened[: self._muted - 1]
        elif self._state in (FIRST_ITEM, FIRST_KEY, KEY, KEY_STRING, KEY_WORD, AFTER) or (
            self._state == VALUE and opened and not opened[-1].is_object
        ):
            opened = opened[:-1]
        tokens = (o.key if o.is_object else str(o.items) for o in opened)
        return "".join("/" + pointer_token(t) for t in tokens)

    @property
    def pending(self) -> int:
        """Bytes before the position that may yet turn out to be no number or word."""
        return len(self._token)

    # -------------------------------------------------------------------------------------- skim

    @property
    def skim(self) -> Skim | None:
        """Reads steps inside of inner arrays and objects, where no slip is at hand."""
        usual = self._quote == 0x22 or self._python
        ready = self._state in _SKIMMED or (self._state == STRING and usual)
        clean = self._held is None and self._muted < 0 and self.bad is None
        return self._skim if ready and clean and len(self._stack) >= self._least_depth else None

    @property
    def _least_depth(self) -> int:
        """Depth from which on nothing is told but text: no argument begins or ends there."""
        return 2 if self._members else 1

    def _skim(self, data: Data) -> tuple[int, str, bool]:
        """Takes all steps that are whole. O(len(data))."""
        steps, stack = json_steps(python=self._python), self._stack
        at = 0
        told: list[str] = []
        while True:
            state, top = self._state, stack[-1]
            if state == STRING:
                found = steps.rest[self._quote](data, at)
            elif state == AFTER:
                found = steps.member(data, at) if top.is_object else steps.item(data, at)
            else:
                found = (steps.first_member if top.is_object else steps.first_item)(data, at)
            if found is None:
                waits = False
                break
            step = found.lastgroup
            waits = step == "begun"
            if state != STRING and (waits or not self._take(found, step, top)):
                waits = waits and self._may_wait(found, top)
                break
            end = found.start("begun") if waits else found.end()
            if self._python:
                told.append(in_json(found, data[at:end], is_text=state == STRING))
            at = end
            if state == STRING:
                if step != "close":
                    break
                self._state = AFTER
                top.items += not top.is_object
        return at, "".join(told) if self._python else data[:at].decode(), waits

    def _take(self, found: re.Match[bytes], step: str | None, top: Open) -> bool:
        """Does what a step means; False: `read` has to look at it, nothing was done."""
        stack = self._stack
        if step == "close":
            if top.close == ")" or len(stack) == self._least_depth:
                return False
            stack.pop()
            stack[-1].items += not stack[-1].is_object
            self._state = AFTER
            return True
        if step == "open" and len(stack) == MOST_DEPTH:
            return False
        if top.is_object:
            key = found["key"].decode()
            if not top.keys.add(key):
                return False
            top.key = key
        if step == "open":
            is_object = found["open"] == b"{"
            stack.append(Open("}" if is_object else "]"))
            self._state = FIRST_KEY if is_object else FIRST_ITEM
        elif step == "text":
            self._state, self._quote, self._noted = STRING, found["text"][0], ()
        else:
            self._state = AFTER
            top.items += not top.is_object
        return True

    @staticmethod
    def _may_wait(found: re.Match[bytes], top: Open) -> bool:
        """Whether what has begun may wait for its end; not for long, nor behind a repeated key."""
        if len(found["begun"]) > MOST_WAITING:
            return False
        key = found["whole"] if top.is_object else None
        return key is None or key.decode() not in top.keys
