"""The one writer of a Postgres journal in an event loop: it commits for everybody who waits (group commit).

A commit costs the server a sync of its disk, whatever it holds, and each statement a message there and back. So the
writer takes all writes that have come while it was busy and puts them into one transaction, and the entries of all runs
into one statement. One that fails takes nothing with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from maverick.exceptions import MaverickError
from maverick.journal.postgres_database import PostgresDatabase
from maverick.journal.postgres_driver import Connection
from maverick.journal.postgres_entries import Append, write_all, write_entries
from maverick.journal.postgres_steps import SteppedTransaction
from maverick.journal.write import Write

R = TypeVar("R")

_NOT_WRITTEN = "could not be written"
_UNKNOWN = "did not answer a commit, so nobody knows whether it was made"
_MOST_AT_ONCE = 500
"""How many writes one transaction holds: more share a sync, but the first of them waits for the last."""


class _Job(Write[R]):
    """A write that somebody waits for."""

    __slots__ = ("append", "run_id", "work")

    def __init__(
        self, run_id: str, work: Callable[[Connection], Awaitable[R]], append: Append | None = None
    ) -> None:
        super().__init__()
        self.run_id = run_id
        self.work = work
        self.append = append


class PostgresWriter:
    """Runs writes on one connection, many to a transaction.

    Args:
        database: Where to.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._jobs: list[_Job[Any]] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, run_id: str, work: Callable[[Connection], Awaitable[R]]) -> R:
        """Have a write of a run done; the server has it on its disk when this returns."""
        return await self._queued(_Job(run_id, work)).outcome()

    async def append(self, append: Append) -> None:
        """Have entries added to a run; the server has them on its disk when this returns."""
        await self._queued(_Job(append.lease.run_id, lambda db: write_entries(db, append), append)).outcome()

    def _queued(self, job: _Job[R]) -> _Job[R]:
        self._jobs.append(job)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write_all())
        return job

    async def finish(self) -> None:
        """Wait until everything that was submitted is written."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _write_all(self) -> None:
        try:
            while self._jobs:
                batch, self._jobs = self._jobs[:_MOST_AT_ONCE], self._jobs[_MOST_AT_ONCE:]
                await self._write(batch)
        finally:
            self._task = None

    async def _write(self, jobs: list[_Job[Any]]) -> None:
        failed = _NOT_WRITTEN
        try:
            async with self._database.writing() as connection:
                transaction = SteppedTransaction(connection)
                # A write that claims a run, or adds one, locks the caller's run and then its subagents'. Entries are
                # added after it, or two processes that do both could wait for each other.
                for job in sorted((job for job in jobs if job.append is None), key=_lock_order):
                    await self._attempt(transaction, job)
                appends = [job for job in jobs if job.append is not None]
                for job in await self._append_together(transaction, appends):
                    await self._attempt(transaction, job)
                failed = _UNKNOWN
                await transaction.commit()
        except Exception as error:  # noqa: BLE001 - whatever it was, those who wait are told
            self._fail(jobs, failed, error)
        except asyncio.CancelledError:  # the event loop is being closed
            self._fail(jobs, _UNKNOWN, ConnectionAbortedError("the event loop was closed"))
            raise
        finally:
            for job in jobs:
                job.settle()

    async def _append_together(
        self, transaction: SteppedTransaction, jobs: list[_Job[Any]]
    ) -> list[_Job[Any]]:
        """Add what can be added in one statement; returns the writes that are left, in the order of their locks."""
        together = {job.run_id: job.append for job in reversed(jobs) if job.append is not None}
        appended: set[str] = set()
        if len(together) > 1:
            try:
                appended = await transaction.step(lambda db: write_all(db, list(together.values())))
            except Exception:
                if transaction.is_broken:
                    raise  # else one of them is at fault, and each has its own try
        left = [job for job in jobs if job.run_id not in appended or job.append is not together[job.run_id]]
        return sorted(left, key=_lock_order)

    async def _attempt(self, transaction: SteppedTransaction, job: _Job[Any]) -> None:
        try:
            job.value = await transaction.step(job.work)
        except Exception as error:
            if transaction.is_broken:
                raise
            self._fail([job], _NOT_WRITTEN, error)

    def _fail(self, jobs: list[_Job[Any]], failed: str, error: Exception) -> None:
        for job in jobs:
            if job.error is None:
                job.error = (
                    error if isinstance(error, MaverickError) else self._database.driver.error(failed, error)
                )


def _lock_order(job: _Job[Any]) -> str:
    return job.run_id
