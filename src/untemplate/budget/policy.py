"""Which calls may run, and on which arguments: only what the model finished, and nobody guessed.

    judge(call, tool, Policy(effect="read", on_cut="partial"))
    -> Allowed({"query": "rivers"}, left_out=("/limit",), defaulted=())
    judge(call, tool, Policy())
    -> Refused("cut")

A call is complete when its format's own closer was read, never because its JSON happens to parse: a
number cut from 120 to 12 parses too. So whatever `finish_reason` says, a sealed call runs, and one
that is cut, closed by the token budget, undecided or set right in reading does not.

There are two exceptions, both for tools that only read. One that was set right in reading runs. And
where it is asked for, tool by tool, a cut call runs on the arguments that are complete: together
with the beginnings of those strings that are named, and the declared defaults of those that are
absent. The verdict says which is which. An argument that guards something (`dry_run`) is never
taken from a default.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from untemplate.message import (
    JSON,
    ArgumentState,
    Diagnostic,
    Message,
    Tool,
    ToolCall,
    arguments_object,
    pointer_key,
    pointer_token,
)

__all__ = [
    "Allowed",
    "Effect",
    "Policy",
    "Refused",
    "is_sealed",
    "judge",
    "mark_defaults",
    "missing_arguments",
    "repairs",
    "unfinished",
]

Effect = Literal["read", "idempotent", "write", "destructive"]
"""What running a tool may change: nothing, the same again, something, something for good."""

_HARMLESS = frozenset(
    {"unknown_tool", "unrequested", "missing_close", "quoted_arguments", "spelt_marker"}
)
"""Diagnostics inside a call that leave no doubt about its arguments."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be done with calls of one tool that are not sealed."""

    effect: Effect = "write"
    on_cut: Literal["never", "partial"] = "never"
    """`partial`: a cut call of a tool that only reads runs on the arguments that are complete."""
    cut_strings: tuple[str, ...] = ()
    """Names of arguments whose beginning is of use too: a search text, say."""
    guarded: tuple[str, ...] = ("confirm", "dry_run", "force")
    """Names of arguments that are never defaulted: without their value no cut call runs."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A call may run on these arguments. JSON pointers say what is not the model's own word."""

    arguments: Mapping[str, JSON]
    left_out: tuple[str, ...] = ()
    """Arguments that were not whole."""
    shortened: tuple[str, ...] = ()
    """Strings of which only the beginning is there."""
    defaulted: tuple[str, ...] = ()
    """Absent arguments that have their declared default."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A call may not run."""

    why: Literal["cut", "forced", "malformed", "undecided", "repaired"]


def judge(
    call: ToolCall, tool: Tool, policy: Policy, repaired: Sequence[Diagnostic] = ()
) -> Allowed | Refused:
    """Whether a call may run, and on what.

    Args:
        call: as it was read.
        tool: what it calls; the arguments are not checked against its schema here.
        policy: what is allowed.
        repaired: what was set right in reading it; see `repairs`.
    """
    value = _value(call)
    if call.state == "malformed" or value is None:
        return Refused("malformed")
    if is_sealed(call):
        if repaired and policy.effect != "read":
            return Refused("repaired")
        return Allowed(value)
    if policy.effect == "read" and policy.on_cut == "partial" and call.state == "cut":
        part = _partial(call, value, tool, policy)
        if part is not None:
            return part
    if call.state == "complete":
        return Refused("undecided" if "undecided" in call.arguments_state.values() else "cut")
    return Refused("forced" if call.state == "forced" else "cut")


def is_sealed(call: ToolCall) -> bool:
    """Whether nothing about the call is open or guessed."""
    return (
        call.state == "complete"
        and not call.closing
        and all(state in ("complete", "missing") for state in call.arguments_state.values())
    )


def repairs(message: Message, call: ToolCall) -> tuple[Diagnostic, ...]:
    """What was set right in reading a call, so that its arguments may not be what was meant."""
    start, end = call.span
    return tuple(
        d for d in message.diagnostics if start <= d.span[0] < end and d.code not in _HARMLESS
    )


def unfinished(call: ToolCall) -> tuple[str, ...]:
    """Pointers of the arguments that are not complete."""
    return tuple(p for p, state in call.arguments_state.items() if state != "complete")


def missing_arguments(call: ToolCall, tool: Tool) -> tuple[str, ...]:
    """Pointers of required arguments of which nothing was received."""
    value = _value(call) or {}
    return tuple(_pointer(name) for name in _required(tool) if name not in value)


def mark_defaults(call: ToolCall, tool: Tool) -> ToolCall:
    """A cut call with the state `defaulted` for absent arguments that have a default.

    The arguments themselves stay what was received. A required argument is missing, not defaulted.
    """
    value = _value(call)
    if call.state not in ("cut", "forced") or value is None:
        return call
    states: dict[str, ArgumentState] = dict(call.arguments_state)
    for name in _defaults(tool):
        if name not in value and not _states_of(call, name):
            states[_pointer(name)] = "defaulted"
    return replace(call, arguments_state=states) if states != call.arguments_state else call


def _partial(
    call: ToolCall, value: Mapping[str, JSON], tool: Tool, policy: Policy
) -> Allowed | None:
    kept: dict[str, JSON] = {}
    shortened: list[str] = []
    for name, received in value.items():
        states = _states_of(call, name)
        if states == {"complete"}:
            kept[name] = received
        elif name in policy.cut_strings and isinstance(received, str) and states == {"cut"}:
            kept[name] = received
            shortened.append(_pointer(name))
    begun = {_name(p) for p, s in call.arguments_state.items() if s in ("cut", "undecided")}
    left_out = sorted((begun | set(value)) - set(kept))
    defaults = {n: d for n, d in _defaults(tool).items() if n not in value and n not in begun}
    if any(name not in kept for name in _required(tool)):
        return None
    if any(name in _properties(tool) and name not in kept for name in policy.guarded):
        return None
    return Allowed(
        {**kept, **defaults},
        tuple(map(_pointer, left_out)),
        tuple(shortened),
        tuple(map(_pointer, defaults)),
    )


def _value(call: ToolCall) -> dict[str, JSON] | None:
    """The arguments as received; None if they are no object."""
    return arguments_object((call.arguments + call.closing) or "{}")


def _states_of(call: ToolCall, name: str) -> set[ArgumentState]:
    return {state for p, state in call.arguments_state.items() if _name(p) == name}


def _properties(tool: Tool) -> dict[str, JSON]:
    found = tool.parameters.get("properties")
    return found if isinstance(found, dict) else {}


def _required(tool: Tool) -> list[str]:
    required = tool.parameters.get("required")
    return [str(n) for n in required] if isinstance(required, list) else []


def _defaults(tool: Tool) -> dict[str, JSON]:
    """Declared defaults of arguments that need not be there."""
    required = _required(tool)
    return {
        name: schema["default"]
        for name, schema in _properties(tool).items()
        if isinstance(schema, dict) and "default" in schema and name not in required
    }


def _pointer(name: str) -> str:
    return "/" + pointer_token(name)


def _name(pointer: str) -> str:
    """The argument in which a pointer lies."""
    first = pointer.removeprefix("/").partition("/")[0]
    return pointer_key(first)
