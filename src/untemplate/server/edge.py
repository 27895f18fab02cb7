"""The outermost layer: every request gets an id, a line in the log, and an answer.

A web page of somebody else must not use the models of this machine: a request from a page (it
carries `Origin`) is let in only if the page is itself from this machine. That also stops pages that
rebind their name to 127.0.0.1.

The id comes from the client's `x-request-id`, if it is decent, and goes back in the same header.
"""

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untemplate.server.failures import failure_response
from untemplate.wire.openai.failure import INTERNAL, Failure

__all__ = ["LOCAL_ORIGIN", "Edge"]

LOCAL_ORIGIN = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?"
"""Pages that may use the server."""

_DECENT_ID = re.compile(r"[\w.:-]{1,128}")
_log = logging.getLogger("untemplate.server")


class Edge:
    """Pure ASGI, so that bodies and streams pass untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = headers.get("x-request-id", "")
        if not _DECENT_ID.fullmatch(request_id):
            request_id = f"req_{secrets.token_hex(12)}"
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = request_id
            await send(message)

        started = time.perf_counter()
        try:
            origin = headers.get("origin")
            if origin is not None and not re.fullmatch(LOCAL_ORIGIN, origin):
                refusal = Failure(403, f"pages of {origin} may not use this server", param="Origin")
                await failure_response(refusal)(scope, receive, send_with_id)
            else:
                await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            status = 499
        except Exception:  # noqa: BLE001 - the edge answers whatever went wrong
            _log.exception("%s %s failed, %s", scope["method"], scope["path"], request_id)
            if not status:
                await failure_response(INTERNAL)(scope, receive, send_with_id)
        finally:
            took_s = time.perf_counter() - started
            _log.info(
                "%s %s %s %.2fs %s", scope["method"], scope["path"], status, took_s, request_id
            )
