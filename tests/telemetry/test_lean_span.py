"""Spans that cost a tenth of OpenTelemetry's own are exported as its own would be, wherever they are used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    DEFAULT_ON,
    Decision,
    ParentBased,
    ParentBasedTraceIdRatio,
    Sampler,
    SamplingResult,
)
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode, TraceFlags, TraceState
from opentelemetry.util.types import Attributes

from maverick import AgentDefinition, AgentExecutor, ModelConfig, RunConfig, ToolConfig, tool
from maverick.exceptions import NetworkError
from maverick.model import Usage
from maverick.providers.scripted import TurnLike
from maverick.telemetry import instrument, uninstrument
from maverick.telemetry.lean_span import LeanSpan, lean_spans
from maverick.testing import ScriptedClient, call, calls, reply


class Watcher(SpanProcessor):
    """Wants to be told when a span begins, which a lean span would not tell it."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.begun.append(span.name)


class NoChats(Sampler):
    """Samples everything but model calls, whatever became of the span they are in."""

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        dropped = name.startswith("chat ")
        return SamplingResult(Decision.DROP if dropped else Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self) -> str:
        return "NoChats"


class Pipeline:
    """A tracer provider, and what it exports."""

    def __init__(self, *processors: SpanProcessor, **options: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False, **options)
        for processor in (*processors, SimpleSpanProcessor(self._exporter)):
            self.tracers.add_span_processor(processor)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    async def run(self) -> None:
        """Run an agent that comes by all there is: failures, a subagent, and tools that change their spans."""
        turns: list[TurnLike] = [
            NetworkError("cut"),
            calls(call("mark"), call("fall"), call("helper", prompt="Help."), usage=Usage(10, 2, 3, 4)),
            call("mark"),
            reply("Helped."),
            reply("Done.", usage=Usage(20, 3, cost_usd=0.25)),
        ]
        helper = _agent("helper", mark).as_tool()
        await self.execute(_agent("boss", mark, fall, helper), turns)

    async def execute(self, agent: AgentDefinition, turns: Sequence[TurnLike]) -> None:
        """Run an agent, and trace it."""
        instrument(tracer_provider=self.tracers)
        await AgentExecutor(ScriptedClient(list(turns))).execute(agent, inputs={"prompt": "Go."})


@tool
async def mark() -> str:
    """Change the span of the call in every way there is."""
    span = trace.get_current_span()
    span.set_attribute("marked", True)
    span.set_attributes({"marks": [1, 2, 3], "name": "mark"})
    span.add_event("marked", {"by": "hand"}, timestamp=7)
    span.add_link(SpanContext(1, 2, is_remote=True), {"to": "another"})
    span.record_exception(ValueError("no harm"), timestamp=8)
    span.set_status(StatusCode.OK)
    return "marked"


@tool
async def fall() -> str:
    """Fail."""
    raise RuntimeError("down")


def _agent(name: str, *tools: Any) -> AgentDefinition:
    return AgentDefinition(
        name=name,
        description="Works.",
        model_config=ModelConfig(model="claude:claude-test"),
        run_config=RunConfig(retry_delay_ms=0),
        tool_config=ToolConfig(tools=list(tools), max_parallel=1),
    )


def told(spans: Sequence[ReadableSpan]) -> list[Any]:
    """All fields of spans but for ids, in whose place is the name of the parent, and times, which are ordered."""
    names = {span.context.span_id: span.name for span in spans}
    moments = sorted(
        {moment for span in spans for moment in (span.start_time, span.end_time)}, key=lambda m: m or 0
    )
    fields = []
    for span in spans:
        exported = json.loads(span.to_json())
        for varying in ("start_time", "end_time", "parent_id"):
            del exported[varying]
        for varying in ("trace_id", "span_id"):
            del exported["context"][varying]
        for varying in ("maverick.run_id", "maverick.trace_id"):
            exported["attributes"].pop(varying, None)
        for event in exported["events"]:
            event["attributes"].pop("exception.stacktrace", None)
        fields.append(
            {
                **exported,
                "parent": span.parent and names[span.parent.span_id],
                "flags": span.context.trace_flags,
                "remote": span.context.is_remote,
                "scope": span.instrumentation_scope,
                "dropped": (span.dropped_attributes, span.dropped_events, span.dropped_links),
                "attribute order": list(span.attributes or ()),
                "lasts": moments.index(span.end_time) >= moments.index(span.start_time),
            }
        )
    return fields


@pytest.fixture(autouse=True)
def _switch_off() -> Iterator[None]:
    yield
    uninstrument()


@pytest.mark.requirement("007-OTEL-SAME")
async def test_a_run_is_exported_as_opentelemetrys_own_spans_would_be() -> None:
    resource = Resource.create({"service.name": "test"})
    lean, own = Pipeline(resource=resource), Pipeline(Watcher(), resource=resource)

    await lean.run()
    await own.run()

    assert told(lean.spans) == told(own.spans)
    assert len(lean.spans) == 11


