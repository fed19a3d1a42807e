"""Runs of a fleet outlive the processes that drive them; ``make chaos-fleet`` does it with every fault there is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.chaos_campaign import Campaign
from maverick.fleet import Fleet
from maverick.journal import PostgresJournal
from temporal import LastingServer

RUNS = int(os.environ.get("CHAOS_FLEET_RUNS", "0"))
"""How many runs ``make chaos-fleet`` asks for."""
RecordProperty = Callable[[str, object], None]


@pytest.mark.requirement("P1", "P2", "P3")
async def test_runs_whose_worker_is_killed_or_frozen_go_on_elsewhere_and_do_nothing_twice(
    fleet: Fleet, temporal_server: str, postgres_url: str, tmp_path: Path, record_property: RecordProperty
) -> None:
    campaign = Campaign(fleet, temporal_server, postgres_url, tmp_path)
    async with campaign.workers(2):
        await campaign.start(runs=12, turns=6)
        campaign.watch(every=4)
        await campaign.progress(60)
        await campaign.kill(await campaign.busiest())
        await campaign.taken_over()
        await campaign.freeze(await campaign.busiest())
        await campaign.end()

    figures = await campaign.judge()
    record_property("campaign", str(figures))
    assert figures.violations == []
    assert figures.taken_over > 0


@pytest.mark.skipif(not RUNS, reason="takes minutes: make chaos-fleet")
async def test_runs_outlive_everything_that_fails_in_a_fleet(
    postgres_url: str, tmp_path: Path, record_property: RecordProperty
) -> None:
    server = LastingServer()
    try:
        journal = PostgresJournal(postgres_url)
        async with await Fleet.connect(temporal=server.address, journal=journal) as fleet:
            seed = int(os.environ.get("CHAOS_FLEET_SEED", "0"))
            campaign = Campaign(fleet, server.address, postgres_url, tmp_path, seed=seed, pace=0.25)
            async with campaign.workers(3):
                await campaign.start(RUNS, turns=30)
                campaign.watch(every=10)
                await campaign.rage(faults=24, restart=server.restart)
                await campaign.end()
            figures = await campaign.judge()
    finally:
        server.close()

    record_property("campaign", str(figures))
    assert figures.violations == []
