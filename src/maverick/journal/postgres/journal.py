"""Runs kept in a Postgres database: for several machines that share their runs.

A transactional tool has a connection of its own; other writers do not wait for it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from maverick.exceptions import JournalError, LeaseLostError, ToolError
from maverick.journal.damage import Row
from maverick.journal.postgres.database import (
    FAULTS,
    PostgresDatabase,
    SteppedTransaction,
    broken_constraint,
    database_name,
    is_lost,
    is_passing,
    is_undone,
    said,
)
from maverick.journal.postgres.schema import COMMIT_GUARD, FLEET_CHANNEL, Connection
from maverick.journal.postgres.writer import PostgresWriter, write_entries
from maverick.journal.records import Append, Approval, Lease
from maverick.journal.sql import R, SqlConnection, SqlJournal, Work, insert_blobs
from maverick.journal.transaction import Transaction, forbidden
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
        decided = json.dumps({"decided": approval.run_id.partition("/")[0]})  # a fleet continues the run
        await db.fetch("SELECT pg_notify($1, $2)", FLEET_CHANNEL, decided)


# Transactions of tools -------------------------------------------------------------------------------------------

_ENDS = frozenset({"COMMIT", "ROLLBACK", "PREPARE TRANSACTION"})
_CONTROL = _ENDS | {"BEGIN", "START TRANSACTION", "SAVEPOINT", "RELEASE"}
"""What the server says of statements that begin or end a transaction, or a part of it."""
_LOST = "was lost in a tool's transaction, of which nothing has happened"


class PostgresTransaction(Transaction):
    """Statements of one tool call, and its entry, in one transaction."""

    def __init__(self, database: PostgresDatabase, lease: Lease) -> None:
        self._database = database
        self._lease = lease
        self._using = asyncio.Lock()
        self._connection: Connection | None = None
        self._give_back: Callable[[], Awaitable[None]]
        self._steps: SteppedTransaction | None = None
        self._over = False
        self._undone = False
        """Whether the server has ended it before its time."""

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed."""
        status, _ = await self._run(statement, values)
        return _rows_in(status)

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a query; returns its rows."""
        _, rows = await self._run(statement, values)
        return [dict(row) for row in rows]

    async def commit(self, payloads: Sequence[bytes], blobs: Sequence[Blob] = ()) -> None:
        """Write the entries and commit."""
        self._lease.check()
        try:
            append = Append(self._lease, payloads, blobs=blobs)
            await self._step(lambda connection: write_entries(connection, append))
        except ToolError as error:
            if self.lost is not None:
                raise self.lost from error
            if error.cause is None:
                raise ToolError(f"{error} Nothing has happened.") from error
            raise JournalError(
                f"The transaction could not be committed: {error} Nothing has happened.",
                retryable=is_passing(error.cause),
            ) from error
        await self._commit()

    async def roll_back(self) -> None:
        """Undo what was done, unless it is committed, and give the connection back."""
        self._over = True
        async with self._using:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            # If the connection is gone, there is nothing to undo or to give back: the server has seen to it.
            try:
                with suppress(*FAULTS):
                    if self._steps is not None:
                        await self._steps.roll_back()
            finally:
                await self._give_back()

    async def _commit(self) -> None:
        async with self._using:
            if self._over or self._steps is None:
                raise ToolError("The transaction is over. Nothing has happened.")
            steps, self._steps, self._over = self._steps, None, True
            await self._commit_steps(steps)

    async def _commit_steps(self, steps: SteppedTransaction) -> None:
        try:
            await steps.commit()
        except FAULTS as error:
            if is_undone(error):
                raise ToolError(
                    f"The database refused the commit: {said(error)}. Nothing has happened."
                ) from error
            self._lease.ended = True
            raise LeaseLostError(
                f"The database did not answer the commit of a tool's transaction ({said(error)}), so it is unknown whether "
                f"it was made. Resume the run {self._lease.run_id!r}: it continues from what is stored.",
                run_id=self._lease.run_id,
            ) from error

    async def _run(self, statement: str, values: Sequence[Any]) -> tuple[str, list[Row]]:
        """Run one statement of the tool; returns what the server said of it, and its rows."""

        async def run(connection: Connection) -> tuple[str, list[Row]]:
            # Prepared, because the server then takes one statement only: none can hide a COMMIT behind it.
            prepared = await connection.prepare(statement)
            rows = await prepared.fetch(*values)
            status = prepared.get_statusmsg()
            if status in _CONTROL:
                self._undone = self._undone or status in _ENDS
                self.escaped = self.escaped or status == "COMMIT"
                raise forbidden(status)
            return status, rows

        return await self._step(run)

    async def _step(self, work: Callable[[Connection], Awaitable[R]]) -> R:
        async with self._using:
            if self._over:
                raise ToolError("The transaction is over. Use the session only while the tool runs.")
            if self._undone:
                raise ToolError("The database has undone the transaction. Start again with a new call.")
            try:
                return await (await self._begun()).step(work)
            except FAULTS as error:
                if broken_constraint(error) == COMMIT_GUARD:
                    raise forbidden("COMMIT") from error
                if is_lost(error) if self._steps is None else self._steps.is_broken:
                    self.lost = self._database.error(_LOST, error)
                raise ToolError(f"The database refused: {said(error)}.") from error
            finally:
                self._note_end()

    def _note_end(self) -> None:
        """See whether the server has ended the transaction, whatever the statement looked like that made it."""
        if self._connection is not None and self._steps is not None:
            try:
                is_open = not self._connection.is_closed() and self._connection.is_in_transaction()
            except FAULTS:  # the pool has taken a broken connection back
                is_open = False
            self._undone = self._undone or not is_open

    async def _begun(self) -> SteppedTransaction:
        if self._connection is None:
            self._connection, self._give_back = await self._database.borrow()
        if self._steps is None:
            guard = secrets.randbits(62) + 1
            self._steps = SteppedTransaction(
                self._connection,
                opening=f"INSERT INTO maverick.commit_guards VALUES ({guard}, -{guard})",  # noqa: S608 - our own number
                closing=f"DELETE FROM maverick.commit_guards WHERE id = {guard}",  # noqa: S608 - our own number
                savepoint=f"step_{guard}",  # which a tool cannot guess, and so not release
            )
        return self._steps


def _rows_in(status: str) -> int:
    """How many rows a statement changed, of what the server says of it: ``UPDATE 3``, ``INSERT 0 1``, ``CREATE TABLE``."""
    last = status.rpartition(" ")[2]
    return int(last) if last.isdigit() else 0
