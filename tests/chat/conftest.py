"""Databases of both kinds for the chat, each empty; the Postgres user is no superuser, so that its fences hold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from chat.parlour import Parlour
from chat_database import prepared
from maverick.chat import Database
from postgres import fresh_database, postgres_server, run_script

__all__ = ["postgres_server"]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty SQLite database, with its tables."""
    made = Database(prepared(tmp_path / "chat.db"))
    yield made
    made.close()


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Iterator[Database]:
    """A SQLite database that is not there yet."""
    made = Database(tmp_path / "chat.db")
    yield made
    made.close()


@pytest.fixture
async def postgres_database(postgres_server: str) -> AsyncIterator[Database]:
    """An empty Postgres database, used by somebody whom row-level security holds."""
    async with fresh_database(postgres_server) as url:
        await run_script(
            url,
            "DO $$ BEGIN CREATE ROLE maverick_app LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;"
            "GRANT ALL ON SCHEMA public TO maverick_app;",
        )
        made = Database(urlsplit(url)._replace(netloc="maverick_app@").geturl())
        yield made
        made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def any_database(request: pytest.FixtureRequest) -> Database:
    """An empty database of each kind in turn."""
    found: Database = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture
async def parlour(database: Database) -> AsyncIterator[Parlour]:
    """A runner on the offline model, and a conversation with it."""
    made = Parlour(database)
    yield made
    await made.aclose()
