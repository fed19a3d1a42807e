"""Runs kept in a SQLite file: the default store. Several processes may use one file at once."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from maverick.journal.damage import Row
from maverick.journal.records import Append, Lease
from maverick.journal.sql import R, SqlJournal, Work
from maverick.journal.sqlite.database import (
    SqliteConnection,
    WriteLock,
    checked_path,
    journal_error,
    open_database,
)
from maverick.journal.sqlite.transaction import SqliteTransaction
from maverick.journal.sqlite.writer import SqliteWriter

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
        # Else one damaged text of one run would keep all others from being read.
        reader.text_factory = lambda raw: raw.decode(errors="surrogateescape")
        return SqliteConnection(reader)
