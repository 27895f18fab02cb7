"""Messages, tools and the tool choice of OpenAI's chat API, from plain JSON to library values.

    read_tools([{"type": "function", "function": {"name": "ping"}}])   -> (Tool("ping"),)
    read_tool_choice({"type": "function", "function": {"name": "ping"}})
                                                       -> ToolChoice("required", "ping")
    read_messages([{"role": 7}])     raises RequestError("messages[0].role: expected a string")

Messages stay the dicts that they are: templates read keys that OpenAI does not know. What is
checked is what the rest of the library relies on. Whether a role exists, or a call may be answered
twice, is for the template to say. Images, sound and files are refused: nothing here reads them.
"""

import re
from dataclasses import replace

from untemplate.errors import RequestError
from untemplate.message import JSON, Continue, Tool, ToolChoice, kind_of

__all__ = [
    "read_continue",
    "read_messages",
    "read_response_format",
    "read_tool_choice",
    "read_tools",
    "read_variables",
]

_RESERVED = frozenset(
    {
        "add_generation_prompt",
        "bos_token",
        "chat_template",
        "continue_final_message",
        "control",
        "eos_token",
        "messages",
        "nonce",
        "now",
        "options",
        "self",
        "template",
        "tool_choice",
        "tools",
    }
)
"""Names that mean something else to those who render; a request may not set them."""

_MEDIA = ("image", "audio", "video", "file")
_NAME = re.compile(r"[\w.:/-]{1,128}")
_ROLE = re.compile(r"[\w.:/-]{1,64}")


def read_messages(value: JSON, *, place: str = "messages") -> list[dict[str, JSON]]:
    """The messages of a request, checked and otherwise as they were sent."""
    items = _list(value, place)
    if not items:
        raise RequestError("expected at least one message", place=place)
    return [_message(item, f"{place}[{i}]") for i, item in enumerate(items)]


def read_tools(value: JSON, *, place: str = "tools") -> tuple[Tool, ...]:
    """The declared tools; None is no tools. Their schemas are checked where they are used."""
    if value is None:
        return ()
    tools: dict[str, Tool] = {}
    for i, item in enumerate(_list(value, place)):
        tool = _tool(_object(item, f"{place}[{i}]"), f"{place}[{i}]")
        if tool.name in tools:
            raise RequestError(
                f"two tools are named {tool.name!r}", place=f"{place}[{i}].function.name"
            )
        tools[tool.name] = tool
    return tuple(tools.values())


def read_tool_choice(
    value: JSON, *, parallel: bool = True, place: str = "tool_choice"
) -> ToolChoice:
    """`auto` (also None), `none`, `required`, or an object that names one function."""
    match value:
        case None | "auto":
            return ToolChoice(parallel=parallel)
        case "none":
            return ToolChoice("none", parallel=parallel)
        case "required":
            return ToolChoice("required", parallel=parallel)
        case {"type": "function", "function": {"name": str(name)}}:
            return ToolChoice("required", name, parallel=parallel)
        case _:
            raise RequestError(
                'expected "auto", "none", "required" or {"type": "function", "function": {"name":'
                " ...}}",
                place=place,
            )


def read_continue(value: JSON, *, place: str = "continue_final_message") -> Continue:
    """Whether the last message goes on, or which field of it; None is no."""
    match value:
        case None | False:
            return False
        case True:
            return True
        case "content" | "reasoning_content":
            return value
        case _:
            raise RequestError(
                'expected true, false, "content" or "reasoning_content"', place=place
            )


def read_response_format(value: JSON, *, place: str = "response_format") -> tuple[JSON, bool]:
    """The schema of the answer, None is text, and whether it is strict.

    The schema is checked where it is used.

    `json_object` takes a schema as well, as llama.cpp does.
    """
    if value is None:
        return None, False
    form = _object(value, place)
    match form.get("type"):
        case "text":
            return None, False
        case "json_object":
            return _object(form.get("schema", {"type": "object"}), f"{place}.schema"), False
        case "json_schema":
            inner = f"{place}.json_schema"
            described = _object(form.get("json_schema"), inner)
            if not isinstance(described.get("name"), str | None):
                raise RequestError("expected a string", place=f"{inner}.name")
            strict = described.get("strict")
            if not isinstance(strict, bool | None):
                raise RequestError("expected true or false", place=f"{inner}.strict")
            return _object(described.get("schema", {}), f"{inner}.schema"), bool(strict)
        case _:
            raise RequestError(
                'expected "text", "json_object" or "json_schema"', place=f"{place}.type"
            )


