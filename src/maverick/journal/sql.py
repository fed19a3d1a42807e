"""Runs kept in a SQL database: everything that the journals in SQLite and in Postgres have in common.

Statements are written once, in Postgres' words; SQLite's connection translates them. What writes is a coroutine over a
:class:`SqlConnection`. Postgres' writer awaits it in the event loop, and SQLite's runs it through in a thread.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from maverick.exceptions import ApprovalError, LeaseLostError, RunExistsError, RunNotFoundError
from maverick.journal.codec import VERSION, encode_approval
from maverick.journal.damage import Row, read_approval, read_approvals, read_record, read_records
from maverick.journal.records import (
    MOST_WAITING,
    RUN_COLUMNS,
    UNFINISHED,
    Append,
    Approval,
    ApprovalStatus,
    Departure,
    Lease,
    RunCopy,
    RunRecord,
    RunStatus,
)
from maverick.journal.store import Journal
from maverick.journal.words import RESUMABLE_REASONS
from maverick.model import Blob

R = TypeVar("R")


class SqlConnection(Protocol):
    """A connection with a transaction open. It does one thing at a time."""

    async def fetch(self, statement: str, *values: Any) -> Sequence[Row]:
        """Run a statement; returns its rows."""
        ...

    async def executemany(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each of the values."""
        ...


Work: TypeAlias = Callable[[SqlConnection], Coroutine[Any, Any, R]]
"""A write. It may be tried again after it was rolled back, so it does nothing but use the connection."""

_FAMILY = """
    WITH RECURSIVE family (run_id) AS (
        SELECT run_id FROM maverick.runs WHERE run_id = $1
        UNION SELECT runs.run_id FROM maverick.runs JOIN family ON runs.parent = family.run_id
    )
    SELECT run_id FROM family
"""
_RUN = f"SELECT {RUN_COLUMNS} FROM maverick.runs"  # noqa: S608 - our own names
_INSERT_RUN = f"""
    INSERT INTO maverick.runs ({RUN_COLUMNS}, token, words)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING RETURNING token
"""  # noqa: S608 - our own names
_CLAIM_SUBAGENTS = """
    UPDATE maverick.runs SET token = token + 1
    WHERE run_id IN (SELECT run_id FROM maverick.runs WHERE parent = ANY($1) ORDER BY run_id FOR UPDATE)
    RETURNING run_id
"""
_BLOB_NAMES = "SELECT DISTINCT sha256 FROM maverick.run_blobs WHERE run_id = ANY($1) ORDER BY sha256"
_DELETE_UNNAMED = """
    DELETE FROM maverick.blobs
    WHERE sha256 = ANY($1) AND NOT EXISTS (SELECT 1 FROM maverick.run_blobs WHERE sha256 = blobs.sha256)
"""
# It locks the run, so that words get their numbers in the order in which they are committed.
_ADD_WORDS = f"""
    UPDATE maverick.runs SET words = words + 1 WHERE run_id = $1 AND words < {MOST_WAITING}
    AND (status IN {tuple(map(str, UNFINISHED))} OR reason IN {tuple(RESUMABLE_REASONS)}) RETURNING 1
"""  # noqa: S608 - our own values
_INSERT_WORDS = "INSERT INTO maverick.words (run_id, payload) VALUES ($1, $2) RETURNING number"


