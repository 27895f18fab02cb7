"""`POST /v1/chat/completions`: one request, from its body to the last byte of its answer.

    body ─► request ─► [thread: turn ─► engine ─► news] ─► JSON, or server-sent events

Rendering, grammar and generation run in a thread. The answer starts with the first news, so that
whatever is wrong with a request is still answered by a status; if the first news is late, the
stream starts before it and stays alive by pings, and an error becomes its last event. A client that
goes away stops the engine, whether it streams or not.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import assert_never

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from untemplate.errors import UntemplateError
from untemplate.grammar.report import in_pairs, report_on
from untemplate.message import Delta
from untemplate.server.body import read_body, while_connected
from untemplate.server.failures import Refused
from untemplate.server.keywords import CHECKED_HEADER, told_in_header
from untemplate.server.points import Points
from untemplate.server.runs import Run, Runs
from untemplate.server.served import Served
from untemplate.server.settings import Settings
from untemplate.server.work import Begun, Ended, News, work
from untemplate.wire import sse
from untemplate.wire.openai.failure import INTERNAL, Failure, failure_of
from untemplate.wire.openai.request import ChatRequest, decode_request
from untemplate.wire.openai.response import AnswerWriter

__all__ = ["ChatEndpoint"]

_BIG_BODY = 1 << 16
"""Bodies from this size on are decoded in a thread."""

_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
_log = logging.getLogger("untemplate.server")


class ChatEndpoint:
    """An ASGI application of one address."""

    def __init__(self, served: Served, runs: Runs, settings: Settings) -> None:
        self._served = served
        self._runs = runs
        self._settings = settings
        self._points = Points(most=settings.resume_points, age_s=settings.resume_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive, limit=self._settings.body_bytes)
        if len(body) < _BIG_BODY:
            request = decode_request(body)
        else:
            request = await asyncio.to_thread(decode_request, body)
        self._check_model(request)
        headers = await self._report(request)
        answer_id = secrets.token_hex(12)
        writer = AnswerWriter(
            f"chatcmpl-{answer_id}", model=self._served.model, created=int(time.time())
        )

        async def respond(body: bytes) -> None:
            answer = Response(body, headers=headers, media_type="application/json")
            await answer(scope, receive, send)

        with self._runs.start(self._work(request, answer_id)) as run:
            if request.stream:
                answer = self._stream(request, writer, run, send, headers)
            else:
                answer = self._complete(writer, run, respond)
            await while_connected(receive, answer)

    def _check_model(self, request: ChatRequest) -> None:
        if request.model not in (None, self._served.model):
            raise Refused(
                Failure(
                    404,
                    f"there is no model {request.model!r}; this server has {self._served.model!r}",
                    param="model",
                    code="model_not_found",
                )
            )

    async def _report(self, request: ChatRequest) -> dict[str, str]:
        """A header that names the keywords of the request's schemas that no mask enforces."""
        if not request.tools and request.response_schema is None:
            return {}
        report = await asyncio.to_thread(
            report_on,
            request.tools,
            request.response_schema,
            open_objects=request.writing.open_objects,
            in_pairs=in_pairs(self._served.template.dialect),
        )
        return {CHECKED_HEADER: told_in_header(report.checked)} if report.checked else {}

    def _work(
        self, request: ChatRequest, nonce: str
    ) -> Callable[[Callable[[], bool]], Iterator[News]]:
        return lambda should_stop: work(self._served, self._points, request, nonce, should_stop)

    async def _complete(
        self,
        writer: AnswerWriter,
        run: Run[News],
        respond: Callable[[bytes], Awaitable[None]],
    ) -> None:
        before: list[Delta] = []
        while True:
            for news in await run.take(timeout_s=self._settings.ping_s):
                if isinstance(news, Begun):
                    before = news.before
                elif isinstance(news, Ended):
                    _check_ended(news)
                    body = writer.completion(news.message, news.usage, before, news.notes)
                    await respond(body)
                    return

    async def _stream(
        self,
        request: ChatRequest,
        writer: AnswerWriter,
        run: Run[News],
        send: Send,
        headers: Mapping[str, str],
    ) -> None:
        async def write(data: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        came = await run.take(timeout_s=self._settings.ping_s)
        told = [(name.encode(), value.encode()) for name, value in headers.items()]
        start = {"status": 200, "headers": [*_STREAM_HEADERS, *told]}
        await send({"type": "http.response.start", **start})
        await write(sse.event(writer.first()))
        try:
            while True:
                frames = [f for news in came for f in _frames(news, request, writer)]
                if any(isinstance(news, Ended) for news in came):
                    break
                if frames or not came:
                    await write(b"".join(map(sse.event, frames)) or sse.PING)
                came = await run.take(timeout_s=self._settings.ping_s)
        except Exception as error:  # noqa: BLE001 - the status is out; the stream has to tell
            frames = [_told(error).body()]
        await write(b"".join(map(sse.event, frames)) + sse.DONE, more=False)


def _frames(news: News, request: ChatRequest, writer: AnswerWriter) -> Iterator[bytes]:
    match news:
        case Begun():
            if request.continue_final_message:
                yield writer.goes_on(news.before)
        case Delta():
            yield from writer.chunks(news)
        case Ended():
            _check_ended(news)
            yield writer.last(news.message, news.notes)
            if request.include_usage:
                yield writer.usage(news.usage)
        case _:
            assert_never(news)


def _check_ended(news: Ended) -> None:
    """The client is there, so a cancelled turn is the server's doing."""
    if news.message.finish_reason == "cancelled":
        raise Refused(Failure(503, "the server is shutting down", "server_error"))


def _told(error: Exception) -> Failure:
    match error:
        case Refused():
            return error.failure
        case UntemplateError():
            return failure_of(error)
        case _:
            _log.error("a stream failed", exc_info=error)
            return INTERNAL
