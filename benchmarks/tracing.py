"""What traces and metrics add to a turn over loopback, when they are on.

The turn without them is the one of ``providers``: a model call over HTTP and a tool, nothing kept and nobody listening.
With them, spans go through the batching processor that is used in production, to an exporter that drops them, and
metrics to a reader. The CPU of the whole process counts, and all spans are with the exporter when the clock stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from statistics import median

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.figure import Figure
from benchmarks.model_server import model_server
from benchmarks.providers import MaverickAgent, check, cpu
from maverick.telemetry import instrument, uninstrument

_TURNS, _FEW_TURNS = 200, 2
_PAIRS = 5
"""How often a run without and one with traces follow each other in a round; the cheapest of each is taken."""


class _Nowhere(SpanExporter):
    """Takes spans, as a collector would, and counts them."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += len(spans)
        return SpanExportResult.SUCCESS


class _Telemetry:
    """OpenTelemetry as a process sets it up."""

    def __init__(self) -> None:
        self.nowhere = _Nowhere()
        self._tracers = TracerProvider()
        self._tracers.add_span_processor(BatchSpanProcessor(self.nowhere))
        self._meters = MeterProvider([InMemoryMetricReader()])

    def switch_on(self) -> None:
        instrument(tracer_provider=self._tracers, meter_provider=self._meters)

    def flush(self) -> None:
        self._tracers.force_flush()

    def shut_down(self) -> None:
        uninstrument()
        self._tracers.shutdown()
        self._meters.shutdown()


def measure(rounds: int) -> Iterator[Figure]:
    with model_server() as base_url:
        long = [asyncio.run(_both(base_url, _TURNS, runs=1)) for _ in range(rounds)]
        short = [asyncio.run(_both(base_url, _FEW_TURNS, runs=20)) for _ in range(rounds)]
    off, on = (median(side) for side in zip(*long, strict=True))
    yield Figure("over loopback, a turn without traces", off * 1e6, "µs CPU")
    yield Figure("… what traces and metrics add to it", (on - off) * 1e6, "µs CPU")
    yield Figure("… with them against without", on / off, "×")
    off, on = (median(side) for side in zip(*short, strict=True))
    yield Figure(f"… in runs of {_FEW_TURNS} turns, their beginning and end included", on / off, "×")


async def _both(base_url: str, turns: int, runs: int) -> tuple[float, float]:
    """The seconds of CPU a turn takes without traces, and with them."""
    agent, telemetry = MaverickAgent(base_url), _Telemetry()
    off, on = [], []

    async def work() -> None:
        for _ in range(runs):
            await check(agent.run(f"loop-{turns}"), "done")

    async def traced_work() -> None:
        await work()
        telemetry.flush()

    try:
        telemetry.switch_on()
        await traced_work()
        for _ in range(_PAIRS):
            uninstrument()
            off.append(await cpu(work))
            telemetry.switch_on()
            on.append(await cpu(traced_work))
    finally:
        telemetry.shut_down()
        await agent.aclose()
    assert telemetry.nowhere.spans > 2 * turns * runs * _PAIRS, telemetry.nowhere.spans
    return min(off) / (runs * turns), min(on) / (runs * turns)
