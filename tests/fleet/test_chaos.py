"""Runs of a fleet outlive the processes that drive them; ``make chaos-fleet`` does it with every fault there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.chaos_campaign import Campaign
from maverick.fleet import Fleet

RecordProperty = Callable[[str, object], None]


@pytest.mark.requirement("P1", "P2", "P3")
async def test_runs_whose_worker_is_killed_or_frozen_go_on_elsewhere_and_do_nothing_twice(
    fleet: Fleet, temporal_server: str, postgres_url: str, tmp_path: Path, record_property: RecordProperty
) -> None:
    campaign = Campaign(fleet, temporal_server, postgres_url, tmp_path)
    async with campaign.workers(2):
        await campaign.start(runs=12, turns=6)
        await campaign.progress(60)
        await campaign.kill(campaign.places[0])
        await campaign.taken_over()
        await campaign.freeze(campaign.places[1])
        await campaign.end()

    figures = await campaign.judge()
    record_property("campaign", str(figures))
    assert figures.violations == []
    assert figures.taken_over > 0
