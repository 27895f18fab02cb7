"""Runs one call of one tool: in a thread or as a task, with a timeout that always fires.

Whatever the tool does, `Runner.run` gives one `Outcome`: it returns text, JSON or an endless
generator; it raises, exits or cancels itself; it hangs; it ignores its cancellation. The limits are

- a sync function that hangs is left behind in its daemon thread,
- an async one that does not end when cancelled is left behind as a task after a second,

and both are counted: a tool in which too many hang is withdrawn until one of them ends. The result
is made into text where the function ran, so that a large one never blocks the event loop.

Three things are not swallowed: cancellation of the run (the outcome is `cancelled`, and whoever
cancelled knows), KeyboardInterrupt from a tool (kept in `interrupt`, for the loop to raise when all
calls have their outcome), and a bug in the loop itself.
"""

import asyncio
import inspect
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import cast

from untemplate.loop import feedback
from untemplate.loop.arguments import Arguments
from untemplate.loop.context import ToolContext
from untemplate.loop.outcome import Outcome
from untemplate.loop.results import Serialised, UnserialisableError, serialise
from untemplate.loop.signature import TypesError
from untemplate.loop.telemetry import Tracer, note_outcome, tool_span
from untemplate.loop.threads import Raised, ThreadPool
from untemplate.loop.tools import HostTool, ToolError
from untemplate.message import ToolCall

__all__ = ["Ready", "Runner"]

_GRACE_S = 1.0

