"""Blocking work that yields, as an async iterator: the way from an engine to the event loop.

    async for item in in_thread(lambda should_stop: engine.generate(turn, should_stop=should_stop)):

The work runs in a daemon thread of its own. When the iteration is left, by `break`, an exception or
a cancellation, the work is told to stop at its next look at `should_stop`, and leaving waits until
it has: an engine is never left running for nobody. What has not been fetched lies in memory; work
that makes more than fits there has to look at its readers itself.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TypeVar

__all__ = ["in_thread"]

T = TypeVar("T")


async def in_thread(work: Callable[[Callable[[], bool]], Iterable[T]]) -> AsyncGenerator[T, None]:
    """The items of the work, as they come; raises what it raised after them."""
    loop = asyncio.get_running_loop()
    items: deque[T] = deque()
    errors: list[BaseException] = []
    came, stop, ended = asyncio.Event(), threading.Event(), asyncio.Event()

    def put(item: T) -> None:
        items.append(item)
        came.set()

    def end() -> None:
        ended.set()
        came.set()

    def run() -> None:
        try:
            for item in work(stop.is_set):
                loop.call_soon_threadsafe(put, item)
                if stop.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - raised again in the event loop
            errors.append(error)
        finally:
            with contextlib.suppress(RuntimeError):  # the event loop may be closed by now
                loop.call_soon_threadsafe(end)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="untemplate-model", daemon=True).start()
    try:
        while True:
            await came.wait()
            came.clear()
            while items:
                yield items.popleft()
            if ended.is_set() and not items:
                break
    finally:
        stop.set()
        await ended.wait()
    if errors:
        raise errors[0]
