"""A process that was only slow, and finds its run taken over, writes nothing any more and does nothing twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from chaos.campaign import Campaign, Tally
from chaos.child import OVERTAKEN
from chaos.launcher import Launcher
from chaos.stores import Store
from chaos.trap import Passing, Spring

SCENARIOS = ("no-tools", "pure", "keyed", "transactional", "irreversible", "retry", "repair", "turn-budget")
"""Runs of one process in which nothing goes on side by side."""

LOCKING = frozenset({Passing("Effect", before=False), Passing("Transaction", before=True)})
"""Where a transactional tool holds the lock of a SQLite file; who is frozen there keeps everybody waiting."""


def freezes(campaign: Campaign, store: Store) -> list[Spring]:
    """A spring for each point at which a process can be frozen."""
    locks = campaign.scenario == "transactional" and store.kind == "sqlite"
    return [
        replace(spring, freeze=True)
        for spring in campaign.springs
        if not (locks and spring.passing in LOCKING)
    ]


def writes_after(campaign: Campaign, spring: Spring) -> bool:
    """Whether a process that is frozen there still has something to write."""
    passings = campaign.reference.passings
    here = [index for index, passing in enumerate(passings) if passing == spring.passing][spring.occurrence - 1]
    return any(passing.point not in ("Effect", "Claimed") and not passing.before for passing in passings[here + 1 :])


@pytest.mark.requirement("P1", "P2", "P3")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_process_that_was_overtaken_writes_nothing_and_doubles_nothing(
    scenario: str,
    campaign: Callable[..., Campaign],
    store: Store,
    rescuer: Launcher,
    tally: Tally,
    full: bool,
) -> None:
    kills = campaign(scenario)

    for spring in freezes(kills, store)[:: 1 if full else 3]:
        case, exit_code = kills.overtake_at(spring, rescuer)
        frozen, *_, last, asked_again = case.processes
        assert frozen.trace.sprung_at == spring.passing, f"missed: {spring}"
        assert last.report is not None
        assert asked_again.found == last.report.journal, f"{spring}: the overtaken process has written"
        began_too_early = spring.passing == Passing("Claimed", before=True)  # it takes the run over itself
        expected = OVERTAKEN if writes_after(kills, spring) and not began_too_early else 0
        assert exit_code == expected, f"{spring}: {frozen.log}"

    assert tally.violations == []
