"""What a loop is set up with; the same for all of its runs."""

from collections import Counter
from dataclasses import dataclass

from untemplate.errors import RequestError
from untemplate.loop.approval import Approver, Ledger
from untemplate.loop.model import Model
from untemplate.loop.output import Output
from untemplate.loop.telemetry import Tracer
from untemplate.loop.threads import ThreadPool
from untemplate.loop.tools import HostTool
from untemplate.message import ToolChoice

__all__ = ["Limits", "Settings"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run ends even if the model would go on. None: no limit."""

    steps: int = 8
    """Replies of the model. The calls of the last one still run."""
    calls: int | None = None
    """Calls that are run; further ones are answered as skipped."""
    time_s: float | None = None
    """Wall time; what runs then is cancelled."""
    tokens: int | None = None
    """Tokens of prompts and replies together. Looked at before each reply; the last one may go
    beyond it, unless the loop has `max_tokens`."""
    concurrency: int = 8
    """Calls that run at the same time."""
    final_answer: bool = False
    """At a limit on steps or calls, or in a loop: ask for one last reply without calls."""

    def __post_init__(self) -> None:
        for name in ("steps", "concurrency"):
            if getattr(self, name) < 1:
                raise RequestError("has to be at least 1", place=f"limits.{name}")
        for name in ("calls", "time_s", "tokens"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise RequestError("has to be positive, or None", place=f"limits.{name}")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the runs of a loop share."""

    model: Model
    tools: dict[str, HostTool]
    limits: Limits
    choice: ToolChoice
    """For the first reply; later ones may call or answer."""
    output: Output | None
    approve: Approver | None
    ledger: Ledger
    fallback: Model | None
    max_tokens: int | None
    tracer: Tracer
    pool: ThreadPool
    tasks_left: Counter[str]
    """Async tools that did not end when they were cancelled, by name."""
