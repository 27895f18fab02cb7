"""The body of `POST /v1/chat/completions`, from bytes to library values.

    request = decode_request(body)
    request.messages, request.tools, request.choice, request.sampling, request.stream

Bytes come from strangers, so everything is bounded and checked here, and each error is one line
that names the place: `temperature: expected float <= 2.0`, `messages[0].role: expected a string`.
Fields that nobody knows are ignored, as OpenAI does. A known field that would change the answer and
can't be honoured is refused rather than ignored. A request can never bring a template: templates
are programs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec

from untemplate.errors import RequestError
from untemplate.message import JSON, Continue, Tool, ToolChoice
from untemplate.wire.openai.conversation import (
    read_continue,
    read_messages,
    read_response_format,
    read_tool_choice,
    read_tools,
    read_variables,
)

__all__ = ["DEPTH_LIMIT", "ChatRequest", "Limits", "Sampling", "Writing", "decode_request"]

DEPTH_LIMIT = 64
"""Deepest nesting of a request; tool schemas of real programs stay below 20."""

_UNSUPPORTED = {
    "audio": "sound is not supported; leave it out",
    "chat_template": "a request can't bring a template; start the server with one",
    "function_call": "deprecated and not supported; use tool_choice",
    "functions": "deprecated and not supported; use tools",
    "grammar": "not supported; the grammar follows from tools and tool_choice",
    "logprobs": "not supported; leave it out",
    "top_logprobs": "not supported; leave it out",
}
"""Known fields that would change the answer, and what to do; null, false and 0 are harmless."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn; None leaves the engine's own default."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    logit_bias: Mapping[int, float] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What is done where tokens are short. These fields are ours; OpenAI has none for it."""

    on_limit: Literal["cut", "close", "resume"] = "cut"
    """At `max_tokens`: `cut`, and say what is open; `close` in time, by the mask; `resume`: a call
    that is open goes on in place."""
    resume_tokens: int | None = None
    """How far a call may go on with `resume`; None: as far as the context holds."""
    trust_forced: bool = False
    """Report calls that the mask closed as `tool_calls`; else the reason stays `length`."""
    reasoning_tokens: int | None = None
    """After how many the reasoning is ended."""
    check_max_tokens: bool = False
    """Refuse a `max_tokens` into which no call of some tool fits, before anything is generated."""
    fit: bool = False
    """Drop what has to go for the conversation to fit; the answer says what."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How calls are written where JSON leaves a choice. These fields are ours as well."""

    whitespace: Literal["bounded", "exact"] = "bounded"
    """`exact`: only the space that the template itself writes."""
    key_order: Literal["any", "declared"] = "any"
    open_objects: bool = False
    """Objects that list properties and say nothing of others take others too."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a client asks for."""

    messages: list[dict[str, JSON]]
    model: str | None = None
    tools: tuple[Tool, ...] = ()
    choice: ToolChoice = field(default_factory=lambda: ToolChoice("none"))
    response_schema: JSON = None
    """JSON Schema of the answer; None: text."""
    response_strict: bool = False
    """Refuse the schema where not all of it can be enforced exactly."""
    sampling: Sampling = Sampling()
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    include_usage: bool = False
    continue_final_message: Continue = False
    variables: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    """Further template variables (`enable_thinking`, say)."""
    limits: Limits = Limits()
    writing: Writing = Writing()


_Count = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
_Factor = Annotated[float, msgspec.Meta(ge=0.01, le=100)]
_Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Penalty = Annotated[float, msgspec.Meta(ge=-2, le=2)]
_Stop = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Bias = Annotated[float, msgspec.Meta(ge=-100, le=100)]


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Body(msgspec.Struct):
    messages: Any
    model: str | None = None
    tools: Any = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None
    min_p: _Fraction | None = None
    repetition_penalty: _Factor | None = None
    repeat_penalty: _Factor | None = None
    frequency_penalty: _Penalty | None = None
    presence_penalty: _Penalty | None = None
    seed: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    logit_bias: dict[str, _Bias] | None = None
    max_tokens: _Count | None = None
    max_completion_tokens: _Count | None = None
    stop: _Stop | Annotated[list[_Stop], msgspec.Meta(max_length=16)] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: int | None = None
    response_format: Any = None
    reasoning_effort: str | None = None
    chat_template_kwargs: Any = None
    continue_final_message: bool | str | None = None
    on_limit: Literal["cut", "close", "resume"] | None = None
    resume_tokens: _Count | None = None
    trust_forced: bool | None = None
    reasoning_tokens: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] | None = None
    check_max_tokens: bool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    whitespace: Literal["bounded", "exact"] | None = None
    key_order: Literal["any", "declared"] | None = None
    open_objects: bool | None = None
    audio: Any = None
    chat_template: Any = None
    function_call: Any = None
    functions: Any = None
    grammar: Any = None
    logprobs: Any = None
    top_logprobs: Any = None