class SqlJournal(Journal):
    """A journal in a SQL database."""

    _OF_RUN: ClassVar[str]
    """What tells the entries of the run $1 from others."""
    _INSERT_ENTRY: ClassVar[str]
    """Adds an entry: $1 its run, $2 its number, $3 the version of its format, $4 the payload."""
    _MORE_TABLES: ClassVar[Sequence[str]] = ()
    """Where rows belong to a run besides what every journal has."""

    @abstractmethod
    async def _fetch(self, statement: str, *values: Any, run_id: str = "") -> Sequence[Row]:
        """Read rows; ``run_id`` is the run that it is about, for errors."""

    @abstractmethod
    async def _write(self, run_id: str, work: Work[R]) -> R:
        """Have a write of a run made; it is durable when this returns."""

    # Runs -------------------------------------------------------------------------------------------------------

    async def create(
        self,
        record: RunRecord,
        payloads: Sequence[bytes],
        caller: Lease | None = None,
        blobs: Sequence[Blob] = (),
    ) -> Lease:
        """Add a run with its first entries."""

        async def work(db: SqlConnection) -> Lease:
            await _check_held(db, caller)
            await self._insert(db, RunCopy(record, payloads, blobs, (), ()), token=1)
            return Lease(record.run_id, 1)

        return await self._write(record.run_id, work)

    async def claim(self, run_id: str, caller: Lease | None = None) -> Lease:
        """Take the lease on a run."""

        async def work(db: SqlConnection) -> Lease:
            await _check_held(db, caller)
            claimed = await db.fetch(
                "UPDATE maverick.runs SET token = token + 1 WHERE run_id = $1 RETURNING token", run_id
            )
            if not claimed:
                raise RunNotFoundError(run_id=run_id)
            # One level after the other: a statement sees only the runs that were there when it began, and while their
            # callers are locked, none can be added.
            callers = [run_id]
            while callers:
                callers = [row["run_id"] for row in await db.fetch(_CLAIM_SUBAGENTS, callers)]
            return Lease(run_id, claimed[0]["token"])

        return await self._write(run_id, work)

    async def get(self, run_id: str) -> RunRecord:
        """What is known of a run."""
        found = await self._fetch(f"{_RUN} WHERE run_id = $1", run_id, run_id=run_id)
        if not found:
            raise RunNotFoundError(run_id=run_id)
        return read_record(found[0])

    async def list_runs(
        self, *, status: RunStatus | None = None, parent: str | None = None, limit: int = 100
    ) -> list[RunRecord]:
        """Runs, newest first."""
        of = "parent IS NULL AND CAST($2 AS TEXT) IS NULL" if parent is None else "parent = $2"
        found = await self._fetch(
            f"{_RUN} WHERE {of} AND (CAST($1 AS TEXT) IS NULL OR status = $1) "
            "ORDER BY created_at DESC, run_id LIMIT $3",
            status,
            parent,
            limit,
        )
        return read_records(found)

    async def run_ids(self) -> list[str]:
        """The ids of all runs."""
        found = await self._fetch(
            "SELECT CAST(run_id AS TEXT) AS run_id FROM maverick.runs ORDER BY created_at, run_id"
        )
        return [row["run_id"] for row in found]

    async def read_page(self, run_id: str, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """A page of entries."""
        found = await self._fetch(
            f"SELECT seq, version, payload FROM maverick.entries WHERE {self._OF_RUN} AND seq > $2 "  # noqa: S608 - our own
            "ORDER BY seq LIMIT $3",
            run_id,
            after,
            limit,
            run_id=run_id,
        )
        return [(row["seq"], row["version"], row["payload"]) for row in found]

    async def delete(self, run_id: str) -> int:
        """Remove a run and its subagents' runs."""
        return await self._write(run_id, lambda db: self._delete(db, run_id))

    async def receive(self, copies: Sequence[RunCopy]) -> None:
        """Add a run and its subagents' runs as another journal had them."""
        run_id = copies[0].record.run_id

        async def work(db: SqlConnection) -> None:
            token = await self._make_room(db, run_id)
            for copy in copies:
                await self._insert(db, copy, token)

        await self._write(run_id, work)

    async def _insert(self, db: SqlConnection, copy: RunCopy, token: int) -> None:
        record = copy.record
        fields = [getattr(record, name) for name in RUN_COLUMNS.split(", ")[:-1]]
        if not await db.fetch(_INSERT_RUN, *fields, len(copy.payloads), token, len(copy.words)):
            raise RunExistsError(run_id=record.run_id)
        numbered = enumerate(copy.payloads, start=1)
        await db.executemany(
            self._INSERT_ENTRY, [(record.run_id, seq, VERSION, payload) for seq, payload in numbered]
        )
        for payload in copy.words:
            await db.fetch(_INSERT_WORDS, record.run_id, payload)
        await insert_blobs(db, record.run_id, copy.blobs)
        await _insert_approvals(db, copy.approvals)

    async def _make_room(self, db: SqlConnection, run_id: str) -> int:
        """Remove the copy of a run that was moved away; returns a token that is newer than those of its leases."""
        found = await db.fetch(f"{_RUN} WHERE run_id = $1 FOR UPDATE", run_id)
        if not found:
            return 1
        if Departure.of(read_record(found[0])) is None:
            raise RunExistsError(run_id=run_id)
        newest = await db.fetch(
            f"SELECT max(token) AS token FROM maverick.runs WHERE run_id IN ({_FAMILY})",  # noqa: S608 - our own
            run_id,
        )
        await self._delete(db, run_id)
        return int(newest[0]["token"]) + 1

    async def _delete(self, db: SqlConnection, run_id: str) -> int:
        family = [row["run_id"] for row in await db.fetch(_FAMILY, run_id)]
        if not family:
            raise RunNotFoundError(run_id=run_id)
        # Locked first, so that whoever writes to them is waited for, and no entry is left behind.
        await db.fetch(
            "SELECT 1 FROM maverick.runs WHERE run_id = ANY($1) ORDER BY run_id FOR UPDATE", family
        )
        named = [row["sha256"] for row in await db.fetch(_BLOB_NAMES, family)]
        keys = [(key,) for key in family]
        await db.executemany(f"DELETE FROM maverick.entries WHERE {self._OF_RUN}", keys)  # noqa: S608 - our own
        for table in ("runs", "approvals", "run_blobs", "words", *self._MORE_TABLES):
            await db.executemany(f"DELETE FROM maverick.{table} WHERE run_id = $1", keys)  # noqa: S608 - our own names
        if named:
            # Locked first: a process that is just naming one of them is waited for, and its run is then seen.
            await db.fetch(
                "SELECT 1 FROM maverick.blobs WHERE sha256 = ANY($1) ORDER BY sha256 FOR UPDATE", named
            )
            await db.fetch(_DELETE_UNNAMED, named)
        return len(family)

    # Blobs and words --------------------------------------------------------------------------------------------

    async def blob_names(self, run_id: str) -> list[str]:
        """The hashes of the blobs that a run names."""
        return [row["sha256"] for row in await self._fetch(_BLOB_NAMES, [run_id], run_id=run_id)]

    async def _read_blob(self, sha256: str) -> bytes | None:
        found = await self._fetch("SELECT data FROM maverick.blobs WHERE sha256 = $1", sha256)
        return found[0]["data"] if found and isinstance(found[0]["data"], bytes) else None

    async def waiting_words(self, run_id: str) -> list[bytes]:
        """The words that wait for a run."""
        found = await self._fetch(
            "SELECT payload FROM maverick.words WHERE run_id = $1 ORDER BY number", run_id, run_id=run_id
        )
        return [row["payload"] for row in found]

    async def unsay(self, run_id: str, number: int) -> bool:
        """Take back words that still wait for a run."""
        return await self._write(run_id, lambda db: _remove_words(db, run_id, number))

    async def _say(self, run_id: str, payload: bytes, blobs: Sequence[Blob]) -> int | None:
        async def work(db: SqlConnection) -> int | None:
            if not await db.fetch(_ADD_WORDS, run_id):
                return None
            [added] = await db.fetch(_INSERT_WORDS, run_id, payload)
            await insert_blobs(db, run_id, blobs)
            number: int = added["number"]
            return number

        return await self._write(run_id, work)

    # Approvals --------------------------------------------------------------------------------------------------

    async def _request_approvals(self, lease: Lease, approvals: Sequence[Approval]) -> None:
        async def work(db: SqlConnection) -> None:
            parked = await db.fetch(
                "UPDATE maverick.runs SET status = $3, reason = '', updated_at = $4 WHERE run_id = $1 AND token = $2 "
                "RETURNING 1",
                lease.run_id,
                lease.token,
                RunStatus.WAITING,
                time.time(),
            )
            if not parked:
                raise LeaseLostError(run_id=lease.run_id)
            await _insert_approvals(db, approvals)

        await self._write(lease.run_id, work)

    async def get_approval(self, approval_id: str) -> Approval:
        """One request."""
        found = await self._fetch(
            "SELECT payload FROM maverick.approvals WHERE approval_id = $1", approval_id
        )
        if not found:
            raise ApprovalError(approval_id=approval_id)
        return read_approval(approval_id, found[0]["payload"])

    async def _list_approvals(
        self, run_id: str | None, user_id: str | None, status: ApprovalStatus | None
    ) -> list[Approval]:
        found = await self._fetch(
            "SELECT approval_id, payload FROM maverick.approvals WHERE (CAST($1 AS TEXT) IS NULL OR run_id = $1) "
            "AND (CAST($2 AS TEXT) IS NULL OR run_id IN (SELECT run_id FROM maverick.runs WHERE user_id = $2)) "
            "AND (CAST($3 AS TEXT) IS NULL OR status = $3) ORDER BY requested_at, approval_id",
            run_id,
            user_id,
            status,
        )
        return read_approvals((row["approval_id"], row["payload"]) for row in found)

    async def settle_approval(
        self, approval: Approval, expected: ApprovalStatus, lease: Lease | None = None
    ) -> bool:
        """Replace a request by its new state, unless it was decided meanwhile."""

        async def work(db: SqlConnection) -> bool:
            await _check_held(db, lease)
            changed = await db.fetch(
                "UPDATE maverick.approvals SET status = $1, payload = $2 WHERE approval_id = $3 AND status = $4 "
                "RETURNING 1",
                approval.status,
                encode_approval(approval),
                approval.approval_id,
                expected,
            )
            if changed and lease is None:
                await self._on_decision(db, approval)
            return bool(changed)

        return await self._write(approval.run_id, work)

    async def _on_decision(self, db: SqlConnection, approval: Approval) -> None:
        """Take note, with the same commit, that a person has decided."""


async def insert_blobs(db: SqlConnection, run_id: str, blobs: Sequence[Blob]) -> None:
    """Add the blobs that are not there yet, and note that the run names them."""
    for sha256, blob in sorted({blob.sha256: blob for blob in blobs}.items()):
        # Asked first, since the bytes would be sent to find out. Locked until the commit, so that it cannot be removed with
        # another run that names it.
        while not await db.fetch("SELECT 1 FROM maverick.blobs WHERE sha256 = $1 FOR KEY SHARE", sha256):
            await db.fetch(
                "INSERT INTO maverick.blobs (sha256, data) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                sha256,
                blob.data,
            )
        await db.fetch(
            "INSERT INTO maverick.run_blobs (run_id, sha256) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            run_id,
            sha256,
        )


async def first_words(db: SqlConnection, lease: Lease) -> tuple[int, bytes] | None:
    """The words that wait longest for a run that could not be written to; ``None`` if they were just taken back.

    A ``LeaseLostError`` says that another process has claimed the run.
    """
    words = await db.fetch(
        "SELECT number, payload FROM maverick.words WHERE run_id = $1 "
        "AND EXISTS (SELECT 1 FROM maverick.runs WHERE run_id = $1 AND token = $2) ORDER BY number LIMIT 1",
        lease.run_id,
        lease.token,
    )
    if not words:
        await _check_held(db, lease)
        return None
    return words[0]["number"], words[0]["payload"]


async def complete(db: SqlConnection, append: Append) -> None:
    """Add the blobs that entries name, and remove the words among them, which no longer wait."""
    run_id = append.lease.run_id
    await insert_blobs(db, run_id, append.blobs)
    if append.heard:
        await _remove_words(db, run_id, append.heard)


async def _remove_words(db: SqlConnection, run_id: str, number: int) -> bool:
    """Have words wait no longer for a run; returns whether they did."""
    await db.fetch("SELECT 1 FROM maverick.runs WHERE run_id = $1 FOR UPDATE", run_id)
    removed = await db.fetch(
        "DELETE FROM maverick.words WHERE number = $1 AND run_id = $2 RETURNING 1", number, run_id
    )
    await db.fetch(
        "UPDATE maverick.runs SET words = (SELECT count(*) FROM maverick.words WHERE run_id = $1) WHERE run_id = $1",
        run_id,
    )
    return bool(removed)


async def _insert_approvals(db: SqlConnection, approvals: Sequence[Approval]) -> None:
    for a in approvals:
        await db.fetch(
            "INSERT INTO maverick.approvals (approval_id, run_id, status, requested_at, payload) "
            "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            *(a.approval_id, a.run_id, a.status, a.requested_at, encode_approval(a)),
        )


async def _check_held(db: SqlConnection, lease: Lease | None) -> None:
    """Make sure that a lease is still held, until the end of the transaction; without one, nothing is checked."""
    if lease is not None and not await db.fetch(
        "SELECT 1 FROM maverick.runs WHERE run_id = $1 AND token = $2 FOR SHARE", lease.run_id, lease.token
    ):
        raise LeaseLostError(run_id=lease.run_id)
