"""A turn of a run: the executor and the loop, with a model and a tool that cost next to nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from statistics import median

from benchmarks.figure import Figure, Target
from benchmarks.prepared import PreparedClient, run_adder
from benchmarks.stopwatch import cpu_of, median_of
from maverick import AgentExecutor
from maverick.model import Request, Response

_TURNS_A_ROUND = 2_000
_WINDOW = 100
_LAST = 1_000


class _ClockedClient(PreparedClient):
    """Notes the CPU time at which each turn begins."""

    def __init__(self, turns: int) -> None:
        super().__init__(turns)
        self.began: list[float] = []

    async def run(self, request: Request) -> Response:
        self.began.append(time.process_time())
        return await super().run(request)


def measure(rounds: int) -> Iterator[Figure]:
    for turns in (10, 100, 1_000, 5_000):
        seconds = median_of(rounds, partial(_turn, turns))
        yield Figure(f"a turn with one tool call, in runs of {turns:,}", seconds * 1e6, "µs CPU", Target(60))
    growth = median_of(rounds, _growth)
    yield Figure("turns 900 to 1,000 against turns 10 to 110 of a run", growth, "×", Target(1.25))


def _turn(turns: int) -> float:
    """The CPU seconds of a turn in runs of this length."""
    executor = AgentExecutor(PreparedClient(turns))
    runs = max(_TURNS_A_ROUND // turns, 1)

    async def scenario() -> None:
        for _ in range(runs):
            await run_adder(executor, turns)

    return cpu_of(scenario) / (runs * turns)


def _growth() -> float:
    """How many times as much a late turn of a run costs as an early one."""
    client = _ClockedClient(_LAST)
    asyncio.run(run_adder(AgentExecutor(client), _LAST))
    costs = [after - before for before, after in pairwise(client.began)]
    return median(costs[_LAST - _WINDOW : _LAST]) / median(costs[10 : 10 + _WINDOW])
