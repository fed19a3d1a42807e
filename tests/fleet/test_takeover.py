"""The runs of a worker that is gone are driven by its peers in its place, and Temporal has nothing to do for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType

from fleet.chaos_campaign import Campaign
from maverick.fleet import Fleet
from maverick.loop.entries import Resumed


async def times_driven(fleet: Fleet, run_id: str) -> tuple[int, int]:
    """How often a run was taken up again, and how often Temporal gave it to a worker."""
    entries = [stored.entry async for stored in fleet.journal.read(run_id)]
    history = await fleet.temporal.get_workflow_handle(run_id).fetch_history()
    given = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    return (
        sum(isinstance(entry, Resumed) for entry in entries),
        sum(event.event_type == given for event in history.events),
    )


@pytest.mark.requirement("P1", "P2")
@pytest.mark.parametrize("fault", ["kill", "freeze"])
async def test_a_peer_goes_on_with_the_attempt_of_a_worker_that_is_gone_even_if_that_comes_back(
    fleet: Fleet, temporal_server: str, postgres_url: str, tmp_path: Path, fault: str
) -> None:
    campaign = Campaign(fleet, temporal_server, postgres_url, tmp_path, pace=0.2)
    async with campaign.workers(2):
        runs = await campaign.start(runs=6, turns=12, kinds=("clerk",))
        await campaign.progress(30)
        await (campaign.kill if fault == "kill" else campaign.freeze)(await campaign.busiest())
        await campaign.end()
        for run_id in runs:  # the workflow ends after its run
            await fleet.temporal.get_workflow_handle(run_id).result()

    figures = await campaign.judge()
    driven = [await times_driven(fleet, run_id) for run_id in runs]
    assert figures.violations == []
    assert (1, 1) in driven
