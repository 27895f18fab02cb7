"""What can go wrong, by what the caller can do about it.

    UntemplateError
    ├── TemplateError     the chat template is broken, hostile, or refuses the conversation
    ├── DialectError      no dialect can be proved, or a given one does not fit its template
    ├── SchemaError       a tool or a response schema is not valid, or can't be enforced as asked
    ├── VocabularyError   a tokenizer can't be read, or can't spell what the grammar needs
    ├── RequestError      the caller's messages, tools or options are wrong
    ├── LimitError        a stated bound on steps, states, bytes or depth was passed
    └── EngineError       the engine or its model is missing or failed

What a *model* wrote is never an error: it is a message with diagnostics. Every error here is one
line that names the place and what to do; `place` holds the place alone (a template line, a tool
with a JSON pointer, a field of the request).
"""

__all__ = [
    "DialectError",
    "EngineError",
    "LimitError",
    "RequestError",
    "SchemaError",
    "TemplateError",
    "UntemplateError",
    "VocabularyError",
]


_MOST_PLACE = 500


class UntemplateError(Exception):
    """Root of all errors of this library."""

    def __init__(self, message: str, *, place: str = "") -> None:
        # Keys of a schema are anything: a place has its line breaks escaped, and is not endless.
        place = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in place)
        if len(place) > _MOST_PLACE:
            place = f"{place[: _MOST_PLACE // 2]}...{place[-_MOST_PLACE // 2 :]}"
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place
        """Where: `template line 12`, `tool pay #/properties/to/type`, `messages[3].role`."""


class TemplateError(UntemplateError):
    """The chat template is broken, hostile, or refuses the conversation."""


class DialectError(UntemplateError):
    """No dialect can be proved, or a given dialect does not fit its template."""


class SchemaError(UntemplateError):
    """A tool or response schema is not valid, or can't be enforced as asked."""


class VocabularyError(UntemplateError):
    """A tokenizer can't be read, or can't spell what the grammar needs."""


class RequestError(UntemplateError):
    """The caller's messages, tools or options are wrong."""


class LimitError(UntemplateError):
    """A stated bound on steps, states, bytes or depth was passed."""


class EngineError(UntemplateError):
    """The engine or its model is missing or failed."""
