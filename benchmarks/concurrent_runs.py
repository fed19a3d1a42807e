"""A thousand runs at once in one process: how many turns a second, and how much memory at most."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks.figure import Figure, Target
from benchmarks.fresh_process import in_fresh_process
from benchmarks.prepared import PreparedClient, run_adder
from benchmarks.stopwatch import wall_of
from maverick import AgentExecutor, AgentResult
from maverick.model import Request, Response

_RUNS = 1_000
_TURNS = 5


class _YieldingClient(PreparedClient):
    """Gives way before it answers, as a network does, so that the runs really go on side by side."""

    async def run(self, request: Request) -> Response:
        await asyncio.sleep(0)
        return await super().run(request)


def measure(rounds: int) -> Iterator[Figure]:
    measured = [in_fresh_process(_run_all) for _ in range(rounds)]
    finished, rates, peaks = zip(*measured, strict=True)
    name = f"{_RUNS:,} runs at once, {_TURNS} turns each"
    yield Figure(f"{name}: finished", min(finished), "runs", Target(_RUNS, at_least=True))
    yield Figure(f"{name}: speed", median(rates), "turns/s")
    yield Figure(f"{name}: most memory of the process", median(peaks), "MB")


def _run_all() -> tuple[int, float, float]:
    """How many runs finished, the turns a second, and the largest size of the process in megabytes."""
    executor = AgentExecutor(_YieldingClient(_TURNS))
    results: list[AgentResult] = []

    async def scenario() -> None:
        results.extend(await asyncio.gather(*(run_adder(executor, _TURNS) for _ in range(_RUNS))))

    seconds = wall_of(scenario)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bytes_a_unit = 1 if sys.platform == "darwin" else 1024
    return sum(result.success for result in results), _RUNS * _TURNS / seconds, peak * bytes_a_unit / 2**20
