"""What asyncio itself costs on this machine: what the other figures are judged by."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from benchmarks.figure import Figure
from benchmarks.stopwatch import cpu_of, median_of

_TASKS = 5_000


async def _nothing() -> None:
    pass


async def _tasks_with_timers() -> None:
    """A turn with one tool cannot do with less: a task for the tool and a timer for its deadline."""
    loop = asyncio.get_running_loop()
    for _ in range(_TASKS):
        timer = loop.call_later(60, _nothing)
        await loop.create_task(_nothing())
        timer.cancel()


def measure(rounds: int) -> Iterator[Figure]:
    seconds = median_of(rounds, lambda: cpu_of(_tasks_with_timers))
    yield Figure("bare asyncio: one task and one timer", seconds / _TASKS * 1e6, "µs CPU")
