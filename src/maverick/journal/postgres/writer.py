"""The one writer of a Postgres journal in an event loop: it commits all pending writes together (group commit).

A commit costs the server a sync of its disk, whatever it holds, and each statement a message there and back. So the
writer takes all writes that have come while it was busy and puts them into one transaction, and the entries of all runs
into one statement. One that fails takes nothing with it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from maverick.exceptions import MaverickError
from maverick.journal.codec import VERSION
from maverick.journal.postgres.database import PostgresDatabase, SteppedTransaction
from maverick.journal.postgres.schema import Connection
from maverick.journal.records import Append
from maverick.journal.sql import complete, first_words
from maverick.journal.transaction import PendingWrite

R = TypeVar("R")

_NOT_WRITTEN = "could not be written"
_UNKNOWN = "did not answer a commit, so it is unknown whether it was made"
_MOST_AT_ONCE = 500
"""How many writes one transaction holds: more share a sync, but the first of them waits for the last."""


# Statements -----------------------------------------------------------------------------------------------------


# The token is checked by the statement that writes: there is no moment between the two. Runs are locked in the order of
# their ids, so that two processes that write to the same runs do not wait for each other.
_INSERT_ENTRIES = """
    WITH asked AS (
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $11::int[])
            AS asked (run_id, token, status, reason, count, most_words)
    ), leased AS (
        SELECT run_id FROM maverick.runs JOIN asked USING (run_id, token) WHERE words <= most_words
        ORDER BY run_id FOR UPDATE OF runs
    ), changed AS (
        UPDATE maverick.runs
        SET status = asked.status, reason = asked.reason, updated_at = $6, entries = entries + count
        FROM asked JOIN leased USING (run_id)
        WHERE runs.run_id = asked.run_id
        RETURNING runs.run_id, entries - count AS before
    ), written AS (
        INSERT INTO maverick.entries (run_id, seq, version, payload)
        SELECT run_id, before + place, $7, payload
        FROM changed JOIN unnest($8::text[], $9::bigint[], $10::bytea[]) AS new (run_id, place, payload) USING (run_id)
    )
    SELECT run_id FROM changed
"""


async def write_entries(connection: Connection, append: Append) -> tuple[int, bytes] | None:
    """Add entries to a run; returns the words that wait for it, in place of a write that listens for them.

    A ``LeaseLostError`` says that another process has claimed the run.
    """
    while not await write_all(connection, [append]):
        if (words := await first_words(connection, append.lease)) is not None:
            return words
    return None


async def write_all(connection: Connection, appends: Sequence[Append]) -> set[str]:
    """Add entries to several runs in one statement, no run twice; returns the runs whose lease is still held."""
    places = [
        (append.lease.run_id, place, payload)
        for append in appends
        for place, payload in enumerate(append.payloads, start=1)
    ]
    changed = await connection.fetch(
        _INSERT_ENTRIES,
        [append.lease.run_id for append in appends],
        [append.lease.token for append in appends],
        [append.status.value for append in appends],
        [append.reason for append in appends],
        [len(append.payloads) for append in appends],
        time.time(),
        VERSION,
        [run_id for run_id, _, _ in places],
        [place for _, place, _ in places],
        [payload for _, _, payload in places],
        [append.most_words for append in appends],
    )
    written = {row["run_id"] for row in changed}
    for append in appends:
        if append.lease.run_id in written:
            await complete(connection, append)
    return written


# Group commit ---------------------------------------------------------------------------------------------------


class PostgresWriter:
    """Runs writes on one connection, many to a transaction."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._jobs: list[PendingWrite[Any]] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, run_id: str, work: Callable[[Connection], Awaitable[R]]) -> R:
        """Have a write of a run done; the server has it on its disk when this returns."""
        job: PendingWrite[R] = PendingWrite(run_id, work)
        return await self._queued(job).outcome()

    async def append(self, append: Append) -> tuple[int, bytes] | None:
        """Have entries added to a run; the server has them on its disk when this returns."""
        job: PendingWrite[tuple[int, bytes] | None]
        job = PendingWrite(append.lease.run_id, lambda db: write_entries(db, append), append)
        return await self._queued(job).appended()

    def _queued(self, job: PendingWrite[R]) -> PendingWrite[R]:
        self._jobs.append(job)
        if self._task is None:
            # Not by a factory that starts tasks eagerly: the first would be written without those beside it.
            self._task = asyncio.Task(self._write_all())
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

    async def _write(self, jobs: list[PendingWrite[Any]]) -> None:
        failed = _NOT_WRITTEN
        try:
            async with self._database.writing() as connection:
                transaction = SteppedTransaction(connection)
                # A write that claims a run, or adds one, locks the caller's run and then its subagents'. Entries are
                # added after it, or two processes that do both could wait for each other.
                for job in sorted((job for job in jobs if job.append is None), key=attrgetter("run_id")):
                    await self._attempt(transaction, job)
                appends = [job for job in jobs if job.append is not None]
                for job in await self._append_together(transaction, appends):
                    await self._attempt(transaction, job)
                failed = _UNKNOWN
                await transaction.commit()
        except Exception as error:  # noqa: BLE001 - every waiting caller gets the error
            self._fail(jobs, failed, error)
        except asyncio.CancelledError:  # the event loop is being closed
            self._fail(jobs, _UNKNOWN, ConnectionAbortedError("the event loop was closed"))
            raise
        finally:
            for job in jobs:
                job.settle()

    async def _append_together(
        self, transaction: SteppedTransaction, jobs: list[PendingWrite[Any]]
    ) -> list[PendingWrite[Any]]:
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
        return sorted(left, key=attrgetter("run_id"))

    async def _attempt(self, transaction: SteppedTransaction, job: PendingWrite[Any]) -> None:
        try:
            job.value = await transaction.step(job.work)
        except Exception as error:
            if transaction.is_broken:
                raise
            self._fail([job], _NOT_WRITTEN, error)

    def _fail(self, jobs: list[PendingWrite[Any]], failed: str, error: Exception) -> None:
        for job in jobs:
            if job.error is None:
                job.error = error if isinstance(error, MaverickError) else self._database.error(failed, error)
