"""The one writer of a SQLite file in this process: a thread that commits for everybody who waits (group commit).

A commit costs a sync of the disk, whatever it holds. So the thread takes all writes that have come while it was busy,
puts them into one transaction and syncs once. Each write has a savepoint of its own: one that fails takes nothing with
it. The event loop never touches the disk.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from maverick.exceptions import JournalError, MaverickError
from maverick.journal.sqlite_errors import journal_error
from maverick.journal.sqlite_turns import Turns

R = TypeVar("R")

_MOST_AT_ONCE = 1_000


class _Job:
    """A write that somebody waits for."""

    __slots__ = ("answer", "error", "loop", "value", "work")

    def __init__(self, work: Callable[[sqlite3.Connection], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.answer: asyncio.Future[Any] = loop.create_future()
        self.value: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        if self.answer.done():
            return
        if self.error is None:
            self.answer.set_result(self.value)
        else:
            self.answer.set_exception(self.error)


_Jobs = queue.SimpleQueue[_Job | None]
"""The writes of one thread, in order; ``None`` is the last."""


class SqliteWriter:
    """Runs writes on one connection, in one thread, many to a transaction.

    Args:
        connect: Opens the connection; called in the thread.
        turns: Who writes next in this process.
        path: The file, for error messages.
        patience: How many seconds to wait for a tool that writes.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], turns: Turns, path: str, patience: float
    ) -> None:
        self._connect = connect
        self._turns = turns
        self._path = path
        self._patience = patience
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._jobs: _Jobs = queue.SimpleQueue()

    def submit(self, work: Callable[[sqlite3.Connection], R]) -> asyncio.Future[R]:
        """Have a write done; the future is done when it is on the disk."""
        job = _Job(work, asyncio.get_running_loop())
        with self._guard:
            if self._thread is None:
                self._jobs = queue.SimpleQueue()
                self._thread = threading.Thread(
                    target=self._write, args=(self._jobs,), name="maverick-journal", daemon=True
                )
                self._thread.start()
            self._jobs.put(job)
        return job.answer

    def close(self) -> threading.Thread | None:
        """Take no more writes; returns the thread, if there is one, which ends when it has finished those it has."""
        with self._guard:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
        return thread

    def _write(self, queued: _Jobs) -> None:
        connection: sqlite3.Connection | None = None
        open_for_jobs = True
        while open_for_jobs:
            jobs, open_for_jobs = _take(queued)
            try:
                if jobs:
                    connection = connection or self._connect()
                    self._commit(connection, jobs)
            except Exception as error:  # noqa: BLE001 - whatever it was, those who wait are told and the thread lives on
                for job in jobs:
                    job.error = job.error or self._describe(error)
                if connection is not None:
                    connection.close()  # which rolls back
                    connection = None
            _settle(jobs)
        if connection is not None:
            connection.close()

    def _commit(self, connection: sqlite3.Connection, jobs: list[_Job]) -> None:
        if not self._turns.jump_in(self._patience):
            raise JournalError(
                f"The journal {self._path!r} could not be written: a tool's transaction has held it for too long. "
                "Keep such tools short, or give the journal a longer busy_timeout; then resume the run.",
                retryable=True,
            )
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                self._run(connection, job)
            connection.execute("COMMIT")
        finally:
            self._turns.pass_on()

    def _run(self, connection: sqlite3.Connection, job: _Job) -> None:
        connection.execute("SAVEPOINT job")
        try:
            job.value = job.work(connection)
        except sqlite3.OperationalError:  # the disk is full, or the like: no write can succeed
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this write, the others are not to suffer
            job.error = self._describe(error)
            connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")

    def _describe(self, error: Exception) -> MaverickError:
        return error if isinstance(error, MaverickError) else journal_error(self._path, "written", error)


def _take(queued: _Jobs) -> tuple[list[_Job], bool]:
    """Wait for a write and take all others that are there; ``False`` when it was the last."""
    jobs: list[_Job] = []
    item = queued.get()
    while item is not None:
        jobs.append(item)
        if len(jobs) == _MOST_AT_ONCE or queued.empty():
            return jobs, True
        item = queued.get()
    return jobs, False


def _settle(jobs: list[_Job]) -> None:
    """Tell those who wait, waking each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = defaultdict(list)
    for job in jobs:
        by_loop[job.loop].append(job)
    for loop, settled in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle_all, settled)
        except RuntimeError:  # the loop was closed meanwhile; nobody waits any more
            continue


def _settle_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.settle()
