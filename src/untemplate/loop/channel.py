"""Events from the task that drives a run to whoever iterates over it.

Sending never waits, since events come from callbacks too; the driver asks `room` before it reads
more of a reply, so a slow reader slows the model down and memory stays bounded by the number of
calls. Progress of tools is dropped while nobody reads.
"""

import asyncio
from collections import deque

from untemplate.loop.events import LoopEvent, ToolProgress

__all__ = ["Channel"]

_ROOM = 256


class Channel:
    """A queue of events for one reader."""

    def __init__(self) -> None:
        self._events: deque[LoopEvent] = deque()
        self._is_closed = False
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()

    def send(self, event: LoopEvent) -> None:
        """Add an event; after `close` it is dropped."""
        if self._is_closed:
            return
        if isinstance(event, ToolProgress) and len(self._events) >= _ROOM:
            return
        self._events.append(event)
        self._filled.set()

    async def room(self) -> None:
        """Wait until the reader has caught up."""
        while len(self._events) >= _ROOM and not self._is_closed:
            self._emptied.clear()
            await self._emptied.wait()

    async def receive(self) -> LoopEvent | None:
        """The next event, or None at the end."""
        while not self._events:
            if self._is_closed:
                return None
            self._filled.clear()
            await self._filled.wait()
        event = self._events.popleft()
        if len(self._events) < _ROOM:
            self._emptied.set()
        return event

    def close(self) -> None:
        """No more events come; those sent before are still received."""
        self._is_closed = True
        self._filled.set()
        self._emptied.set()
