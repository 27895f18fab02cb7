"""Tools of MCP servers (extra `[mcp]`).

    async with McpTools("http://localhost:8000/mcp") as tools:
        result = await ToolLoop(model, [now, *tools]).complete(messages)

The target is what the client of `mcp` takes: a URL, parameters of a process to start, or a server
in this process. The hints of a tool become its effect:

    read_only_hint -> read      idempotent_hint -> idempotent      destructive_hint -> destructive

and a tool without hints is a `write`. Hints are a server's own word: pass `effects` to overrule
them by name, since a server that calls everything read-only gets everything run unasked.

The client is entered and left in one task of its own that lives as long as this object, since its
connections can't be closed from another task. Importing `mcp` takes over a second, so it is
imported when the connection is opened.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol, Self, Unpack, cast

from untemplate.budget.policy import Effect
from untemplate.errors import EngineError, RequestError
from untemplate.loop.rules import RulesOptions
from untemplate.loop.tools import HostTool, ToolError, schema_tool
from untemplate.message import JSON

__all__ = ["McpTools"]


class _Hints(Protocol):
    read_only_hint: bool | None
    idempotent_hint: bool | None
    destructive_hint: bool | None


class _Described(Protocol):
    name: str
    description: str | None
    input_schema: dict[str, JSON]
    annotations: _Hints | None


class _Listed(Protocol):
    tools: Sequence[_Described]
    next_cursor: str | None


class _Part(Protocol):
    def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, JSON]: ...


class _Called(Protocol):
    is_error: bool | None
    content: Sequence[_Part]
    structured_content: JSON


class _Client(Protocol):
    async def list_tools(self, *, cursor: str | None = None) -> _Listed: ...
    async def call_tool(self, name: str, arguments: dict[str, object]) -> _Called: ...


_Connect = Callable[[object], AbstractAsyncContextManager[_Client]]


class McpTools:
    """The tools of one MCP server, while it is entered."""

    def __init__(
        self,
        target: object,
        *,
        prefix: str = "",
        effects: Mapping[str, Effect] | None = None,
        connect: _Connect | None = None,
        **options: Unpack[RulesOptions],
    ) -> None:
        """Describe a connection; it is opened on entering.

        Args:
            target: a URL, parameters of a process, or a server in this process.
            prefix: put before each name, to keep two servers apart.
            effects: by the server's own names, instead of its hints.
            connect: opens a client for the target; default `mcp.Client`.
            options: how its tools are run; see `Rules`.
        """
        self._target = target
        self._prefix = prefix
        self._effects = dict(effects or {})
        self._connect = connect
        self._options = options
        self._tools: list[HostTool] = []
        self._owner: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()

    def __iter__(self) -> Iterator[HostTool]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    async def __aenter__(self) -> Self:
        ready: asyncio.Future[list[HostTool]] = asyncio.get_running_loop().create_future()
        self._leave.clear()
        self._owner = asyncio.create_task(self._own(ready))
        try:
            self._tools = await ready
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stop()

    async def _stop(self) -> None:
        self._leave.set()
        self._tools = []
        if self._owner is not None:
            await asyncio.wait({self._owner})

    async def _own(self, ready: "asyncio.Future[list[HostTool]]") -> None:
        """Hold the connection: opened, used and closed around in this one task."""
        try:
            connect = self._connect or _default_client()
            async with connect(self._target) as client:
                tools = [self._made(client, d) async for d in _described(client)]
                if not ready.done():
                    ready.set_result(tools)
                await self._leave.wait()
        except Exception as error:  # noqa: BLE001 - raised again in the task that entered
            if not ready.done():
                known = error if isinstance(error, RequestError) else None
                place = str(getattr(self._target, "command", self._target))[:200]
                ready.set_exception(known or EngineError(f"no MCP server: {error}", place=place))

    def _made(self, client: _Client, described: _Described) -> HostTool:
        name = described.name

        async def call(**arguments: object) -> object:
            return _result(await client.call_tool(name, arguments))

        effect = self._effects.get(name) or _effect(described.annotations)
        return schema_tool(
            self._prefix + name,
            dict(described.input_schema),
            cast("Callable[..., Awaitable[object]]", call),
            description=described.description or "",
            **cast("RulesOptions", {"effect": effect, **self._options}),
        )


def _default_client() -> _Connect:
    try:
        module = importlib.import_module("mcp")
    except ImportError as error:
        raise RequestError(
            "MCP servers need the client: pip install 'untemplate[mcp]'", place="tools"
        ) from error
    return cast("_Connect", module.Client)


async def _described(client: _Client) -> AsyncIterator[_Described]:
    """All tools of a server, page by page."""
    cursor: str | None = None
    while True:
        listed = await client.list_tools(cursor=cursor)
        for described in listed.tools:
            yield described
        cursor = listed.next_cursor
        if cursor is None:
            return


def _effect(hints: _Hints | None) -> Effect:
    """What the hints say; the protocol's own default, destructive, is not taken for granted."""
    if hints is None:
        return "write"
    if hints.read_only_hint:
        return "read"
    if hints.idempotent_hint:
        return "idempotent"
    return "destructive" if hints.destructive_hint else "write"


def _result(called: _Called) -> object:
    """What a tool gave: its structured value, or its text; an error is for the model."""
    texts = [_text(p.model_dump(mode="json", exclude_none=True)) for p in called.content]
    text = "\n".join(t for t in texts if t)
    if called.is_error:
        raise ToolError(text or "the tool failed")
    if called.structured_content is not None:
        return called.structured_content
    return text


def _text(part: dict[str, JSON]) -> str:
    """The text of one part; what is no text is named, not shown."""
    if isinstance(part.get("text"), str):
        return cast("str", part["text"])
    resource = part.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return cast("str", resource["text"])
    return f"[{part.get('type', 'content')} of type {part.get('mimeType', 'unknown')}, not shown]"
