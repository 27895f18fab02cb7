"""Daemon threads for sync tools: bounded in number, and left behind when they hang.

`asyncio.to_thread` will not do: its threads keep the interpreter from exiting, and a function that
never returns takes one of them for ever. Here a job that is abandoned (timed out, cancelled) loses
its place in the pool at once: a new thread may be started instead, the old one ends when its
function does, and until then it is counted under the name of its tool.

    pool = ThreadPool(8)
    result = await pool.run("search", function)     # cancelling the await abandons the thread
    pool.abandoned("search")                        # threads that still hang in it

The function runs in a copy of the caller's context variables. Idle threads end after some seconds.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Raised", "ThreadPool"]

_IDLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Raised:
    """What a function raised. A value, since a future does not take every exception."""

    error: BaseException


@dataclass(eq=False, slots=True)
class _Job:
    """One function to run, and where its result is waited for."""

    name: str
    function: Callable[[], object]
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    result: asyncio.Future[object]
    state: Literal["waiting", "running", "done", "abandoned"] = "waiting"
    """Changed under the lock of the pool only."""


class ThreadPool:
    """At most `size` daemon threads, not counting the abandoned ones."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._threads = 0
        self._idle = 0
        self._jobs: deque[_Job] = deque()
        self._abandoned: Counter[str] = Counter()
        self._changed = threading.Condition()

    async def run(self, name: str, function: Callable[[], object]) -> object:
        """What the function returns, or `Raised`. If this is cancelled, the thread is abandoned."""
        loop = asyncio.get_running_loop()
        job = _Job(name, function, contextvars.copy_context(), loop, loop.create_future())
        try:
            self._submit(job)
            return await job.result
        except BaseException:
            self._abandon(job)
            raise

    def abandoned(self, name: str) -> int:
        """Threads that were left behind in functions of this name and have not ended yet."""
        with self._changed:
            return self._abandoned[name]

    def _submit(self, job: _Job) -> None:
        with self._changed:
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._changed.notify()
                return
            if self._threads >= self._size:
                return
            self._threads += 1
        self._start()

    def _start(self) -> None:
        try:
            threading.Thread(target=self._work, name="untemplate-tool", daemon=True).start()
        except RuntimeError:  # the system has no more threads
            with self._changed:
                self._threads -= 1
            raise

    def _abandon(self, job: _Job) -> None:
        start = False
        with self._changed:
            if job.state == "waiting":
                with contextlib.suppress(ValueError):
                    self._jobs.remove(job)
            elif job.state == "running":
                job.state = "abandoned"
                self._abandoned[job.name] += 1
                if self._jobs:
                    start = True
                else:
                    self._threads -= 1
        if start:
            self._start()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                result = job.context.run(job.function)
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits
                result = Raised(error)
            if not self._deliver(job, result):
                return

    def _next(self) -> _Job | None:
        """The next job, or None if there was none for a while."""
        with self._changed:
            self._idle += 1
            got = self._changed.wait_for(lambda: bool(self._jobs), _IDLE_S)
            self._idle -= 1
            if not got:
                self._threads -= 1
                return None
            job = self._jobs.popleft()
            job.state = "running"
            return job

    def _deliver(self, job: _Job, result: object) -> bool:
        """Hand the result over; False if the job, and with it this thread, was abandoned."""
        with self._changed:
            if job.state == "abandoned":
                self._abandoned[job.name] -= 1
                return False
            job.state = "done"
        with contextlib.suppress(RuntimeError):  # the event loop may be closed by now
            job.loop.call_soon_threadsafe(_set, job.result, result)
        return True


def _set(future: asyncio.Future[object], result: object) -> None:
    if not future.done():
        future.set_result(result)
