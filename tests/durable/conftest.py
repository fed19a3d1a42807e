"""Fixtures for runs that outlive their process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from durable.office import Office
from maverick.journal import Journal, SqliteJournal


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        yield journal


@pytest.fixture
def office() -> Office:
    return Office()
