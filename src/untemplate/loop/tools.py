"""Tools that the host runs: a definition for the model, a function, and the rules for running it.

    def now() -> str:
        "The time."
    ToolLoop(model, [now])                                              a plain function

    @tool(effect="read", timeout_s=5)
    def search(query: str, limit: int = 5) -> list[str]: ...

    schema_tool("search", {"type": "object", ...}, run, effect="read")  raw JSON Schema

What the rules mean stands in `rules`. A tool raises `ToolError` to tell the model something; the
text of any other exception stays with the host, in its log.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Unpack, cast, overload

from untemplate.errors import RequestError
from untemplate.loop.arguments import SchemaChecker
from untemplate.loop.context import ToolContext
from untemplate.loop.rules import Rules, RulesOptions, rules
from untemplate.loop.signature import read_signature
from untemplate.message import JSON, Tool

__all__ = ["HostTool", "ToolError", "ToolLike", "collect_tools", "schema_tool", "tool"]


class ToolError(Exception):
    """Raised by a tool on purpose: the text is for the model."""


@dataclass(frozen=True, slots=True)
class HostTool:
    """A tool and the rules for running it. Make one with `tool` or `schema_tool`."""

    definition: Tool
    rules: Rules
    checker: SchemaChecker = field(repr=False)
    convert: Callable[[Mapping[str, JSON]], Mapping[str, object]] = field(repr=False)
    """Arguments that fit the schema to values of the right types. May raise `TypesError`."""
    run: Callable[[Mapping[str, object], ToolContext], object] = field(repr=False)
    """Gets the converted arguments by name; gives an awaitable if `is_async`."""
    function: Callable[..., object] = field(repr=False)
    """What the tool was made from."""
    is_async: bool = False

    @property
    def name(self) -> str:
        return self.definition.name

    def __call__(self, *args: object, **kwargs: object) -> object:
        """The function itself, so that a decorated one can still be called."""
        return self.function(*args, **kwargs)


ToolLike = HostTool | Callable[..., object]


@overload
def tool(function: Callable[..., object], /, **options: Unpack[RulesOptions]) -> HostTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool = False,
    **options: Unpack[RulesOptions],
) -> Callable[[Callable[..., object]], HostTool]: ...
def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool = False,
    **options: Unpack[RulesOptions],
) -> HostTool | Callable[[Callable[..., object]], HostTool]:
    """A tool from a plain function; also a decorator, with or without options.

    Args:
        function: sync or async; its signature and docstring describe it to the model.
        name: instead of the function's own.
        description: instead of the docstring's.
        strict: refuse requests whose schema can't be enforced exactly.
        options: how it may be run; see `Rules`.

    Raises:
        RequestError: the options or the signature are wrong, or pydantic is missing.
        SchemaError: the type of a parameter has no JSON Schema.
    """

    def make(function: Callable[..., object]) -> HostTool:
        bound = read_signature(function, name=name)
        words = bound.description if description is None else description
        return HostTool(
            Tool(bound.name, words, bound.schema, strict),
            rules(options, place=f"tool {bound.name}"),
            SchemaChecker(bound.schema, place=f"tool {bound.name}"),
            bound.convert,
            bound.call,
            function,
            _is_async(function),
        )

    return make if function is None else make(function)


def schema_tool(
    name: str,
    parameters: dict[str, JSON],
    function: Callable[..., object],
    *,
    description: str = "",
    strict: bool = False,
    wants_context: bool = False,
    **options: Unpack[RulesOptions],
) -> HostTool:
    """A tool from a JSON Schema; the function gets the checked arguments by keyword.

    Args:
        name: what the model calls it.
        parameters: JSON Schema of the arguments object; references have to stay inside it.
        function: sync or async.
        description: what it does.
        strict: refuse requests whose schema can't be enforced exactly.
        wants_context: pass a `ToolContext` as the first argument.
        options: how it may be run; see `Rules`.

    Raises:
        RequestError: an option is wrong.
        SchemaError: the schema is not valid.
    """

    def run(values: Mapping[str, object], context: ToolContext) -> object:
        return function(context, **values) if wants_context else function(**values)

    return HostTool(
        Tool(name, description, parameters, strict),
        rules(options, place=f"tool {name}"),
        SchemaChecker(parameters, place=f"tool {name}"),
        lambda arguments: arguments,
        run,
        function,
        _is_async(function),
    )


def collect_tools(tools: Iterable[ToolLike]) -> dict[str, HostTool]:
    """Tools by name; plain functions are made tools.

    Raises:
        RequestError: two tools have one name, or something is neither a tool nor a function.
    """
    collected: dict[str, HostTool] = {}
    for given in tools:
        if not callable(cast("object", given)):
            raise RequestError(f"{given!r} is neither a function nor a tool", place="tools")
        made = given if isinstance(given, HostTool) else tool(given)
        if made.name in collected:
            raise RequestError(f"two tools are named {made.name!r}", place="tools")
        collected[made.name] = made
    return collected


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - not whether, but which
    )