_decoder = msgspec.json.Decoder(_Body)


def decode_request(body: bytes) -> ChatRequest:
    """The request in these bytes.

    Raises:
        RequestError: it is no JSON, nested too deep, or a field is not as it must be.
    """
    try:
        read = _decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _located(str(error)) from None
    except msgspec.DecodeError as error:
        raise RequestError(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise _too_deep() from None
    nested = [read.messages, read.tools, read.tool_choice, read.response_format]
    _check_depth(body, [*nested, read.chat_template_kwargs])
    _check_supported(read)
    tools = read_tools(read.tools)
    # Without tools the default is none: what then looks like a call is content.
    asked = "none" if read.tool_choice is None and not tools else read.tool_choice
    response_schema, response_strict = read_response_format(read.response_format)
    return ChatRequest(
        messages=read_messages(read.messages),
        model=read.model or None,
        tools=tools,
        choice=read_tool_choice(asked, parallel=read.parallel_tool_calls is not False),
        response_schema=response_schema,
        response_strict=response_strict,
        sampling=_sampling(read),
        max_tokens=read.max_completion_tokens or read.max_tokens,
        stop=(read.stop,) if isinstance(read.stop, str) else tuple(read.stop or ()),
        stream=bool(read.stream),
        include_usage=bool(read.stream_options and read.stream_options.include_usage),
        continue_final_message=read_continue(read.continue_final_message),
        variables=_variables(read),
        limits=Limits(
            on_limit=read.on_limit or "cut",
            resume_tokens=read.resume_tokens,
            trust_forced=bool(read.trust_forced),
            reasoning_tokens=read.reasoning_tokens,
            check_max_tokens=bool(read.check_max_tokens),
            fit=read.truncation == "auto",
        ),
        writing=Writing(
            whitespace=read.whitespace or "bounded",
            key_order=read.key_order or "any",
            open_objects=bool(read.open_objects),
        ),
    )


def _located(text: str) -> RequestError:
    """From msgspec's "Expected `int`, got `str` - at `$.messages[0].role`" to an error of ours."""
    what, _, where = text.replace("`", "").partition(" - at ")
    place = where.removeprefix("$").removeprefix(".")
    missing = re.fullmatch(r"Object missing required field (\w+)", what)
    if missing:
        return RequestError("this field is required", place=missing[1])
    return RequestError(what[:1].lower() + what[1:], place=place or "body")


def _too_deep() -> RequestError:
    return RequestError(f"nested deeper than {DEPTH_LIMIT} levels", place="body")


def _check_depth(body: bytes, values: list[JSON]) -> None:
    if body.count(b"[") + body.count(b"{") <= DEPTH_LIMIT:
        return
    level: list[JSON] = values
    for _ in range(DEPTH_LIMIT - 1):
        level = [inner for value in level for inner in _containers(value)]
        if not level:
            return
    raise _too_deep()


def _containers(value: JSON) -> list[JSON]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in inner if isinstance(item, dict | list)]


def _check_supported(read: _Body) -> None:
    for name, reason in _UNSUPPORTED.items():
        if getattr(read, name):
            raise RequestError(reason, place=name)
    if read.n not in (None, 1):
        raise RequestError("one answer per request: send n requests instead", place="n")


def _sampling(read: _Body) -> Sampling:
    bias: dict[int, float] = {}
    for token, value in (read.logit_bias or {}).items():
        if not re.fullmatch(r"\d{1,9}", token):
            raise RequestError(f"expected token ids as keys, not {token!r}", place="logit_bias")
        bias[int(token)] = value
    return Sampling(
        temperature=read.temperature,
        top_p=read.top_p,
        top_k=read.top_k,
        min_p=read.min_p,
        repetition_penalty=read.repetition_penalty or read.repeat_penalty,
        frequency_penalty=read.frequency_penalty,
        presence_penalty=read.presence_penalty,
        seed=read.seed,
        logit_bias=bias or None,
    )


def _variables(read: _Body) -> dict[str, JSON]:
    variables = read_variables(read.chat_template_kwargs)
    if read.reasoning_effort is not None:
        variables.setdefault("reasoning_effort", read.reasoning_effort)
    return variables
