"""The seam between the loop and whatever writes replies: one small protocol.

A model gets a `Request` and yields, in order, deltas while the reply is written, each call as soon
as it is *sealed* (no continuation can change it), and last one `Reply` with the whole message:

    Delta(content="Let me look. ")
    Delta(tool_calls=(CallDelta(0, id="call_1", name="now"),))
    Delta(tool_calls=(CallDelta(0, arguments="{}"),))
    ToolCall(index=0, id="call_1", name="now", arguments="{}")      sealed: may start at once
    Reply(Message(...), Usage(...))

A model that can go on exactly where a reply was cut gives a `point` with the reply; the loop hands
it back in `Request.resume`, and the next `Reply` holds the whole message, old part included. A
model that can't never gives a point and never sees one.

What a model wrote is never an exception. Exceptions mean that the model itself is unreachable or
broken, and end the run.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from untemplate.message import JSON, Delta, Message, Tool, ToolCall, ToolChoice, Usage

__all__ = ["CallSize", "Chat", "ChatMessage", "Model", "ModelItem", "Reply", "Request"]

ChatMessage = dict[str, JSON]
"""One message in OpenAI's shape: `role`, `content`, `tool_calls`, `tool_call_id`."""

Chat = tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What the loop asks of a model: the next assistant turn of a conversation."""

    messages: Chat
    tools: tuple[Tool, ...] = ()
    choice: ToolChoice = field(default_factory=ToolChoice)
    nonce: str = ""
    """Unique for all time; ids of calls are derived from it."""
    max_tokens: int | None = None
    """None: as many as the model or its server gives."""
    output_schema: dict[str, JSON] | None = None
    """The final answer has to be JSON of this schema. Enforced by models that can."""
    resume: object = None
    """The `point` of the reply that this request goes on with."""


@dataclass(frozen=True, slots=True)
class CallSize:
    """Tokens of a reply that is one call of a tool."""

    least: int
    typical: int

    def __str__(self) -> str:
        usual = f", usually {self.typical}" if self.typical > self.least else ""
        return f"at least {self.least} tokens{usual}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a reply."""

    message: Message
    usage: Usage = field(default_factory=Usage)
    point: object = None
    """Where to go on if the message is cut; None: the model can't."""
    sizes: Mapping[str, CallSize] = field(default_factory=dict[str, CallSize])
    """What calls of the tools take whose calls were cut, by name, from a model that can tell."""
    dropped: tuple[str, ...] = ()
    """What of the conversation or the tools was left out of the prompt, to fit, and why."""


ModelItem = Delta | ToolCall | Reply


class Model(Protocol):
    """Anything that writes assistant turns. Async generators are closed when a run is cancelled."""

    def reply(self, request: Request, /) -> AsyncIterator[ModelItem]:
        """Write the next turn: deltas, sealed calls, and one `Reply` at the end."""
        ...
