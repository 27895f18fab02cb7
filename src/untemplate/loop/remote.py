"""A model behind any server that speaks OpenAI's chat completions, over httpx2 (extra `[client]`).

    model = RemoteModel("http://127.0.0.1:8080/v1", "smollm2")
    result = await ToolLoop(model, [now]).complete(messages)

Answers are streamed; leaving a run closes the connection, which stops a server that cares. A server
that ignores `stream` and answers whole is read too. What can be trusted of a cut call is decided in
`wire.openai.client`. Failed connections and refusals are an `EngineError`: whether to try again is
for the caller to say, or for the `client` that is passed in.

A server of this library says how to go on with a reply that was cut in a call. It then gets the cut
message back with `continue_final_message`, and what it writes is put behind what was read before.
"""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from untemplate.errors import EngineError, RequestError
from untemplate.loop.model import CallSize, ModelItem, Reply, Request
from untemplate.message import JSON, Usage
from untemplate.wire.openai.client import AnswerReader, error_text, request_body

if TYPE_CHECKING:
    import httpx2

__all__ = ["RemoteModel"]

_log = logging.getLogger("untemplate.loop")


@dataclass(frozen=True, slots=True)
class _Point:
    """Where a reply was cut; it may be gone on with more than once."""

    answer: AnswerReader
    message: dict[str, JSON]
    """To be sent back."""


class RemoteModel:
    """Asks a server for each reply."""

    def __init__(
        self,
        base_url: str,
        model: str = "default",
        *,
        api_key: str | None = None,
        options: Mapping[str, JSON] | None = None,
        timeout_s: float = 600.0,
        client: "httpx2.AsyncClient | None" = None,
    ) -> None:
        """Set up a model; nothing is sent before the first reply.

        Args:
            base_url: with the `/v1` that most servers have.
            model: its name at the server.
            api_key: sent as a bearer token.
            options: further fields of each request, as `temperature`; null removes a field.
            timeout_s: longest silence of the server.
            client: an httpx2 client of the caller, which keeps connections between replies.

        Raises:
            RequestError: httpx2 is missing.
        """
        try:
            import httpx2  # noqa: PLC0415 - an extra, and slow to import
        except ImportError as error:
            raise RequestError(
                "servers are reached with httpx2: pip install 'untemplate[client]'", place="model"
            ) from error
        self._url = base_url.rstrip("/") + "/chat/completions"
        self.name = model
        self._headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._options = dict(options or {})
        self._timeout_s = timeout_s
        self._client = client
        # Making one takes longer than a request on the local host.
        self._verify = httpx2.create_ssl_context() if self._url.startswith("https") else False

    async def reply(self, request: Request) -> AsyncIterator[ModelItem]:
        import httpx2  # noqa: PLC0415 - an extra, imported before by `__init__`

        point = request.resume if isinstance(request.resume, _Point) else None
        body = request_body(
            request.messages if point is None else (*request.messages, point.message),
            request.tools,
            request.choice,
            model=self.name,
            max_tokens=request.max_tokens,
            schema=request.output_schema,
        )
        if point is not None:
            body["continue_final_message"] = True
        body |= self._options
        body = {key: value for key, value in body.items() if value is not None}
        answer = AnswerReader() if point is None else point.answer.going_on()
        try:
            async with (
                self._opened() as client,
                client.stream(
                    "POST", self._url, json=body, headers=self._headers, timeout=self._timeout_s
                ) as response,
            ):
                refusal = await _refusal(response)
                if refusal is not None and point is not None:
                    # What was received is not lost because it can't be gone on with.
                    _log.info("a cut reply could not be gone on with: %s", refusal)
                    yield Reply(point.answer.finish()[0], Usage())
                    return
                if refusal is not None:
                    raise refusal
                async for chunk in _chunks(response):
                    for item in answer.feed(chunk):
                        yield item
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
            problem = str(error) or type(error).__name__
            raise EngineError(problem, place=self._url) from error
        if answer.finish_reason is None:
            raise EngineError("the server ended the answer in the middle", place=self._url)
        message, usage = answer.finish()
        back = answer.to_go_on()
        point = None if back is None else _Point(answer, back)
        sizes = {name: CallSize(*size) for name, size in answer.needs.items()}
        yield Reply(message, usage, point, sizes, answer.dropped)

    def _opened(self) -> "AbstractAsyncContextManager[httpx2.AsyncClient]":
        import httpx2  # noqa: PLC0415 - an extra, imported before by `__init__`

        if self._client is not None:
            return nullcontext(self._client)
        return httpx2.AsyncClient(verify=self._verify)


async def _refusal(response: "httpx2.Response") -> EngineError | None:
    """What a server says instead of an answer."""
    if response.is_success:
        return None
    body = await response.aread()
    try:
        problem = error_text(cast("JSON", json.loads(body)))
    except ValueError:
        problem = response.reason_phrase
    return EngineError(
        f"the server refused ({response.status_code}): {problem}", place=str(response.url)
    )


async def _chunks(response: "httpx2.Response") -> AsyncIterator[JSON]:
    """The chunks of a stream, or the one object of a server that does not stream."""
    import httpx2  # noqa: PLC0415 - an extra, imported before by `RemoteModel`

    try:
        if "json" in response.headers.get("content-type", ""):
            yield cast("JSON", json.loads(await response.aread()))
            return
        async for event in httpx2.EventSource(response):
            if event.data.strip() == "[DONE]":
                return
            if event.data:
                yield cast("JSON", json.loads(event.data))
    except ValueError as error:
        raise EngineError(f"the answer is no JSON ({error})", place=str(response.url)) from error
