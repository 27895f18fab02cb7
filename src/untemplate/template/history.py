"""Prepares an OpenAI conversation for a template: what it can't take is said in a way it can.

    prepare(messages, capabilities) -> Prepared(messages, changes)

Arguments become objects or JSON text, reasoning goes into the field that the template reads, a
system message that has no place is merged into the next user message, ids get the form that is
asked for, several calls are split where only one is taken. Keys that are not known here are kept.
History is never refused: a call that was cut is closed, one that is no JSON object gets an empty
one, and each change that alters meaning is listed with the place of its message.
"""

import hashlib
import json
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from untemplate.message import JSON
from untemplate.template.capabilities import Capabilities, IdForm

__all__ = ["Change", "Prepared", "prepare"]

Message = dict[str, JSON]

_REASONING_KEYS = ("reasoning_content", "reasoning")
_ALPHANUMERIC = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Change:
    """What was altered in a message, and where it stands in the conversation."""

    place: str
    what: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A conversation as the template takes it."""

    messages: tuple[Mapping[str, JSON], ...]
    changes: tuple[Change, ...]


def prepare(messages: Sequence[Mapping[str, JSON]], capabilities: Capabilities) -> Prepared:
    """The conversation in the form that the template takes, and what had to be changed."""
    preparation = _Preparation(capabilities)
    for number, message in enumerate(messages):
        preparation.add(number, message)
    return preparation.finish()


class _Preparation:
    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities
        self._out: list[Message] = []
        self._changes: list[Change] = []
        self._system: list[str] = []
        self._ids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._calls = 0
        self._pending: list[Message] = []
        self._place = ""

    def add(self, number: int, message: Mapping[str, JSON]) -> None:
        self._place = f"messages[{number}]"
        role = message.get("role")
        if role != "tool":
            self._flush_pending()
        if role in ("system", "developer"):
            self._add_system(dict(message))
        elif role == "assistant":
            self._add_assistant(dict(message))
        elif role == "tool":
            self._add_result(dict(message))
        else:
            self._add_user(dict(message))

    def finish(self) -> Prepared:
        self._flush_pending()
        if self._system:
            self._out.append({"role": "user", "content": self._content("\n\n".join(self._system))})
        return Prepared(tuple(self._out), tuple(self._changes))

    def _report(self, what: str) -> None:
        self._changes.append(Change(self._place, what))

    def _content(self, content: JSON) -> JSON:
        """Content as a string or as parts, as the template wants it."""
        if self._capabilities.content == "parts" and isinstance(content, str):
            return [{"type": "text", "text": content}]
        if self._capabilities.content == "string" and isinstance(content, list):
            texts = [_part_text(part) for part in content]
            if all(t is not None for t in texts):
                return "".join(t for t in texts if t is not None)
        return content

    def _add_system(self, message: Message) -> None:
        if message["role"] == "developer" and not self._capabilities.developer:
            message["role"] = "system"
        if not self._capabilities.system:
            self._report("system message merged into the next user message")
            self._system.append(_text(message.get("content")))
            return
        self._out.append({**message, "content": self._content(message.get("content"))})

    def _add_user(self, message: Message) -> None:
        if self._system:
            lead = "\n\n".join(self._system) + "\n\n"
            self._system.clear()
            content = message.get("content")
            if isinstance(content, list):
                message["content"] = [{"type": "text", "text": lead}, *content]
            else:
                message["content"] = lead + _text(content)
        self._out.append({**message, "content": self._content(message.get("content"))})

    def _add_result(self, message: Message) -> None:
        written = str(message.get("tool_call_id") or "")
        if written in self._ids:
            message["tool_call_id"] = self._ids[written]
        if "name" not in message and written in self._names:
            message["name"] = self._names[written]
        message["content"] = self._content(message.get("content"))
        if self._pending:
            self._interleave(message)
        else:
            self._out.append(message)

    def _interleave(self, result: Message) -> None:
        """Put the next of the split calls before its result."""
        wanted = result.get("tool_call_id")
        position = next(
            (n for n, m in enumerate(self._pending) if _first_id(m) == wanted),
            None,
        )
        if position is not None:
            self._out.append(self._pending.pop(position))
        self._out.append(result)

    def _flush_pending(self) -> None:
        self._out.extend(self._pending)
        self._pending.clear()

    def _add_assistant(self, message: Message) -> None:
        content = self._content(message.get("content"))
        reasoning = next(
            (t for k in _REASONING_KEYS if (t := _text(message.get(k)))),
            "",
        )
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            message["tool_calls"] = [self._call(c) for c in calls]
        else:
            message.pop("tool_calls", None)
            calls = []
        content, reasoning = self._parted(content, reasoning, has_calls=bool(calls))
        if not content:
            empty = None if calls and self._capabilities.no_content == "null" else ""
            content = self._content(empty)
        message["content"] = content
        self._place_reasoning(message, reasoning)
        self._split(message)

    def _parted(self, content: JSON, reasoning: str, *, has_calls: bool) -> tuple[JSON, str]:
        """Content and reasoning as they may stand beside each other and calls."""
        refused = self._capabilities.refused
        calls = ("calls",) * has_calls
        if not (content and reasoning and ("reasoning", "content", *calls) in refused):
            return content, reasoning
        if has_calls and ("reasoning", "calls") not in refused:
            self._report("content is told as reasoning: the template refuses both beside calls")
            return "", f"{reasoning}\n\n{_text(content)}"
        self._report("reasoning is left out: the template refuses it beside content")
        return content, ""

    def _place_reasoning(self, message: Message, reasoning: str) -> None:
        place = self._capabilities.reasoning
        if not reasoning or place is None:
            return
        for key in _REASONING_KEYS:
            message.pop(key, None)
        if place.kind == "field":
            message[place.name] = reasoning
            return
        content = message["content"]
        parts: list[JSON] = content if isinstance(content, list) else []
        if isinstance(content, str) and content:
            parts = [{"type": "text", "text": content}]
        written: JSON = {"type": place.name, place.name: reasoning}
        message["content"] = [written, *parts]

    def _split(self, message: Message) -> None:
        """One message for each call, where the template takes no more."""
        most = self._capabilities.calls_max
        calls = message.get("tool_calls")
        if most is None or not isinstance(calls, list) or len(calls) <= most:
            self._out.append(message)
            return
        self._report(f"{len(calls)} calls split into messages of {most}")
        groups = [calls[n : n + most] for n in range(0, len(calls), most)]
        self._out.append({**message, "tool_calls": groups[0]})
        self._pending = [
            {"role": "assistant", "content": self._content(""), "tool_calls": group}
            for group in groups[1:]
        ]

    def _call(self, call: JSON) -> JSON:
        if not isinstance(call, dict):
            self._report("a call that is no object was left as it is")
            return call
        function = call.get("function")
        function = dict(function) if isinstance(function, dict) else {}
        name = str(function.get("name") or "")
        out: Message = {"type": "function", **call}
        out["function"] = {**function, "name": name, "arguments": self._arguments(function)}
        written = str(call.get("id") or f"call_{self._calls}")
        out["id"] = self._ids[written] = _form_id(
            written, self._capabilities.ids, name, self._calls
        )
        self._names[written] = name
        self._calls += 1
        return out

    def _arguments(self, function: Message) -> JSON:
        given = function.get("arguments")
        value = given
        if isinstance(given, str):
            value = _parse(given or "{}")
            if not isinstance(value, dict):
                value = _parse(_closed(given))
                self._report(
                    "arguments that were cut were closed"
                    if isinstance(value, dict)
                    else "arguments that are no JSON object were left out"
                )
        if not isinstance(value, dict):
            value = {}
        quote = self._capabilities.bare_quote
        if quote:
            value = {k: _quotable(v, quote) for k, v in value.items()}
        if self._capabilities.arguments == "string":
            return json.dumps(value, ensure_ascii=False)
        return value


def _quotable(value: JSON, quote: str) -> JSON:
    """A string as it has to stand between quotes; other values as they are."""
    if not isinstance(value, str):
        return value
    for plain, written in (("\\", "\\\\"), (quote, "\\" + quote), ("\n", "\\n"), ("\r", "\\r")):
        value = value.replace(plain, written)
    return value


def _part_text(part: JSON) -> str | None:
    """Text of a text part; None for a part that is something else."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return cast("str", part["text"])
    return None


