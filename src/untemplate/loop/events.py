"""What a run tells while it goes: one closed union, in the order in which things happen.

    StepStarted  Reasoning*  Text*  CallStarted  ArgumentDelta*  CallReady     the reply
                 ToolStarted  ToolProgress*  ToolFinished            tools, in between
    StepFinished                                                     all calls have results
    Done                                                             always the last

Text and arguments only ever append, except after `Restarted`: the reply was cut and is written
again from the start, and what the step streamed so far is void. Every started call finishes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from untemplate.loop.outcome import Outcome
from untemplate.message import ToolCall

if TYPE_CHECKING:
    from untemplate.loop.result import RunResult, StepRecord

__all__ = [
    "ArgumentDelta",
    "CallReady",
    "CallStarted",
    "Done",
    "LoopEvent",
    "Reasoning",
    "Restarted",
    "StepFinished",
    "StepStarted",
    "Text",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
]


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The model is asked for a reply."""

    step: int


@dataclass(frozen=True, slots=True)
class Text:
    """More of the content."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """More of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The name of a call is known."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentDelta:
    """More of the arguments of a call."""

    index: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallReady:
    """A call is sealed: nothing that follows can change it."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Restarted:
    """The reply was cut inside a call and is written again; forget what this step streamed."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is entered."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running tool says how far it is."""

    id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its outcome. Comes in the order of completion; the history is in call order."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A reply and all of its calls are through."""

    record: "StepRecord"


@dataclass(frozen=True, slots=True)
class Done:
    """The run is over."""

    result: "RunResult"


LoopEvent = (
    StepStarted
    | Text
    | Reasoning
    | CallStarted
    | ArgumentDelta
    | CallReady
    | Restarted
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | StepFinished
    | Done
)
