r"""Own turns sent again as they were written, so that each step evaluates only what is new.

A template that renders an assistant's turn anew rarely writes what the model wrote: blanks inside
the arguments, the order of keys, reasoning, ids. The cache of the engine then ends where the two
part, and the turn is evaluated again. But we know which tokens are in the cache. So while a model
works with its tools, the prompt of a step is put together as

    ids of the last prompt  +  ids of the last reply  +  the template's text from there on

    template:  …assistant\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call><|im_end|>\n…
    sent:      …assistant\n<tool_call>\n{"name":  "now", "arguments":{}}\n</tool_call><|im_end|>\n…
                            (ids in the cache, to the end token)                         |(new text)

Only where it means the same: the conversation is the last one and the reply, then nothing but
results; the tools are the same; and the reply had ended by itself. After a new user message the
template decides again what stays of earlier turns.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from untemplate.errors import UntemplateError
from untemplate.loop.model import Chat, ChatMessage, Request
from untemplate.message import JSON, Message, Tool
from untemplate.turn import Turn
from untemplate.vocabulary import Vocabulary

__all__ = ["Renders", "Replays", "Seam", "end_text"]

_KEPT = 64


class Renders(Protocol):
    """What is asked of a template here."""

    def render(
        self,
        messages: Sequence[Mapping[str, JSON]],
        tools: Sequence[Tool] = (),
        *,
        add_generation_prompt: bool = False,
        now: datetime | None = None,
        variables: Mapping[str, JSON] | None = None,
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class Seam:
    """Where a new prompt goes on behind a turn that is in the cache."""

    ids: tuple[int, ...]
    """Prompt and reply of that turn."""
    start: int
    """Characters of the new prompt that these stand for."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A turn as it is in the cache of the engine."""

    chat: Chat
    tools: tuple[Tool, ...]
    ids: tuple[int, ...]
    stop: str
    """The text of the end token that the model wrote."""


class Replays:
    """The last turns of a model, found again by the id of their first call."""

    def __init__(self, template: Renders, variables: Mapping[str, JSON]) -> None:
        self._template = template
        self._variables = dict(variables)
        self._sent: OrderedDict[str, _Sent] = OrderedDict()

    def keep(
        self,
        request: Request,
        message: Message,
        ids: Sequence[int],
        stop: str | None,
    ) -> None:
        """Remember a reply that calls tools and has ended by itself."""
        if stop is None or not message.tool_calls:
            return
        sent = _Sent(request.messages, request.tools, tuple(ids), stop)
        self._sent[message.tool_calls[0].id] = sent
        while len(self._sent) > _KEPT:
            self._sent.popitem(last=False)

    def seam(self, request: Request, turn: Turn, now: datetime | None = None) -> Seam | None:
        """Where the prompt of this turn may go on behind one that is in the cache."""
        place = len(request.messages) - 1
        while place >= 0 and request.messages[place].get("role") == "tool":
            place -= 1
        if not 0 <= place < len(request.messages) - 1:
            return None
        sent = self._sent.get(_first_call(request.messages[place]))
        if sent is None or sent.tools != request.tools or sent.chat != request.messages[:place]:
            return None
        end = self._end_of_reply(request, place, sent, turn.prompt, now)
        return None if end is None else Seam(sent.ids, end)

    def _end_of_reply(
        self, request: Request, place: int, sent: _Sent, prompt: str, now: datetime | None
    ) -> int | None:
        """Where the reply ends in the prompt: at its last stop, before the first result.

        Both borders are found by rendering with something else there: up to it the texts agree.
        Rendering the conversation up to the reply alone would not do, since templates write a turn
        otherwise when it is the last.
        """
        chat = request.messages
        try:
            start = len(_common(prompt, self._render(_changed(chat, place), request.tools, now)))
            text = _common(prompt, self._render(_changed(chat, place + 1), request.tools, now))
        except UntemplateError:  # what was changed matters to the template
            return None
        found = text.rfind(sent.stop, start)
        return None if found < 0 else found + len(sent.stop)

    def _render(
        self, chat: Sequence[ChatMessage], tools: Sequence[Tool], now: datetime | None
    ) -> str:
        return self._template.render(chat, tools, now=now, variables=self._variables)


def _changed(chat: Chat, place: int) -> list[ChatMessage]:
    """The conversation with another message at this place, from its first character on."""
    message = dict(chat[place])
    message["content"] = _other(message.get("content"))
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [_other_call(c) if isinstance(c, dict) else c for c in calls]
    return [*chat[:place], message, *chat[place + 1 :]]


def _other_call(call: dict[str, JSON]) -> JSON:
    function = call.get("function")
    if not isinstance(function, dict):
        return call
    return {**call, "function": {**function, "name": _other(function.get("name"))}}


def _other(text: JSON) -> str:
    return "b" if str(text).startswith("a") else "a"


def _common(one: str, other: str) -> str:
    """The beginning that two texts share, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return one[:low]


def end_text(turn: Turn, tokens: Sequence[int], vocabulary: Vocabulary) -> str | None:
    """Text of the end token that closes the ids of a reply; None if none does."""
    for text in turn.stops:
        if tokens and vocabulary.special.get(text) == tokens[-1]:
            return text
    return None


def _first_call(message: Mapping[str, JSON]) -> str:
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    return str(first.get("id")) if isinstance(first, dict) else ""
