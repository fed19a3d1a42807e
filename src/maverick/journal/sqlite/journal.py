"""Runs kept in a SQLite file: the default store. Several processes may use one file at once.

A transactional tool has a connection of its own. SQLite has one writer at a time: from its first statement to its commit, such
a tool holds up the others that write to the file. They wait for it, so it has a limited time, after which everything is undone.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from maverick.exceptions import JournalError, ToolError
from maverick.journal.damage import Row
from maverick.journal.records import Append, Lease
from maverick.journal.sql import R, SqlJournal, Work
from maverick.journal.sqlite.database import (
    SqliteConnection,
    WriteLock,
    begin,
    checked_path,
    journal_error,
    open_database,
)
from maverick.journal.sqlite.writer import SqliteWriter, write_entries
from maverick.journal.transaction import Transaction, forbidden
from maverick.model import Blob

_MOST_FAULTS = 20


class SqliteJournal(SqlJournal):
    """A journal in a file. It opens on first use.

    Args:
        path: The file; it is made if it does not exist.
        busy_timeout: How many seconds to wait for another process that writes and gets nothing done. A tool's
            transaction may hold the file for a third of it.
    """

    _OF_RUN = "run = (SELECT number FROM runs WHERE run_id = $1)"
    _INSERT_ENTRY = "INSERT INTO entries (run, seq, version, payload) SELECT number, $2, $3, $4 FROM runs WHERE run_id = $1"

    def __init__(self, path: str | Path, *, busy_timeout: float = 30.0) -> None:
        self.path = checked_path(path)
        """The file."""
        self._open = partial(open_database, self.path, busy_timeout)
        self._lock = WriteLock()
        self._writer = SqliteWriter(self._open, self._lock, self.path)
        self._tool_seconds = busy_timeout / 3
        self._reader: SqliteConnection | None = None
        self._reading = threading.Lock()

    async def _append(self, append: Append) -> tuple[int, bytes] | None:
        return await self._writer.append(append)

    async def faults(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        found = await self._fetch(f"PRAGMA quick_check({_MOST_FAULTS})")
        return [str(row["quick_check"]) for row in found if row["quick_check"] != "ok"]

    def transaction(self, lease: Lease) -> SqliteTransaction:
        """A transaction for a tool's effect and its entry."""
        return SqliteTransaction(self._open, self._lock, lease, self._tool_seconds)

    async def aclose(self) -> None:
        """Finish what is being written and let go of the file."""
        if (writing := self._writer.close()) is not None:
            await asyncio.to_thread(writing.join)
        await asyncio.to_thread(self._close_reader)

    def _close_reader(self) -> None:
        with self._reading:
            reader, self._reader = self._reader, None
            if reader is not None:
                reader.raw.close()

    async def _write(self, run_id: str, work: Work[R]) -> R:  # noqa: ARG002 - one writer, whatever the run
        return await self._writer.write(lambda db: SqliteConnection(db).run(work))

    async def _fetch(self, statement: str, *values: Any, run_id: str = "") -> Sequence[Row]:
        return await asyncio.to_thread(self._query, statement, values, run_id)

    def _query(self, statement: str, values: Sequence[Any], run_id: str) -> Sequence[Row]:
        try:
            with self._reading:
                self._reader = self._reader or self._opened_to_read()
                return self._reader.query(statement, values)
        except (sqlite3.Error, UnicodeError) as error:
            raise journal_error(self.path, "read", error, run_id) from error

    def _opened_to_read(self) -> SqliteConnection:
        reader = self._open()
        weakref.finalize(self, reader.close)  # for scripts, which seldom close a journal
        # Else one damaged text of one run would keep all others from being read.
        reader.text_factory = lambda raw: raw.decode(errors="surrogateescape")
        return SqliteConnection(reader)


# Transactions of tools -------------------------------------------------------------------------------------------

_REFUSALS = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError)
"""What sqlite3 raises: for the database, for two statements in one, and for values it cannot store."""
_CONTROL = (sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT)
_OVER = "The transaction is over. Use the session only while the tool runs."
_UNDONE = "The database has undone the transaction. Start again with a new call."
_LOOK_EVERY = 100_000
"""How many instructions SQLite does of a statement before it looks whether to continue: a millisecond or so."""


