"""A process that was only slow, and finds its run taken over, writes nothing any more and does nothing twice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chaos.campaign import Campaign
from chaos.child import OVERTAKEN
from chaos.launcher import Launcher
from chaos.sampling import FULL, killing
from chaos.stores import Store
from chaos.trap import Passing, Spring

ONE_AT_A_TIME = (
    "irreversible",
    "keyed",
    "no-tools",
    "pure",
    "repair",
    "retry",
    "transactional",
    "turn-budget",
)
"""Runs of one process in which nothing goes on side by side, so that who is frozen holds no lock by chance."""

LOCKING = frozenset({Passing("Effect", before=False), Passing("Transaction", before=True)})
"""Where a transactional tool holds the lock of a SQLite file; who is frozen there keeps everybody waiting."""

BEFORE_CLAIM = Passing("Claimed", before=True)


def freezes(campaign: Campaign, store: Store) -> list[Spring]:
    """A spring for each point at which a process can be frozen."""
    locks = campaign.scenario == "transactional" and store.kind == "sqlite"
    return [
        replace(spring, freeze=True)
        for spring in campaign.springs
        if not (locks and spring.passing in LOCKING)
    ]


def is_overtaken_at(campaign: Campaign, spring: Spring) -> bool:
    """Whether a process that is frozen there notices: it holds the run, or begins it, and has more to write."""
    passings = campaign.reference.passings
    here = [index for index, passing in enumerate(passings) if passing == spring.passing][
        spring.occurrence - 1
    ]
    return spring.passing != BEFORE_CLAIM and any(
        p.point != "Effect" and not p.before for p in passings[here + 1 :]
    )


@killing(sqlite=ONE_AT_A_TIME[::2], postgres=["transactional"], full=ONE_AT_A_TIME)
@pytest.mark.requirement("P1", "P2", "P3")
def test_a_process_that_was_overtaken_writes_nothing_and_doubles_nothing(
    campaign: Campaign, store: Store, rescuer: Launcher
) -> None:
    for spring in freezes(campaign, store)[:: 1 if FULL else 2]:
        case, exit_code = campaign.overtake_at(spring, rescuer)
        *_, last, asked_again = case.processes
        assert last.report is not None
        assert asked_again.found == last.report.journal, f"{spring}: the overtaken process has written"
        assert exit_code == (OVERTAKEN if is_overtaken_at(campaign, spring) else 0), str(spring)

    assert campaign.tally.violations == []
