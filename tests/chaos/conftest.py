"""Fixtures for runs that are killed, and the summary of what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
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


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of the kind that is asked for."""
    if request.param == "sqlite":
        store: Store = SqliteStore(str(tmp_path / "runs.db"))
    else:
        store = PostgresStore(request.getfixturevalue("postgres_url"))
    asyncio.run(store.prepare())
    return store


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """What a test counts; it goes with the test's report to whoever prints the summary."""
    tally = Tally()
    request.node.user_properties.append(("chaos", tally.figures))
    return tally


@pytest.fixture
def campaign(scenario: str, store: Store, launcher: Launcher, tmp_path: Path, tally: Tally) -> Campaign:
    """The campaign of a scenario on a store."""
    return Campaign(scenario, store, launcher, tmp_path / "runs", tally)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for found in terminalreporter.stats.values() for report in found]
    figures = [
        value
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "chaos"
    ]
    if figures:
        kills, runs, violations = (sum(f[name] for f in figures) for name in ("kills", "runs", "violations"))
        points = {point for figure in figures for point in figure["points"]}
        terminalreporter.write_sep("=", "chaos")
        terminalreporter.write_line(
            f"{kills} kills at {len(points)} points in {runs} runs: {violations} violations"
        )
