"""The client's side of chat completions: the body of a request, and the reading of an answer.

    body = request_body(messages, tools, choice, model="m", max_tokens=200)
    answer = AnswerReader()
    answer.feed(chunk)          -> deltas, and each call as soon as it is sealed
    answer.finish()             -> the message, the usage
    answer.to_go_on()           -> the message to send back, if the answer can be gone on with
    answer.going_on()           a reader of what comes then

Calls are assembled one by one, whatever alternates: by index, else by id, else by name.

Servers differ in what they say of a cut call: some report `tool_calls` for it, some `stop`, some
repair it into valid JSON. So `finish_reason` is not believed. A call counts as sealed when another
call has begun after it, or the answer has ended for another reason than its length, and then only
if its arguments are one JSON object. The last call of an answer that ended with `length` is cut
whatever it looks like: a number cut from 120 to 12 looks complete. A server of this library says
more, in fields named `untemplate`, and is believed: how a call ended, as soon as it has; how far
each argument can be trusted; and how to go on with an answer that was cut in a call.

Of a cut call only the members stand in `arguments` after which a comma was received.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from untemplate.errors import EngineError
from untemplate.message import (
    JSON,
    Block,
    CallDelta,
    Delta,
    End,
    FinishReason,
    Message,
    Tool,
    ToolCall,
    ToolChoice,
    Usage,
)
from untemplate.wire.openai.received import (
    CALL_STATES,
    Received,
    diagnostic,
    judged,
    noted,
    number,
    text,
)

__all__ = ["AnswerReader", "request_body"]

_Object = Mapping[str, JSON]

_CUTS = ("length", "content_filter", None)
"""Ends after which the last call can't be trusted."""