def read_variables(value: JSON, *, place: str = "chat_template_kwargs") -> dict[str, JSON]:
    """Further variables for the template (`enable_thinking`, say); None is none."""
    variables = {} if value is None else _object(value, place)
    for name in variables:
        if name in _RESERVED or not name.isidentifier() or name.startswith("_"):
            raise RequestError(f"{name!r} can't be set by a request", place=f"{place}.{name}")
    return dict(variables)


def _message(value: JSON, place: str) -> dict[str, JSON]:
    message = _object(value, place)
    role = _string(message, "role", place)
    if not _ROLE.fullmatch(role):
        raise RequestError("expected the name of a role, such as user", place=f"{place}.role")
    calls = message.get("tool_calls")
    if calls is not None:
        for i, call in enumerate(_list(calls, f"{place}.tool_calls")):
            _check_call(call, f"{place}.tool_calls[{i}]")
    _check_content(message, place, optional=role == "assistant")
    return message


def _check_content(message: dict[str, JSON], place: str, *, optional: bool) -> None:
    content = message.get("content")
    if isinstance(content, list):
        for i, part in enumerate(content):
            _check_part(part, f"{place}.content[{i}]")
    elif not isinstance(content, str) and not (optional and content is None):
        raise RequestError("expected text, or a list of text parts", place=f"{place}.content")


def _check_part(value: JSON, place: str) -> None:
    part = _object(value, place)
    kind = _string(part, "type", place)
    if any(word in kind for word in _MEDIA):
        raise RequestError(f"text only, not {kind}; send a text part", place=f"{place}.type")
    if kind == "text":
        _string(part, "text", place)


def _check_call(value: JSON, place: str) -> None:
    call = _object(value, place)
    function = _object(call.get("function"), f"{place}.function")
    _string(function, "name", f"{place}.function")
    if not isinstance(function.get("arguments", "{}"), str | dict):
        raise RequestError(
            "expected the arguments as JSON text", place=f"{place}.function.arguments"
        )


def _tool(value: dict[str, JSON], place: str) -> Tool:
    kind = value.get("type", "function")
    if kind != "function":
        raise RequestError(f"expected function, not {kind!r}", place=f"{place}.type")
    inner = f"{place}.function"
    function = _object(value.get("function"), inner)
    name = _string(function, "name", inner)
    if not _NAME.fullmatch(name):
        raise RequestError(
            "expected up to 128 letters, digits or any of _ - . : /", place=f"{inner}.name"
        )
    description = function.get("description")
    strict = function.get("strict")
    if not isinstance(description, str | None):
        raise RequestError("expected a string", place=f"{inner}.description")
    if not isinstance(strict, bool | None):
        raise RequestError("expected true or false", place=f"{inner}.strict")
    tool = Tool(name, description or "", strict=bool(strict))
    if function.get("parameters") is None:
        return tool
    return replace(tool, parameters=_object(function["parameters"], f"{inner}.parameters"))


def _object(value: JSON, place: str) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise RequestError(f"expected an object, not {kind_of(value)}", place=place)
    return value


def _list(value: JSON, place: str) -> list[JSON]:
    if not isinstance(value, list):
        raise RequestError(f"expected a list, not {kind_of(value)}", place=place)
    return value


def _string(value: dict[str, JSON], key: str, place: str) -> str:
    found = value.get(key)
    if not isinstance(found, str):
        what = f"not {kind_of(found)}" if key in value else "it is missing"
        raise RequestError(f"expected a string, {what}", place=f"{place}.{key}")
    return found
