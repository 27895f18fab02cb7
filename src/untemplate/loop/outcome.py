"""What became of each call: exactly one `Outcome` per call, whatever happened.

`text` is what the model is told and what stands in the tool message; `fault` is for the host alone.
`Fault` is how the parts of the loop hand a failure on; it never leaves the loop as an exception.
"""

from dataclasses import dataclass
from typing import Literal

from untemplate.message import JSON, ToolCall

__all__ = ["FAILURES", "Detail", "Outcome", "Status"]

Status = Literal[
    "ok",
    "invalid",
    "unknown",
    "failed",
    "timed_out",
    "unserialisable",
    "incomplete",
    "malformed",
    "duplicate",
    "denied",
    "pending",
    "withdrawn",
    "skipped",
    "cancelled",
]
"""`incomplete`: cut off, so never run. `duplicate`: the breaker refused it. `pending`: waits for an
approval. `skipped`: a limit or a choice forbade it. `cancelled`: the run ended first."""

FAILURES: frozenset[Status] = frozenset(
    ("invalid", "failed", "timed_out", "unserialisable", "incomplete", "malformed")
)
"""What counts towards the failure limit of a tool."""


@dataclass(frozen=True, slots=True)
class Detail:
    """One broken rule of one argument."""

    path: str
    """JSON pointer into the arguments; "" is the whole object."""
    rule: str
    """Keyword of the schema, or the name of the type check."""
    message: str
    got: JSON = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The record of one call."""

    call: ToolCall
    status: Status
    text: str
    """Content of the tool message."""
    started: bool = False
    """Whether the tool was entered, so that its side effects may have happened."""
    attempts: int = 0
    seconds: float = 0.0
    cut: bool = False
    """Whether the result was longer than the limit of its tool."""
    fault: str = ""
    """For the host: the exception, with its type. Not shown to the model."""