class SqliteTransaction(Transaction):
    """Statements of one tool call, and its entry, in one transaction.

    It connects in a thread, when the tool first uses it. The lock is held by the current writer of this process.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], lock: WriteLock, lease: Lease, seconds: float
    ) -> None:
        self._connect = connect
        self._lock = lock
        self._lease = lease
        self._seconds = seconds
        self._turn: Future[None] | None = None
        self._connection: sqlite3.Connection | None = None
        self._using = threading.Lock()
        self._over = ""
        """Why it can no longer be used; empty while it can."""
        self._denied = ""
        """What the statement that was last refused would have done to the transaction."""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._committing = False
        self._closing: asyncio.Future[None] | None = None

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed."""
        return await self._use(lambda db: max(db.execute(statement, values).rowcount, 0))

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a query; returns its rows."""

        def query(db: sqlite3.Connection) -> list[dict[str, Any]]:
            cursor = db.execute(statement, values)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return await self._use(query)

    async def commit(self, payloads: Sequence[bytes], blobs: Sequence[Blob] = ()) -> None:
        """Write the entries and commit."""
        self._lease.check()
        self._committing = True
        self._stop_timer()

        def finish(db: sqlite3.Connection) -> None:
            db.set_authorizer(None)
            write_entries(db, Append(self._lease, payloads, blobs=blobs))
            db.execute("COMMIT")
            self._over = _OVER

        try:
            await self._use(finish)
        except ToolError as error:
            if error.cause is None or isinstance(error.cause, sqlite3.IntegrityError):
                raise ToolError(f"{error} Nothing has happened.") from error
            raise JournalError(
                f"The transaction could not be committed: {error} Nothing has happened."
            ) from error

    async def roll_back(self) -> None:
        """Undo what was done, unless it is committed, and close."""
        self._end(_OVER)
        if self._closing is not None:
            # Shielded: a caller that is cancelled now could otherwise hold the lock for ever.
            await asyncio.shield(self._closing)

    async def _use(self, work: Callable[[sqlite3.Connection], R]) -> R:
        self._check_open()
        if self._turn is None:
            self._turn = self._lock.request()
        # Shielded: the caller may be cancelled, and only _end() releases the lock.
        await asyncio.shield(asyncio.wrap_future(self._turn))
        return await asyncio.to_thread(self._work, work)

    def _work(self, work: Callable[[sqlite3.Connection], R]) -> R:
        with self._using:
            self._check_open()
            try:
                return work(self._begun())
            except _REFUSALS as error:
                denied, self._denied = self._denied, ""
                if denied:
                    raise forbidden(denied) from error
                self._check_open()  # its time may have run out meanwhile
                raise ToolError(f"The database refused: {error}.") from error

    def _begun(self) -> sqlite3.Connection:
        """The connection, with the transaction open."""
        if self._connection is None:
            connection = self._connect()
            try:
                begin(connection)
            except sqlite3.Error:
                connection.close()
                raise
            # SQLite itself says what a statement would do, so nothing that is written around it can hide a COMMIT.
            connection.set_authorizer(self._authorize)
            connection.set_progress_handler(lambda: bool(self._over), _LOOK_EVERY)
            self._connection = connection
            self._loop.call_soon_threadsafe(self._start_timer)
        if not self._connection.in_transaction:  # a full disk, for one, makes SQLite roll back by itself
            raise ToolError(_UNDONE)
        return self._connection

    def _authorize(self, action: int, what: str | None, *_: str | None) -> int:
        if action not in _CONTROL:
            return sqlite3.SQLITE_OK
        self._denied = "SAVEPOINT" if action == sqlite3.SQLITE_SAVEPOINT else str(what)
        return sqlite3.SQLITE_DENY

    def _check_open(self) -> None:
        if self._over:
            raise ToolError(self._over)

    def _start_timer(self) -> None:
        if not self._committing and not self._over:
            self._timer = self._loop.call_later(self._seconds, self._run_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _run_out(self) -> None:
        self._end(
            f"The tool's transaction held the journal for more than {self._seconds:g} seconds, which keeps every other "
            "run waiting, so it was undone. Do what takes long before the first statement."
        )

    def _end(self, why: str) -> None:
        """Undo what was done, unless it is committed, and let the next one write."""
        self._stop_timer()
        self._over = self._over or why
        turn, self._turn = self._turn, None
        if turn is not None and not turn.cancel():  # it came to be its turn
            self._closing = asyncio.ensure_future(asyncio.to_thread(self._close))

    def _close(self) -> None:
        try:
            with self._using:
                connection, self._connection = self._connection, None
                if connection is not None:
                    connection.close()
        finally:
            self._lock.release()
