"""Spans with OpenTelemetry's names."""

import contextlib
import sys
import types

import pytest

from tool_loop import complete, once
from untemplate.errors import RequestError
from untemplate.loop import ToolLoop, open_telemetry, tool


class Recorder:
    """A tracer that keeps its spans, as (name, parent, attributes)."""

    def __init__(self, *, records_content=False):
        self.records_content = records_content
        self.spans, self.open = [], []

    @contextlib.contextmanager
    def span(self, name, attributes):
        kept = dict(attributes)
        self.spans.append((name, self.open[-1] if self.open else None, kept))
        self.open.append(name)
        try:
            yield self
        finally:
            self.open.pop()

    def set_attribute(self, key, value):
        name = self.open[-1]
        next(a for n, _, a in reversed(self.spans) if n == name)[key] = value


def add(a: int, b: int) -> int:
    return a + b


@tool
def fail():
    raise ValueError


@pytest.mark.parametrize("records_content", [False, True])
def test_spans_of_a_run(records_content):
    tracer = Recorder(records_content=records_content)
    complete(ToolLoop(once(("add", {"a": 1, "b": 2})), [add], tracer=tracer))
    assert [(n, p) for n, p, _ in tracer.spans] == [
        ("invoke_agent", None),
        ("chat", "invoke_agent"),
        ("execute_tool add", "invoke_agent"),
        ("chat", "invoke_agent"),
    ]
    attributes = tracer.spans[2][2]
    assert attributes["gen_ai.operation.name"] == "execute_tool"
    assert attributes["gen_ai.tool.name"] == "add"
    assert attributes["gen_ai.tool.call.id"].startswith("call_")
    assert attributes.get("gen_ai.tool.call.arguments") == (
        '{"a": 1, "b": 2}' if records_content else None
    )
    assert attributes.get("gen_ai.tool.call.result") == ("3" if records_content else None)
    assert tracer.spans[1][2]["gen_ai.usage.output_tokens"] > 0
    assert tracer.spans[1][2]["gen_ai.response.finish_reasons"] == ("tool_calls",)


def test_a_failed_call_has_an_error_type():
    tracer = Recorder()
    complete(ToolLoop(once(("fail", {})), [fail], tracer=tracer))
    assert tracer.spans[2][2]["error.type"] == "failed"


def test_the_tracer_of_opentelemetry(monkeypatch):
    """Through a module of the same shape; the names are those of opentelemetry-api."""
    recorder, asked = Recorder(), []

    def get_tracer(name):
        asked.append(name)
        return types.SimpleNamespace(
            start_as_current_span=lambda name, *, attributes: recorder.span(name, attributes)
        )

    package, module = types.ModuleType("opentelemetry"), types.ModuleType("opentelemetry.trace")
    module.get_tracer = get_tracer
    monkeypatch.setitem(sys.modules, "opentelemetry", package)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", module)
    complete(ToolLoop(once(("add", {"a": 1, "b": 2})), [add], tracer=open_telemetry()))
    assert asked == ["untemplate"]
    assert [n for n, _, _ in recorder.spans][:2] == ["invoke_agent", "chat"]


def test_the_real_one():
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import get_tracer_provider, set_tracer_provider

    exporter = InMemorySpanExporter()
    set_tracer_provider(TracerProvider())
    get_tracer_provider().add_span_processor(SimpleSpanProcessor(exporter))
    complete(
        ToolLoop(
            once(("add", {"a": 1, "b": 2}), ("fail", {})), [add, fail], tracer=open_telemetry()
        )
    )
    spans = {s.name: s for s in exporter.get_finished_spans()}
    root = spans["invoke_agent"]
    assert spans["execute_tool add"].parent.span_id == root.context.span_id
    assert spans["execute_tool fail"].attributes["error.type"] == "failed"
    assert spans["chat"].attributes["gen_ai.operation.name"] == "chat"


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(RequestError, match=r"pip install 'untemplate\[otel\]'"):
        open_telemetry()