def _text(content: JSON) -> str:
    if isinstance(content, list):
        return "".join(_part_text(p) or "" for p in content)
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _first_id(message: Message) -> JSON:
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    return first.get("id") if isinstance(first, dict) else None


def _parse(text: str) -> JSON:
    """The JSON value of a text, None when there is none."""
    try:
        return cast("JSON", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _closed(text: str) -> str:
    """The text with its open strings, arrays and objects closed; a cut last value is left out."""
    stack: list[str] = []
    in_string = escaped = False
    complete = 0
    closing = ""
    for position, character in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
            complete, closing = position + 1, "".join(reversed(stack))
        elif character in "}]" and stack:
            stack.pop()
            complete, closing = position + 1, "".join(reversed(stack))
        elif character == ",":
            complete, closing = position, "".join(reversed(stack))
    whole = text + ('"' if in_string else "") + "".join(reversed(stack))
    return whole if _parse(whole) is not None else text[:complete] + closing


def _form_id(written: str, form: IdForm, name: str, number: int) -> str:
    """The id as the template insists on; the same for the same call, always."""
    if form.pattern:
        return form.pattern.replace("{name}", name).replace("{index}", str(number))
    if not form.length or (
        len(written) == form.length and all(c in _ALPHANUMERIC for c in written)
    ):
        return written
    digest = int.from_bytes(hashlib.sha256(written.encode("utf-8", "replace")).digest(), "big")
    out = ""
    for _ in range(form.length):
        digest, place = divmod(digest, len(_ALPHANUMERIC))
        out += _ALPHANUMERIC[place]
    return out
