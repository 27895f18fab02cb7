"""Tools of MCP servers: a small client of our own, and the real one where it is installed."""

import asyncio
import contextlib
import json
from dataclasses import dataclass, field

import pytest

from tool_loop import USER, check_history, check_no_tasks, once, statuses
from untemplate.errors import EngineError, RequestError
from untemplate.loop import McpTools, ToolLoop


@dataclass
class Hints:
    read_only_hint: bool | None = None
    idempotent_hint: bool | None = None
    destructive_hint: bool | None = None


@dataclass
class Described:
    name: str
    annotations: Hints | None = None
    description: str | None = "Does it."
    input_schema: dict = field(default_factory=lambda: {"type": "object"})


@dataclass
class Listed:
    tools: list
    next_cursor: str | None = None


@dataclass
class Part:
    fields: dict

    def model_dump(self, *, mode, exclude_none):
        return self.fields


@dataclass
class Called:
    content: list
    is_error: bool = False
    structured_content: object = None


class Server:
    """A client with its server, which notes in which task it is used and closed."""

    def __init__(self, *pages, answer=None):
        self.pages, self.answer = pages, answer or (lambda name, arguments: Called([]))
        self.tasks, self.called = [], []

    @contextlib.asynccontextmanager
    async def connect(self, target):
        self.tasks.append(asyncio.current_task())
        try:
            yield self
        finally:
            self.tasks.append(asyncio.current_task())

    async def list_tools(self, *, cursor=None):
        number = int(cursor or 0)
        following = str(number + 1) if number + 1 < len(self.pages) else None
        return Listed([*self.pages[number]], following)

    async def call_tool(self, name, arguments):
        self.called.append((name, arguments))
        return self.answer(name, arguments)


def test_hints_become_effects_and_options_hold():
    server = Server(
        [Described("a", Hints(read_only_hint=True)), Described("b", Hints(idempotent_hint=True))],
        [Described("c", Hints(destructive_hint=True)), Described("d"), Described("e", Hints())],
    )

    async def main():
        tools = McpTools(
            "x", connect=server.connect, prefix="s_", effects={"e": "read"}, timeout_s=5
        )
        async with tools:
            found = {t.name: t.rules for t in tools}
        assert len(tools) == 0
        return found

    found = asyncio.run(main())
    assert {n: r.effect for n, r in found.items()} == {
        "s_a": "read",
        "s_b": "idempotent",
        "s_c": "destructive",
        "s_d": "write",
        "s_e": "read",
    }
    assert {r.timeout_s for r in found.values()} == {5}
    assert found["s_c"].approval


def test_results_errors_and_text():
    answers = {
        "text": Called([Part({"type": "text", "text": "one"}), Part({"type": "image"})]),
        "value": Called([Part({"type": "text", "text": "{}"})], structured_content={"n": 1}),
        "error": Called([Part({"type": "text", "text": "no such city"})], is_error=True),
    }
    server = Server([Described(n) for n in answers], answer=lambda n, _: answers[n])

    async def main():
        async with McpTools("x", connect=server.connect) as tools:
            result = await ToolLoop(once(*((n, {"q": 1}) for n in answers)), tools).complete(USER)
        await check_no_tasks()
        return result

    result = asyncio.run(main())
    check_history(result.messages)
    assert statuses(result) == ["ok", "ok", "failed"]
    text, value, error = (o.text for o in result.steps[0].outcomes)
    assert text == "one\n[image of type unknown, not shown]"
    assert value == '{"n":1}'
    assert json.loads(error)["error"]["message"] == "no such city"
    assert server.called[0] == ("text", {"q": 1})
    opened, closed = server.tasks
    assert opened is closed


def test_arguments_are_checked_before_they_are_sent():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    server = Server([Described("f", input_schema=schema)])

    async def main():
        async with McpTools("x", connect=server.connect) as tools:
            return await ToolLoop(once(("f", {"n": "1"})), tools).complete(USER)

    assert statuses(asyncio.run(main())) == ["invalid"]
    assert server.called == []


def test_a_server_that_can_not_be_reached():
    @contextlib.asynccontextmanager
    async def connect(target):
        raise OSError("refused")
        yield

    async def main():
        with pytest.raises(EngineError, match="http://x: no MCP server: refused"):
            async with McpTools("http://x", connect=connect):
                pass
        await check_no_tasks()

    asyncio.run(main())


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mcp", None)

    async def main():
        with pytest.raises(RequestError, match=r"pip install 'untemplate\[mcp\]'"):
            async with McpTools("http://x"):
                pass

    asyncio.run(main())


def test_the_real_client_with_a_server_in_this_process():
    pytest.importorskip("mcp", reason="the extra [mcp] is not installed")
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    server = MCPServer("sums")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    def fail() -> str:
        raise ValueError("a secret")

    async def main():
        async with McpTools(server) as tools:
            assert {t.name: t.rules.effect for t in tools} == {"add": "read", "fail": "write"}
            calls = [("add", {"a": 1, "b": 2}), ("fail", {}), ("add", {"a": "x"})]
            result = await ToolLoop(once(*calls), tools).complete(USER)
        await check_no_tasks()
        return result

    result = asyncio.run(main())
    assert statuses(result) == ["ok", "failed", "invalid"]
    assert result.steps[0].outcomes[0].text == '{"result":3}'
    assert "a secret" not in result.steps[0].outcomes[1].text
