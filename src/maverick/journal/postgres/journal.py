"""Runs kept in a Postgres database: for several machines that share their runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial

from maverick.exceptions import ApprovalError, RunExistsError, RunNotFoundError
from maverick.journal.codec import encode_approval
from maverick.journal.damage import read_approval, read_approvals, read_record, read_records
from maverick.journal.postgres.database import PostgresDatabase, database_name
from maverick.journal.postgres.schema import FLEET_CHANNEL, Connection, Row
from maverick.journal.postgres.transaction import PostgresTransaction
from maverick.journal.postgres.writer import (
    INSERT_WORDS,
    PostgresWriter,
    add_words,
    check_held,
    claim_run,
    create_run,
    insert_blobs,
    write_entries,
)
from maverick.journal.records import (
    RUN_COLUMNS,
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
from maverick.model import Blob

_FAMILY = """
    WITH RECURSIVE family (run_id) AS (
        SELECT run_id FROM maverick.runs WHERE run_id = $1
        UNION SELECT runs.run_id FROM maverick.runs JOIN family ON runs.parent = family.run_id
    )
    SELECT run_id FROM family
"""

_BLOB_NAMES = "SELECT DISTINCT sha256 FROM maverick.run_blobs WHERE run_id = ANY($1) ORDER BY sha256"
_LOCK_BLOBS = "SELECT 1 FROM maverick.blobs WHERE sha256 = ANY($1) ORDER BY sha256 FOR UPDATE"
_DELETE_UNNAMED = """
    DELETE FROM maverick.blobs
    WHERE sha256 = ANY($1) AND NOT EXISTS (SELECT FROM maverick.run_blobs WHERE sha256 = blobs.sha256)
