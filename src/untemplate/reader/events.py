r"""What a reader tells: a closed union of small values, in the order of the bytes they come from.

Every byte that was fed belongs to exactly one span of a `TextDelta`, an `ArgumentsDelta` or a
`Part`: the spans tile the input. The other events have no bytes of their own; they say where a
block, a call or an argument starts and ends.

    <tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>
    Part(marker) CallStart(0, …) Part(structure) Part(name) Part(structure) ArgumentsDelta('{')
    ArgumentStart("a") ArgumentsDelta('"a": ') ArgumentsDelta('1') ArgumentEnd("a", 1)
    ArgumentsDelta('}') Part(structure) Part(marker) CallEnd(complete)

Where a dialect lets calls be written in turns, a call that is not whole pauses and resumes:

    <call 0 f>{"a": 1</call><call 1 g>{}</call><call 0 f>2}</call>
    CallStart(0, …) … ArgumentsDelta('{') Part(held) Part(marker) CallPause(0)
    CallStart(1, …) … CallEnd(1, complete) Part(marker) CallResume(0) … ArgumentStart("a")
    ArgumentsDelta('"a": 12') ArgumentEnd("a", 12) ArgumentsDelta('}') … CallEnd(0, complete)
"""

from dataclasses import dataclass
from typing import Literal

from untemplate.message import JSON, CallState, Diagnostic, Span

__all__ = [
    "ArgumentEnd",
    "ArgumentStart",
    "ArgumentsDelta",
    "CallEnd",
    "CallPause",
    "CallResume",
    "CallStart",
    "Diagnosed",
    "Event",
    "Part",
    "PartKind",
    "TextDelta",
    "TextEnd",
    "TextKind",
    "TextStart",
]

TextKind = Literal["reasoning", "content"]
PartKind = Literal["marker", "name", "id", "index", "structure", "space", "held", "lost"]
"""`held`: the end of a piece of arguments whose text is told with the next piece, half a number
say. `lost`: bytes of a call that can't be read; its diagnostic has the reason."""


@dataclass(frozen=True, slots=True)
class TextStart:
    """Reasoning or content begins."""

    kind: TextKind


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More reasoning or content: the decoding of its span."""

    kind: TextKind
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class TextEnd:
    """Reasoning or content has ended."""

    kind: TextKind


@dataclass(frozen=True, slots=True)
class CallStart:
    """A call whose name is known; always before its arguments."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """More of the arguments, as JSON text."""

    index: int
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ArgumentStart:
    """An argument begins: its key is known, and what stands next is its value."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentEnd:
    """One argument is complete: no continuation can change it."""

    index: int
    name: str
    value: JSON
    is_ambiguous: bool = False
    """Whether its text also has another reading."""


@dataclass(frozen=True, slots=True)
class CallPause:
    """A piece of a call has ended before its arguments were whole: others may come in between."""

    index: int


@dataclass(frozen=True, slots=True)
class CallResume:
    """A call that has paused goes on."""

    index: int


@dataclass(frozen=True, slots=True)
class CallEnd:
    """A call has ended."""

    index: int
    state: CallState


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes that belong to no field: markers, names, structure, space."""

    kind: PartKind
    span: Span


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """Something was not as the grammar says."""

    diagnostic: Diagnostic


Event = (
    TextStart
    | TextDelta
    | TextEnd
    | CallStart
    | ArgumentsDelta
    | ArgumentStart
    | ArgumentEnd
    | CallPause
    | CallResume
    | CallEnd
    | Part
    | Diagnosed
)
