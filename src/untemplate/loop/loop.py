"""The face of the loop: `ToolLoop` sets it up, `Run` is one conversation going on.

    loop = ToolLoop(model, [search, send_mail], limits=Limits(steps=5))
    async with loop.run([{"role": "user", "content": "..."}]) as run:
        async for event in run:
            match event:
                case Text(text): print(text, end="")
                case ToolFinished(outcome): print(outcome.call.name, outcome.status)
    run.result.reason, run.result.text, run.result.messages

    result = await loop.complete(messages)              # the same, without the events

Leaving the iteration early, or cancelling the task that iterates, stops the model and the tools and
waits until they have stopped; `run.result` is there even then.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping
from types import TracebackType
from typing import Literal, Self

from untemplate.errors import RequestError
from untemplate.loop.approval import Approver, Decisions, Ledger, MemoryLedger
from untemplate.loop.driver import Driver
from untemplate.loop.events import LoopEvent
from untemplate.loop.history import check_chat
from untemplate.loop.model import Chat, Model
from untemplate.loop.output import read_output
from untemplate.loop.result import RunResult
from untemplate.loop.resumption import resume
from untemplate.loop.settings import Limits, Settings
from untemplate.loop.telemetry import NoTracer, Tracer
from untemplate.loop.threads import ThreadPool
from untemplate.loop.tools import HostTool, ToolLike, collect_tools
from untemplate.message import JSON, ToolChoice

__all__ = ["Run", "ToolLoop"]


class ToolLoop:
    """Runs tools for a model. One loop may have many runs, also at the same time."""

    def __init__(
        self,
        model: Model,
        tools: Iterable[ToolLike] = (),
        *,
        limits: Limits | None = None,
        choice: ToolChoice | Literal["auto", "none", "required"] = "auto",
        output: object = None,
        approve: Approver | None = None,
        ledger: Ledger | None = None,
        fallback: Model | None = None,
        max_tokens: int | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        """Set up a loop.

        Args:
            model: what writes the replies.
            tools: plain functions, or tools with rules (`tool`, `schema_tool`).
            limits: where a run ends although the model would go on.
            choice: which calls the first reply may or must have.
            output: JSON Schema or type that the final answer has to have.
            approve: is asked before destructive calls; without it the run stops for them.
            ledger: remembers which approved calls were run; `FolderLedger` across processes.
            fallback: model that takes over when a reply is cut inside a call.
            max_tokens: window of one reply.
            tracer: `open_telemetry()`, or any other.

        Raises:
            RequestError: an option or a tool is wrong.
            SchemaError: the schema of a tool or of the output is not valid.
        """
        self._settings = Settings(
            model=model,
            tools=collect_tools(tools),
            limits=limits or Limits(),
            choice=choice if isinstance(choice, ToolChoice) else ToolChoice(choice),
            output=read_output(output) if output is not None else None,
            approve=approve,
            ledger=ledger or MemoryLedger(),
            fallback=fallback,
            max_tokens=max_tokens,
            tracer=tracer or NoTracer(),
            pool=ThreadPool((limits or Limits()).concurrency),
            tasks_left=Counter(),
        )

    @property
    def tools(self) -> Mapping[str, HostTool]:
        """The tools by name."""
        return self._settings.tools

    def hanging(self) -> dict[str, int]:
        """Threads and tasks that were left behind in a tool and have not ended, by tool."""
        settings = self._settings
        found = {n: settings.pool.abandoned(n) + settings.tasks_left[n] for n in settings.tools}
        return {name: count for name, count in found.items() if count}

    def run(self, messages: Iterable[Mapping[str, JSON]]) -> "Run":
        """Answer a conversation; iterate over the events.

        Raises:
            RequestError: a message is not one.
        """
        return Run(Driver(self._settings, check_chat(messages)))

    def resume(self, state: Mapping[str, JSON], decisions: Decisions) -> "Run":
        """Go on with a run that stopped for approvals.

        Args:
            state: `RunResult.state`, or what was stored of it as JSON.
            decisions: for each digest of `state["pending"]`: True, False or a `Decision`.

        Raises:
            RequestError: the state was changed, or the decisions are not about its calls.
        """
        resumption = resume(state, decisions, self._settings.ledger)
        chat = resumption.paused.chat
        return Run(Driver(self._settings, chat, resumption=resumption))

    async def complete(self, messages: Iterable[Mapping[str, JSON]]) -> RunResult:
        """Answer a conversation, without the events."""
        async with self.run(messages) as run:
            return await run.complete()


class Run:
    """One run: an async iterator of events, and its result when they have ended."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._events = _events(driver)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LoopEvent:
        return await self._events.__anext__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the run, and wait until its model and its tools have stopped."""
        await self._events.aclose()

    async def complete(self) -> RunResult:
        """Run to the end, and give the result."""
        async for _ in self:
            pass
        return self.result

    @property
    def messages(self) -> Chat:
        """The conversation so far, valid whenever no step is open."""
        return self._driver.chat

    @property
    def result(self) -> RunResult:
        """The result, also of a run that was cancelled or failed.

        Raises:
            RequestError: the run has not ended.
        """
        if self._driver.result is None:
            raise RequestError("the run has not ended: iterate over its events", place="run")
        return self._driver.result


async def _events(driver: Driver) -> AsyncGenerator[LoopEvent, None]:
    """The events of a run; ends it when nobody listens any more."""
    task = asyncio.create_task(driver.drive())
    try:
        while (event := await driver.channel.receive()) is not None:
            yield event
    finally:
        if not task.done():
            task.cancel()
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                task.cancel()
                raise
    if driver.failure is not None:
        raise driver.failure
    task.result()
