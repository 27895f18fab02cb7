"""Spans with OpenTelemetry's names for generative AI, all in this module.

The conventions are still in development and moved house once already
(github.com/open-telemetry/semantic-conventions-genai): if a name changes, it changes here.

    invoke_agent                       the run
      chat smollm2                     one generation
      execute_tool get_weather         one call

Arguments and results are recorded only on request, since they may be private. The loop itself knows
only the two small protocols below; `open_telemetry` fills them from opentelemetry-api (an extra),
which is imported when it is called.
"""

import contextlib
import importlib
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, cast

from untemplate.errors import RequestError
from untemplate.message import ToolCall, Usage

__all__ = [
    "NoTracer",
    "Span",
    "Tracer",
    "generation_span",
    "note_outcome",
    "note_usage",
    "open_telemetry",
    "run_span",
    "tool_span",
]

Attribute = str | int | float | bool | tuple[str, ...]


class Span(Protocol):
    """One stretch of work."""

    def set_attribute(self, key: str, value: Attribute) -> None: ...


class Tracer(Protocol):
    """Makes spans; a span opened inside another is its child."""

    @property
    def records_content(self) -> bool: ...

    def span(
        self, name: str, attributes: Mapping[str, Attribute]
    ) -> AbstractContextManager[Span]: ...


class NoTracer:
    """Records nothing."""

    records_content = False

    def set_attribute(self, key: str, value: Attribute) -> None:
        pass

    def span(
        self,
        name: str,  # noqa: ARG002 - as the protocol says
        attributes: Mapping[str, Attribute],  # noqa: ARG002 - as the protocol says
    ) -> AbstractContextManager[Span]:
        return contextlib.nullcontext(self)


def run_span(tracer: Tracer) -> AbstractContextManager[Span]:
    """The whole run."""
    return tracer.span("invoke_agent", {"gen_ai.operation.name": "invoke_agent"})


def generation_span(tracer: Tracer, step: int, model: str) -> AbstractContextManager[Span]:
    """One question to the model."""
    attributes: dict[str, Attribute] = {"gen_ai.operation.name": "chat", "untemplate.step": step}
    if model:
        attributes["gen_ai.request.model"] = model
    return tracer.span(f"chat {model}".rstrip(), attributes)


def note_usage(span: Span, usage: Usage, finish_reason: str) -> None:
    """What a generation cost and how it ended."""
    span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
    span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
    span.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens)
    span.set_attribute("gen_ai.response.finish_reasons", (finish_reason,))


def tool_span(tracer: Tracer, call: ToolCall) -> AbstractContextManager[Span]:
    """One run of a tool."""
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
    }
    if tracer.records_content:
        attributes["gen_ai.tool.call.arguments"] = call.arguments
    return tracer.span(f"execute_tool {call.name}", attributes)


def note_outcome(tracer: Tracer, span: Span, status: str, text: str) -> None:
    """How a call ended."""
    if status != "ok":
        span.set_attribute("error.type", status)
    if tracer.records_content:
        span.set_attribute("gen_ai.tool.call.result", text)


class _OtelTracer(Protocol):
    def start_as_current_span(
        self, name: str, *, attributes: Mapping[str, Attribute]
    ) -> AbstractContextManager[Span]: ...


class _OtelTrace(Protocol):
    def get_tracer(self, name: str) -> _OtelTracer: ...


class _OpenTelemetry:
    def __init__(self, tracer: _OtelTracer, *, records_content: bool) -> None:
        self._tracer = tracer
        self.records_content = records_content

    @contextlib.contextmanager
    def span(self, name: str, attributes: Mapping[str, Attribute]) -> Generator[Span]:
        with self._tracer.start_as_current_span(name, attributes=attributes) as span:
            yield span


def open_telemetry(*, records_content: bool = False) -> Tracer:
    """A tracer over opentelemetry-api, with whatever provider the host has set up.

    Raises:
        RequestError: the extra is not installed.
    """
    try:
        trace = cast("_OtelTrace", importlib.import_module("opentelemetry.trace"))
    except ImportError as error:
        raise RequestError(
            "spans need opentelemetry-api: pip install 'untemplate[otel]'", place="tracer"
        ) from error
    return _OpenTelemetry(trace.get_tracer("untemplate"), records_content=records_content)