"""


_SET_COUNTERS = "UPDATE maverick.runs SET token = $2, words = $3 WHERE run_id = $1"


class PostgresJournal(Journal):
    """A journal in a Postgres database. It opens on first use, once in each event loop that uses it.

    Tables are made in a schema of their own, ``maverick``. Connect to the server itself, or through a pooler that gives
    each client a session.

    Args:
        url: ``postgresql://user:password@host/database``, as libpq has it.
        pool_size: The most connections for those who read and for tools' transactions, at least two; there is one more
            that writes. One of them is kept free of tools.
        timeout: How many seconds to wait for the server, to connect and for each statement.

    Raises:
        InvalidInputError: The address is invalid.
    """

    def __init__(self, url: str, *, pool_size: int = 10, timeout: float = 30.0) -> None:
        self.name = database_name(url)
        """The address without user, password and settings."""
        # Not a partial, whose repr would show the password.
        self._address: Callable[[], str] = lambda: url
        self._connect: Callable[[], PostgresDatabase] = lambda: PostgresDatabase(url, pool_size, timeout)
        self._opened: dict[asyncio.AbstractEventLoop, tuple[PostgresDatabase, PostgresWriter]] = {}

    @property
    def address(self) -> str:
        """The address with all that is needed to connect: its password too, so it is never to be shown."""
        return self._address()

    # Runs -------------------------------------------------------------------------------------------------------

    async def create(
        self,
        record: RunRecord,
        payloads: Sequence[bytes],
        caller: Lease | None = None,
        blobs: Sequence[Blob] = (),
    ) -> Lease:
        """Add a run with its first entries."""
        return await self._writer.write(
            record.run_id, lambda db: create_run(db, record, payloads, caller, blobs)
        )

    async def claim(self, run_id: str, caller: Lease | None = None) -> Lease:
        """Take the lease on a run."""
        return await self._writer.write(run_id, lambda db: claim_run(db, run_id, caller))

    async def _append(self, append: Append) -> tuple[int, bytes] | None:
        return await self._writer.append(append)

    async def get(self, run_id: str) -> RunRecord:
        """What is known of a run."""
        found = await self.database.fetch(
            f"SELECT {RUN_COLUMNS} FROM maverick.runs WHERE run_id = $1",  # noqa: S608 - our own names
            run_id,
        )
        if not found:
            raise RunNotFoundError(run_id=run_id)
        return read_record(found[0])

    async def list_runs(
        self, *, status: RunStatus | None = None, parent: str | None = None, limit: int = 100
    ) -> list[RunRecord]:
        """Runs, newest first."""
        found = await self.database.fetch(
            f"SELECT {RUN_COLUMNS} FROM maverick.runs "  # noqa: S608 - our own names
            "WHERE (parent = $1 OR (parent IS NULL AND $1::text IS NULL)) AND ($2::text IS NULL OR status = $2) "
            "ORDER BY created_at DESC, run_id LIMIT $3",
            parent,
            status,
            limit,
        )
        return read_records(found)

    async def run_ids(self) -> list[str]:
        """The ids of all runs."""
        found = await self.database.fetch("SELECT run_id FROM maverick.runs ORDER BY created_at, run_id")
        return [row["run_id"] for row in found]

    async def read_page(self, run_id: str, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """A page of entries."""
        found = await self.database.fetch(
            "SELECT seq, version, payload FROM maverick.entries WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
            run_id,
            after,
            limit,
        )
        return [(row["seq"], row["version"], row["payload"]) for row in found]

    async def delete(self, run_id: str) -> int:
        """Remove a run and its subagents' runs."""
        return await self._writer.write(run_id, partial(_delete, run_id))

    async def receive(self, copies: Sequence[RunCopy]) -> None:
        """Add a run and its subagents' runs as another journal had them."""
        run_id = copies[0].record.run_id

        async def work(db: Connection) -> None:
            token = await _make_room(db, run_id)
            for copy in copies:
                await create_run(db, copy.record, copy.payloads, None, copy.blobs)
                for payload in copy.words:
                    await db.execute(INSERT_WORDS, copy.record.run_id, payload)
                await db.execute(_SET_COUNTERS, copy.record.run_id, token, len(copy.words))
                await _insert_approvals(db, copy.approvals)

        await self._writer.write(run_id, work)

    async def identity(self) -> str:
        """What tells the database from every other, whatever address it is reached by."""
        found = await self.database.fetch(
            "SELECT concat(extract(epoch FROM pg_postmaster_start_time()), ' ', oid) AS identity FROM pg_database "
            "WHERE datname = current_database()"
        )
        return str(found[0]["identity"])

    async def waiting_words(self, run_id: str) -> list[bytes]:
        """The words that wait for a run."""
        found = await self.database.fetch(
            "SELECT payload FROM maverick.words WHERE run_id = $1 ORDER BY number", run_id
        )
        return [row["payload"] for row in found]

    async def blob_names(self, run_id: str) -> list[str]:
        """The hashes of the blobs that a run names."""
        return [row["sha256"] for row in await self.database.fetch(_BLOB_NAMES, [run_id])]

    async def _read_blob(self, sha256: str) -> bytes | None:
        found = await self.database.fetch("SELECT data FROM maverick.blobs WHERE sha256 = $1", sha256)
        return found[0]["data"] if found else None

    async def insert_naming(
        self, run_id: str, blobs: Sequence[Blob], statement: str, *values: object
    ) -> list[Row]:
        """Run a statement that adds something for a run, and add the blobs that it names if it returns a row."""

        async def work(db: Connection) -> list[Row]:
            if rows := await db.fetch(statement, *values):
                await insert_blobs(db, run_id, blobs)
            return rows

        return await self._writer.write(run_id, work)

    def transaction(self, lease: Lease) -> PostgresTransaction:
        """A transaction for a tool's effect and its entry."""
        return PostgresTransaction(self.database, lease)

    async def _say(self, run_id: str, payload: bytes, blobs: Sequence[Blob]) -> bool:
        return await self._writer.write(run_id, lambda db: add_words(db, run_id, payload, blobs))

    # Approvals --------------------------------------------------------------------------------------------------

    async def _request_approvals(self, lease: Lease, approvals: Sequence[Approval]) -> None:
        async def work(db: Connection) -> None:
            await write_entries(db, Append(lease, (), RunStatus.WAITING))
            await _insert_approvals(db, approvals)

        await self._writer.write(lease.run_id, work)

    async def get_approval(self, approval_id: str) -> Approval:
        """One request."""
        found = await self.database.fetch(
            "SELECT payload FROM maverick.approvals WHERE approval_id = $1", approval_id
        )
        if not found:
            raise ApprovalError(approval_id=approval_id)
        return read_approval(approval_id, found[0]["payload"])

    async def _list_approvals(
        self, run_id: str | None, user_id: str | None, status: ApprovalStatus | None
    ) -> list[Approval]:
        found = await self.database.fetch(
            "SELECT approval_id, payload FROM maverick.approvals "
            "WHERE ($1::text IS NULL OR run_id = $1) "
            "AND ($2::text IS NULL OR run_id IN (SELECT run_id FROM maverick.runs WHERE user_id = $2)) "
            "AND ($3::text IS NULL OR status = $3) ORDER BY requested_at, approval_id",
            run_id,
            user_id,
            status,
        )
        return read_approvals((row["approval_id"], row["payload"]) for row in found)

    async def settle_approval(
        self, approval: Approval, expected: ApprovalStatus, lease: Lease | None = None
    ) -> bool:
        """Replace a request by its new state, unless it was decided meanwhile."""

        async def work(db: Connection) -> bool:
            await check_held(db, lease)
            changed = await db.execute(
                "UPDATE maverick.approvals SET status = $1, payload = $2 WHERE approval_id = $3 AND status = $4",
                approval.status,
                encode_approval(approval),
                approval.approval_id,
                expected,
            )
            if lease is None and changed == "UPDATE 1":  # a person's decision: a fleet goes on with the run
                told = json.dumps({"decided": approval.run_id.partition("/")[0]})
                await db.execute("SELECT pg_notify($1, $2)", FLEET_CHANNEL, told)
            return changed == "UPDATE 1"

        return await self._writer.write(approval.run_id, work)

    # Lifetime ---------------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Finish what is being written and let go of this event loop's connections."""
        database, writer = self._here()
        await writer.finish()
        self._opened.pop(asyncio.get_running_loop(), None)
        await database.close()

    @property
    def database(self) -> PostgresDatabase:
        """The connections of this event loop, for what else is kept in the database."""
        return self._here()[0]

    @property
    def _writer(self) -> PostgresWriter:
        return self._here()[1]

    def _here(self) -> tuple[PostgresDatabase, PostgresWriter]:
        """What reads and writes in this event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            self._opened = {kept: used for kept, used in self._opened.items() if not kept.is_closed()}
            database = self._connect()
            self._opened[loop] = (database, PostgresWriter(database))
        return self._opened[loop]


async def _make_room(db: Connection, run_id: str) -> int:
    """Remove the copy of a run that was moved away; returns a token that is newer than those of its leases."""
    found = await db.fetch(f"SELECT {RUN_COLUMNS} FROM maverick.runs WHERE run_id = $1 FOR UPDATE", run_id)  # noqa: S608 - our own names
    if not found:
        return 1
    if Departure.of(read_record(found[0])) is None:
        raise RunExistsError(run_id=run_id)
    newest = await db.fetchval(f"SELECT max(token) FROM maverick.runs WHERE run_id IN ({_FAMILY})", run_id)  # noqa: S608 - our own
    await _delete(run_id, db)
    return int(newest) + 1


async def _delete(run_id: str, db: Connection) -> int:
    family = [row["run_id"] for row in await db.fetch(_FAMILY, run_id)]
    if not family:
        raise RunNotFoundError(run_id=run_id)
    named = [row["sha256"] for row in await db.fetch(_BLOB_NAMES, family)]
    for table in ("runs", "entries", "approvals", "run_blobs", "words", "fleet_runs"):
        await db.execute(f"DELETE FROM maverick.{table} WHERE run_id = ANY($1)", family)  # noqa: S608 - our own names
    if named:
        # Locked first: a process that is just naming one of them is waited for, and its run is then seen.
        await db.execute(_LOCK_BLOBS, named)
        await db.execute(_DELETE_UNNAMED, named)
    return len(family)


async def _insert_approvals(db: Connection, approvals: Sequence[Approval]) -> None:
    for approval in approvals:
        await db.execute(
            "INSERT INTO maverick.approvals (approval_id, run_id, status, requested_at, payload) "
            "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            approval.approval_id,
            approval.run_id,
            approval.status,
            approval.requested_at,
            encode_approval(approval),
        )
