"""A paused run as plain JSON, and back.

The state holds the conversation up to the paused reply, its calls with the outcomes that are there,
the calls that wait, and what the run has counted so far. It holds no functions: the tools, the
model and the limits are those of the loop that goes on with it. Whoever stores a state should guard
it like the conversation itself; a change to a waiting call is found by its digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from untemplate.errors import RequestError
from untemplate.loop.approval import ApprovalRequest
from untemplate.loop.model import Chat, ChatMessage
from untemplate.loop.outcome import Outcome, Status
from untemplate.message import JSON, CallState, Message, ToolCall, Usage

if TYPE_CHECKING:
    from untemplate.budget.policy import Effect

__all__ = ["Paused", "dump_state", "load_state"]

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Paused:
    """A run between a reply and the approval of some of its calls."""

    chat: Chat
    """Up to the user's turn; the paused reply comes next."""
    message: Message
    outcomes: tuple[Outcome, ...]
    """One per call, `pending` for those that wait."""
    pending: tuple[ApprovalRequest, ...]
    step: int
    usage: Usage
    admission: dict[str, JSON]


def dump_state(paused: Paused) -> dict[str, JSON]:
    """The run as JSON."""
    return {
        "version": _VERSION,
        "chat": list[JSON](paused.chat),
        "content": paused.message.content,
        "reasoning_content": paused.message.reasoning_content,
        "outcomes": [_dump_outcome(o) for o in paused.outcomes],
        "pending": [r.to_json() for r in paused.pending],
        "step": paused.step,
        "usage": [
            paused.usage.prompt_tokens,
            paused.usage.completion_tokens,
            paused.usage.cached_tokens,
        ],
        "admission": paused.admission,
    }


def load_state(state: Mapping[str, JSON]) -> Paused:
    """The run that `dump_state` gave.

    Raises:
        RequestError: this is no state of this version.
    """
    if state.get("version") != _VERSION:
        raise RequestError(f"not a state of version {_VERSION}", place="state")
    try:
        outcomes = tuple(_load_outcome(cast("_Object", o)) for o in _list(state["outcomes"]))
        usage = cast("list[int]", state["usage"])
        return Paused(
            chat=tuple(cast("ChatMessage", m) for m in _list(state["chat"])),
            message=Message(
                content=cast("str", state["content"]),
                reasoning_content=cast("str", state["reasoning_content"]),
                tool_calls=tuple(o.call for o in outcomes),
                finish_reason="tool_calls",
            ),
            outcomes=outcomes,
            pending=tuple(_load_request(cast("_Object", r)) for r in _list(state["pending"])),
            step=cast("int", state["step"]),
            usage=Usage(*usage),
            admission=cast("_Object", state["admission"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise RequestError(f"the state is damaged ({error!r})", place="state") from error


_Object = dict[str, JSON]


def _list(value: JSON) -> list[JSON]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _dump_outcome(outcome: Outcome) -> JSON:
    call = outcome.call
    return {
        "index": call.index,
        "id": call.id,
        "written_id": call.written_id,
        "name": call.name,
        "arguments": call.arguments,
        "closing": call.closing,
        "state": call.state,
        "status": outcome.status,
        "text": outcome.text,
        "started": outcome.started,
        "attempts": outcome.attempts,
        "cut": outcome.cut,
        "fault": outcome.fault,
    }


def _load_outcome(state: _Object) -> Outcome:
    call = ToolCall(
        index=cast("int", state["index"]),
        id=cast("str", state["id"]),
        name=cast("str", state["name"]),
        arguments=cast("str", state["arguments"]),
        closing=cast("str", state["closing"]),
        state=cast("CallState", state["state"]),
        written_id=cast("str | None", state["written_id"]),
    )
    return Outcome(
        call,
        cast("Status", state["status"]),
        cast("str", state["text"]),
        started=cast("bool", state["started"]),
        attempts=cast("int", state["attempts"]),
        cut=cast("bool", state["cut"]),
        fault=cast("str", state["fault"]),
    )


def _load_request(state: _Object) -> ApprovalRequest:
    return ApprovalRequest(
        cast("str", state["id"]),
        cast("str", state["name"]),
        cast("dict[str, JSON]", state["arguments"]),
        cast("Effect", state["effect"]),
        cast("str", state["digest"]),
    )
