"""What a run weighs while it waits for the model."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure, Target
from benchmarks.fresh_process import in_fresh_process
from benchmarks.prepared import PreparedClient, run_adder
from maverick import AgentExecutor
from maverick.model import Request, Response

_RUNS = 1_000
_MEMORY = Path("/proc/self/statm")


class _SilentClient(PreparedClient):
    """Answers nobody until it is told to, and says when all runs wait for it."""

    def __init__(self) -> None:
        super().__init__(turns=1)
        self._asked = 0
        self.all_wait = asyncio.Event()
        self.speak = asyncio.Event()

    async def run(self, request: Request) -> Response:
        self._asked += 1
        if self._asked == _RUNS:
            self.all_wait.set()
        await self.speak.wait()
        return await super().run(request)


def measure(rounds: int) -> Iterator[Figure]:
    if _MEMORY.exists():
        kilobytes = median(in_fresh_process(_weigh) for _ in range(rounds))
        yield Figure(f"a waiting run, of {_RUNS:,} at once", kilobytes, "KB", Target(18))


def _weigh() -> float:
    """The kilobytes by which the process grows for each run."""
    return asyncio.run(_weigh_runs())


async def _weigh_runs() -> float:
    await run_adder(AgentExecutor(PreparedClient(1)), 1)  # what is made once is made before
    client = _SilentClient()
    executor = AgentExecutor(client)
    before = _resident_bytes()
    runs = [asyncio.create_task(run_adder(executor, 1)) for _ in range(_RUNS)]
    await client.all_wait.wait()
    after = _resident_bytes()
    client.speak.set()
    await asyncio.gather(*runs)
    return (after - before) / _RUNS / 1024


def _resident_bytes() -> int:
    gc.collect()
    return int(_MEMORY.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
