"""How things are timed here: CPU seconds of this process, and the median of several rounds."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from statistics import median


def median_of(rounds: int, measure: Callable[[], float]) -> float:
    """The middle one of several measurements; the garbage of one is not collected during the next."""
    values = []
    for _ in range(rounds):
        gc.collect()
        values.append(measure())
    return median(values)


def cpu_of(scenario: Callable[[], Awaitable[object]]) -> float:
    """The CPU seconds a scenario takes on a fresh event loop, which is not counted itself."""

    async def timed() -> float:
        began = time.process_time()
        await scenario()
        return time.process_time() - began

    return asyncio.run(timed())


def wall_of(scenario: Callable[[], Awaitable[object]]) -> float:
    """The seconds a scenario takes by the clock."""

    async def timed() -> float:
        began = time.perf_counter()
        await scenario()
        return time.perf_counter() - began

    return asyncio.run(timed())
