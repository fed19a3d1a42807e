"""Runs as OpenTelemetry spans and metrics, by the GenAI conventions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

from maverick import AgentDefinition, AgentExecutor, AgentResult, ModelConfig, RunConfig, ToolConfig, tool
from maverick.exceptions import AuthenticationError, NetworkError
from maverick.journal import MemoryJournal
from maverick.loop.events import RunStart
from maverick.model import Usage
from maverick.providers.scripted import TurnLike
from maverick.telemetry import instrument, uninstrument
from maverick.testing import ScriptedClient, call, calls, reply


class Collector:
    """What OpenTelemetry was told."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)

    @property
    def all_spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.all_spans}

    def points(self, name: str) -> list[Any]:
        data = self._reader.get_metrics_data()
        metrics = data.resource_metrics[0].scope_metrics[0].metrics if data else []
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    instrument(tracer_provider=collector.tracers, meter_provider=collector.meters)
    yield collector
    uninstrument()


@tool(effect="pure")
async def look(what: str) -> str:
    """Look at something."""
    if what == "nothing":
        raise LookupError("there is nothing to see, canary-2718")
    return f"{what}: canary-3141"


def watcher(*tools: Any, **options: Any) -> AgentDefinition:
    return AgentDefinition(
        name="watcher",
        description="Looks at things.",
        model_config=ModelConfig(model="claude:claude-test"),
        tool_config=ToolConfig(tools=[look, *tools]),
        **options,
    )


async def run(definition: AgentDefinition, *turns: TurnLike, **options: Any) -> AgentResult:
    return await AgentExecutor(ScriptedClient(list(turns)), **options).execute(
        definition, inputs={"prompt": "canary-1618"}, run_id="r"
    )


@pytest.mark.requirement("007-OTEL-SPANS")
async def test_a_run_is_a_span_with_its_model_and_tool_calls_in_it(collector: Collector) -> None:
    await run(watcher(), call("look", what="door"), reply("Shut.", usage=Usage(10, 2)))

    spans = collector.spans
    agent, chat, looked = (
        spans[name] for name in ("invoke_agent watcher", "chat claude-test", "execute_tool look")
    )
    assert agent.parent is None
    assert agent.context is not None
    assert {span.parent.span_id for span in (chat, looked) if span.parent} == {agent.context.span_id}
    assert agent.attributes is not None
    assert agent.attributes["gen_ai.provider.name"] == "anthropic"
    assert agent.attributes["maverick.run_id"] == "r"
    assert chat.attributes is not None
    assert chat.attributes["gen_ai.usage.input_tokens"] == 10
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("complete",)
    assert looked.attributes is not None
    assert looked.attributes["gen_ai.tool.name"] == "look"
    assert all(span.status.is_ok or span.status.is_unset for span in spans.values())


