"""A tool's transaction in a SQLite journal, on a connection of its own.

SQLite has one writer at a time: from its first statement to its commit, such a tool holds up the others that write to
the file. It should be short.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from maverick.exceptions import JournalError, ToolError
from maverick.journal.records import Lease
from maverick.journal.sqlite_entries import write_entries
from maverick.journal.sqlite_turns import Turns
from maverick.journal.transaction import Transaction, check_statement

R = TypeVar("R")

_REFUSALS = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError)
"""What sqlite3 raises: of the database, of two statements in one, and of values it can not hold."""


class SqliteTransaction(Transaction):
    """Statements of one tool call, and its entry, in one transaction.

    Args:
        connect: Opens a connection; called in a thread, when the tool first uses it.
        turns: Who writes next in this process.
        lease: The right to write the run.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], turns: Turns, lease: Lease) -> None:
        self._connect = connect
        self._turns = turns
        self._lease = lease
        self._turn: Future[None] | None = None
        self._connection: sqlite3.Connection | None = None
        self._using = threading.Lock()
        self._over = False

    @property
    def session(self) -> SqliteTransaction:
        """This object: it is its own session."""
        return self

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed."""
        check_statement(statement)
        return await self._use(lambda db: max(db.execute(statement, values).rowcount, 0))

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a query; returns its rows."""
        check_statement(statement)

        def query(db: sqlite3.Connection) -> list[dict[str, Any]]:
            cursor = db.execute(statement, values)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return await self._use(query)

    async def commit(self, payloads: Sequence[bytes]) -> None:
        """Write the entries and commit."""
        self._lease.check()

        def finish(db: sqlite3.Connection) -> None:
            write_entries(db, self._lease, payloads)
            db.execute("COMMIT")
            self._over = True

        try:
            await self._use(finish)
        except ToolError as error:
            raise JournalError(
                f"The transaction could not be committed: {error} Nothing has happened.", cause=error
            ) from error

    async def roll_back(self) -> None:
        """Undo what was done, unless it is committed, and close."""
        self._over = True
        turn, self._turn = self._turn, None
        if turn is not None and not turn.cancel():  # it came to be its turn
            # Shielded, or whoever is cancelled now could keep its turn for ever.
            await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._close)))

    async def _use(self, work: Callable[[sqlite3.Connection], R]) -> R:
        self._check_open()
        if self._turn is None:
            self._turn = self._turns.ask()
        # Shielded: whoever waits may be cancelled; giving the turn back is up to roll_back() alone.
        await asyncio.shield(asyncio.wrap_future(self._turn))
        return await asyncio.to_thread(self._work, work)

    def _work(self, work: Callable[[sqlite3.Connection], R]) -> R:
        with self._using:
            self._check_open()
            try:
                return work(self._begun())
            except _REFUSALS as error:
                raise ToolError(f"The database refused: {error}.", cause=error) from error

    def _begun(self) -> sqlite3.Connection:
        """The connection, with the transaction open."""
        if self._connection is None:
            connection = self._connect()
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        if not self._connection.in_transaction:  # a full disk, for one, makes SQLite roll back by itself
            raise ToolError("The database has undone the transaction. Start again with a new call.")
        return self._connection

    def _check_open(self) -> None:
        if self._over:
            raise ToolError("The transaction is over. Use the session only while the tool runs.")

    def _close(self) -> None:
        try:
            with self._using:
                connection, self._connection = self._connection, None
                if connection is not None:
                    connection.close()
        finally:
            self._turns.pass_on()
