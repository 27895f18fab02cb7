"""Answers to requests that fail, in OpenAI's shape whatever went wrong and wherever.

Errors of the library are answered by their class (`wire.openai.failure`), HTTP's own (an unknown
address, a wrong method) by their status, and what the server refuses itself is a `Refused`.
"""

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from untemplate.errors import UntemplateError
from untemplate.wire.openai.failure import Failure, failure_of

__all__ = ["HANDLERS", "Refused", "failure_response"]


class Refused(Exception):  # noqa: N818 - it is an answer, not an error
    """The server won't do what was asked; private to the server."""

    def __init__(self, failure: Failure, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.headers = headers


def failure_response(failure: Failure, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        failure.body(), status_code=failure.status, headers=headers, media_type="application/json"
    )


async def _answer_ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, UntemplateError)
    return failure_response(failure_of(error))


async def _answer_refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return failure_response(error.failure, error.headers)


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    asked = f"{request.method} {request.url.path}"
    failure = Failure(error.status_code, f"{error.detail}: {asked}")
    if error.status_code == 404:
        failure = Failure(404, f"there is nothing at {asked}", code="unknown_url")
    elif error.status_code == 405:
        failure = Failure(405, f"this address does not take {asked}", code="method_not_allowed")
    return failure_response(failure, error.headers)


HANDLERS = {
    UntemplateError: _answer_ours,
    Refused: _answer_refused,
    HTTPException: _answer_http,
}
"""For Starlette's `exception_handlers`."""
