"""What a reader has received so far, as lists that only grow, and the message made of them.

A `CallRecord` is one call with the pieces of its arguments; a `Record` is the whole turn. Both are
cheap to snapshot (the lengths of their lists) and cost O(size) to turn into a `Message`.
"""

import hashlib
import string
from collections.abc import Sequence
from dataclasses import dataclass, field

from untemplate.message import (
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

__all__ = ["CallRecord", "Record", "call_id"]

_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def call_id(nonce: str, index: int) -> str:
    """`call_` and 24 letters and digits, the same for the same nonce and index."""
    number = int.from_bytes(hashlib.sha256(f"{nonce}\0{index}".encode()).digest(), "big")
    digits: list[str] = []
    for _ in range(24):
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "call_" + "".join(digits)


@dataclass(slots=True)
class CallRecord:
    """One call, as far as it was received."""

    index: int
    id: str
    name: str
    start: int
    end: int = 0
    pieces: list[str] = field(default_factory=list[str])
    states: dict[str, ArgumentState] = field(default_factory=dict[str, ArgumentState])
    ambiguous: list[str] = field(default_factory=list[str])
    written_id: str | None = None
    closing: str = "{}"
    state: CallState = "cut"

    def finished(self) -> ToolCall:
        return ToolCall(
            index=self.index,
            id=self.id,
            name=self.name,
            arguments="".join(self.pieces),
            closing=self.closing,
            state=self.state,
            arguments_state=dict(self.states),
            ambiguous=tuple(self.ambiguous),
            written_id=self.written_id,
            span=(self.start, self.end),
        )


@dataclass(slots=True)
class Record:
    """The turn so far. Blocks are (kind, pieces of text, index of the call)."""

    blocks: list[tuple[BlockKind, list[str], int | None]] = field(
        default_factory=list[tuple[BlockKind, list[str], "int | None"]]
    )
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    raw: list[bytes] = field(default_factory=list[bytes])

    def message(self, end: End, reason: FinishReason) -> Message:
        """The message; O(size of the turn)."""
        blocks = tuple(Block(k, "".join(t), i) for k, t, i in self.blocks)
        calls = tuple(c.finished() for c in self.calls)
        complete = bool(calls) and all(c.state == "complete" for c in calls)
        return Message(
            content=_joined(blocks, "content"),
            reasoning_content=_joined(blocks, "reasoning"),
            tool_calls=calls,
            blocks=blocks,
            diagnostics=tuple(self.diagnostics),
            end=end,
            finish_reason="tool_calls" if complete and reason == "stop" else reason,
            raw=b"".join(self.raw).decode("utf-8", "replace"),
        )


def _joined(blocks: Sequence[Block], kind: BlockKind) -> str:
    return "".join(b.text for b in blocks if b.kind == kind)
