"""What a reader has received so far, as chains that only grow, and the message made of them.

A `CallRecord` is one call; a `Record` is the whole turn. A copy of either is O(1), so a snapshot
costs nothing for what was received before; a `Message` is made in O(size).
"""

import hashlib
import string
from collections.abc import Iterable, Sequence
from dataclasses import replace

from untemplate.message import (
    JSON,
    ArgumentState,
    Block,
    BlockKind,
    CallState,
    Diagnostic,
    End,
    FinishReason,
    Message,
    ToolCall,
)
from untemplate.reader.chain import Chain, Pieces, listed
from untemplate.reader.copies import copied

__all__ = ["MOST_ALIKE", "CallRecord", "Record", "call_id"]

MOST_ALIKE = 16
"""Diagnostics of one code, outside of calls, that are told one by one."""
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def call_id(nonce: str, index: int) -> str:
    """`call_` and 24 letters and digits, the same for the same nonce and index."""
    number = int.from_bytes(hashlib.sha256(f"{nonce}\0{index}".encode()).digest(), "big")
    digits: list[str] = []
    for _ in range(24):
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "call_" + "".join(digits)


class CallRecord:
    """One call, as far as it was received."""

    __slots__ = (
        "ambiguous",
        "closing",
        "end",
        "id",
        "index",
        "name",
        "pieces",
        "start",
        "state",
        "states",
        "values",
        "written_id",
    )

    def __init__(self, index: int, call_id: str, name: str, start: int) -> None:
        self.index = index
        self.id = call_id
        self.name = name
        self.start = self.end = start
        self.pieces = Pieces("".join)
        self.states: Chain[tuple[str, ArgumentState]] = None
        self.values: Chain[tuple[str, JSON]] = None
        """Arguments that are complete."""
        self.ambiguous: Chain[str] = None
        self.written_id: str | None = None
        self.closing = "{}"
        self.state: CallState = "cut"

    def clone(self) -> "CallRecord":
        """A copy; O(1) beside what came since the last one."""
        other = copied(self)
        other.pieces = self.pieces.clone()
        return other

    def finished(self) -> ToolCall:
        return ToolCall(
            index=self.index,
            id=self.id,
            name=self.name,
            arguments=self.pieces.whole(),
            closing=self.closing,
            state=self.state,
            arguments_state=dict(listed(self.states)),
            ambiguous=tuple(listed(self.ambiguous)),
            written_id=self.written_id,
            span=(self.start, self.end),
        )


class Record:
    """The turn so far."""

    __slots__ = (
        "_alike",
        "_diagnostics",
        "_merged",
        "call",
        "calls",
        "calls_begun",
        "closed",
        "kind",
        "pieces",
        "raw",
    )

    def __init__(self) -> None:
        self.closed: Chain[Block] = None
        """Blocks that have ended."""
        self.kind: BlockKind | None = None
        """Of the text that is being received."""
        self.pieces = Pieces("".join)
        """Its text."""
        self.calls: Chain[ToolCall] = None
        """Calls that have ended, in that order."""
        self.call: CallRecord | None = None
        """The call that is being received."""
        self.calls_begun = 0
        self._diagnostics: Chain[Diagnostic] = None
        self._alike: dict[str, int] = {}
        """How many of a code were met outside of calls."""
        self._merged: dict[str, Diagnostic] = {}
        """The first one of a code that was not told, and what it stands for by now."""
        self.raw = Pieces(b"".join)

    def clone(self) -> "Record":
        """A copy; O(1) beside what came since the last one."""
        other = copied(self)
        other.pieces, other.raw = self.pieces.clone(), self.raw.clone()
        other._alike, other._merged = dict(self._alike), dict(self._merged)  # noqa: SLF001
        if self.call is not None:
            other.call = self.call.clone()
        return other

    def gather(self) -> None:
        """Makes one piece of the pieces that came since the last time."""
        self.raw.chain()
        self.pieces.chain()
        if self.call is not None:
            self.call.pieces.chain()

    def begin_text(self, kind: BlockKind) -> None:
        if self.kind != kind:
            self.end_text()
            self.kind = kind

    def end_text(self) -> None:
        """The text block is over: only a block of another kind makes it so."""
        if self.kind is not None:
            self.closed = (self.closed, Block(self.kind, self.pieces.whole()))
            self.pieces = Pieces("".join)
        self.kind = None

    def begin_call(self, call: CallRecord) -> None:
        self.end_text()
        self.closed = (self.closed, Block("call", call=call.index))
        self.call = call
        self.calls_begun += 1

    def resume_call(self, call: CallRecord) -> None:
        self.end_text()
        self.call = call

    def end_call(self) -> None:
        assert self.call is not None
        self.calls = (self.calls, self.call.finished())
        self.call = None

    def note(self, diagnostic: Diagnostic) -> bool:
        """Puts a diagnostic down; gives whether it is to be told.

        Those inside calls are all kept: what is done with a call depends on them. Of those outside,
        as many as a model writes stray markers, the first of a code are kept one by one, and all
        others of it as one that counts them.
        """
        code = diagnostic.code
        if self.call is None:
            self._alike[code] = alike = self._alike.get(code, 0) + 1
            if alike > MOST_ALIKE + 1:
                old = self._merged[code]
                span = old.span[0], diagnostic.span[1]
                self._merged[code] = Diagnostic(code, span, old.message, old.count + 1)
                return False
            if alike > MOST_ALIKE:
                self._merged[code] = diagnostic
                return False
        self._diagnostics = (self._diagnostics, diagnostic)
        return True

    def merged(self) -> list[Diagnostic]:
        """Diagnostics that were not told one by one."""
        return [
            replace(d, message=f"{d.message} ({d.count} times more)") for d in self._merged.values()
        ]

    def diagnostics(self) -> list[Diagnostic]:
        return [*listed(self._diagnostics), *self.merged()]

    def blocks(self) -> list[Block]:
        open_ = [Block(self.kind, self.pieces.whole())] if self.kind is not None else []
        return [*listed(self.closed), *open_]

    def message(self, end: End, reason: FinishReason) -> Message:
        """The message; O(size of the turn)."""
        blocks = self.blocks()
        calls = sorted(listed(self.calls), key=lambda c: c.index)
        if self.call is not None:
            calls.append(self.call.finished())
        complete = bool(calls) and all(c.state == "complete" for c in calls)
        return Message(
            content=_text(blocks, "content"),
            reasoning_content=_text(blocks, "reasoning"),
            tool_calls=tuple(calls),
            blocks=tuple(blocks),
            diagnostics=tuple(self.diagnostics()),
            end=end,
            finish_reason="tool_calls" if complete and reason == "stop" else reason,
            raw=self.raw.whole().decode("utf-8", "replace"),
        )


def _text(blocks: Sequence[Block], kind: BlockKind) -> str:
    return "".join(_texts(blocks, kind))


def _texts(blocks: Iterable[Block], kind: BlockKind) -> Iterable[str]:
    return (b.text for b in blocks if b.kind == kind)