def request_body(
    messages: Sequence[_Object],
    tools: Sequence[Tool] = (),
    choice: ToolChoice | None = None,
    *,
    model: str,
    max_tokens: int | None = None,
    schema: dict[str, JSON] | None = None,
) -> dict[str, JSON]:
    """The body of a streamed request.

    Args:
        messages: the conversation, in OpenAI's shape.
        tools: what the model may call.
        choice: which of them it may or must call.
        model: name of the model at the server.
        max_tokens: the window of the answer.
        schema: the answer has to be JSON of it; left out beside tools, as servers refuse both.
    """
    choice = choice or ToolChoice()
    body: dict[str, JSON] = {
        "model": model,
        "messages": [_message(m) for m in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
    if tools:
        body["tools"] = [_tool(t) for t in tools]
        named: JSON = {"type": "function", "function": {"name": choice.name}}
        body["tool_choice"] = choice.mode if choice.name is None else named
        if not choice.parallel:
            body["parallel_tool_calls"] = False
    if schema is not None and (not tools or choice.mode == "none"):
        form: JSON = {"name": "answer", "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def _message(message: _Object) -> JSON:
    """The message without what strict servers refuse: a result is known by the id of its call."""
    is_result = message.get("role") == "tool"
    return {k: v for k, v in message.items() if not (is_result and k == "name")}


def _tool(tool: Tool) -> JSON:
    function: dict[str, JSON] = {"name": tool.name, "parameters": tool.parameters}
    if tool.description:
        function["description"] = tool.description
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


class AnswerReader:
    """Folds the chunks of a stream into deltas, calls and a message; takes a whole answer too."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, Received] = {}
        self._order: dict[tuple[str, str], int] = {}
        self._usage = Usage()
        self._notes: _Object = {}
        self.finish_reason: str | None = None
        """As the server says it; None until it has."""

    def feed(self, chunk: JSON) -> list[Delta | ToolCall]:
        """News of one chunk, or of a whole answer.

        Raises:
            EngineError: the server reports an error, or this is no chunk.
        """
        if not isinstance(chunk, dict):
            raise EngineError("expected an object", place="answer")
        if chunk.get("error"):
            raise EngineError(error_text(chunk), place="answer")
        self._count(chunk.get("usage"))
        out: list[Delta | ToolCall] = []
        for choice in _objects(chunk.get("choices")):
            whole = choice.get("message")
            said = whole or choice.get("delta")
            if whole:  # it has all of the calls, whatever a cut answer had
                self._calls, self._order = {}, {}
            if isinstance(choice.get("untemplate"), dict):
                self._notes = cast("_Object", choice["untemplate"])
                self._take_back(self._notes.get("before"))
            if isinstance(said, dict) and isinstance(said.get("untemplate"), dict):
                self._notes = {**self._notes, **cast("_Object", said["untemplate"])}
            if isinstance(said, dict):
                out += self._read(said, is_whole=bool(whole))
            if isinstance(choice.get("finish_reason"), str):
                self.finish_reason = cast("str", choice["finish_reason"])
                out += self._tell_all()
        return out

    def finish(self) -> tuple[Message, Usage]:
        """The whole message. What is not sealed is marked; nothing raises."""
        calls = [self._final(i, c) for i, c in sorted(self._calls.items())]
        described = self._noted()
        calls = [described.get(c.index, c) for c in calls]
        content, reasoning = "".join(self._content), "".join(self._reasoning)
        blocks = [Block("reasoning", reasoning)] if reasoning else []
        blocks += [Block("content", content)] if content else []
        blocks += [Block("call", call=c.index) for c in calls]
        reason = self._reason(calls)
        is_cut = reason == "length" or any(c.state != "complete" for c in calls)
        end: End = "cut" if is_cut else "complete"
        if self._notes.get("end") in ("complete", "cut", "forced", "open"):
            end = cast("End", self._notes["end"])
        message = Message(
            content,
            reasoning,
            tuple(calls),
            tuple(blocks),
            tuple(map(diagnostic, _objects(self._notes.get("diagnostics")))),
            end,
            reason,
            text(self._notes.get("raw")),
        )
        return message, self._usage

    @property
    def dropped(self) -> tuple[str, ...]:
        """What a server of this library left out of the prompt, to fit, and why."""
        found = self._notes.get("dropped")
        return tuple(map(text, found)) if isinstance(found, list) else ()

    @property
    def needs(self) -> dict[str, tuple[int, int]]:
        """Tokens of calls, at least and usually, of the tools whose calls were cut."""
        out: dict[str, tuple[int, int]] = {}
        for index, note in self._descriptions().items():
            size = note.get("needs")
            if isinstance(size, dict):
                name = self._calls[index].name
                out[name] = number(size.get("least")), number(size.get("typical"))
        return out

    def to_go_on(self) -> dict[str, JSON] | None:
        """The message to send back with `continue_final_message`; None if nothing is to be won.

        Text that is cut is simply long. Of an answer cut in a call, or between calls, a server of
        this library says what was written, and names the place.
        """
        notes = {k: v for k, v in self._notes.items() if k in ("raw", "resume")}
        may_call = bool(self._calls) or self._notes.get("may_call") is True
        if self.finish_reason != "length" or not (notes.get("raw") and may_call):
            return None
        content = "".join(self._content)
        return {"role": "assistant", "content": content, "untemplate": notes}

    def going_on(self) -> "AnswerReader":
        """A reader that goes on with what was read here; this one stays as it is."""
        later = AnswerReader()
        later._content = ["".join(self._content)]
        later._reasoning = ["".join(self._reasoning)]
        later._order = dict(self._order)
        later._calls = {
            i: replace(c, arguments=["".join(c.arguments)]) for i, c in self._calls.items()
        }
        return later

    def _take_back(self, before: JSON) -> None:
        """Forget what a cut answer had said and what does not hold, now that it goes on."""
        if not isinstance(before, dict):
            return
        self._content = ["".join(self._content)[: number(before.get("content"))]]
        self._reasoning = ["".join(self._reasoning)[: number(before.get("reasoning_content"))]]
        sizes = before.get("tool_calls")
        for index, size in enumerate(sizes if isinstance(sizes, list) else []):
            if index in self._calls:
                call = self._calls[index]
                call.arguments = ["".join(call.arguments)[: number(size)]]
                if not call.is_sealed:
                    call.state = ""
        known = len(sizes) if isinstance(sizes, list) else 0
        self._calls = {i: c for i, c in self._calls.items() if i < known}
        self._order = {key: i for key, i in self._order.items() if i < known}

    def _read(self, said: _Object, *, is_whole: bool) -> list[Delta | ToolCall]:
        out: list[Delta | ToolCall] = []
        reasoning = said.get("reasoning_content") or said.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            self._reasoning.append(reasoning)
            out.append(Delta(reasoning_content=reasoning))
        content = said.get("content")
        if isinstance(content, str) and content:
            self._content.append(content)
            out.append(Delta(content=content))
        for place, call in enumerate(_objects(said.get("tool_calls"))):
            out += self._read_call(call, place if is_whole else None)
        return out

    def _read_call(self, call: _Object, place: int | None) -> list[Delta | ToolCall]:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        index = self._position(call, function, place)
        out: list[Delta | ToolCall] = []
        if index not in self._calls:
            out += self._tell_all()
            out += self._seal_all()
            self._calls[index] = Received("", "")
        known = self._calls[index]
        known.id = known.id or text(call.get("id"))
        name = text(function.get("name"))
        if not known.is_told and name != known.name:
            known.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            known.arguments.append(arguments)
            if known.name:
                out += self._tell(index, arguments)
        if place is not None or "untemplate" in call:
            out += self._tell(index)
        note = call.get("untemplate")
        if isinstance(note, dict) and place is not None:
            self._calls[index].note = note
        elif isinstance(note, dict):
            out += self._end_call(index, text(note.get("state")))
        return out

    def _tell(self, index: int, more: str = "") -> list[Delta | ToolCall]:
        """The header of a call, once, with what was held back for it; else more arguments.

        Some servers send a name in pieces, or arguments before it, so the header waits for them.
        """
        call, out = self._calls[index], list[Delta | ToolCall]()
        if not call.is_told:
            call.is_told, more = True, "".join(call.arguments)
            out.append(Delta(tool_calls=(CallDelta(index, call.id, call.name),)))
        if more:
            out.append(Delta(tool_calls=(CallDelta(index, arguments=more),)))
        return out

    def _tell_all(self) -> list[Delta | ToolCall]:
        """The headers that wait for more of a name: none comes when another call begins."""
        waiting = [i for i, c in self._calls.items() if not c.is_told and c.name]
        return [d for i in waiting for d in self._tell(i)]

    def _end_call(self, index: int, state: str) -> list[Delta | ToolCall]:
        """A server says how a call ended: only one that is complete is sealed."""
        call = self._calls[index]
        call.state = state if state in CALL_STATES else "cut"
        if state != "complete" or call.is_sealed:
            return []
        made = judged(index, call, is_cut=False)
        call.is_sealed = made.state == "complete"
        return [made] if call.is_sealed else []

    def _position(self, call: _Object, function: _Object, place: int | None) -> int:
        """Which call this is about, counted in order of appearance.

        Servers give an index; or index 0 and a new id to every call; or no index, and an id or a
        name with the first piece only. In a whole answer the place in the list is all that counts.
        """
        given, call_id = call.get("index"), text(call.get("id"))
        if place is not None:
            key = ("place", str(place))
        elif isinstance(given, int):
            key = ("index", str(given))
            known = self._calls.get(self._order.get(key, -1))
            if known is not None and call_id and known.id and call_id != known.id:
                key = ("id", call_id)
        elif call_id:
            key = ("id", call_id)
        elif function.get("name"):
            key = ("new", str(len(self._calls)))
        else:
            return max(0, len(self._calls) - 1)
        return self._order.setdefault(key, len(self._calls))

    def _seal_all(self) -> list[Delta | ToolCall]:
        """The calls before one that begins: complete if they are JSON."""
        sealed: list[Delta | ToolCall] = []
        for index, call in self._calls.items():
            if not call.is_sealed and call.arguments and not call.state:
                made = judged(index, call, is_cut=False)
                call.is_sealed = made.state == "complete"
                if call.is_sealed:
                    sealed.append(made)
        return sealed

    def _final(self, index: int, call: Received) -> ToolCall:
        if call.is_sealed:
            return judged(index, call, is_cut=False)
        is_last = index == max(self._calls) and self.finish_reason in _CUTS
        return judged(index, call, is_cut=is_last or call.state in ("cut", "forced"))

    def _reason(self, calls: Sequence[ToolCall]) -> FinishReason:
        if self.finish_reason in _CUTS:
            return "length"
        return "tool_calls" if calls else "stop"

    def _noted(self) -> dict[int, ToolCall]:
        """The calls as a server of this library describes them."""
        return {i: noted(i, self._calls[i], note) for i, note in self._descriptions().items()}

    def _descriptions(self) -> dict[int, _Object]:
        """What a server of this library says of each call: at the call, or at the end."""
        found = {i: c.note for i, c in self._calls.items() if c.note is not None}
        for note in _objects(self._notes.get("tool_calls")):
            index = self._order.get(("index", str(note.get("index"))), -1)
            if index in self._calls:
                found[index] = note
        return found

    def _count(self, usage: JSON) -> None:
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        self._usage = Usage(
            number(usage.get("prompt_tokens")),
            number(usage.get("completion_tokens")),
            number(cached),
        )


def error_text(value: JSON) -> str:
    """What a server says is wrong, in one line."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = error.get("message") or error
    text = error if isinstance(error, str) else json.dumps(error)
    return " ".join(text.split())[:500]


def _objects(value: JSON) -> list[dict[str, JSON]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
