"""How a call ends, whole, cut or malformed, and what is told then.

Whether its arguments are what the tool declares is for `faults`.
"""

from collections.abc import Mapping

from untemplate.message import ArgumentState, CallState, Tool, pointer_token
from untemplate.reader.call import CallFrame
from untemplate.reader.chain import listed
from untemplate.reader.damage import Damage
from untemplate.reader.events import CallResume
from untemplate.reader.open_calls import OpenCalls
from untemplate.reader.record import CallRecord
from untemplate.reader.sink import Note
from untemplate.reader.tape import Tape
from untemplate.reader.utf8 import Data

__all__ = ["end_cut", "end_damaged", "end_open", "end_whole", "pause"]

Tools = Mapping[str, Tool]


def end_whole(call: CallFrame, tools: Tools, tape: Tape, at: int) -> None:
    """Its arguments were read to their end, and its closing marks."""
    _tell_none(call, tape)
    _note_close(call, tape, at)
    _close(call, "complete", tools, tape, at)


def pause(call: CallFrame, tape: Tape, at: int) -> None:
    """A piece of it was read to its closing marks; another one may come."""
    assert call.record is not None
    _note_close(call, tape, at)
    tape.pause_call(call.record)


def end_damaged(call: CallFrame, damage: Damage, tools: Tools, tape: Tape, at: int) -> None:
    """What could not be read of it was passed over."""
    tape.note(damage.note.code, damage.note.message, damage.start - tape.base, at)
    _settle(call)
    state: CallState = "cut" if damage.note.code == "stop_in_call" else "malformed"
    _close(call, state, tools, tape, at)


def end_cut(call: CallFrame, tools: Tools, tape: Tape, data: Data, at: int) -> None:
    """The data ends inside of it; it was read up to `at`."""
    size = len(data)
    if call.arguments is not None:
        call.arguments.settle(data, at, tape)
    _settle(call)
    tape.lost(size)
    tape.note("cut_call", f"the call of {call.name!r} is cut", size, size)
    _close(call, "cut", tools, tape, size)


def end_open(calls: OpenCalls, tools: Tools, tape: Tape, data: Data, *, is_cut: bool) -> bool:
    """Nothing goes on with the calls that were put aside; whether one of them is cut."""
    size, some_are_cut = len(data), False
    for call in calls.take_all():
        assert call.record is not None
        tape.reopen(call.record)
        if is_cut or call.arguments is not None:
            end_cut(call, tools, tape, data, size)
            some_are_cut = True
        else:
            tape.events.append(CallResume(call.record.index))
            _tell_none(call, tape)
            tape.note("no_arguments", "the call has no arguments; read as none", size, size)
            _close(call, "complete", tools, tape, size)
    return some_are_cut


def _tell_none(call: CallFrame, tape: Tape) -> None:
    assert call.record is not None
    if not call.record.pieces:
        tape.text("{}", tape.told - tape.base)


def _note_close(call: CallFrame, tape: Tape, at: int) -> None:
    if not call.was_closed and call.found.way.is_own:
        tape.note("missing_close", "the call's closing marker is missing", at, at)


def _close(call: CallFrame, state: CallState, tools: Tools, tape: Tape, at: int) -> None:
    record = call.record
    assert record is not None
    record.state = state
    if state == "complete":
        record.closing = ""
    for note in _missing_of(record, tools.get(call.name)):
        tape.note(note.code, note.message, at, at)
    tape.end_call(record)


def _missing_of(record: CallRecord, tool: Tool | None) -> list[Note]:
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


def _settle(call: CallFrame) -> None:
    """Puts down closing and open path of a call that is not whole. O(depth)."""
    record, arguments = call.record, call.arguments
    assert record is not None
    if arguments is None or not arguments.has_begun:
        return
    record.closing = arguments.closing
    if pointer := arguments.pointer:
        state: ArgumentState = "undecided" if arguments.is_undecided else "cut"
        record.states = (record.states, (pointer, state))
