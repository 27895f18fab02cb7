"""A reply and its results as messages of the conversation, in OpenAI's shape.

The history has to be valid for every later request, so the arguments of each call are JSON whatever
the model wrote: a cut call is stored closed by its own suffix, a damaged one with no arguments, and
the tool message beside it says that it was not run. Messages are plain JSON: storing a conversation
is `json.dumps`, going on with it is passing the list again.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from untemplate.errors import RequestError
from untemplate.loop.arguments import decode
from untemplate.loop.model import Chat, ChatMessage
from untemplate.loop.outcome import Outcome
from untemplate.message import JSON, Message, ToolCall

__all__ = ["assistant_message", "check_chat", "tool_message", "used_ids"]


def check_chat(messages: Iterable[Mapping[str, JSON]]) -> Chat:
    """A private copy of the caller's messages.

    Raises:
        RequestError: something is not a message.
    """
    chat: list[ChatMessage] = []
    for number, message in enumerate(messages):
        if not isinstance(cast("object", message), Mapping) or not isinstance(
            message.get("role"), str
        ):
            raise RequestError("a message is an object with a role", place=f"messages[{number}]")
        chat.append(dict(message))
    return tuple(chat)


def assistant_message(message: Message) -> ChatMessage:
    """The turn of the model."""
    out: ChatMessage = {"role": "assistant", "content": message.content}
    if message.reasoning_content:
        out["reasoning_content"] = message.reasoning_content
    if message.tool_calls:
        out["tool_calls"] = [_call(c) for c in message.tool_calls]
    return out


def tool_message(outcome: Outcome) -> ChatMessage:
    """The one answer to a call."""
    return {
        "role": "tool",
        "tool_call_id": outcome.call.id,
        "name": outcome.call.name,
        "content": outcome.text,
    }


def used_ids(chat: Iterable[ChatMessage]) -> set[str]:
    """Ids of all calls of a conversation."""
    ids: set[str] = set()
    for message in chat:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and isinstance(call.get("id"), str):
                ids.add(cast("str", call["id"]))
    return ids


def _call(call: ToolCall) -> JSON:
    arguments = call.arguments + call.closing
    if not isinstance(decode(arguments), dict):
        arguments = "{}"
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name or "unknown", "arguments": arguments},
    }
