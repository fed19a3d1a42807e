"""Workers are replaced one by one while they work: runs move on, and wait for their version where their agent has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from fleet.chaos_campaign import Campaign
from fleet.processes import WorkerProcess
from fleet.test_chaos import RUNS, RecordProperty
from maverick.fleet import Fleet
from maverick.fleet.store import FleetState
from maverick.loop.entries import Resumed, RunStarted

PATIENCE = 120


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await is_so():  # noqa: ASYNC110 - by other processes
            await asyncio.sleep(0.1)


class Upgrade:
    """A fleet whose workers are replaced."""

    def __init__(self, campaign: Campaign, stack: ExitStack) -> None:
        self._campaign = campaign
        self._stack = stack
        self._fleet = campaign.fleet
        self.old: list[WorkerProcess] = []
        self.new: list[WorkerProcess] = []

    async def start(self, version: str) -> None:
        """Start a worker, and wait until it takes runs."""
        workers = self.old if version == "1" else self.new
        worker = self._campaign.worker(f"version-{version}-{len(workers)}", version)
        self._stack.callback(worker.kill)
        workers.append(worker)
        await until(lambda: self._is_there(worker))

    async def retire(self, worker: WorkerProcess) -> None:
        """End a worker as a deployment does."""
        assert await asyncio.to_thread(worker.terminate) == 0, worker.log.read_text()

    async def drivers_of(self, run_id: str) -> set[int]:
        """The processes that have driven a run."""
        entries = [stored.entry async for stored in self._fleet.journal.read(run_id)]
        return {int(e.worker.split()[1]) for e in entries if isinstance(e, RunStarted | Resumed)}

    async def all_in(self, runs: list[str], *states: FleetState, waiting: bool = False) -> bool:
        """Whether each run is in one of these states, or waits for a worker."""
        records = [await self._fleet.run(run_id).status() for run_id in runs]
        return all(r.state in states or (waiting and r.worker is None and r.waits_for) for r in records)

    async def _is_there(self, worker: WorkerProcess) -> bool:
        found = await self._fleet.journal.database.fetch("SELECT worker FROM maverick.fleet_workers")
        return any(f"-{worker.pid}-" in row["worker"] for row in found)


@pytest.mark.skipif(not RUNS, reason="takes minutes: make chaos-fleet")
async def test_runs_go_on_while_workers_are_replaced_and_those_of_a_changed_agent_wait_for_consent(
    fleet: Fleet, temporal_server: str, postgres_url: str, tmp_path: Path, record_property: RecordProperty
) -> None:
    number, workers, turns = RUNS, min(3, max(1, RUNS // 10)), (80 if RUNS > 10 else 30)
    campaign = Campaign(fleet, temporal_server, postgres_url, tmp_path, pace=0.1)
    with ExitStack() as stack:
        upgrade = Upgrade(campaign, stack)
        for _ in range(workers):
            await upgrade.start("1")
        runs = await campaign.start(number, turns, kinds=("clerk", "chief"))
        clerks, chiefs = runs[::2], runs[1::2]
        await campaign.progress(20 * number)

        for worker in upgrade.old:
            await upgrade.start("2")
            await upgrade.retire(worker)
        await until(lambda: upgrade.all_in(chiefs, FleetState.ENDED))
        await until(lambda: upgrade.all_in(clerks, FleetState.ENDED, waiting=True))
        waiting = [run_id for run_id in clerks if (await fleet.run(run_id).status()).waits_for]
        reasons = {(await fleet.run(run_id).status()).waits_for for run_id in waiting}
        old, new = ({worker.pid for worker in found} for found in (upgrade.old, upgrade.new))
        strayed = [run_id for run_id in clerks if not await upgrade.drivers_of(run_id) <= old]
        moved = [run_id for run_id in chiefs if await upgrade.drivers_of(run_id) & new]
        newer = await campaign.start(2, 1, kinds=("clerk",))
        for run_id in waiting:
            await fleet.resume(run_id, accept_changes=True)
        await until(lambda: upgrade.all_in([*clerks, *newer], FleetState.ENDED))

    figures = await campaign.judge()
    record_property(
        "campaign",
        f"{workers} workers replaced under {number} runs: {len(waiting)} waited for consent; {figures}",
    )
    assert figures.violations == []
    assert strayed == []
    assert moved
    assert waiting
    assert all("prompt" in reason for reason in reasons), reasons
