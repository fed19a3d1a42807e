"""The one writer of a Postgres journal in an event loop: it commits all pending writes together (group commit).

A commit costs the server a sync of its disk, whatever it holds, and each statement a message there and back. So the
writer takes all writes that have come while it was busy and puts them into one transaction, and the entries of all runs
into one statement. One that fails takes nothing with it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from maverick.exceptions import LeaseLostError, MaverickError, RunExistsError, RunNotFoundError
from maverick.journal.codec import VERSION
from maverick.journal.postgres.database import PostgresDatabase, SteppedTransaction
from maverick.journal.postgres.schema import Connection
from maverick.journal.records import MOST_WAITING, RUN_COLUMNS, Append, Lease, RunRecord
from maverick.journal.transaction import PendingWrite
from maverick.journal.words import HEARS, RESUMABLE_REASONS
from maverick.model import Blob

R = TypeVar("R")

_NOT_WRITTEN = "could not be written"
_UNKNOWN = "did not answer a commit, so it is unknown whether it was made"
_MOST_AT_ONCE = 500
"""How many writes one transaction holds: more share a sync, but the first of them waits for the last."""


# Statements -----------------------------------------------------------------------------------------------------


_INSERT_RUN = f"""
    WITH made AS (
        INSERT INTO maverick.runs ({RUN_COLUMNS}, token)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, cardinality($10::bytea[]), 1)
        ON CONFLICT DO NOTHING
        RETURNING run_id, token
    ), written AS (
        INSERT INTO maverick.entries (run_id, seq, version, payload)
        SELECT run_id, place, $11, payload FROM made, unnest($10::bytea[]) WITH ORDINALITY AS new (payload, place)
    )
    SELECT token FROM made
"""  # noqa: S608 - our own names

_CLAIM_RUN = "UPDATE maverick.runs SET token = token + 1 WHERE run_id = $1 RETURNING token"

_CLAIM_SUBAGENTS = """
    UPDATE maverick.runs SET token = token + 1
    WHERE run_id IN (SELECT run_id FROM maverick.runs WHERE parent = ANY($1) ORDER BY run_id FOR UPDATE)
    RETURNING run_id
"""

# Locked until the commit, so that the run cannot be claimed in between.
_CHECK_HELD = "SELECT 1 FROM maverick.runs WHERE run_id = $1 AND token = $2 FOR SHARE"

_HOLD_BLOBS = "SELECT sha256 FROM maverick.blobs WHERE sha256 = ANY($1) ORDER BY sha256 FOR KEY SHARE"
_INSERT_BLOB = "INSERT INTO maverick.blobs (sha256, data) VALUES ($1, $2) ON CONFLICT DO NOTHING"
_INSERT_NAMES = (
    "INSERT INTO maverick.run_blobs (run_id, sha256) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING"
)

_FIRST_WORDS = """
    SELECT number, payload FROM maverick.words JOIN maverick.runs USING (run_id)
    WHERE run_id = $1 AND token = $2 ORDER BY number LIMIT 1
"""
_REMOVE_WORDS = "DELETE FROM maverick.words WHERE number = $1 AND run_id = $2"
_COUNT_WORDS = "UPDATE maverick.runs SET words = (SELECT count(*) FROM maverick.words WHERE run_id = $1) WHERE run_id = $1"
# It locks the run, so that words get their numbers in the order in which they are committed.
_ADD_WORDS = """
    UPDATE maverick.runs SET words = words + 1
    WHERE run_id = $1 AND words < $2 AND (status = ANY($3::text[]) OR reason = ANY($4::text[]))
