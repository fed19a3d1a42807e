"""The file of a SQLite journal: its tables and their migrations, who writes to it next, and what its errors mean."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any

from maverick.exceptions import JournalDamagedError, JournalError
from maverick.journal.damage import Row
from maverick.journal.sql import R, Work
from maverick.misuse import refuse

MIGRATIONS = (
    """
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY,
        agent TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT NOT NULL DEFAULT '',
        parent TEXT,
        user_id TEXT,
        forked_from TEXT,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        entries INTEGER NOT NULL,
        token INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX runs_by_time ON runs (parent, created_at);
    CREATE TABLE entries (
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        version INTEGER NOT NULL,
        payload BLOB NOT NULL,
        PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID;
    CREATE TABLE approvals (
        approval_id TEXT PRIMARY KEY,
        run_id TEXT NOT NULL,
        status TEXT NOT NULL,
        requested_at REAL NOT NULL,
        payload BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX approvals_by_run ON approvals (run_id);
    """,
    # Entries are stored in the order they were written, across runs. Sorted by run, each of many concurrent runs had a
    # page of its own to write: a commit of 250 of them took three times as long.
    """
    DROP INDEX runs_by_time;
    ALTER TABLE runs RENAME TO old_runs;
    ALTER TABLE entries RENAME TO old_entries;
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT NOT NULL DEFAULT '',
        parent TEXT,
        user_id TEXT,
        forked_from TEXT,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        entries INTEGER NOT NULL,
        token INTEGER NOT NULL
    );
    CREATE INDEX runs_by_time ON runs (parent, created_at);
    CREATE TABLE entries (
        run INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        version INTEGER NOT NULL,
        payload BLOB NOT NULL
    );
    CREATE UNIQUE INDEX entries_by_run ON entries (run, seq);
    INSERT INTO runs (
        run_id, agent, status, reason, parent, user_id, forked_from, created_at, updated_at, entries, token
    ) SELECT run_id, agent, status, reason, parent, user_id, forked_from, created_at, updated_at, entries, token
      FROM old_runs ORDER BY created_at;
    INSERT INTO entries (run, seq, version, payload)
      SELECT number, seq, version, payload FROM old_entries JOIN runs USING (run_id) ORDER BY number, seq;
    DROP TABLE old_entries;
    DROP TABLE old_runs;
    """,
    # Images and documents, once each, and which runs name them.
    """
    CREATE TABLE blobs (
        sha256 TEXT NOT NULL PRIMARY KEY,
        data BLOB NOT NULL
    );
    CREATE TABLE run_blobs (
        run_id TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        PRIMARY KEY (run_id, sha256)
    ) WITHOUT ROWID;
    CREATE INDEX run_blobs_by_hash ON run_blobs (sha256);
    """,
    # What is said to a run until it takes it in, and how many of that wait.
    """
    ALTER TABLE runs ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE words (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id TEXT NOT NULL,
        payload BLOB NOT NULL
    );
    CREATE INDEX words_by_run ON words (run_id);
    """,
)


def open_database(path: str, busy_timeout: float) -> sqlite3.Connection:
    """Open a journal file, in the newest form, with every commit synced to the disk.

    ``busy_timeout`` is how many seconds to wait for others that write and get nothing done. Raises JournalError if it
    cannot be opened, is not a journal, or was written by a newer Maverick.
    """
    try:
        _make_private(path)
        connection = sqlite3.connect(
            path, timeout=busy_timeout / 2, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise journal_error(path, "opened", error) from error
    try:
        _use_write_ahead_log(connection, time.monotonic() + busy_timeout)
        connection.execute("PRAGMA synchronous=FULL")  # NORMAL may lose the last commits on power loss
        _migrate(connection, path)
    except (
        sqlite3.Error,
        UnicodeDecodeError,
    ) as error:  # the latter of SQLite's own words about a damaged file
        connection.close()
        raise journal_error(path, "opened", error) from error
    except JournalError:
        connection.close()
        raise
    return connection


def begin(connection: sqlite3.Connection) -> None:
    """Begin to write. Others that write are waited for as long as they get something done.

    SQLite gives the file to the next process that happens to ask, so one may wait for many writes of another; only if
    nothing was committed for the busy timeout, it is an ``OperationalError``.
    """
    seen: Any = None
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            last, seen = seen, connection.execute("PRAGMA data_version").fetchone()
            if seen == last:
                raise
        else:
            return


def _make_private(path: str) -> None:
    """Create a missing file for its owner only: conversations are private."""
    with contextlib.suppress(OSError, ValueError):  # what is wrong with the path is SQLite's to say
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _use_write_ahead_log(connection: sqlite3.Connection, deadline: float) -> None:
    """Switch a new file over. SQLite does not wait for others that are just doing the same, so this does."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    if _form(connection) == len(MIGRATIONS):
        return
    begin(connection)
    form = _form(connection)  # another process may have been faster
    if form > len(MIGRATIONS):
        raise JournalError(
            f"The journal {path!r} has form {form}, and this Maverick knows {len(MIGRATIONS)}. Update Maverick."
        )
    for statements in MIGRATIONS[form:]:
        for statement in statements.split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
    connection.execute("COMMIT")


def _form(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


# Statements of the shared code ----------------------------------------------------------------------------------

_LOCK = re.compile(r" FOR (?:KEY SHARE|SHARE|UPDATE)\b")
_ANY = re.compile(r"= ANY\(\$(\d+)\)")


class SqliteConnection:
    """A connection that takes Postgres' statements, as far as the shared code has any."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def run(self, work: Work[R]) -> R:
        """Run a write through; it waits for nothing, since SQLite answers at once."""
        try:
            work(self).send(None)
        except StopIteration as done:
            result: R = done.value
            return result
        raise AssertionError("a write waits for nothing but its connection")

    def query(self, statement: str, values: Sequence[Any]) -> Sequence[Row]:
        """Run a statement; returns its rows."""
        cursor = self.raw.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor.execute(_translated(statement), _named(values)).fetchall()

    async def fetch(self, statement: str, *values: Any) -> Sequence[Row]:
        """Run a statement; returns its rows."""
        return self.query(statement, values)

    async def executemany(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each of the values."""
        self.raw.executemany(_translated(statement), map(_named, values))


@cache
def _translated(statement: str) -> str:
    """A statement of Postgres' in SQLite's words: a file has no schemas, and one writer, who locks nothing."""
    unlocked = _LOCK.sub("", statement.replace("maverick.", ""))
    return _ANY.sub(r"IN (SELECT value FROM json_each($\1))", unlocked).replace("$", ":v")


def _named(values: Sequence[Any]) -> dict[str, Any]:
    """Values by name: Python 3.12 warns of those for ``?1``, as if that were a name."""
    return {
        f"v{number}": json.dumps(value) if isinstance(value, list) else value
        for number, value in enumerate(values, start=1)
    }


# Who writes next ------------------------------------------------------------------------------------------------


class WriteLock:
    """Lets the writers of this process write one after the other, from any thread or event loop.

    SQLite lets one connection write at a time and makes the others retry until their timeout. Within a process they can
    wait in a queue instead: no one times out, and no thread is blocked that the current writer may need.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[Future[None]] = deque()
        self._taken = False

    def request(self) -> Future[None]:
        """Join the queue. The future is done when the lock is held; cancel it to leave the queue."""
        turn: Future[None] = Future()
        with self._guard:
            if self._taken:
                self._waiting.append(turn)
                return turn
            self._taken = True
        turn.set_result(None)
        return turn

    def acquire_next(self) -> None:
        """Wait for the lock in this thread, ahead of the queue."""
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            turn: Future[None] = Future()
            self._waiting.appendleft(turn)
        turn.result()

    def release(self) -> None:
        """Give the lock to the next in the queue."""
        with self._guard:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    break
            else:
                self._taken = False
                return
        turn.set_result(None)


# Errors ---------------------------------------------------------------------------------------------------------

_DAMAGED = "It is damaged. `maverick runs check` tells which runs can be read, and `--repair COPY` saves what can be."
_DAMAGE = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
)
"""The last of them is a statement of ours that does not fit the tables, which are not what they were then."""
_ADVICE = {
    sqlite3.SQLITE_BUSY: "Another process holds it. Try again, or give the journal a longer busy_timeout.",
    sqlite3.SQLITE_FULL: "Make room on the disk, then resume the run.",
    sqlite3.SQLITE_NOTADB: "Check that it is the right file.",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_FORMAT: _DAMAGED,
    sqlite3.SQLITE_ERROR: _DAMAGED,
    sqlite3.SQLITE_READONLY: "Check the rights of the file and of its folder.",
    sqlite3.SQLITE_IOERR: "Check the disk, then resume the run.",
}


def is_busy(error: BaseException) -> bool:
    """Whether the file is locked by another writer."""
    return _code(error) == sqlite3.SQLITE_BUSY


def journal_error(path: str, failed: str, error: Exception, run_id: str = "") -> JournalError:
    """The error a caller gets.

    ``failed`` is what could not be done, such as ``written``. ``run_id`` is the run it was about, if it was about
    one.
    """
    code = sqlite3.SQLITE_CORRUPT if _is_garbled(error) else _code(error)
    about = f"The run {run_id!r} in the journal" if run_id else "The journal"
    reason, advice = (
        _no_file(path) if code == sqlite3.SQLITE_CANTOPEN else (str(error), _ADVICE.get(code, ""))
    )
    message = f"{about} {path!r} could not be {failed}: {reason}. {advice}".rstrip()
    if code in _DAMAGE:
        return JournalDamagedError(message, run_id=run_id, cause=error)
    return JournalError(message, cause=error, retryable=is_busy(error))


def checked_path(path: str | Path) -> str:
    """The path of a journal; raises InvalidInputError if it is the address of a database."""
    scheme, is_address, rest = str(path).partition("://")
    if is_address:
        use = f"SqliteJournal({rest.lstrip('/')!r})" if scheme.startswith("sqlite") else "PostgresJournal(…)"
        refuse(
            "path",
            f"expected the path of a file, got an address that begins with '{scheme}://'. Write {use}.",
        )
    return str(path)


def _no_file(path: str) -> tuple[str, str]:
    """Why a file could not be opened, and what to do about it."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}", "Create it, or name another path."
    if Path(path).is_dir():
        return "it is a folder", "Name a file in it, such as runs.db."
    return "the file cannot be opened", "Check the rights of the file and of its folder."


def _is_garbled(error: Exception) -> bool:
    """Whether a text is not valid UTF-8: Python finds that itself, so the error has no SQLite error code."""
    without_number = isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode")
    return isinstance(error, UnicodeDecodeError) or without_number


def _code(error: BaseException) -> int:
    """SQLite's own number of an error, without what it adds in its higher bytes."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
