"""Many runs through a fleet leave nothing behind: ``make soak-fleet`` does it with thousands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from fleet.chaos_campaign import Campaign
from fleet.processes import WorkerProcess
from fleet.test_chaos import RecordProperty
from maverick.fleet import Fleet
from postgres import run_statement

RUNS = int(os.environ.get("SOAK_FLEET_RUNS", "0"))
AT_ONCE = 100
"""The most runs in progress."""
PARTS = 5
"""How often the workers are measured; the first part warms them up."""
JUDGED = 200
"""How many runs are looked at entry by entry: that takes longer than the runs."""
LEFT_BEHIND = {
    "runs that have not ended": "SELECT count(*) FROM maverick.fleet_runs WHERE state <> 'ended' OR worker IS NOT NULL",
    "runs with an error": "SELECT count(*) FROM maverick.fleet_runs WHERE error <> ''",
    "unfinished runs in the journal": "SELECT count(*) FROM maverick.runs WHERE status <> 'complete'",
    "words": "SELECT count(*) FROM maverick.words",
    "blobs": "SELECT count(*) FROM maverick.blobs",
    "workers": "SELECT count(*) FROM maverick.fleet_workers",
    "connections in a transaction": (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
    ),
}


class Size(NamedTuple):
    """What a process holds."""

    megabytes: float
    handles: int

    @classmethod
    def of(cls, worker: WorkerProcess) -> Size:
        pages = int(Path(f"/proc/{worker.pid}/statm").read_text().split()[1])
        handles = len([*Path(f"/proc/{worker.pid}/fd").iterdir()])
        return cls(round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1), handles)


async def parts(campaign: Campaign, runs: int) -> AsyncIterator[None]:
    """Start runs, no more than so many at once, and stop after each part of them until all have ended."""
    for _ in range(PARTS):
        left = runs // PARTS
        while left:
            more = min(left, AT_ONCE - await campaign.unfinished())
            await campaign.start(more, turns=2, kinds=("clerk", "chief", "clerk"))
            left -= more
            await asyncio.sleep(0.05)
        await campaign.end()
        yield


async def left_behind(fleet: Fleet, url: str) -> dict[str, int]:
    """What is still there of ended runs and workers, by what it is."""
    found = {name: (await run_statement(url, query))[0][0] for name, query in LEFT_BEHIND.items()}
    opened = f"TaskQueue = '{fleet.queue}' AND ExecutionStatus = 'Running'"
    async with asyncio.timeout(30):  # the list of workflows is a little behind
        while (count := (await fleet.temporal.count_workflows(opened)).count) > 0:  # noqa: ASYNC110 - by another process
            await asyncio.sleep(0.2)
    return {name: number for name, number in (found | {"open workflows": count}).items() if number}


@pytest.mark.skipif(
    not RUNS or not Path("/proc/self/statm").exists(), reason="takes minutes: make soak-fleet"
)
async def test_many_runs_leave_nothing_behind(
    fleet: Fleet, temporal_server: str, postgres_url: str, tmp_path: Path, record_property: RecordProperty
) -> None:
    campaign = Campaign(fleet, temporal_server, postgres_url, tmp_path, pace=0.0)
    with ExitStack() as stack:
        workers = [campaign.worker(f"worker-{number}", "1") for number in range(2)]
        for worker in workers:
            stack.callback(worker.kill)
        sizes = [[Size.of(worker) for worker in workers] async for _ in parts(campaign, RUNS)]
        for worker in workers:
            assert await asyncio.to_thread(worker.terminate) == 0
    figures, left = await campaign.judge(every=max(RUNS // JUDGED, 1)), await left_behind(fleet, postgres_url)

    record_property("campaign", f"{figures.runs} runs in {figures.seconds:.0f} s; sizes {sizes}; left {left}")
    assert figures.violations == []
    assert left == {}
    for early, late in zip(sizes[1], sizes[-1], strict=True):
        assert late.megabytes < early.megabytes * 1.15
        assert late.handles <= early.handles + 10
