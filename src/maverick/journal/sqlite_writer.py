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


class SqliteWriter:
    """Runs writes on one connection, in one thread, many to a transaction.

    Args:
        connect: Opens the connection; called in the thread.
        path: The file, for error messages.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], path: str) -> None:
        self._connect = connect
        self._path = path
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[sqlite3.Connection], R]) -> asyncio.Future[R]:
        """Have a write done; the future is done when it is on the disk."""
        job = _Job(work, asyncio.get_running_loop())
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="maverick-journal", daemon=True)
            self._thread.start()
        self._jobs.put(job)
        return job.answer

    def close(self) -> None:
        """Finish what was submitted and end the thread."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _write(self) -> None:
        connection: sqlite3.Connection | None = None
        open_for_jobs = True
        while open_for_jobs:
            jobs, open_for_jobs = self._take()
            try:
                connection = connection or self._connect()
                self._commit(connection, jobs)
            except (sqlite3.Error, MaverickError) as error:
                for job in jobs:
                    job.error = job.error or self._describe(error)
            _settle(jobs)
        if connection is not None:
            connection.close()

    def _take(self) -> tuple[list[_Job], bool]:
        """Wait for a write and take all others that are there; ``False`` when it was the last."""
        jobs: list[_Job] = []
        item = self._jobs.get()
        while item is not None:
            jobs.append(item)
            if len(jobs) == _MOST_AT_ONCE or self._jobs.empty():
                return jobs, True
            item = self._jobs.get()
        return jobs, False

    def _commit(self, connection: sqlite3.Connection, jobs: list[_Job]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for job in jobs:
                self._run(connection, job)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _run(self, connection: sqlite3.Connection, job: _Job) -> None:
        connection.execute("SAVEPOINT job")
        try:
            job.value = job.work(connection)
        except (MaverickError, sqlite3.IntegrityError) as error:
            job.error = self._describe(error)
            connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")

    def _describe(self, error: sqlite3.Error | MaverickError) -> MaverickError:
        if isinstance(error, MaverickError):
            return error
        locked = "locked" in str(error) or "busy" in str(error)
        advice = (
            "Another process holds it; try again."
            if locked
            else "Check the disk's free space and the file's rights."
        )
        return JournalError(
            f"The journal {self._path!r} could not be written: {error}. Nothing was done. {advice}",
            cause=error,
            retryable=locked,
        )


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
