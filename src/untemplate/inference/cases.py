"""The format of a recorded case: what was asked, what a model wrote, and what has to come out.

    read_case({"id": "a1", "template": "x.jinja", "input": "Hi", "expected": {"content": "Hi"}})
    -> Case("a1", "x.jinja", "Hi", Expected("Hi"))

What is not given is as usual: a conversation of one greeting, any tool under any name, no choice.
How a case is judged stands in `conform`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from untemplate.errors import RequestError
from untemplate.message import JSON, Continue, Tool, ToolChoice

__all__ = ["Case", "Expected", "ExpectedCall", "read_case"]

_HELLO: Sequence[Mapping[str, JSON]] = ({"role": "user", "content": "Hi"},)


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that has to come out."""

    name: str
    arguments: Mapping[str, JSON] | str
    """A JSON object; or the text of one that is not finished."""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What has to come out."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[ExpectedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """What was asked, what a model wrote, and what has to come out."""

    id: str
    template: str
    """Name of the template's file."""
    input: str
    """What the model wrote after the prompt."""
    expected: Expected
    messages: Sequence[Mapping[str, JSON]] = _HELLO
    is_recorded: bool = True
    """Whether the conversation before the input is the one that was recorded."""
    tools: tuple[Tool, ...] | None = None
    """None: any tool may be called, whatever its name."""
    choice: ToolChoice = field(default_factory=ToolChoice)
    variables: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    response_schema: JSON = None
    """What content has to be, where the turn is no call."""
    reasoning_is_content: bool = False
    continues: Continue = False
    """The last message is the beginning of the one that is read, and goes on in this field."""
    is_partial: bool = False
    generation_prompt: str | None = None
    must_accept: str = ""
    """Text that the grammar has to allow."""


def read_case(value: JSON, place: str = "case") -> Case:
    """A case as the corpus writes it, or RequestError with the place that is wrong."""
    fields = _object(value, place)
    for name in ("id", "template", "input"):
        if not isinstance(fields.get(name), str):
            raise RequestError("expected a string", place=f"{place}: {name}")
    tools = fields.get("tools")
    parallel = fields.get("parallel_tool_calls") is not False
    variables = _object(fields.get("chat_template_kwargs") or {}, f"{place}: chat_template_kwargs")
    if fields.get("enable_thinking") is not None:
        variables = {"enable_thinking": fields["enable_thinking"], **variables}
    generation_prompt = fields.get("generation_prompt")
    return Case(
        id=str(fields["id"]),
        template=str(fields["template"]),
        input=str(fields["input"]),
        expected=_expected(fields.get("expected"), f"{place}: expected"),
        messages=_objects(fields.get("messages"), f"{place}: messages") or _HELLO,
        is_recorded=bool(fields.get("messages")),
        tools=None if tools is None else _tools(tools, f"{place}: tools"),
        choice=_choice(fields.get("tool_choice"), place, parallel=parallel),
        variables=variables,
        response_schema=fields.get("json_schema"),
        reasoning_is_content=fields.get("reasoning_format") == "none",
        continues=_continues(fields.get("continue_final_message"), place),
        is_partial=fields.get("is_partial") is True,
        generation_prompt=generation_prompt if isinstance(generation_prompt, str) else None,
        must_accept=str(fields.get("must_accept") or ""),
    )


def _object(value: JSON, place: str) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise RequestError("expected an object", place=place)
    return value


def _objects(value: JSON, place: str) -> list[dict[str, JSON]]:
    """A list of objects; null is an empty one."""
    if not isinstance(value, list | None):
        raise RequestError("expected a list", place=place)
    return [_object(v, place) for v in value or ()]


def _function(value: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """A tool or a call, flat or inside `function`."""
    function = value.get("function")
    return {**value, **function} if isinstance(function, dict) else value


def _tools(value: JSON, place: str) -> tuple[Tool, ...]:
    functions = [_function(t) for t in _objects(value, place)]
    # A tool without parameters takes none; some templates insist on seeing that said.
    none: JSON = {"type": "object", "properties": {}}
    return tuple(
        Tool(
            str(f.get("name")),
            str(f.get("description") or ""),
            _object(f.get("parameters") or none, place),
        )
        for f in functions
    )


def _choice(value: JSON, place: str, *, parallel: bool) -> ToolChoice:
    match value:
        case None | "auto":
            return ToolChoice(parallel=parallel)
        case "none":
            return ToolChoice("none")
        case "required":
            return ToolChoice("required", parallel=parallel)
        case {"function": {"name": str(name)}}:
            return ToolChoice("required", name, parallel=parallel)
        case _:
            raise RequestError("expected auto, none or required", place=f"{place}: tool_choice")


def _continues(value: JSON, place: str) -> Continue:
    match value:
        case None | False | "none":
            return False
        case True:
            return True
        case "content" | "reasoning_content":
            return value
        case _:
            raise RequestError(
                "expected none, or a field", place=f"{place}: continue_final_message"
            )


def _expected(value: JSON, place: str) -> Expected:
    fields = _object(value, place)
    reasoning = fields.get("reasoning_content") or fields.get("reasoning")
    calls = (_function(c) for c in _objects(fields.get("tool_calls"), place))
    return Expected(
        str(fields.get("content") or ""),
        str(reasoning or ""),
        tuple(
            ExpectedCall(str(c.get("name")), _arguments(c), str(c.get("id") or "")) for c in calls
        ),
    )


def _arguments(call: Mapping[str, JSON]) -> Mapping[str, JSON] | str:
    """The arguments as an object; their text when it is not finished."""
    value = call.get("arguments")
    if value is None:
        value = call.get("arguments_raw")
    if isinstance(value, str):
        try:
            parsed = cast("JSON", json.loads(value))
        except ValueError:
            return value
        value = parsed
    return value if isinstance(value, dict) else {}
