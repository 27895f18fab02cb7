r"""What a reader tells: a closed union of small values, in the order of the bytes they come from.

Every byte that was fed belongs to exactly one span of a `TextDelta`, an `ArgumentsDelta` or a
`Part`: the spans tile the input. The other events have no bytes of their own; they say where a
block, a call or an argument starts and ends.

    <tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>
    Part(marker) CallStart(0, …) Part(structure) Part(name) Part(structure) ArgumentsDelta('{')
    ArgumentStart("a") ArgumentsDelta('"a": ') ArgumentsDelta('1') ArgumentEnd("a", 1)
    ArgumentsDelta('}') Part(structure) Part(marker) CallEnd(complete)

`deltas` folds events into what an OpenAI stream sends.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from untemplate.message import JSON, CallDelta, CallState, Delta, Diagnostic, Span

__all__ = [
    "ArgumentEnd",
    "ArgumentStart",
    "ArgumentsDelta",
    "CallEnd",
    "CallStart",
    "Diagnosed",
    "Event",
    "Part",
    "PartKind",
    "TextDelta",
    "TextEnd",
    "TextKind",
    "TextStart",
    "deltas",
]

TextKind = Literal["reasoning", "content"]
PartKind = Literal["marker", "name", "id", "index", "structure", "space", "lost"]
"""`lost`: bytes of a call that can't be read; its diagnostic has the reason."""


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
    | CallEnd
    | Part
    | Diagnosed
)


def deltas(events: Iterable[Event]) -> list[Delta]:
    """What an OpenAI stream sends for these events: neighbours of one field as one delta."""
    if isinstance(events, list) and len(events) == 1:  # most pieces of a stream
        event = events[0]
        if isinstance(event, ArgumentsDelta):
            return [Delta("", "", (CallDelta(event.index, None, None, event.text),))]
        if isinstance(event, TextDelta):
            return [_delta(event.kind, event.text)]
    out: list[Delta] = []
    field: int | TextKind = "content"
    pieces: list[str] = []
    for event in events:
        if isinstance(event, (ArgumentsDelta, TextDelta)):
            of = event.index if isinstance(event, ArgumentsDelta) else event.kind
            if of != field and pieces:
                out.append(_delta(field, "".join(pieces)))
                pieces.clear()
            field = of
            pieces.append(event.text)
        elif isinstance(event, CallStart):
            if pieces:
                out.append(_delta(field, "".join(pieces)))
                pieces.clear()
            out.append(Delta(tool_calls=(CallDelta(event.index, event.id, event.name),)))
        elif isinstance(event, CallEnd):
            arguments = ""
            if pieces and field == event.index:
                arguments = "".join(pieces)
            elif pieces:
                out.append(_delta(field, "".join(pieces)))
            pieces.clear()
            news = CallDelta(event.index, arguments=arguments, state=event.state)
            out.append(Delta(tool_calls=(news,)))
    if pieces:
        out.append(_delta(field, "".join(pieces)))
    return out


def _delta(field: int | TextKind, text: str) -> Delta:
    if field == "content":
        return Delta(text)
    if field == "reasoning":
        return Delta("", text)
    return Delta("", "", (CallDelta(field, None, None, text),))
