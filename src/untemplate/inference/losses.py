"""Which differences between a message and its reading are losses of history, and which are errors.

History does not tell everything: two messages may be written as one text. Then the reading is one
of them, and the difference is a loss of a known kind. `name_losses` names the kinds; a difference
of no known kind is given as such, and fails the proof.
"""

import json
from collections.abc import Iterator

from untemplate.dialect import CallBlock, Dialect, History
from untemplate.message import JSON, Message, ToolCall

__all__ = ["UNKNOWN", "name_losses"]

UNKNOWN = "unknown: "
"""Begins the name of a difference that is no loss of a known kind."""


def name_losses(
    dialect: Dialect, history: History, message: Message, reading: Message
) -> Iterator[str]:
    """The kinds of loss that lie between a message and its reading."""
    if not (message.content or message.reasoning_content or message.tool_calls):
        if reading.content:
            yield "an empty turn is written like one with text"
        return
    yield from _text_losses(message, reading)
    given, read = message.tool_calls, reading.tool_calls
    if given and not read:
        yield "calls beside content are not written"
        return
    if len(read) < len(given):
        if history.calls_max is not None and len(read) == history.calls_max:
            yield f"calls after the first {history.calls_max} are not written"
        else:
            yield f"{UNKNOWN}{len(given)} calls, {len(read)} read"
            return
    if len(read) > len(given):
        yield f"{UNKNOWN}{len(given)} calls, {len(read)} read"
        return
    for one, other in zip(given, read, strict=False):
        yield from _call_losses(dialect, one, other)


def _text_losses(message: Message, reading: Message) -> Iterator[str]:
    pairs = (
        ("reasoning", message.reasoning_content, reading.reasoning_content),
        ("content", message.content, reading.content),
    )
    moved = message.content.strip() == reading.reasoning_content.strip() != ""
    for name, given, read in pairs:
        if given == read:
            continue
        if given.strip() == read.strip():
            yield f"white space at the edges of {name} is trimmed"
        elif not read.strip():
            beside = " beside calls" if message.tool_calls else ""
            yield f"{name}{beside} is dropped"
        elif moved:
            yield "content beside calls is written as reasoning"
        else:
            yield f"{UNKNOWN}{name} {given[:40]!r} is read as {read[:40]!r}"


def _call_losses(dialect: Dialect, given: ToolCall, read: ToolCall) -> Iterator[str]:
    if given.name != read.name:
        yield f"{UNKNOWN}call of {given.name!r} is read as {read.name!r}"
    if read.written_id is None:
        yield "ids are not written"
    elif read.written_id != given.id:
        yield "the id is not what was given"
    if read.state != "complete":
        yield f"{UNKNOWN}a call is read as {read.state}"
        return
    wanted, got = json.loads(given.arguments), json.loads(read.arguments)
    for key in {**wanted, **got}:
        if key not in got:
            if wanted[key] is None:
                yield "null arguments are not written"
            else:
                yield f"{UNKNOWN}argument {key!r} is not read"
        elif key not in wanted:
            yield f"{UNKNOWN}argument {key!r} was not written"
        elif not _same(wanted[key], got[key]):
            yield _value_loss(dialect, key, wanted[key], got[key])


def _same(one: JSON, other: JSON) -> bool:
    """Whether two JSON values are the same, types included."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _value_loss(dialect: Dialect, key: str, wanted: JSON, got: JSON) -> str:
    if not _are_written_alike(dialect, key, wanted, got):
        return f"{UNKNOWN}argument {key!r} {wanted!r} is read as {got!r}"
    if isinstance(wanted, str) != isinstance(got, str):
        return "strings and other values are written alike"
    return "values within arrays and objects are written alike"


def _are_written_alike(dialect: Dialect, key: str, one: JSON, other: JSON) -> bool:
    blocks = (*dialect.written.values(), *dialect.blocks.values())
    ways = (b.arguments for b in blocks if isinstance(b, CallBlock))
    return any(way.write({key: one}) == way.write({key: other}) for way in ways)