@pytest.mark.requirement("007-OTEL-PIPELINE")
@pytest.mark.parametrize(("sampler", "most"), [(ALWAYS_ON, 4), (ALWAYS_OFF, 0)], ids=["on", "off"])
async def test_samplers_and_limits_of_the_process_hold(sampler: Sampler, most: int) -> None:
    exporter = InMemorySpanExporter()
    limits = SpanLimits(max_span_attributes=4)
    tracers = TracerProvider(sampler=sampler, span_limits=limits, shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    instrument(tracer_provider=tracers)
    try:
        await run(watcher(), call("look", what="door"), reply("Shut."))
    finally:
        uninstrument()

    sizes = [len(span.attributes or {}) for span in exporter.get_finished_spans()]
    assert max(sizes, default=0) == most


@pytest.mark.requirement("007-OTEL-SPANS")
async def test_each_turn_has_spans_of_its_own(collector: Collector) -> None:
    both = calls(call("look", what="door"), call("look", what="window"))

    await run(watcher(), both, call("look", what="nothing"), both, reply("Shut."))

    outcomes = [
        (span.attributes or {}).get("error.type")
        for span in collector.all_spans
        if span.name == "execute_tool look"
    ]
    turns = [
        (span.attributes or {})["maverick.turn"]
        for span in collector.all_spans
        if span.name == "chat claude-test"
    ]
    assert outcomes == [None, None, "failed", None, None]
    assert turns == [1, 2, 3, 4]


@pytest.mark.requirement("007-OTEL-SPANS")
async def test_a_tool_call_lasts_as_long_as_its_tool(collector: Collector) -> None:
    seen: list[float] = []

    @tool
    async def watch_clock() -> str:
        """Watch the clock."""
        seen.append(time.time())
        await asyncio.sleep(0.02)
        seen.append(time.time())
        return "later"

    await run(watcher(watch_clock), call("watch_clock"), reply("Late."))

    span, agent = collector.spans["execute_tool watch_clock"], collector.spans["invoke_agent watcher"]
    began, ended = (int(moment * 1e9) for moment in seen)
    assert (agent.start_time or 0) <= (span.start_time or 0) <= began
    assert ended <= (span.end_time or 0) <= (agent.end_time or 0)


@pytest.mark.requirement("007-OTEL-SPANS")
async def test_a_subagents_run_is_a_span_in_the_call_that_started_it(collector: Collector) -> None:
    boss = AgentDefinition(
        name="boss", description="Delegates.", tool_config=ToolConfig(tools=[watcher().as_tool()])
    )

    await run(boss, call("watcher", prompt="Look."), reply("Seen."), reply("Good."))

    inner, outer = collector.spans["invoke_agent watcher"], collector.spans["execute_tool watcher"]
    assert inner.parent is not None
    assert outer.context is not None
    assert inner.parent.span_id == outer.context.span_id
    assert inner.context is not None
    assert inner.context.trace_id == outer.context.trace_id


async def test_what_failed_says_so_and_why_by_its_type(collector: Collector) -> None:
    failing = watcher(run_config=RunConfig(max_retries=0))

    await run(failing, call("look", what="nothing"), NetworkError("cut"))

    errors = {name: (span.attributes or {}).get("error.type") for name, span in collector.spans.items()}
    assert errors == {
        "execute_tool look": "failed",
        "chat claude-test": "NetworkError",
        "invoke_agent watcher": "error",
    }


async def test_a_run_that_waits_for_a_person_ends_its_span_and_begins_another(collector: Collector) -> None:
    @tool(approval=True)
    async def shred() -> str:
        """Shred something."""
        return "shredded"

    journal, agent = MemoryJournal(), watcher(shred)
    await run(agent, call("shred"), journal=journal)
    waiting = collector.spans["invoke_agent watcher"]
    await journal.approve("r:1:0", by="ana")
    await AgentExecutor(ScriptedClient([reply("Done.")]), journal=journal).resume("r", agent)

    assert (waiting.attributes or {})["maverick.terminate_reason"] == "awaiting_approval"
    assert (collector.spans["invoke_agent watcher"].attributes or {})[
        "maverick.terminate_reason"
    ] == "complete"
    assert "execute_tool shred" in collector.spans


@pytest.mark.requirement("007-OTEL-METRICS")
async def test_tokens_and_durations_are_measured(collector: Collector) -> None:
    await run(
        watcher(),
        calls(call("look", what="door"), usage=Usage(10, 2, cost_usd=0.25)),
        reply("Shut.", usage=Usage(20, 3, cost_usd=0.5)),
    )

    tokens = {
        (point.attributes["gen_ai.operation.name"], point.attributes["gen_ai.token.type"]): (
            point.count,
            point.sum,
        )
        for point in collector.points("gen_ai.client.token.usage")
    }
    operations = {
        point.attributes["gen_ai.operation.name"]: point.count
        for point in collector.points("gen_ai.client.operation.duration")
    }
    assert tokens == {("invoke_agent", "input"): (1, 30), ("invoke_agent", "output"): (1, 5)}
    assert operations == {"chat": 2}
    assert [point.value for point in collector.points("maverick.cost")] == [0.75]


@pytest.mark.requirement("003-NFR3-METRICS", "007-OTEL-METRICS")
async def test_turns_tokens_and_duration_of_a_run_are_measured(collector: Collector) -> None:
    quick = watcher(run_config=RunConfig(retry_delay=0.001))
    await run(
        quick,
        calls(call("look", what="door"), usage=Usage(10, 2)),
        NetworkError("Gone."),
        reply("Shut.", usage=Usage(5, 1)),
    )
    await run(quick, AuthenticationError("Wrong key."))

    for name, sums in (("maverick.run.turns", {"complete": 2, "error": 1}), ("maverick.run.duration", None)):
        points = {point.attributes["maverick.terminate_reason"]: point for point in collector.points(name)}
        assert {reason: point.count for reason, point in points.items()} == {"complete": 1, "error": 1}
        assert all(point.attributes["gen_ai.agent.name"] == "watcher" for point in points.values())
        assert all(point.sum >= 0 for point in points.values())
        assert sums is None or {reason: point.sum for reason, point in points.items()} == sums
    tokens = [(point.count, point.sum) for point in collector.points("gen_ai.client.token.usage")]
    assert sorted(tokens) == [(2, 3), (2, 15)]


@pytest.mark.requirement("007-OTEL-METRICS")
async def test_a_run_that_goes_on_counts_only_the_tokens_it_has_used_since(collector: Collector) -> None:
    @tool(approval=True)
    async def shred() -> str:
        """Shred something."""
        return "shredded"

    journal, agent = MemoryJournal(), watcher(shred)
    await run(agent, calls(call("shred"), usage=Usage(10, 2)), journal=journal)
    await journal.approve("r:1:0", by="ana")
    turns = [reply("Done.", usage=Usage(20, 3))]
    await AgentExecutor(ScriptedClient(turns), journal=journal).resume("r", agent)

    tokens = {
        point.attributes["gen_ai.token.type"]: (point.count, point.sum)
        for point in collector.points("gen_ai.client.token.usage")
    }
    assert tokens == {"input": (2, 30), "output": (2, 5)}


@pytest.mark.requirement("007-OTEL-SOON")
async def test_a_call_is_told_of_while_the_tool_after_it_still_runs(collector: Collector) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    class Bell(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            told.put_nowait(span.name)

    collector.tracers.add_span_processor(Bell())
    heard: list[str] = []

    @tool
    async def wait() -> str:
        """Wait until the call before this one is told of."""
        heard.append(await told.get())
        return "waited"

    await run(watcher(wait), call("wait"), reply("Done."))

    assert heard == ["chat claude-test"]


@pytest.mark.requirement("007-OTEL-INSIDE")
@pytest.mark.parametrize("threaded", [False, True], ids=["async", "thread"])
async def test_what_a_tool_does_is_in_the_span_of_its_call(collector: Collector, threaded: bool) -> None:
    tracer = collector.tracers.get_tracer("mine")

    def measure_twice() -> str:
        """Measure twice."""
        with tracer.start_as_current_span("measure"):
            trace.get_current_span().set_attribute("inner", 1)
        trace.get_current_span().set_attribute("outer", 2)
        trace.get_current_span().add_event("measured")
        return "cut once"

    async def measure_twice_async() -> str:
        """Measure twice."""
        return measure_twice()

    made = tool(measure_twice) if threaded else tool(name="measure_twice")(measure_twice_async)

    await run(watcher(made), calls(call("measure_twice"), call("look", what="door")), reply("Done."))

    inner, outer = collector.spans["measure"], collector.spans["execute_tool measure_twice"]
    assert outer.context is not None
    assert inner.parent == outer.context
    assert (outer.attributes or {})["outer"] == 2
    assert (outer.attributes or {})["gen_ai.tool.name"] == "measure_twice"
    assert [event.name for event in outer.events] == ["measured"]
    assert "outer" not in (collector.spans["execute_tool look"].attributes or {})
    assert trace.get_current_span() is trace.INVALID_SPAN


@pytest.mark.requirement("007-OTEL-INSIDE")
async def test_a_span_that_is_over_takes_no_notice_of_changes(collector: Collector) -> None:
    kept: list[trace.Span] = []

    @tool
    async def keep() -> str:
        """Keep the span."""
        kept.append(trace.get_current_span())
        return "kept"

    await run(watcher(keep), call("keep"), reply("Done."))
    kept[0].set_attribute("late", True)
    kept[0].end()

    assert not kept[0].is_recording()
    assert "late" not in (collector.spans["execute_tool keep"].attributes or {})
    assert len(collector.all_spans) == 4


@pytest.mark.requirement("P9")
async def test_nothing_that_was_said_is_in_a_span(collector: Collector) -> None:
    await run(watcher(), call("look", what="canary-5772"), call("look", what="nothing"), reply("canary-6931"))

    told = [
        f"{span.name} {dict(span.attributes or {})} {span.status.description}"
        for span in collector.spans.values()
    ]
    assert not [line for line in told if "canary" in line]


async def test_events_have_the_id_of_the_trace_they_are_in(collector: Collector) -> None:
    events: list[Any] = []
    with collector.tracers.get_tracer("request").start_as_current_span("request") as request:
        await AgentExecutor(ScriptedClient([reply("Hi.")])).execute(
            watcher(), inputs={"prompt": "Hello"}, on_activity=events.append
        )

    [start] = [event for event in events if isinstance(event, RunStart)]
    assert start.trace_id == format(request.get_span_context().trace_id, "032x")
    inner = collector.spans["invoke_agent watcher"]
    assert inner.parent is not None
    assert inner.parent.span_id == request.get_span_context().span_id


async def test_without_being_asked_for_nothing_is_traced() -> None:
    collector = Collector()

    await run(watcher(), reply("Hi."))

    assert collector.spans == {}
