r"""Writes an assistant turn as history writes it: byte for byte what the template renders.

In goes a message, out comes the text of its turn in one place of the conversation:

    write_turn(hermes, Message(content="Hi"))      # "<|im_start|>assistant\nHi<|im_end|>\n"

What the template drops or trims is dropped or trimmed here too. A call that was cut is written with
its closing suffix; arguments that are no JSON object are written as an empty one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from untemplate.dialect.dialect import Before, CallBlock, Dialect, Field, Follows, Frame, Trim
from untemplate.dialect.pattern import Hole, fill
from untemplate.errors import DialectError
from untemplate.message import JSON, Message, ToolCall

__all__ = ["TRIMS", "write_calls", "write_turn"]

TRIMS: Mapping[Trim, Callable[[str], str]] = {
    "": str,
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
    "strip newlines": lambda text: text.strip("\n"),
    "lstrip newlines": lambda text: text.lstrip("\n"),
    "rstrip newlines": lambda text: text.rstrip("\n"),
    "last newline": lambda text: text.removesuffix("\n"),
}


def write_turn(
    dialect: Dialect,
    message: Message,
    *,
    before: Before = "user",
    follows: Follows = "nothing",
    earlier_calls: int = 0,
) -> str:
    """The turn as the template writes it in this place.

    Args:
        dialect: how the model family writes a turn.
        message: reasoning, content and calls; a call's id is `written_id`, else `id`.
        before: what stands before the turn.
        follows: what comes after it.
        earlier_calls: how many calls the conversation holds before this turn.
    """
    history = dialect.place(before, follows)
    if history is None:
        raise DialectError("the dialect does not say how history writes a turn", place="dialect")
    texts: dict[Field, str] = {
        "reasoning": message.reasoning_content,
        "content": message.content,
    }
    has: list[Field] = [f for f, t in texts.items() if t and not _is_blank(f, t, history.blank)]
    if message.tool_calls:
        has.append("calls")
    frames = [f for f in history.frames if set(f.has) == set(has)]
    count = len(message.tool_calls[: history.calls_max])
    frame = next((f for f in frames if f.calls == count), None)
    frame = frame or next((f for f in frames if f.calls is None), None)
    if frame is None:
        raise DialectError(
            f"history has no turn with {' and '.join(has) or 'nothing'}", place="dialect"
        )
    first = earlier_calls if history.counts_earlier_calls else 0
    calls = message.tool_calls[: history.calls_max]
    return history.header + _write_frame(dialect, frame, texts, calls, first)


def _is_blank(name: Field, text: str, blank: tuple[Field, ...]) -> bool:
    return name in blank and not text.strip()


def _write_frame(
    dialect: Dialect,
    frame: Frame,
    texts: Mapping[Field, str],
    calls: Sequence[ToolCall],
    first: int,
) -> str:
    out = [frame.literals[0]]
    for part, literal in zip(frame.parts, frame.literals[1:], strict=True):
        if part.field == "calls":
            out.append(write_calls(dialect, part.block, calls, first))
        else:
            out.append(TRIMS[part.trim](texts[part.field]))
        out.append(literal)
    return "".join(out)


def write_calls(
    dialect: Dialect,
    name: str,
    calls: Sequence[ToolCall],
    first: int = 0,
) -> str:
    """A run of calls, without what stands before the first and after the last."""
    block = dialect.written.get(name) or dialect.blocks[name]
    assert isinstance(block, CallBlock)
    between = dialect.literal(name, name)
    return between.join(_write_call(block, c, first + n) for n, c in enumerate(calls))


def _write_call(block: CallBlock, call: ToolCall, number: int) -> str:
    return fill(
        block.pattern,
        {
            Hole.NAME: call.name,
            Hole.ID: call.id if call.written_id is None else call.written_id,
            Hole.INDEX: str(block.index_base + number),
            Hole.ARGUMENTS: block.arguments.write(_arguments(call)),
        },
    )


def _arguments(call: ToolCall) -> JSON:
    try:
        value = cast("JSON", json.loads(call.arguments + call.closing))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