@pytest.mark.requirement("007-OTEL-SAME")
def test_a_trace_goes_on_with_the_flags_and_the_state_it_came_with() -> None:
    pipeline = Pipeline()
    state = TraceState([("vendor", "7")])
    caller = SpanContext(5, 6, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED), trace_state=state)
    tracer = pipeline.tracers.get_tracer("test")
    context = trace.set_span_in_context(trace.NonRecordingSpan(caller))
    parent = tracer.start_span("parent", context)

    lean = lean_spans(tracer, parent)
    assert lean is not None
    started = lean.start("child", {}, SpanKind.INTERNAL, 1)
    own = tracer.start_span("child", trace.set_span_in_context(parent))

    ours, theirs = started.get_span_context(), own.get_span_context()
    assert (ours.trace_id, ours.trace_flags, ours.trace_state) == (5, theirs.trace_flags, theirs.trace_state)
    assert ours.trace_state == state
    assert ours.is_valid
    assert started.get_span_context() is ours


@pytest.mark.requirement("007-OTEL-PIPELINE")
async def test_a_processor_that_wants_to_know_when_spans_begin_is_told() -> None:
    watcher = Watcher()
    pipeline = Pipeline(watcher)

    await pipeline.run()

    assert sorted(watcher.begun) == sorted(span.name for span in pipeline.spans)


@pytest.mark.requirement("007-OTEL-PIPELINE")
async def test_limits_on_attributes_hold() -> None:
    few, short = (
        Pipeline(span_limits=SpanLimits(max_span_attributes=4)),
        Pipeline(span_limits=SpanLimits(max_span_attribute_length=4)),
    )

    await few.run()
    await short.run()

    assert max(len(span.attributes or {}) for span in few.spans) == 4
    values = [value for span in short.spans for value in (span.attributes or {}).values()]
    assert max(len(value) for value in values if isinstance(value, str)) == 4


@pytest.mark.requirement("007-OTEL-PIPELINE")
async def test_limits_on_events_hold_for_a_span_that_a_tool_changes() -> None:
    pipeline = Pipeline(span_limits=SpanLimits(max_events=1))

    await pipeline.run()

    marked = [span for span in pipeline.spans if span.name == "execute_tool mark"]
    assert [(len(span.events), span.dropped_events) for span in marked] == [(1, 1), (1, 1)]


@pytest.mark.requirement("007-OTEL-PIPELINE")
async def test_a_sampler_that_looks_at_each_span_is_asked_about_each() -> None:
    pipeline = Pipeline(sampler=NoChats())

    await pipeline.run()

    names = {span.name.split()[0] for span in pipeline.spans}
    assert names == {"invoke_agent", "execute_tool"}


@pytest.mark.requirement("007-OTEL-PIPELINE")
@pytest.mark.parametrize("sampler", [ALWAYS_OFF, ParentBasedTraceIdRatio(0.0)], ids=["off", "ratio"])
async def test_of_a_run_that_is_not_sampled_nothing_is_told(sampler: Sampler) -> None:
    pipeline = Pipeline(sampler=sampler)

    await pipeline.run()

    assert pipeline.spans == ()


@pytest.mark.requirement("007-OTEL-PIPELINE")
@pytest.mark.parametrize(
    ("make", "is_lean"),
    [
        (Pipeline, True),
        (lambda: Pipeline(sampler=ALWAYS_ON), True),
        (lambda: Pipeline(sampler=ParentBasedTraceIdRatio(1.0)), True),
        (lambda: Pipeline(span_limits=SpanLimits(max_events=1)), True),
        (lambda: Pipeline(sampler=ParentBased(ALWAYS_ON, local_parent_sampled=NoChats())), False),
        (lambda: Pipeline(sampler=NoChats()), False),
        (lambda: Pipeline(Watcher()), False),
        (lambda: Pipeline(span_limits=SpanLimits(max_span_attributes=4)), False),
        (lambda: Pipeline(span_limits=SpanLimits(max_span_attribute_length=4)), False),
    ],
)
def test_spans_are_lean_where_that_makes_no_difference(make: Callable[[], Pipeline], is_lean: bool) -> None:
    tracer = make().tracers.get_tracer("test")

    assert (lean_spans(tracer, tracer.start_span("parent")) is not None) is is_lean


@pytest.mark.requirement("007-OTEL-PIPELINE")
async def test_spans_are_lean_as_they_are_exported_in_production() -> None:
    exporter = InMemorySpanExporter()
    batching = BatchSpanProcessor(exporter)
    pipeline = Pipeline(batching, sampler=DEFAULT_ON)
    current: list[trace.Span] = []

    @tool
    async def peek() -> str:
        """Look at the span."""
        current.append(trace.get_current_span())
        return "seen"

    await pipeline.execute(_agent("boss", peek), [call("peek"), reply("Done.")])
    pipeline.tracers.force_flush()
    pipeline.tracers.shutdown()

    assert isinstance(current[0], LeanSpan)
    assert told(exporter.get_finished_spans()) == told(pipeline.spans)