"""
INSERT_WORDS = "INSERT INTO maverick.words (run_id, payload) VALUES ($1, $2)"

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


async def create_run(
    connection: Connection,
    record: RunRecord,
    payloads: Sequence[bytes],
    caller: Lease | None,
    blobs: Sequence[Blob],
) -> Lease:
    """Add a run with its first entries.

    Raises:
        LeaseLostError: Another process has claimed the caller's run.
        RunExistsError: The id is taken.
    """
    await check_held(connection, caller)
    token = await connection.fetchval(
        _INSERT_RUN,
        *(getattr(record, name) for name in RUN_COLUMNS.split(", ")[:-1]),
        list(payloads),
        VERSION,
    )
    if token is None:
        raise RunExistsError(run_id=record.run_id)
    await insert_blobs(connection, record.run_id, blobs)
    return Lease(record.run_id, token)


async def claim_run(connection: Connection, run_id: str, caller: Lease | None) -> Lease:
    """Take the lease on a run, and void those on its subagents' runs.

    Raises:
        LeaseLostError: Another process has claimed the caller's run.
        RunNotFoundError: There is no such run.
    """
    await check_held(connection, caller)
    token = await connection.fetchval(_CLAIM_RUN, run_id)
    if token is None:
        raise RunNotFoundError(run_id=run_id)
    # One level after the other: a statement sees only the runs that were there when it began, and while their callers
    # are locked, none can be added.
    callers = [run_id]
    while callers:
        callers = [row["run_id"] for row in await connection.fetch(_CLAIM_SUBAGENTS, callers)]
    return Lease(run_id, token)


async def check_held(connection: Connection, lease: Lease | None) -> None:
    """Make sure that a lease is still held, until the end of the transaction; without one, nothing is checked.

    Raises:
        LeaseLostError: Another process has claimed it.
    """
    if lease is not None and await connection.fetchval(_CHECK_HELD, lease.run_id, lease.token) is None:
        raise LeaseLostError(run_id=lease.run_id)


async def write_entries(connection: Connection, append: Append) -> tuple[int, bytes] | None:
    """Add entries to a run; returns the words that wait for it, in place of a write that listens for them.

    Raises:
        LeaseLostError: Another process has claimed the run.
    """
    lease = append.lease
    if not await write_all(connection, [append]):
        if words := await connection.fetch(_FIRST_WORDS, lease.run_id, lease.token):
            return words[0]["number"], words[0]["payload"]
        raise LeaseLostError(run_id=lease.run_id)
    if append.heard:
        await connection.execute(_REMOVE_WORDS, append.heard, lease.run_id)
        await connection.execute(_COUNT_WORDS, lease.run_id)
    return None


async def add_words(connection: Connection, run_id: str, payload: bytes, blobs: Sequence[Blob]) -> bool:
    """Add words for a run; says whether it can still take them in."""
    added = await connection.execute(_ADD_WORDS, run_id, MOST_WAITING, list(HEARS), RESUMABLE_REASONS)
    if added != "UPDATE 1":
        return False
    await connection.execute(INSERT_WORDS, run_id, payload)
    await insert_blobs(connection, run_id, blobs)
    return True


async def insert_blobs(connection: Connection, run_id: str, blobs: Sequence[Blob]) -> None:
    """Add the blobs that are not there yet, and note that the run names them."""
    missing = {blob.sha256: blob for blob in blobs}
    names = sorted(missing)
    while missing:
        # Locked until the commit, so that they cannot be removed with another run that names them.
        for row in await connection.fetch(_HOLD_BLOBS, sorted(missing)):
            del missing[row["sha256"]]
        for sha256, blob in sorted(missing.items()):
            await connection.execute(_INSERT_BLOB, sha256, blob.data)
    if names:
        await connection.execute(_INSERT_NAMES, run_id, names)


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
        if append.blobs and append.lease.run_id in written:
            await insert_blobs(connection, append.lease.run_id, append.blobs)
    return written


# Group commit ---------------------------------------------------------------------------------------------------


class _Job(PendingWrite[R]):
    """A write that a task waits for."""

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

    async def append(self, append: Append) -> tuple[int, bytes] | None:
        """Have entries added to a run; the server has them on its disk when this returns."""
        # Words that are taken in are no entries like any other, which may be added together with those of other runs.
        together = None if append.heard else append
        return await self._queued(
            _Job(append.lease.run_id, lambda db: write_entries(db, append), together)
        ).appended()

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
        except Exception as error:  # noqa: BLE001 - every waiting caller gets the error
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
                job.error = error if isinstance(error, MaverickError) else self._database.error(failed, error)


def _lock_order(job: _Job[Any]) -> str:
    return job.run_id
