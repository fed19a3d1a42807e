"""The oracle has teeth: without any one of the safeguards, it finds broken promises."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from chaos.campaign import Campaign, Tally
from chaos.launcher import Launcher
from chaos.stores import SqliteStore


def sabotaged(sabotage: str, scenario: str, launcher: Launcher, folder: Path) -> Campaign:
    """A campaign whose processes do without a safeguard, and whose count is nobody's."""
    store = SqliteStore(str(folder / "runs.db"))
    asyncio.run(store.prepare())
    return Campaign(scenario, store, launcher, folder / "runs", Tally(), sabotage)


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("sabotage", "scenario", "broken"),
    [
        ("intent", "irreversible", "send step-1-a took effect 2 times"),
        ("commit", "irreversible", "send step-1-a took effect 2 times"),
        ("transaction", "transactional", "book step-1-a took effect 2 times"),
    ],
)
def test_a_kill_does_harm_without_a_safeguard(
    sabotage: str, scenario: str, broken: str, launcher: Launcher, tmp_path: Path
) -> None:
    kills = sabotaged(sabotage, scenario, launcher, tmp_path)

    for spring in kills.springs:
        kills.kill_at(spring)

    assert [violation for violation in kills.tally.violations if broken in violation]


@pytest.mark.requirement("P2")
def test_an_overtaken_process_does_harm_without_the_fence(
    launcher: Launcher, rescuer: Launcher, tmp_path: Path
) -> None:
    kills = sabotaged("fence", "irreversible", launcher, tmp_path)

    for spring in kills.springs:
        kills.overtake_at(replace(spring, freeze=True), rescuer)

    assert [
        violation for violation in kills.tally.violations if "send step-1-a took effect 2 times" in violation
    ]
