"""A tool's transaction in a SQLite journal, on a connection of its own.

SQLite has one writer at a time: from its first statement to its commit, such a tool holds up the others that write to
the file. It should be short.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from maverick.exceptions import JournalError, ToolError
from maverick.journal.records import Lease
from maverick.journal.sqlite_entries import write_entries
from maverick.journal.transaction import Transaction

R = TypeVar("R")


class SqliteTransaction(Transaction):
    """Statements of one tool call, and its entry, in one transaction.

    Args:
        connect: Opens a connection; called in a thread, when the tool first uses it.
        lease: The right to write the run.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], lease: Lease) -> None:
        self._connect = connect
        self._lease = lease
        self._connection: sqlite3.Connection | None = None
        self._using = threading.Lock()

    @property
    def session(self) -> SqliteTransaction:
        """This object: it is its own session."""
        return self

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed."""
        return await self._use(lambda db: db.execute(statement, values).rowcount)

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a query; returns its rows."""

        def query(db: sqlite3.Connection) -> list[dict[str, Any]]:
            cursor = db.execute(statement, values)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return await self._use(query)

    async def commit(self, payloads: Sequence[bytes]) -> None:
        """Write the entries and commit."""
        first = self._lease.take(len(payloads))

        def finish(db: sqlite3.Connection) -> None:
            write_entries(db, self._lease, payloads, first)
            db.execute("COMMIT")

        try:
            await self._use(finish)
        except ToolError as error:
            raise JournalError(f"The transaction could not be committed: {error}", cause=error) from error

    async def roll_back(self) -> None:
        """Undo what was done, and close."""
        await asyncio.to_thread(self._close)

    async def _use(self, work: Callable[[sqlite3.Connection], R]) -> R:
        return await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._work, work)))

    def _work(self, work: Callable[[sqlite3.Connection], R]) -> R:
        with self._using:
            if self._connection is None:
                self._connection = self._connect()
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                return work(self._connection)
            except sqlite3.Error as error:
                raise ToolError(f"The database refused: {error}", cause=error) from error

    def _close(self) -> None:
        with self._using:
            if self._connection is not None:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.close()
                self._connection = None
