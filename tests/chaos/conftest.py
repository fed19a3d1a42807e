"""Fixtures for runs that are killed, and the summary of what came of them.

``CHAOS_FULL=1`` kills at every occurrence of every point instead of at a sample of them; ``CHAOS_N`` is the number of
kills at random times.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.campaign import Campaign, Tally
from chaos.launcher import Launcher
from chaos.stores import PostgresStore, SqliteStore, Store
from postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    with Launcher() as launcher:
        yield launcher


@pytest.fixture(scope="session")
def rescuer() -> Iterator[Launcher]:
    """A second launcher, for what goes on beside a frozen process."""
    with Launcher() as launcher:
        yield launcher


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of each kind."""
    if request.param == "sqlite":
        store: Store = SqliteStore(str(tmp_path / "runs.db"))
    else:
        store = PostgresStore(request.getfixturevalue("postgres_url"))
    asyncio.run(store.prepare())
    return store


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """What a test counts; it comes with the test's report to whoever prints the summary."""
    tally = Tally()
    request.node.user_properties.append(("chaos", tally.figures))
    return tally


@pytest.fixture
def campaign(
    store: Store, launcher: Launcher, tmp_path: Path, tally: Tally
) -> Callable[..., Campaign]:
    """Makes the campaign of a scenario."""

    def make(scenario: str, sabotage: str = "") -> Campaign:
        return Campaign(scenario, store, launcher, tmp_path / "runs", tally, sabotage)

    return make


@pytest.fixture(scope="session")
def full() -> bool:
    """Whether everything is to be killed, and not only a sample."""
    return os.environ.get("CHAOS_FULL") == "1"


@pytest.fixture(scope="session")
def random_kills() -> int:
    return int(os.environ.get("CHAOS_N") or 100)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [r for found in terminalreporter.stats.values() for r in found if getattr(r, "when", "") == "call"]
    figures = [value for report in reports for name, value in report.user_properties if name == "chaos"]
    if figures:
        points = {point for figure in figures for point in figure["points"]}
        kills, runs, violations = (sum(figure[name] for figure in figures) for name in ("kills", "runs", "violations"))
        terminalreporter.write_sep("=", "chaos")
        terminalreporter.write_line(
            f"{kills} kills at {len(points)} points in {runs} runs: {violations} violations"
        )
