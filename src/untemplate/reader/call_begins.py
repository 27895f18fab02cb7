"""How a call begins, anew or as another piece of one, and what is not right about it.

That is how it is reached, its name, its number. What it lacks is said when it ends: `call_ends`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from untemplate.message import Tool, ToolChoice
from untemplate.reader.sink import SPELT_MARKER, Note

if TYPE_CHECKING:
    from untemplate.reader.call import CallFrame
    from untemplate.reader.open_calls import OpenCalls
    from untemplate.reader.tape import Tape

__all__ = ["Asked", "begin_call"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What calls the turn asks for, and how many its family can write."""

    tools: Mapping[str, Tool]
    choice: ToolChoice
    calls_max: int | None


def begin_call(
    call: "CallFrame", told: int, opened: "OpenCalls", asked: Asked, tape: "Tape"
) -> None:
    """Tells a call, or that the block goes on with one that was put aside.

    Args:
        call: what reads it; gets its record.
        told: what `Tape.suspend` gave.
        opened: the calls that were put aside.
        asked: what the turn asks for.
        tape: where it is told.
    """
    begun = opened.take(call.key, call.name)
    if begun is not None:
        call.go_on_with(begun)
        assert begun.record is not None
        call.record = tape.resume(begun.record, call.found.marker_end, _markers_of(call), told)
        return
    notes = _notes_of(call, tape.record.calls_begun, asked)
    if call.key in opened:
        notes.append(Note("repeated_id", f"{call.key!r} names an open call of another tool"))
    call.record = tape.commit(call.name, call.found.marker_end, notes, told)


def _notes_of(call: "CallFrame", number: int, asked: Asked) -> list[Note]:
    """What is not right about a call that has begun; `number` calls came before it."""
    name, notes, choice = call.name, _markers_of(call), asked.choice
    if name not in asked.tools:
        notes.append(Note("unknown_tool", f"no tool is named {name!r}"))
    if (choice.name not in (None, name)) or (number and not choice.parallel):
        notes.append(Note("unrequested", f"the call of {name!r} is beyond tool_choice"))
    elif asked.calls_max is not None and number >= asked.calls_max:
        notes.append(Note("extra_call", "the format has no place for so many calls"))
    return notes


def _markers_of(call: "CallFrame") -> list[Note]:
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
