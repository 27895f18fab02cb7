"""The values that everything else exchanges: tools, messages, calls, deltas, diagnostics.

All are frozen and compare by content. What came from a model carries its *provenance*: each call
says whether it is complete, each argument whether it is, and `closing` is the suffix that turns the
arguments received so far into valid JSON. A cut call is a value, not an error:

    ToolCall(index=0, id="call_0", name="pay", arguments='{"to": "acct-99"', closing="}",
             state="cut", arguments_state={"/to": "complete", "/amount": "cut"})

Diagnostics point into the bytes that the model wrote, so that nothing is lost silently.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from untemplate.errors import RequestError

__all__ = [
    "JSON",
    "ArgumentState",
    "Block",
    "BlockKind",
    "CallDelta",
    "CallState",
    "Continue",
    "Delta",
    "Diagnostic",
    "DiagnosticCode",
    "End",
    "FinishReason",
    "Message",
    "Span",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "Usage",
    "arguments_object",
    "kind_of",
    "pointer_key",
    "pointer_token",
]

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
"""A JSON value. Python 3.11 has no `type` statement, so the alias refers to itself by name."""

Span = tuple[int, int]
"""Half-open byte range in what the model wrote."""

ArgumentState = Literal["complete", "undecided", "cut", "defaulted", "missing", "forced"]
"""`undecided`: its closer was seen, but what follows may still show that the closer was text.
`forced`: written only because the mask closed the call at the token limit."""

CallState = Literal["complete", "cut", "malformed", "forced"]
"""`forced`: complete only because the mask closed it at the token limit."""

FinishReason = Literal["stop", "length", "tool_calls", "cancelled"]

End = Literal["open", "complete", "cut", "forced"]
"""How a turn stands: still `open`, ended as its grammar says, cut off, or closed by budget."""

DiagnosticCode = Literal[
    "against_schema",
    "bad_arguments",
    "bad_call",
    "bad_envelope",
    "bad_escape",
    "bad_json",
    "bare_call",
    "call_not_allowed",
    "cut_call",
    "duplicate_key",
    "extra_call",
    "invalid_utf8",
    "lone_surrogate",
    "missing_argument",
    "missing_call",
    "missing_close",
    "missing_marker",
    "no_arguments",
    "not_a_call",
    "null_arguments",
    "python_literal",
    "quoted_arguments",
    "raw_control",
    "renamed_key",
    "repeated_id",
    "single_quotes",
    "spelt_marker",
    "stop_in_call",
    "stray_marker",
    "text_after_call",
    "text_after_end",
    "too_deep",
    "trailing_comma",
    "unclosed_reasoning",
    "unclosed_value",
    "undeclared_argument",
    "unescaped_quote",
    "unknown_form",
    "unknown_header",
    "unknown_tool",
    "unquoted_key",
    "unrequested",
    "wrapped_arguments",
    "wrong_type",
]
"""What a diagnostic may be about; docs/diagnostics.md says what each means."""

BlockKind = Literal["reasoning", "content", "call"]

Continue = bool | Literal["reasoning_content", "content"]
"""Whether the last message goes on; or its field that does, which may be empty so far."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call."""

    name: str
    description: str = ""
    parameters: dict[str, JSON] = field(default_factory=lambda: {"type": "object"})
    """JSON Schema of the arguments object."""
    strict: bool = False
    """Refuse the request when a keyword of `parameters` can't be enforced exactly."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which calls the model may, must or must not write in this turn."""

    mode: Literal["auto", "none", "required"] = "auto"
    name: str | None = None
    """With `required`: the one tool that has to be called."""
    parallel: bool = True
    """False: at most one call."""

    def __post_init__(self) -> None:
        if self.mode not in ("auto", "none", "required"):
            raise RequestError('expected "auto", "none" or "required"', place="tool_choice")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something that is not as the grammar says, and what was done about it."""

    code: str
    """Stable name, listed in docs/diagnostics.md."""
    span: Span
    message: str
    count: int = 1
    """How many it stands for; the span goes from the first of them to the last."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model wrote, complete or not."""

    index: int
    id: str
    """Ours, unique for all time; derived from the turn's nonce and the index."""
    name: str
    arguments: str
    """JSON text of the arguments object as received; valid JSON once `closing` is added."""
    closing: str = ""
    state: CallState = "complete"
    arguments_state: Mapping[str, ArgumentState] = field(default_factory=dict[str, ArgumentState])
    """JSON pointer of an argument (or of the innermost value that is cut) to its state."""
    ambiguous: tuple[str, ...] = ()
    """JSON pointers of arguments whose text also has another reading."""
    written_id: str | None = None
    """The id that the model itself wrote, if its dialect writes ids."""
    span: Span = (0, 0)
    """Where the call stands in the raw output."""

    @property
    def cut_path(self) -> str | None:
        """Pointer of the value that the limit cut, or that is not decided."""
        return next(iter(self.pointers("cut", "undecided")), None)

    @property
    def missing(self) -> tuple[str, ...]:
        """Pointers of required arguments of which nothing was received."""
        return self.pointers("missing")

    @property
    def defaulted(self) -> tuple[str, ...]:
        """Pointers of arguments that are absent from a cut call and have a default."""
        return self.pointers("defaulted")

    @property
    def forced(self) -> tuple[str, ...]:
        """Pointers of arguments that only the limit wrote."""
        return self.pointers("forced")

    def pointers(self, *states: ArgumentState) -> tuple[str, ...]:
        """Pointers of arguments in one of these states."""
        return tuple(p for p, state in self.arguments_state.items() if state in states)


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of the turn, in the order the model wrote it."""

    kind: BlockKind
    text: str = ""
    """Text of reasoning or content; empty for a call."""
    call: int | None = None
    """Index into `Message.tool_calls` for a call."""


@dataclass(frozen=True, slots=True)
class Message:
    """A whole assistant turn, as far as it was received."""

    content: str = ""
    reasoning_content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    blocks: tuple[Block, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    end: End = "complete"
    finish_reason: FinishReason = "stop"
    raw: str = ""
    """Everything that the model wrote, markers included (bytes that are not UTF-8 as U+FFFD)."""


@dataclass(frozen=True, slots=True)
class CallDelta:
    """News of one call. The header (id, name) comes once, before any arguments."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    state: CallState | None = None
    """How the call ended, with its last news."""


@dataclass(frozen=True, slots=True)
class Delta:
    """News of a turn: fields only ever append to what was sent before."""

    content: str = ""
    reasoning_content: str = ""
    tool_calls: tuple[CallDelta, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one generation."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that were not evaluated again."""


def arguments_object(arguments: JSON) -> dict[str, JSON] | None:
    """The arguments of a call, which messages hold as JSON text or as an object; None: neither."""
    if isinstance(arguments, str):
        try:
            arguments = cast("JSON", json.loads(arguments))
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, dict) else None


def kind_of(value: JSON) -> str:
    """What JSON calls a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"


def pointer_token(key: str) -> str:
    """A key as one token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def pointer_key(token: str) -> str:
    """The key that a token of a JSON pointer stands for."""
    return token.replace("~1", "/").replace("~0", "~")
