"""What traces and metrics add to a turn over loopback, when they are on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from statistics import median

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.figure import Figure, Target
from benchmarks.model_server import model_server
from benchmarks.providers import MaverickAgent, check, cpu
from maverick.telemetry import instrument, uninstrument

_TURNS = 200


class _Nowhere(SpanExporter):
    """Takes spans, as a collector would, and counts them."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += len(spans)
        return SpanExportResult.SUCCESS


def measure(rounds: int) -> Iterator[Figure]:
    with model_server() as base_url:
        pairs = [(asyncio.run(_turn(base_url)), _traced(base_url)) for _ in range(rounds)]
    off, on = (median(side) for side in zip(*pairs, strict=True))
    yield Figure("over loopback, a turn without traces", off * 1e6, "µs CPU")
    yield Figure("the same with traces and metrics", on * 1e6, "µs CPU")
    yield Figure("… against without", on / off, "×", Target(1.1))


def _traced(base_url: str) -> float:
    nowhere, meters = _Nowhere(), MeterProvider([InMemoryMetricReader()])
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(nowhere, max_queue_size=10_000))
    instrument(tracer_provider=tracers, meter_provider=meters)
    try:
        return asyncio.run(_turn(base_url))
    finally:
        uninstrument()
        tracers.shutdown()
        meters.shutdown()
        assert nowhere.spans > 2 * _TURNS, nowhere.spans


async def _turn(base_url: str) -> float:
    agent = MaverickAgent(base_url)
    try:
        await check(agent.run("loop-20"), "done")
        return await cpu(lambda: check(agent.run(f"loop-{_TURNS}"), "done")) / _TURNS
    finally:
        await agent.aclose()
