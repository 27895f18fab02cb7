"""Which calls may run: only what the model finished writing, and what nobody guessed.

A call is complete when its format's own closer was read, never because its JSON happens to parse: a
number cut from 120 to 12 parses too. So whatever `finish_reason` says, a sealed call runs and a cut
one does not, and neither does one that was closed by the token budget, or that holds an argument
which is still undecided. The one exception is asked for tool by tool, and only for reading:
`on_cut="partial"` runs a cut call on the arguments that are complete, if none that is required is
among the others, and the result says so.
"""

from dataclasses import dataclass
from typing import cast

from untemplate.loop.arguments import Arguments, decode, pointer
from untemplate.loop.tools import HostTool
from untemplate.message import JSON, ToolCall

__all__ = ["Partial", "is_sealed", "missing_arguments", "partial_arguments", "unfinished"]


@dataclass(frozen=True, slots=True)
class Partial:
    """The complete arguments of a cut call, and the pointers of what was left out."""

    arguments: Arguments
    left_out: tuple[str, ...]


def is_sealed(call: ToolCall) -> bool:
    """Whether nothing about the call is open, repaired or guessed."""
    return (
        call.state == "complete"
        and not call.closing
        and all(state == "complete" for state in call.arguments_state.values())
    )


def unfinished(call: ToolCall) -> tuple[str, ...]:
    """Pointers of the arguments that are not complete."""
    return tuple(p for p, state in call.arguments_state.items() if state != "complete")


def missing_arguments(call: ToolCall, tool: HostTool) -> tuple[str, ...]:
    """Pointers of required arguments of which nothing was received."""
    value = decode(call.arguments + call.closing)
    present = value if isinstance(value, dict) else {}
    return tuple(pointer([n]) for n in _required(tool) if n not in present)


def partial_arguments(call: ToolCall, tool: HostTool) -> Partial | None:
    """What a cut call of a read-only tool may run on; None: it may not run."""
    if tool.rules.on_cut != "partial" or tool.rules.effect != "read" or call.state != "cut":
        return None
    value = decode(call.arguments + call.closing)
    if not isinstance(value, dict):
        return None
    open_names = {p.split("/")[1].replace("~1", "/").replace("~0", "~") for p in unfinished(call)}
    kept = {name: v for name, v in value.items() if name not in open_names}
    if any(name not in kept for name in _required(tool)):
        return None
    return Partial(kept, tuple(pointer([n]) for n in sorted(open_names)))


def _required(tool: HostTool) -> list[str]:
    required = tool.definition.parameters.get("required")
    return [cast("str", n) for n in cast("list[JSON]", required or [])]