_log = logging.getLogger("untemplate.loop")


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may run: checked against the schema, the policy and the limits."""

    call: ToolCall
    tool: HostTool
    arguments: Arguments
    signature: str
    note: str = ""
    """Of a cut call that runs all the same: what it runs without, for the model."""
    same_as: int | None = None
    """Index of an earlier identical call of the same reply, whose result it shares."""


@dataclass(frozen=True, slots=True)
class _Hung:
    """A tool that did not end in time; `may_still_act` if it could not be stopped."""

    may_still_act: bool


_Answer = Serialised | Raised | _Hung


class Runner:
    """Runs the calls of one run; `tasks_left` counts, for all runs of a loop, what was left."""

    def __init__(self, pool: ThreadPool, tasks_left: Counter[str], tracer: Tracer) -> None:
        self._pool = pool
        self._tracer = tracer
        self._tasks_left = tasks_left
        self.interrupt: BaseException | None = None
        """The KeyboardInterrupt that a tool raised."""

    def hanging(self, name: str) -> int:
        """Threads and tasks that were left behind in a tool and have not ended."""
        return self._pool.abandoned(name) + self._tasks_left[name]

    def is_clogged(self, tool: HostTool) -> bool:
        """Whether so many hang in the tool that it is not to be run."""
        return self.hanging(tool.name) >= tool.rules.abandoned_max

    async def run(self, ready: Ready, step: int, report: Callable[[str], None]) -> Outcome:
        """The outcome of one call; raises only if it is cancelled itself."""
        tool, call = ready.tool, ready.call
        if self.is_clogged(tool):
            why = f"{self.hanging(tool.name)} earlier calls of it still hang"
            return Outcome(call, "withdrawn", feedback.withdrawn(tool.name, why))
        start = time.monotonic()
        with tool_span(self._tracer, call) as span:
            attempt = 1
            answer = await self._attempt(ready, self._context(ready, step, 1, report))
            while attempt <= tool.rules.retries and _is_worth_retrying(answer):
                attempt += 1
                answer = await self._attempt(ready, self._context(ready, step, attempt, report))
            outcome = self._outcome(ready, answer)
            note_outcome(self._tracer, span, outcome.status, outcome.text)
        seconds = time.monotonic() - start
        return replace(outcome, attempts=attempt, seconds=seconds)

    @staticmethod
    def _context(
        ready: Ready, step: int, attempt: int, report: Callable[[str], None]
    ) -> ToolContext:
        return ToolContext(ready.call.id, ready.tool.name, step, attempt, report)

    async def _attempt(self, ready: Ready, context: ToolContext) -> _Answer:
        task = asyncio.create_task(self._work(ready, context))
        try:
            await asyncio.wait({task}, timeout=ready.tool.rules.timeout_s)
        except asyncio.CancelledError:
            await self._stop(task, ready.tool.name, context)
            raise
        if task.done():
            return _answer_of(task)
        stopped = await self._stop(task, ready.tool.name, context)
        return _Hung(may_still_act=not stopped or not ready.tool.is_async)

    async def _stop(self, task: "asyncio.Task[_Answer]", name: str, context: ToolContext) -> bool:
        """Cancel a task; False if it did not end and was left behind."""
        context.cancel()
        task.cancel()
        try:
            await asyncio.wait({task}, timeout=_GRACE_S)
        finally:
            if not task.done():
                self._tasks_left[name] += 1
                task.add_done_callback(lambda _: self._tasks_left.subtract((name,)))
        return task.done()

    async def _work(self, ready: Ready, context: ToolContext) -> Serialised | Raised:
        tool, limit = ready.tool, ready.tool.rules.result_max

        def compute() -> object:
            if context.is_cancelled:
                # The thread came to life after the timeout: what was not begun must not begin.
                raise TimeoutError
            value = tool.run(tool.convert(ready.arguments), context)
            return value if inspect.isawaitable(value) else serialise(value, limit)

        if tool.is_async or not tool.rules.in_thread:
            value = _caught(compute)
        else:
            value = await self._pool.run(tool.name, compute)
        if isinstance(value, Serialised | Raised):
            return value
        try:
            return serialise(await cast("Awaitable[object]", value), limit)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - a tool may raise anything
            return Raised(error)

    def _outcome(self, ready: Ready, answer: _Answer) -> Outcome:
        call, name = ready.call, ready.tool.name
        match answer:
            case Serialised(text, cut):
                if ready.note:
                    text = f"{ready.note}\n{text}"
                return Outcome(call, "ok", text, started=True, cut=cut)
            case _Hung(may_still_act):
                seconds = ready.tool.rules.timeout_s or 0.0
                text = feedback.timed_out(name, seconds, may_still_act=may_still_act)
                return Outcome(call, "timed_out", text, started=True)
            case Raised(error):
                return self._failure(call, name, error, ready)

    def _failure(self, call: ToolCall, name: str, error: BaseException, ready: Ready) -> Outcome:
        fault = f"{type(error).__name__}: {error}"
        match error:
            case TypesError():
                text = feedback.invalid(ready.tool.definition, error.details)
                return Outcome(call, "invalid", text, fault=fault)
            case ToolError():
                text = feedback.raised(name, str(error))
                return Outcome(call, "failed", text, started=True, fault=fault)
            case UnserialisableError():
                text = feedback.unserialisable(name, str(error))
                _log.warning("tool %s (%s): %s", name, call.id, error)
                return Outcome(call, "unserialisable", text, started=True, fault=fault)
            case KeyboardInterrupt():
                self.interrupt = error
                text = feedback.cancelled(name, started=True)
                return Outcome(call, "cancelled", text, started=True, fault=fault)
            case _:
                _log.error("tool %s (%s) failed", name, call.id, exc_info=error)
                text = feedback.failed(name, type(error).__name__)
                return Outcome(call, "failed", text, started=True, fault=fault)


def _caught(compute: Callable[[], object]) -> object:
    try:
        return compute()
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything
        return Raised(error)


def _answer_of(task: "asyncio.Task[_Answer]") -> _Answer:
    """What the task gave; a tool that cancelled itself has failed."""
    if task.cancelled():
        return Raised(asyncio.CancelledError("the tool cancelled itself"))
    return task.result()


def _is_worth_retrying(answer: _Answer) -> bool:
    return isinstance(answer, Raised) and not isinstance(
        answer.error,
        ToolError | TypesError | UnserialisableError | KeyboardInterrupt | SystemExit,
    )
