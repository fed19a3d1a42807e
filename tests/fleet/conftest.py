"""A fleet for each test: a real Temporal server, a real Postgres database, and queues of its own."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from maverick.fleet import Fleet
from maverick.journal import PostgresJournal
from postgres import postgres_server, postgres_url
from temporal import temporal_server

__all__ = ["postgres_server", "postgres_url", "temporal_server"]


@pytest.fixture
async def fleet(temporal_server: str, postgres_url: str) -> AsyncIterator[Fleet]:
    """A fleet without workers."""
    journal = PostgresJournal(postgres_url)
    async with await Fleet.connect(
        temporal=temporal_server, journal=journal, queue=f"test-{uuid.uuid4().hex[:8]}"
    ) as fleet:
        yield fleet
        # Another test's run of the same id would find its workflow.
        for record in await fleet.store.runs():
            await fleet.workflows.close(record.run_id)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the campaigns did and saw."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "campaign" and report.when == "call":
                terminalreporter.write_line(f"fleet: {value}")
