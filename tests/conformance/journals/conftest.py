"""Every journal there is, one after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from conformance.journals.shelf import KeptShelf, MemoryShelf, PostgresShelf, Shelf, SqliteShelf
from maverick.journal import Journal
from postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    """A place for runs, still empty."""
    return MemoryShelf() if request.param == "memory" else _kept(request, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def kept_shelf(request: pytest.FixtureRequest, tmp_path: Path) -> KeptShelf:
    """A place for runs that outlives the process, still empty."""
    return _kept(request, tmp_path)


@pytest.fixture
async def journal(shelf: Shelf) -> AsyncIterator[Journal]:
    """A journal without runs."""
    async with shelf.open() as journal:
        yield journal


@pytest.fixture
async def kept(kept_shelf: KeptShelf) -> AsyncIterator[Journal]:
    """A journal without runs, in a database."""
    async with kept_shelf.open() as journal:
        yield journal


def _kept(request: pytest.FixtureRequest, tmp_path: Path) -> KeptShelf:
    if request.param == "sqlite":
        return SqliteShelf(str(tmp_path / "runs.db"))
    return PostgresShelf(request.getfixturevalue("postgres_url"))
