"""Runs as OpenTelemetry spans and metrics, by the GenAI conventions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from maverick import AgentDefinition, AgentExecutor, AgentResult, ModelConfig, RunConfig, ToolConfig, tool
from maverick.exceptions import NetworkError
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
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._exporter.get_finished_spans()}

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


async def test_tokens_and_durations_are_measured(collector: Collector) -> None:
    await run(
        watcher(),
        calls(call("look", what="door"), usage=Usage(10, 2, cost_usd=0.25)),
        reply("Shut.", usage=Usage(20, 3, cost_usd=0.5)),
    )

    tokens = {
        point.attributes["gen_ai.token.type"]: point.sum
        for point in collector.points("gen_ai.client.token.usage")
    }
    operations = {
        point.attributes["gen_ai.operation.name"]: point.count
        for point in collector.points("gen_ai.client.operation.duration")
    }
    assert tokens == {"input": 30, "output": 5}
    assert operations == {"chat": 2}
    assert [point.value for point in collector.points("maverick.cost")] == [0.75]


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
