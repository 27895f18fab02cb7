"""What is not right about a call that begins: how it is reached, its name, its number.

What it lacks is said when it ends, see `call_ends`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from untemplate.message import Tool, ToolChoice
from untemplate.reader.sink import SPELT_MARKER, Note

if TYPE_CHECKING:
    from untemplate.reader.call import CallFrame

__all__ = ["markers_of", "notes_of"]


def notes_of(
    call: "CallFrame",
    number: int,
    tools: Mapping[str, Tool],
    choice: ToolChoice,
    calls_max: int | None,
) -> list[Note]:
    """What is not right about a call that has begun; `number` calls came before it."""
    name, notes = call.name, markers_of(call)
    if name not in tools:
        notes.append(Note("unknown_tool", f"no tool is named {name!r}"))
    if (choice.name not in (None, name)) or (number and not choice.parallel):
        notes.append(Note("unrequested", f"the call of {name!r} is beyond tool_choice"))
    elif calls_max is not None and number >= calls_max:
        notes.append(Note("extra_call", "the format has no place for so many calls"))
    return notes


def markers_of(call: "CallFrame") -> list[Note]:
    """What is not right about the marks that lead to a call, or to a piece of one."""
    way = call.found.way
    if way.json:
        return [Note("unknown_form", "JSON stands where the format has no place for it")]
    if way.is_bare and not way.is_own:
        return [Note("bare_call", "a call without its markers was read as a call")]
    if call.found.skipped or not way.is_own:
        return [Note("missing_marker", "markers that lead to the call are missing")]
    if call.found.is_spelt:
        return [Note("spelt_marker", SPELT_MARKER)]
    return []
