"""Asking before a call runs: at once through a function, or later through a stored state.

What is approved is a *digest* of id, name and canonical arguments, so what runs is what was shown.
With an approver the run waits for its answer. Without one the run stops with reason `approval` and
a state of plain JSON; any process may go on with it:

    result.state["pending"] -> [{"id": "call_7", "name": "rm", ..., "digest": "5f..."}]
    loop.resume(result.state, {"5f...": True})

A state may be resumed twice by mistake, or by two processes at once. The *ledger* makes each
approved call run at most once: a digest is claimed before the tool is entered, and a claimed one is
refused. The default ledger lives as long as its loop; `FolderLedger` holds across processes.
"""

import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from untemplate.budget.policy import Effect
from untemplate.loop.arguments import Arguments, canonical
from untemplate.message import JSON

__all__ = [
    "ApprovalRequest",
    "Approver",
    "Decision",
    "FolderLedger",
    "Ledger",
    "MemoryLedger",
    "as_decision",
    "digest",
]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for a yes or a no."""

    id: str
    name: str
    arguments: Arguments
    effect: Effect
    digest: str

    def to_json(self) -> dict[str, JSON]:
        return {
            "id": self.id,
            "name": self.name,
            "arguments": self.arguments,
            "effect": self.effect,
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer; the reason of a no is told to the model."""

    approved: bool
    reason: str = ""


Approver = Callable[[ApprovalRequest], bool | Decision | Awaitable[bool | Decision]]
"""Sync approvers run in a thread, so they may wait for a person."""

Decisions = Mapping[str, bool | Decision]
"""Digest to answer."""


def as_decision(given: bool | Decision) -> Decision:
    """The answer with its reason."""
    return given if isinstance(given, Decision) else Decision(bool(given))


def digest(call_id: str, name: str, arguments: Arguments) -> str:
    """What an approval is bound to."""
    text = canonical([call_id, name, arguments])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Ledger(Protocol):
    """Remembers which approved calls were run."""

    def claim(self, digest: str, /) -> bool:
        """True for the first claim of a digest, False for every other."""
        ...


class MemoryLedger:
    """Claims of this process."""

    def __init__(self) -> None:
        self._claimed: set[str] = set()

    def claim(self, digest: str, /) -> bool:
        if digest in self._claimed:
            return False
        self._claimed.add(digest)
        return True


class FolderLedger:
    """Claims of all processes that share a folder: one empty file each, made exclusively."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def claim(self, digest: str, /) -> bool:
        name = hashlib.sha256(digest.encode()).hexdigest()
        try:
            (self._folder / name).open("x").close()
        except FileExistsError:
            return False
        return True
