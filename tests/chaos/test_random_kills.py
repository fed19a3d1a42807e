"""A run whose processes are killed at random times, wherever they are then, ends as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from chaos.campaign import Campaign, Tally
from chaos.launcher import Launcher
from chaos.scenarios import SCENARIOS
from chaos.stores import SqliteStore

BATCHES = 4
"""Spread over the cores; a batch has a seed of its own."""


@pytest.mark.requirement("P1", "P2", "P3", "P5", "P7")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_runs_that_are_killed_at_random_times_end_as_if_they_had_not_been(
    batch: int, campaign: Callable[..., Campaign], tally: Tally, random_kills: int
) -> None:
    random = Random(batch)
    campaigns = {scenario: campaign(scenario) for scenario in SCENARIOS}

    while tally.figures["kills"] < random_kills / BATCHES:
        kills = campaigns[random.choice(list(SCENARIOS))]
        kills.kill_after([random.uniform(0, kills.seconds) for _ in range(random.randint(1, 5))])

    assert tally.violations == []


@pytest.mark.requirement("P1")
def test_a_process_that_is_killed_while_it_makes_the_journal_leaves_one_that_works(
    launcher: Launcher, tmp_path: Path, tally: Tally, full: bool
) -> None:
    random = Random(0)

    for number in range(200 if full else 20):
        store = SqliteStore(str(tmp_path / f"{number}.db"))
        kills = Campaign("irreversible", store, launcher, tmp_path / str(number), tally)
        kills.kill_after([random.uniform(0, 0.03) for _ in range(3)])

    assert tally.violations == []
