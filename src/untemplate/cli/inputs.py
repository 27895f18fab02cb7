"""What several commands take: a template, JSON files, a request; and how bad ones are named."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

import click

from untemplate.errors import RequestError
from untemplate.message import JSON, Continue, Tool, ToolChoice
from untemplate.wire.openai.conversation import (
    read_continue,
    read_messages,
    read_tool_choice,
    read_tools,
    read_variables,
)

__all__ = ["FILE", "PLACE", "Request", "load_json", "load_request", "load_tools"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
PLACE = click.Path(exists=True, path_type=Path)
"""A file or a folder."""


@dataclass(frozen=True, slots=True)
class Request:
    """The part of an OpenAI request that decides its prompt."""

    messages: list[dict[str, JSON]]
    tools: tuple[Tool, ...] = ()
    choice: ToolChoice = field(default_factory=ToolChoice)
    variables: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    continue_final_message: Continue = False


def load_json(stream: IO[bytes]) -> JSON:
    """The JSON value in a stream; errors name the stream."""
    try:
        return cast("JSON", json.loads(stream.read()))
    except (ValueError, RecursionError) as error:
        place = str(getattr(stream, "name", "stdin")).strip("<>")
        raise RequestError(f"is not JSON: {error}", place=place) from None


def load_tools(stream: IO[bytes]) -> tuple[Tool, ...]:
    """A list of tools as OpenAI writes them."""
    return read_tools(load_json(stream))


def load_request(stream: IO[bytes]) -> Request:
    """A request as `/v1/chat/completions` takes it; or its messages alone."""
    value = load_json(stream)
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, dict):
        raise RequestError("expected an object with messages", place="request")
    parallel = value.get("parallel_tool_calls") is not False
    return Request(
        read_messages(value.get("messages")),
        read_tools(value.get("tools")),
        read_tool_choice(value.get("tool_choice"), parallel=parallel),
        read_variables(value.get("chat_template_kwargs")),
        continue_final_message=read_continue(value.get("continue_final_message")),
    )
