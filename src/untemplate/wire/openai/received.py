"""Calls as a client receives them, and how far each can be trusted.

    call = Received("call_a", "pay", ['{"to": "acct-99", "amount": 12'])
    judged(0, call, is_cut=True)      -> ToolCall(…, '{"to": "acct-99"', closing="}", state="cut")
    noted(0, call, note)              -> as a server of this library describes it

From a server that says nothing, a call is complete if its arguments are one JSON object and nothing
says that it was cut; of a cut one only the members stand after which a comma was received.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from untemplate.message import (
    JSON,
    ArgumentState,
    CallState,
    Diagnostic,
    Span,
    ToolCall,
    pointer_token,
)

__all__ = ["CALL_STATES", "Received", "diagnostic", "judged", "noted", "number", "text"]

CALL_STATES = get_args(CallState)
_ARGUMENT_STATES = get_args(ArgumentState)

_Object = Mapping[str, JSON]


@dataclass(slots=True)
class Received:
    """What was received of one call."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])
    is_told: bool = False
    """Whether its header was told, so that its name stands."""
    is_sealed: bool = False
    state: str = ""
    """How it ended, from a server that says so."""
    note: _Object | None = None
    """Its description, from a server that gives whole answers."""


def judged(index: int, call: Received, *, is_cut: bool) -> ToolCall:
    """The call as far as it can be trusted."""
    received = "".join(call.arguments)
    try:
        is_object = isinstance(json.loads(received or "{}"), dict)
        is_open = False
    except (ValueError, RecursionError):
        is_object = False
        is_open = True
    if is_object and not is_cut:
        return ToolCall(index, call.id, call.name, received or "{}")
    kept, closing, states = _clean_prefix(received)
    state: Literal["cut", "malformed"] = "cut" if is_cut or is_open else "malformed"
    return ToolCall(index, call.id, call.name, kept, closing, state, states)


def noted(index: int, call: Received, note: _Object) -> ToolCall:
    """A call as a server of this library describes it; what is odd counts as cut."""
    state, states = note.get("state"), note.get("arguments_state")
    ambiguous, written = note.get("ambiguous"), note.get("written_id")
    known = {p: s if s in _ARGUMENT_STATES else "cut" for p, s in _items(states)}
    return ToolCall(
        index,
        call.id,
        call.name,
        "".join(call.arguments),
        text(note.get("closing")),
        cast("CallState", state if state in CALL_STATES else "cut"),
        cast("dict[str, ArgumentState]", known),
        tuple(map(text, ambiguous)) if isinstance(ambiguous, list) else (),
        written if isinstance(written, str) else None,
        _span(note.get("span")),
    )


def diagnostic(note: _Object) -> Diagnostic:
    """Something that was odd, as a server of this library says it."""
    return Diagnostic(text(note.get("code")), _span(note.get("span")), text(note.get("message")))


def _clean_prefix(received: str) -> tuple[str, str, dict[str, ArgumentState]]:
    """The members that are followed by a comma, what closes them, and how each one stands."""
    depth, in_string, escaped, end = 0, False, False, 0
    for i, c in enumerate(received):
        if in_string:
            in_string = escaped or c != '"'
            escaped = c == "\\" and not escaped
        elif c == '"':
            in_string = True
        elif c in "{[":
            depth += 1
        elif c in "}]":
            depth -= 1
        elif c == "," and depth == 1:
            end = i
    kept = received[:end]
    try:
        value = cast("JSON", json.loads(kept + "}")) if kept else {}
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return "", "{}", {}
    states: dict[str, ArgumentState] = {_pointer(name): "complete" for name in value}
    rest = received[end:].lstrip(", \n\t\r{")
    if rest.startswith('"') and '"' in rest[1:]:
        states.setdefault(_pointer(rest[1:].split('"')[0]), "cut")
    return kept, "}" if kept else "{}", states


def _pointer(name: str) -> str:
    return "/" + pointer_token(name)


def _span(value: JSON) -> Span:
    if isinstance(value, list) and len(value) == 2:
        return number(value[0]), number(value[1])
    return 0, 0


def _items(value: JSON) -> Iterable[tuple[str, JSON]]:
    return value.items() if isinstance(value, dict) else ()


def text(value: JSON) -> str:
    """What should be a string, from a server that may send anything."""
    return value if isinstance(value, str) else ""


def number(value: JSON) -> int:
    """What should be a number, likewise."""
    return value if isinstance(value, int) else 0
