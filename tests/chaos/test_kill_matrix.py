"""A run whose process is killed at any write point ends as if nothing had happened."""

from __future__ import annotations

import pytest

from chaos.campaign import Campaign
from chaos.sampling import FULL, RECOVERY_SAMPLE, killing, sample
from chaos.trap import Spring


@killing()
@pytest.mark.requirement("P1", "P3")
def test_a_run_that_is_let_be_keeps_every_promise_and_gives_its_result_again(campaign: Campaign) -> None:
    campaign.let_be()

    assert campaign.tally.violations == []


@killing()
@pytest.mark.requirement("P1", "P2", "P3", "P5", "P7")
def test_a_run_that_is_killed_before_or_after_any_write_ends_as_if_it_had_not_been(
    campaign: Campaign,
) -> None:
    springs = sample(campaign.scenario, campaign.springs)

    for spring in springs:
        (killed,) = campaign.kill_surely_at(spring).kills
        assert killed.trace.sprung_at == spring.passing

    assert {spring.passing for spring in springs} == set(campaign.reference.passings)
    assert campaign.tally.violations == []


@killing()
@pytest.mark.requirement("P1", "P2", "P3", "P5", "P7")
def test_a_run_whose_every_recovery_is_killed_too_ends_as_if_none_had_been(campaign: Campaign) -> None:
    for stride in (1, 2, 3) if FULL else (3,):
        assert len(campaign.kill_ever_later(stride).kills) > 1

    assert campaign.tally.violations == []


@killing(sqlite=RECOVERY_SAMPLE, postgres=["transactional"])
@pytest.mark.requirement("P1", "P2", "P3", "P5", "P7")
def test_a_recovery_that_is_killed_at_any_point_is_recovered_from(campaign: Campaign) -> None:
    springs = sample(campaign.scenario, campaign.springs)[:: 1 if FULL else 6]

    for number, spring in enumerate(springs):
        for occurrence in range(1 + number % 3, 100, 3 if FULL else 12):
            if len(campaign.kill_at(spring, Spring(None, occurrence)).kills) < 2:
                break  # the recovery has ended before

    assert campaign.tally.violations == []
