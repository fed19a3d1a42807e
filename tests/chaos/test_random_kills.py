"""A run whose processes are killed at random times, wherever they are then, ends as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from chaos.campaign import Campaign, Tally
from chaos.launcher import Launcher
from chaos.sampling import FULL, RANDOM_KILLS, STORES
from chaos.scenarios import SCENARIOS
from chaos.stores import SqliteStore, Store

BATCHES = 4
"""Spread over the cores; a batch has a seed of its own."""


@pytest.mark.requirement("P1", "P2", "P3", "P5", "P7")
@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_runs_that_are_killed_at_random_times_end_as_if_they_had_not_been(
    batch: int, store: Store, launcher: Launcher, tmp_path: Path, tally: Tally
) -> None:
    random = Random(batch)
    campaigns = [Campaign(scenario, store, launcher, tmp_path / "runs", tally) for scenario in SCENARIOS]

    while tally.kills < RANDOM_KILLS / BATCHES:
        campaign = random.choice(campaigns)
        campaign.kill_after([random.uniform(0, campaign.seconds) for _ in range(random.randint(1, 5))])

    assert tally.violations == []


@pytest.mark.requirement("P1")
def test_a_process_that_is_killed_while_it_makes_the_journal_leaves_one_that_works(
    launcher: Launcher, tmp_path: Path, tally: Tally
) -> None:
    random = Random(0)

    for number in range(200 if FULL else 10):
        store = SqliteStore(str(tmp_path / f"{number}.db"))
        campaign = Campaign("irreversible", store, launcher, tmp_path / str(number), tally)
        campaign.kill_after([random.uniform(0, 0.03) for _ in range(3)])

    assert tally.kills > 0
    assert tally.violations == []
