"""Work of an engine in a thread, its results in the event loop, as they come.

    runs = Runs(limit=32)
    with runs.start(lambda should_stop: engine.generate(turn, should_stop=should_stop)) as run:
        events = await run.take(timeout_s=15)      # all that came; empty after a silent spell

Leaving the block tells the work to stop; it does so at its next look at `should_stop`, and counts
as one of the limited runs until it has. The thread never waits for the loop: what a slow client has
not fetched lies in memory, bounded by the tokens that it asked for.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from untemplate.server.failures import Refused
from untemplate.wire.openai.failure import Failure

__all__ = ["Run", "Runs"]

T = TypeVar("T")
Work = Callable[[Callable[[], bool]], Iterable[T]]
"""Given `should_stop`, yields its results."""


class Runs:
    """At most so many runs at once, in threads of their own."""

    def __init__(self, *, limit: int, retry_after_s: int) -> None:
        self._limit = limit
        self._retry_after_s = retry_after_s
        self._executor = ThreadPoolExecutor(limit, thread_name_prefix="run")
        self._live: set[Run[Any]] = set()

    @property
    def running(self) -> int:
        """Runs whose thread has not ended."""
        return len(self._live)

    def start(self, work: Work[T]) -> "Run[T]":
        """Starts the work.

        Raises:
            Refused: too many are running.
        """
        if self.running >= self._limit:
            full = Failure(429, "too many requests at once; try again", "rate_limit_error")
            raise Refused(full, {"retry-after": str(self._retry_after_s)})
        run = Run(work)
        self._live.add(run)
        future = asyncio.get_running_loop().run_in_executor(self._executor, run.work)
        future.add_done_callback(lambda _: self._live.discard(run))
        return run

    def close(self) -> None:
        """Stops all, and waits until they have ended."""
        for run in self._live:
            run.stop()
        self._executor.shutdown()


class Run(Generic[T]):
    """One run; made by `Runs.start`."""

    def __init__(self, work: Work[T]) -> None:
        self._work = work
        self._stop = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._came = asyncio.Event()
        self._items: list[T] = []
        self._error: Exception | None = None

    def stop(self) -> None:
        """Tells the work to stop; it does at its next look."""
        self._stop.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def take(self, *, timeout_s: float) -> list[T]:
        """What came since the last call; waits for something, at most so long.

        Raises what the work raised, after all that came before it.
        """
        if not self._items and self._error is None:
            self._came.clear()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._came.wait()
            except TimeoutError:
                return []
        if self._items:
            items, self._items = self._items, []
            return items
        assert self._error is not None
        raise self._error

    def work(self) -> None:
        """Runs in a thread."""
        try:
            for item in self._work(self._stop.is_set):
                self._loop.call_soon_threadsafe(self._put, item)
                if self._stop.is_set():
                    return
        except Exception as error:  # noqa: BLE001 - raised again in the loop, by `take`
            self._loop.call_soon_threadsafe(self._fail, error)

    def _put(self, item: T) -> None:
        self._items.append(item)
        self._came.set()

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._came.set()
