"""What a run gives: always a value, with a reason, never lost work.

`messages` is the whole conversation, ready to be sent again or stored as JSON: every call in it has
exactly one tool message, in call order, also when a limit or a cancellation ended the run.
"""

from dataclasses import dataclass, field
from typing import Literal

from untemplate.loop.model import Chat
from untemplate.loop.outcome import Outcome
from untemplate.message import JSON, Message, Usage

__all__ = ["Reason", "RunResult", "StepRecord", "total"]

Reason = Literal[
    "answer",
    "steps",
    "calls",
    "time",
    "tokens",
    "loop",
    "approval",
    "cut",
    "output",
    "cancelled",
    "error",
]
"""Why a run ended. `answer`: the model was done. `steps`, `calls`, `time`, `tokens`: a limit.
`loop`: the same call over and over. `approval`: `RunResult.state` waits for decisions. `cut`: the
last reply was cut and could not be gone on with. `output`: no answer of the wanted schema.
`error`: the model failed, with the exception that the iterator raises."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One reply of the model and what became of its calls."""

    step: int
    message: Message
    outcomes: tuple[Outcome, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """Of all generations of the step."""
    generations: int = 1
    """How often the model was asked: more than once if its reply was cut."""
    costs: tuple[Usage, ...] = ()
    """What each of them took."""
    diagnosis: str = ""
    """What the limit was too low for, if the reply stayed cut all the same."""
    seconds: float = 0.0
    dropped: tuple[str, ...] = ()
    """What of the conversation or the tools the model did not get to see, since it did not fit."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run, whatever ended it."""

    reason: Reason
    messages: Chat
    text: str = ""
    """Content of the last reply."""
    output: object = None
    """The value that the answer spells, if an output schema or type was asked for."""
    usage: Usage = field(default_factory=Usage)
    steps: tuple[StepRecord, ...] = ()
    """The steps of this process; a resumed run starts with the step that was paused."""
    state: dict[str, JSON] | None = None
    """With `approval`: JSON to give to `ToolLoop.resume`, in this process or another."""


def total(*usages: Usage) -> Usage:
    """The sum of usages."""
    return Usage(
        sum(u.prompt_tokens for u in usages),
        sum(u.completion_tokens for u in usages),
        sum(u.cached_tokens for u in usages),
    )
