"""Errors in OpenAI's shape: `{"error": {"message", "type", "param", "code"}}` and a status.

    failure_of(RequestError("expected a list", place="tools"))
        -> Failure(400, "tools: expected a list", "invalid_request_error", "tools", ...)

Clients decide by `status` and `code`; `param` names the place. What a caller can't mend is a
`server_error`. Nothing here tells more of an unexpected exception than that it happened.
"""

import json
from dataclasses import dataclass

from untemplate.errors import (
    DialectError,
    EngineError,
    LimitError,
    RequestError,
    SchemaError,
    TemplateError,
    UntemplateError,
    VocabularyError,
)

__all__ = ["INTERNAL", "Failure", "failure_of"]


@dataclass(frozen=True, slots=True)
class Failure:
    """One error answer."""

    status: int
    message: str
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None

    def body(self) -> bytes:
        error = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
        }
        return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "replace")


INTERNAL = Failure(
    500, "The server failed. Its log says why, under this request's id.", "server_error"
)

_CODES: dict[type[UntemplateError], tuple[int, str]] = {
    RequestError: (400, "invalid_request"),
    SchemaError: (400, "invalid_schema"),
    TemplateError: (400, "template_error"),
    DialectError: (400, "dialect_error"),
    VocabularyError: (400, "vocabulary_error"),
    LimitError: (400, "limit_exceeded"),
    EngineError: (500, "engine_error"),
}


def failure_of(error: UntemplateError) -> Failure:
    """The answer to an error of ours, by its class."""
    status, code = next((v for k, v in _CODES.items() if isinstance(error, k)), (500, "error"))
    kind = "invalid_request_error" if status < 500 else "server_error"
    text = " ".join(str(error).split())
    return Failure(status, text, kind, error.place or None, code)
