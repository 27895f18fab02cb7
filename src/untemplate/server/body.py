"""Reading a request's body, bounded, and noticing when its client is gone."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from untemplate.server.failures import Refused
from untemplate.wire.openai.failure import Failure

__all__ = ["read_body", "while_connected"]

T = TypeVar("T")

_DRAINED = 8
"""A body up to so many times too large is read and thrown away, so that its sender, which looks for
an answer only after sending, gets one."""


async def read_body(receive: Receive, *, limit: int) -> bytes:
    """The body.

    Raises:
        Refused: it is larger than `limit` bytes.
        ClientDisconnect: the client went away.
    """
    chunks: list[bytes] = []
    size = 0
    more = True
    while more and size <= limit * _DRAINED:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        else:
            chunks.clear()
    if size > limit:
        raise Refused(
            Failure(413, f"the body is larger than {limit} bytes", code="request_too_large")
        )
    return b"".join(chunks)


async def while_connected(receive: Receive, work: Coroutine[None, None, T]) -> T | None:
    """Does the work; cancels it when the client goes away, and gives None then.

    ASGI servers tell a handler that its client is gone only if it asks. Ask after the body is read.
    """
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_wait_until_gone(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
