"""What is said of a call as a whole: what is not right about it, and what it lacks.

Whether its arguments are what the tool declares is for `faults`, once it has ended.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from untemplate.message import ArgumentState, Tool, ToolChoice, pointer_token
from untemplate.reader.chain import listed
from untemplate.reader.sink import Note

if TYPE_CHECKING:
    from untemplate.reader.call import CallFrame
    from untemplate.reader.frame import Frame
    from untemplate.reader.record import CallRecord

__all__ = ["missing_of", "notes_of", "settle_states"]


def notes_of(
    call: "CallFrame",
    number: int,
    tools: Mapping[str, Tool],
    choice: ToolChoice,
    calls_max: int | None,
) -> list[Note]:
    """What is not right about a call that has begun; `number` calls came before it."""
    notes: list[Note] = []
    name, way = call.name, call.found.way
    if way.json:
        notes.append(Note("unknown_form", "JSON stands where the format has no place for it"))
    elif way.is_bare and not way.is_own:
        notes.append(Note("bare_call", "a call without its markers was read as a call"))
    elif call.found.skipped or not way.is_own:
        notes.append(Note("missing_marker", "markers that lead to the call are missing"))
    if name not in tools:
        notes.append(Note("unknown_tool", f"no tool is named {name!r}"))
    if (choice.name not in (None, name)) or (number and not choice.parallel):
        notes.append(Note("unrequested", f"the call of {name!r} is beyond tool_choice"))
    elif calls_max is not None and number >= calls_max:
        notes.append(Note("extra_call", "the format has no place for so many calls"))
    return notes


def missing_of(record: "CallRecord", tool: Tool | None) -> list[Note]:
    """Required arguments that did not come; puts their states down. O(arguments)."""
    required = tool.parameters.get("required") if tool else None
    if not isinstance(required, list):
        return []
    notes: list[Note] = []
    seen = {p.split("/")[1] for p, _ in listed(record.states) if p}
    for key in required:
        token = pointer_token(str(key))
        if token not in seen:
            record.states = (record.states, ("/" + token, "missing"))
            notes.append(Note("missing_argument", f"{key} is required and missing"))
    return notes


def settle_states(record: "CallRecord", arguments: "Frame | None") -> None:
    """Puts down closing and open path of a call that is not whole. O(depth)."""
    if arguments is None or not arguments.has_begun:
        return
    record.closing = arguments.closing
    if pointer := arguments.pointer:
        state: ArgumentState = "undecided" if arguments.is_undecided else "cut"
        record.states = (record.states, (pointer, state))
