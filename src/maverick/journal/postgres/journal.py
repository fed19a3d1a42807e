"""Runs kept in a Postgres database: for several machines that share their runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from maverick.journal.damage import Row
from maverick.journal.postgres.database import PostgresDatabase, database_name
from maverick.journal.postgres.schema import FLEET_CHANNEL
from maverick.journal.postgres.transaction import PostgresTransaction
from maverick.journal.postgres.writer import PostgresWriter
from maverick.journal.records import Append, Approval, Lease
from maverick.journal.sql import R, SqlConnection, SqlJournal, Work, insert_blobs
from maverick.model import Blob


class PostgresJournal(SqlJournal):
    """A journal in a Postgres database. It opens on first use, once in each event loop that uses it.

    Tables are made in a schema of their own, ``maverick``. Connect to the server itself, or through a pooler that gives
    each client a session.

    Args:
        url: ``postgresql://user:password@host/database``, as libpq has it.
        pool_size: The most connections for those who read and for tools' transactions, at least two; there is one more
            that writes. One of them is kept free of tools.
        timeout: How many seconds to wait for the server, to connect and for each statement.

    Raises:
        InvalidInputError: The address is invalid.
    """

    _OF_RUN = "run_id = $1"
    _INSERT_ENTRY = "INSERT INTO maverick.entries (run_id, seq, version, payload) VALUES ($1, $2, $3, $4)"
    _MORE_TABLES = ("fleet_runs",)

    def __init__(self, url: str, *, pool_size: int = 10, timeout: float = 30.0) -> None:
        self.name = database_name(url)
        """The address without user, password and settings."""
        # Not a partial, whose repr would show the password.
        self._address: Callable[[], str] = lambda: url
        self._connect: Callable[[], PostgresDatabase] = lambda: PostgresDatabase(url, pool_size, timeout)
        self._opened: dict[asyncio.AbstractEventLoop, tuple[PostgresDatabase, PostgresWriter]] = {}

    @property
    def address(self) -> str:
        """The address with all that is needed to connect: its password too, so it is never to be shown."""
        return self._address()

    async def _append(self, append: Append) -> tuple[int, bytes] | None:
        return await self._writer.append(append)

    async def identity(self) -> str:
        """What tells the database from every other, whatever address it is reached by."""
        found = await self._fetch(
            "SELECT concat(extract(epoch FROM pg_postmaster_start_time()), ' ', oid) AS identity FROM pg_database "
            "WHERE datname = current_database()"
        )
        return str(found[0]["identity"])

    async def insert_naming(
        self, run_id: str, blobs: Sequence[Blob], statement: str, *values: object
    ) -> Sequence[Row]:
        """Run a statement that adds something for a run, and add the blobs that it names if it returns a row."""

        async def work(db: SqlConnection) -> Sequence[Row]:
            if rows := await db.fetch(statement, *values):
                await insert_blobs(db, run_id, blobs)
            return rows

        return await self._write(run_id, work)

    def transaction(self, lease: Lease) -> PostgresTransaction:
        """A transaction for a tool's effect and its entry."""
        return PostgresTransaction(self.database, lease)

    async def aclose(self) -> None:
        """Finish what is being written and let go of this event loop's connections."""
        database, writer = self._here()
        await writer.finish()
        self._opened.pop(asyncio.get_running_loop(), None)
        await database.close()

    @property
    def database(self) -> PostgresDatabase:
        """The connections of this event loop, for what else is kept in the database."""
        return self._here()[0]

    @property
    def _writer(self) -> PostgresWriter:
        return self._here()[1]

    def _here(self) -> tuple[PostgresDatabase, PostgresWriter]:
        """What reads and writes in this event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            self._opened = {kept: used for kept, used in self._opened.items() if not kept.is_closed()}
            database = self._connect()
            self._opened[loop] = (database, PostgresWriter(database))
        return self._opened[loop]

    async def _fetch(self, statement: str, *values: Any, run_id: str = "") -> Sequence[Row]:  # noqa: ARG002 - the server's errors name no run
        return await self.database.fetch(statement, *values)

    async def _write(self, run_id: str, work: Work[R]) -> R:
        return await self._writer.write(run_id, work)

    async def _on_decision(self, db: SqlConnection, approval: Approval) -> None:
        decided = json.dumps({"decided": approval.run_id.partition("/")[0]})  # a fleet goes on with the run
        await db.fetch("SELECT pg_notify($1, $2)", FLEET_CHANNEL, decided)
