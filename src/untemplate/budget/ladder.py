"""What to do with a reply that the token limit cut in its calls: a short ladder, step by step.

    climb([Attempt(None, message, usage, max_tokens=200)])  -> Climb("window", 400)
    climb([first, Attempt("window", message, usage, 400)])  -> Stop("the limit is too low for pay…")

The rungs: go on in place (`resume`), where nothing is written twice; ask again with a larger
window; ask another model, if there is one; and where the larger window changed nothing, so that the
context is the limit, ask with the one tool that was being called, which makes room. There are at
most two further generations, and each attempt keeps what it cost. Asking again throws away what was
written, so it is not done once a call of the reply is complete. A resume that adds nothing, or a
second cut at the same place with no rung left, ends the ladder with the diagnosis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from untemplate.budget.policy import is_sealed
from untemplate.message import Message, ToolCall, Usage

__all__ = ["Attempt", "Climb", "Rung", "Stop", "climb", "is_cut"]

Rung = Literal["resume", "window", "tools", "model"]

_FURTHER_MAX = 2


@dataclass(frozen=True, slots=True)
class Attempt:
    """One generation of a reply; after a resume the message holds all of it."""

    rung: Rung | None
    """How it came about; None is the first."""
    message: Message
    usage: Usage
    max_tokens: int | None = None
    """Its window, if it had one of its own."""
    can_resume: bool = False


@dataclass(frozen=True, slots=True)
class Climb:
    """One more generation is worth its cost."""

    rung: Rung
    max_tokens: int | None = None
    """With `window`: how large."""
    tool: str = ""
    """With `tools`: the one that stays."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The reply stays as it is."""

    diagnosis: str = ""
    """What the limit was too low for; empty if nothing was cut."""


def is_cut(message: Message) -> bool:
    """Whether the reply, or a call in it, has not ended by itself.

    A reply may be cut between two calls, where nothing is open: then only the reason tells.
    """
    return (
        message.finish_reason == "length"
        or message.end in ("cut", "forced")
        or any(c.state in ("cut", "forced") for c in message.tool_calls)
    )


def climb(
    attempts: Sequence[Attempt], *, tools: int = 1, has_other_model: bool = False
) -> Climb | Stop:
    """The next rung, given all attempts so far, in order.

    Args:
        attempts: what was generated; not empty.
        tools: how many tools the last request had.
        has_other_model: whether there is a model to fall back to.
    """
    last = attempts[-1]
    message, taken = last.message, {a.rung for a in attempts}
    # Text that filled its window is simply long.
    if not is_cut(message) or not (last.can_resume or message.tool_calls):
        return Stop()
    if len(attempts) > _FURTHER_MAX:
        return Stop(_diagnosis(last))
    before = attempts[-2] if len(attempts) > 1 else None
    if last.can_resume:
        adds_nothing = last.rung == "resume" and before and before.message.raw == message.raw
        return Stop(_diagnosis(last)) if adds_nothing else Climb("resume")
    call = _open_call(message)
    if call is None or any(is_sealed(c) for c in message.tool_calls):
        return Stop(_diagnosis(last))
    if last.max_tokens is not None and "window" not in taken:
        return Climb("window", 2 * last.max_tokens)
    if has_other_model and "model" not in taken:
        return Climb("model")
    is_stuck = before is not None and _place(before.message) == _place(message)
    if is_stuck and last.rung == "window" and tools > 1 and call.name:
        return Climb("tools", tool=call.name)
    return Stop(_diagnosis(last))


def _place(message: Message) -> tuple[int, int, str, str]:
    call = _open_call(message)
    if call is None:
        return len(message.tool_calls), len(message.content), "", ""
    return len(message.tool_calls), len(call.arguments), call.name, call.cut_path or ""


def _open_call(message: Message) -> ToolCall | None:
    return next((c for c in message.tool_calls if not is_sealed(c)), None)


def _diagnosis(attempt: Attempt) -> str:
    call = _open_call(attempt.message)
    spent = attempt.usage.completion_tokens
    if call is None:
        return f"the limit is too low for more calls: cut after {spent} tokens"
    where = f" at {call.cut_path}" if call.cut_path else ""
    return f"the limit is too low for {call.name or 'a call'}: cut{where} after {spent} tokens"
