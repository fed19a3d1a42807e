"""The one writer of a SQLite file in this process: a thread that commits all pending writes together (group commit).

A commit costs a sync of the disk, whatever it holds. So the thread takes all writes that have come while it was busy,
puts them into one transaction and syncs once. If one of them fails they are all undone and made one by one, so that it
takes nothing with it. The event loop never touches the disk.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, TypeAlias, TypeVar

from maverick.exceptions import JournalError, MaverickError
from maverick.journal.codec import VERSION
from maverick.journal.records import Append
from maverick.journal.sql import complete, first_words
from maverick.journal.sqlite.database import SqliteConnection, WriteLock, begin, journal_error
from maverick.journal.transaction import PendingWrite

R = TypeVar("R")

_Row: TypeAlias = tuple[Any, ...]

_MOST_AT_ONCE = 1_000
_MOST_ROWS = 1_024
"""The rows of one statement; SQLite takes 32,766 values in one."""


# Entries --------------------------------------------------------------------------------------------------------


def write_entries(db: sqlite3.Connection, append: Append) -> tuple[int, bytes] | None:
    """Add entries to a run; returns the words that wait for it, in place of a write that listens for them.

    A ``LeaseLostError`` says that another process has claimed the run.
    """
    lease, count = append.lease, len(append.payloads)
    run = db.execute(
        "UPDATE runs SET status=?, reason=?, updated_at=?, entries=entries+? WHERE run_id=? AND token=? "
        "AND words <= ? RETURNING number, entries",
        (append.status, append.reason, time.time(), count, lease.run_id, lease.token, append.most_words),
    ).fetchone()
    if run is None:
        return SqliteConnection(db).run(lambda db: first_words(db, lease))
    number, entries = run
    insert_entries(db, number, entries - count + 1, append.payloads)
    _complete(db, append)
    return None


def insert_entries(db: sqlite3.Connection, number: int, first: int, payloads: Sequence[bytes]) -> None:
    """Add entries to the run of that number, counted from ``first`` on."""
    db.executemany(
        "INSERT INTO entries (run, seq, version, payload) VALUES (?,?,?,?)",
        [(number, seq, VERSION, payload) for seq, payload in enumerate(payloads, start=first)],
    )


def _complete(db: sqlite3.Connection, append: Append) -> None:
    if append.blobs or append.heard:
        SqliteConnection(db).run(lambda db: complete(db, append))


def append_all(db: sqlite3.Connection, appends: Sequence[Append]) -> bool:
    """Add entries to many runs in few statements, which let other threads run meanwhile; one by one takes twice as long.

    Returns whether all were added. If not, or if two are for the same run, an ``IntegrityError``, the caller rolls
    back: one of the leases is lost, or words wait for a run.
    """
    entries = [
        (append.lease.run_id, append.lease.token, offset, payload)
        for append in appends
        for offset, payload in enumerate(append.payloads, start=1)
    ]
    # The entries first: their numbers follow from how many there were before.
    added = sum(
        db.execute(
            f"INSERT INTO entries (run, seq, version, payload) "  # noqa: S608 - placeholders and our own number
            f"SELECT number, entries + column3, {VERSION}, column4 "
            f"FROM (VALUES {_placeholders(rows)}) CROSS JOIN runs ON run_id = column1 AND token = column2",
            tuple(chain.from_iterable(rows)),
        ).rowcount
        for rows in _portions(entries)
    )
    now = time.time()
    runs = [
        (
            append.lease.run_id,
            append.lease.token,
            append.status,
            append.reason,
            len(append.payloads),
            append.most_words,
        )
        for append in appends
    ]
    noted = sum(
        db.execute(
            f"UPDATE runs SET status = column3, reason = column4, entries = entries + column5, updated_at = ? "  # noqa: S608 - placeholders
            f"FROM (VALUES {_placeholders(rows)}) WHERE run_id = column1 AND token = column2 AND words <= column6",
            (now, *chain.from_iterable(rows)),
        ).rowcount
        for rows in _portions(runs)
    )
    for append in appends:
        _complete(db, append)
    return added == len(entries) and noted == len(runs)


def _portions(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """The rows in powers of two, so that there are few statements to prepare, whatever their number is."""
    done = 0
    while left := len(rows) - done:
        size = min(1 << left.bit_length() - 1, _MOST_ROWS)
        yield rows[done : done + size]
        done += size


def _placeholders(rows: Sequence[_Row]) -> str:
    return ",".join([f"({','.join('?' * len(rows[0]))})"] * len(rows))


# Group commit ---------------------------------------------------------------------------------------------------


_Jobs = queue.SimpleQueue[PendingWrite[Any] | None]
"""The writes of one thread, in order; ``None`` is the last."""


class SqliteWriter:
    """Runs writes on one connection, in one thread, many to a transaction.

    The lock is held by the current writer of this process.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], lock: WriteLock, path: str) -> None:
        self._connect = connect
        self._lock = lock
        self._path = path
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._jobs: _Jobs = queue.SimpleQueue()

    async def write(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Have a write done; it is on the disk when this returns.

        It may be tried again after it was rolled back, so it does nothing but use the connection.
        """
        job: PendingWrite[R] = PendingWrite("", work)
        return await self._queued(job).outcome()

    async def append(self, append: Append) -> tuple[int, bytes] | None:
        """Have entries added to a run; they are on the disk when this returns."""
        job: PendingWrite[tuple[int, bytes] | None]
        job = PendingWrite(append.lease.run_id, lambda db: write_entries(db, append), append)
        return await self._queued(job).appended()

    def _queued(self, job: PendingWrite[R]) -> PendingWrite[R]:
        with self._guard:
            if self._thread is None:
                self._jobs = queue.SimpleQueue()
                self._thread = threading.Thread(
                    target=self._write, args=(self._jobs,), name="maverick-journal", daemon=True
                )
                self._thread.start()
            self._jobs.put(job)
        return job

    def close(self) -> threading.Thread | None:
        """Take no more writes; returns the thread, if there is one, which ends when it has finished those it has."""
        with self._guard:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        return thread

    def _write(self, queued: _Jobs) -> None:
        connection: sqlite3.Connection | None = None
        file: tuple[int, int] | None = None
        open_for_jobs = True
        while open_for_jobs:
            jobs, open_for_jobs = _take(queued)
            try:
                if jobs:
                    if connection is None:
                        connection, file = self._connect(), _file_at(self._path)
                    self._check_place_of(file)
                    self._commit(connection, jobs)
            except Exception as error:  # noqa: BLE001 - every waiting caller gets the error, and the thread lives on
                for job in jobs:
                    job.error = job.error or self._describe(error)
                if connection is not None:
                    connection.close()  # which rolls back
                    connection = None
            _settle(jobs)
        if connection is not None:
            connection.close()

    def _check_place_of(self, file: tuple[int, int] | None) -> None:
        if _file_at(self._path) != file:
            raise JournalError(
                f"The journal {self._path!r} was moved or deleted while in use. Put it back, then resume the run."
            )

    def _commit(self, connection: sqlite3.Connection, jobs: list[PendingWrite[Any]]) -> None:
        self._lock.acquire_next()  # a tool's transaction has a limited time
        try:
            if not self._all_at_once(connection, jobs):
                for job in jobs:
                    self._on_its_own(connection, job)
        finally:
            self._lock.release()

    def _all_at_once(self, connection: sqlite3.Connection, jobs: list[PendingWrite[Any]]) -> bool:
        """Make all writes in one transaction; says whether it went well. One that fails undoes them all."""
        begin(connection)
        try:
            done = _do_all(connection, jobs)
        except sqlite3.OperationalError:  # the disk is full, or the like: no write can succeed
            raise
        except Exception:  # noqa: BLE001 - each is retried on its own, so that only the faulty one fails
            done = False
        connection.execute("COMMIT" if done else "ROLLBACK")
        return done

    def _on_its_own(self, connection: sqlite3.Connection, job: PendingWrite[Any]) -> None:
        begin(connection)
        try:
            job.value = job.work(connection)
        except sqlite3.OperationalError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this write, the others are not to suffer
            connection.execute("ROLLBACK")
            job.error = self._describe(error)
        else:
            connection.execute("COMMIT")

    def _describe(self, error: Exception) -> MaverickError:
        return error if isinstance(error, MaverickError) else journal_error(self._path, "written", error)


def _file_at(path: str) -> tuple[int, int] | None:
    """What identifies the file: SQLite would continue writing to one that was deleted."""
    try:
        found = os.stat(path)  # noqa: PTH116 - once a commit, and fast
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _take(queued: _Jobs) -> tuple[list[PendingWrite[Any]], bool]:
    """Wait for a write and take all others that are there; ``False`` when it was the last."""
    jobs: list[PendingWrite[Any]] = []
    item = queued.get()
    while item is not None:
        jobs.append(item)
        if len(jobs) == _MOST_AT_ONCE or queued.empty():
            return jobs, True
        item = queued.get()
    return jobs, False


def _do_all(connection: sqlite3.Connection, jobs: list[PendingWrite[Any]]) -> bool:
    """Do what the writes ask for, in their order, and entries of neighbours at once; says whether all of it was done."""
    for _, neighbours in groupby(jobs, lambda job: job.append is None):
        group = list(neighbours)
        appends = [job.append for job in group if job.append is not None]
        if len(appends) > 1:
            if not append_all(connection, appends):
                return False
        else:
            for job in group:
                job.value = job.work(connection)
    return True


def _settle(jobs: list[PendingWrite[Any]]) -> None:
    """Tell those who wait, waking each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[PendingWrite[Any]]] = defaultdict(list)
    for job in jobs:
        by_loop[job.loop].append(job)
    for loop, settled in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle_all, settled)
        except RuntimeError:  # the loop was closed, so no one waits any more
            continue


def _settle_all(jobs: list[PendingWrite[Any]]) -> None:
    for job in jobs:
        job.settle()
