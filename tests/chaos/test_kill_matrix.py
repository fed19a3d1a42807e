"""A run whose process is killed at any write point ends as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from chaos.campaign import Campaign, Tally
from chaos.scenarios import SCENARIOS
from chaos.trap import Passing, Spring

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS)


def sample(scenario: str, springs: Sequence[Spring]) -> list[Spring]:
    """One occurrence of each passing, chosen once and for all."""
    occurrences: dict[Passing | None, list[Spring]] = {}
    for spring in springs:
        occurrences.setdefault(spring.passing, []).append(spring)
    return [Random(f"{scenario} {passing}").choice(found) for passing, found in occurrences.items()]


@every_scenario
@pytest.mark.requirement("P1", "P3")
def test_a_run_that_is_let_be_keeps_every_promise_and_gives_its_result_again(
    scenario: str, campaign: Callable[..., Campaign], tally: Tally
) -> None:
    campaign(scenario).let_be()

    assert tally.violations == []


@every_scenario
@pytest.mark.requirement("P1", "P2", "P3", "P5", "P7")
def test_a_run_that_is_killed_before_or_after_any_write_ends_as_if_it_had_not_been(
    scenario: str, campaign: Callable[..., Campaign], tally: Tally, full: bool
) -> None:
    kills = campaign(scenario)
    springs = kills.springs if full else sample(scenario, kills.springs)

    for spring in springs:
        case = kills.kill_at(spring)
        assert [process.trace.sprung_at for process in case.kills] == [spring.passing], f"missed: {spring}"

    assert {spring.passing for spring in springs} == set(kills.reference.passings)
    assert tally.violations == []


@every_scenario
@pytest.mark.requirement("P1", "P2", "P3", "P5", "P7")
def test_a_run_whose_every_recovery_is_killed_too_ends_as_if_none_had_been(
    scenario: str, campaign: Callable[..., Campaign], tally: Tally, full: bool
) -> None:
    kills = campaign(scenario)

    for stride in (1, 2, 3, 5) if full else (3,):
        assert len(kills.kill_ever_later(stride).kills) > 1

    assert tally.violations == []


@every_scenario
@pytest.mark.requirement("P1", "P2", "P3", "P5", "P7")
def test_a_recovery_that_is_killed_at_any_point_is_recovered_from(
    scenario: str, campaign: Callable[..., Campaign], tally: Tally, full: bool
) -> None:
    kills = campaign(scenario)
    springs = kills.springs if full else sample(scenario, kills.springs)[::4]

    for number, spring in enumerate(springs):
        for occurrence in range(1 + number % 3, 100, 3 if full else 9):
            if len(kills.kill_at(spring, Spring(None, occurrence), tries=1).kills) < 2:
                break

    assert tally.violations == []
