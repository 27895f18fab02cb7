r"""Tools for a template that has none, or that writes no calls.

`polyfill` is for templates without tools: they are described in words, in the system turn.

In comes a conversation with `tools`, `tool_calls` and `tool` messages; out comes one of plain
system, user and assistant messages that any template renders. The words stand in the dialect
(`Dialect.polyfill`), and earlier calls are written as the dialect writes them, so the model sees in
history exactly what its grammar asks of it:

    {"role": "assistant", "tool_calls": [ping]} -> {"role": "assistant", "content": "<tool_call>…"}
    {"role": "tool", "content": "pong"}         -> {"role": "user", "content": "<tool_response>…"}

`describe_tools` is for templates that write calls but show no tools: those are described, with a
call in the form that the dialect has. `spell_calls` is for templates that leave calls out of
history, always or beside content: there the calls alone become text.
"""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from untemplate.dialect import END, CallBlock, Dialect, History, Hole, Polyfill, fill
from untemplate.message import JSON, Tool

__all__ = ["describe_tools", "polyfill", "spell_calls"]

Conversation = Sequence[Mapping[str, JSON]]


def polyfill(messages: Conversation, tools: Sequence[Tool], dialect: Dialect) -> Conversation:
    """The conversation without tool fields, tools described in its system message."""
    words = dialect.polyfill
    assert words is not None
    call, block = next((n, b) for n, b in dialect.blocks.items() if isinstance(b, CallBlock))
    names: dict[str, str] = {}
    out: list[dict[str, JSON]] = []
    after_result = False
    for message in messages:
        if message.get("role") == "assistant" and message.get("tool_calls"):
            names.update((c[Hole.ID], c[Hole.NAME]) for c in _calls(message, block))
            out.append(_spelt(message, dialect, call, block))
        elif message.get("role") == "tool":
            name = str(message.get("name") or names.get(str(message.get("tool_call_id")), ""))
            text = words.result.replace("{name}", name).replace("{result}", _text(message))
            if after_result:
                text = f"{_text(out.pop())}\n{text}"
            out.append({"role": "user", "content": text})
        else:
            out.append(dict(message))
        after_result = message.get("role") == "tool"
    if tools:
        system = words.system.replace("{tools}", "\n".join(_described(words, t) for t in tools))
        out = [dict(m) for m in _with_system(out, system)]
        examples: list[dict[str, JSON]] = []
        for example in words.examples:
            examples.append({"role": "user", "content": example.user})
            examples.append({"role": "assistant", "content": example.assistant})
        out[1:1] = examples
    return out


def describe_tools(
    messages: Conversation, tools: Sequence[Tool], dialect: Dialect, words: Polyfill
) -> Conversation:
    """The conversation with the tools in its system message, and how the dialect writes a call."""
    name, block = next((n, b) for n, b in dialect.blocks.items() if isinstance(b, CallBlock))
    given: JSON = {"function": {"name": "TOOL", "arguments": {"NAME": "VALUE"}}, "id": "0"}
    call = str(_spelt({"tool_calls": [given]}, dialect, name, block)["content"])
    schemas = "\n".join(json.dumps(_schema(t), ensure_ascii=False) for t in tools)
    return _with_system(messages, words.native.replace("{call}", call).replace("{tools}", schemas))


def _with_system(messages: Conversation, text: str) -> Conversation:
    """The conversation with more text in its system message, which may be new."""
    if not messages or messages[0].get("role") not in ("system", "developer"):
        return ({"role": "system", "content": text}, *messages)
    first = messages[0]
    return ({**first, "content": f"{_text(first)}\n\n{text}"}, *messages[1:])


def spell_calls(messages: Conversation, dialect: Dialect) -> Conversation:
    """The conversation with calls as text in the messages whose calls the template leaves out."""
    if all("tool_calls" not in m for m in messages):
        return messages
    found = ((n, b) for n, b in dialect.blocks.items() if isinstance(b, CallBlock))
    call, block = next(found, ("", None))
    if block is None:
        return messages
    roles = ("", *(m.get("role") for m in messages))
    return [
        message
        if _is_written(message, dialect.place("tool" if before == "tool" else "user"))
        else _spelt(message, dialect, call, block)
        for message, before in zip(messages, roles, strict=False)
    ]


def _is_written(message: Mapping[str, JSON], history: History | None) -> bool:
    """Whether history holds the calls of a message: in a frame of their own, and not too many."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls or history is None:
        return True
    has = ("content", "calls") if message.get("content") else ("calls",)
    frames = (f for f in history.frames if f.has == has)
    most = history.calls_max
    # Where one call is all that a template takes, each gets a message of its own.
    few = most is None or most == 1 or len(calls) <= most
    return few and any(p.field == "calls" for f in frames for p in f.parts)


def _spelt(
    message: Mapping[str, JSON], dialect: Dialect, call: str, block: CallBlock
) -> dict[str, JSON]:
    """The message with its calls in its content, as its model wrote them."""
    content = _text(message)
    openings = (o.literal for p in dialect.prompts for o in p.openings if o.block == call)
    lead = dialect.literal("content", call) if content else next(openings, "")
    calls = (fill(block.pattern, c) for c in _calls(message, block))
    written = dialect.literal(call, call).join(calls) + dialect.literal(call, END)
    kept = {k: v for k, v in message.items() if k != "tool_calls"}
    return {**kept, "content": content + lead + written}


def _text(message: Mapping[str, JSON]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict)]
        return "".join(p for p in parts if isinstance(p, str))
    return "" if content is None else json.dumps(content, ensure_ascii=False)


def _calls(message: Mapping[str, JSON], block: CallBlock) -> list[dict[Hole, str]]:
    """What fills the holes of each call; arguments that are no JSON object stay as they are."""
    out: list[dict[Hole, str]] = []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(function, dict):
            out.append(
                {
                    Hole.ID: str(call.get("id")),
                    Hole.NAME: str(function.get("name")),
                    Hole.INDEX: str(block.index_base + len(out)),
                    Hole.ARGUMENTS: _arguments(function.get("arguments"), block),
                }
            )
    return out


def _arguments(given: JSON, block: CallBlock) -> str:
    value = given
    if isinstance(given, str):
        try:
            value = cast("JSON", json.loads(given))
        except (ValueError, RecursionError):
            return given
    return block.arguments.write(value) if isinstance(value, dict) else str(given)


def _described(words: Polyfill, tool: Tool) -> str:
    line = words.tool
    for hole, text in (
        ("{name}", tool.name),
        ("{signature}", _members(tool.parameters)),
        ("{description}", tool.description),
        ("{schema}", json.dumps(_schema(tool), ensure_ascii=False)),
    ):
        line = line.replace(hole, text)
    return line


def _schema(tool: Tool) -> dict[str, JSON]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _members(schema: Mapping[str, JSON]) -> str:
    """Properties as a signature: `city: string, unit?: "c" | "f"`."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    return ", ".join(
        f"{name}{'' if name in needed else '?'}: {_type(value)}"
        for name, value in (properties if isinstance(properties, dict) else {}).items()
    )


def _type(schema: JSON) -> str:
    if not isinstance(schema, dict):
        return "any"
    if isinstance(options := schema.get("enum"), list):
        return " | ".join(json.dumps(o, ensure_ascii=False) for o in options)
    kind = schema.get("type", "any")
    if kind == "object" and schema.get("properties"):
        return f"{{{_members(schema)}}}"
    if kind == "array":
        item = _type(schema.get("items"))
        return f"({item})[]" if " | " in item else f"{item}[]"
    return " | ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
