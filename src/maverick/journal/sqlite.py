"""Runs kept in a SQLite file: the default store. Several processes may use one file at once."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from maverick.exceptions import ApprovalError, JournalError, RunExistsError, RunNotFoundError
from maverick.journal.records import Approval, ApprovalStatus, Lease, RunRecord, RunStatus
from maverick.journal.sqlite_entries import insert_entries, write_entries
from maverick.journal.sqlite_schema import open_database
from maverick.journal.sqlite_transaction import SqliteTransaction
from maverick.journal.sqlite_writer import SqliteWriter
from maverick.journal.store import Journal

_RUN_COLUMNS = "run_id, agent, status, reason, parent, user_id, forked_from, created_at, updated_at, entries"


class SqliteJournal(Journal):
    """A journal in a file. It opens on first use.

    Args:
        path: The file; it is made if it does not exist.
        busy_timeout: How many seconds to wait for another process that writes.
    """

    def __init__(self, path: str | Path, *, busy_timeout: float = 5.0) -> None:
        self._path = str(path)
        self._open = partial(open_database, self._path, busy_timeout)
        self._writer = SqliteWriter(self._open, self._path)
        self._reader: sqlite3.Connection | None = None
        self._reading = threading.Lock()

    # Runs -------------------------------------------------------------------------------------------------------

    async def create(self, record: RunRecord, payloads: Sequence[bytes]) -> Lease:
        """Add a run with its first entries."""

        def work(db: sqlite3.Connection) -> Lease:
            try:
                db.execute(
                    f"INSERT INTO runs ({_RUN_COLUMNS}, token) VALUES (?,?,?,?,?,?,?,?,?,?,1)",  # noqa: S608 - our own names
                    (
                        record.run_id,
                        record.agent,
                        record.status,
                        record.reason,
                        record.parent,
                        record.user_id,
                        record.forked_from,
                        record.created_at,
                        record.updated_at,
                        len(payloads),
                    ),
                )
            except sqlite3.IntegrityError:
                raise RunExistsError(run_id=record.run_id) from None
            insert_entries(db, record.run_id, 1, payloads)
            return Lease(record.run_id, 1, len(payloads) + 1)

        return await self._writer.submit(work)

    async def claim(self, run_id: str) -> Lease:
        """Take the lease on a run."""

        def work(db: sqlite3.Connection) -> Lease:
            claimed = db.execute(
                "UPDATE runs SET token = token + 1 WHERE run_id = ? RETURNING token, entries", (run_id,)
            ).fetchone()
            if claimed is None:
                raise RunNotFoundError(run_id=run_id)
            return Lease(run_id, claimed[0], claimed[1] + 1)

        return await self._writer.submit(work)

    async def append(
        self, lease: Lease, payloads: Sequence[bytes], status: RunStatus = RunStatus.RUNNING, reason: str = ""
    ) -> None:
        """Write entries, all or none."""
        first = lease.take(len(payloads))
        await self._writer.submit(lambda db: write_entries(db, lease, payloads, first, status, reason))

    async def get(self, run_id: str) -> RunRecord:
        """What is known of a run."""
        found = await self._read(
            f"SELECT {_RUN_COLUMNS} FROM runs WHERE run_id = ?",  # noqa: S608 - our own names
            (run_id,),
        )
        if not found:
            raise RunNotFoundError(run_id=run_id)
        return _record(found[0])

    async def list_runs(
        self, *, status: RunStatus | None = None, parent: str | None = None, limit: int = 100
    ) -> list[RunRecord]:
        """Runs, newest first."""
        found = await self._read(
            f"SELECT {_RUN_COLUMNS} FROM runs WHERE parent IS ? AND (? IS NULL OR status = ?) "  # noqa: S608 - our own names
            "ORDER BY created_at DESC, run_id LIMIT ?",
            (parent, status, status, limit),
        )
        return [_record(row) for row in found]

    async def read_page(self, run_id: str, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """A page of entries."""
        return await self._read(
            "SELECT seq, version, payload FROM entries WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
            (run_id, after, limit),
        )

    async def delete(self, run_id: str) -> int:
        """Remove a run and its subagents' runs."""
        await self.get(run_id)
        family = (
            run_id,
            f"{run_id}/",
            f"{run_id}0",
        )  # "0" is the character after "/": a range, so the index is used

        def work(db: sqlite3.Connection) -> int:
            for table in ("entries", "approvals", "runs"):
                removed = db.execute(
                    f"DELETE FROM {table} WHERE run_id = ? OR (run_id >= ? AND run_id < ?)",  # noqa: S608 - our own names
                    family,
                )
            return removed.rowcount

        return await self._writer.submit(work)

    def transaction(self, lease: Lease) -> SqliteTransaction:
        """A transaction for a tool's effect and its entry."""
        return SqliteTransaction(self._open, lease)

    # Approvals --------------------------------------------------------------------------------------------------

    async def request_approvals(self, lease: Lease, approvals: Sequence[Approval]) -> None:
        """Write requests down and park the run."""

        def work(db: sqlite3.Connection) -> None:
            write_entries(db, lease, (), lease.next_seq, RunStatus.WAITING)
            db.executemany(
                "INSERT OR IGNORE INTO approvals (approval_id, run_id, status, requested_at, payload) VALUES (?,?,?,?,?)",
                [
                    (a.approval_id, a.run_id, a.status, a.requested_at, msgspec.json.encode(a))
                    for a in approvals
                ],
            )

        await self._writer.submit(work)

    async def get_approval(self, approval_id: str) -> Approval:
        """One request."""
        found = await self._read("SELECT payload FROM approvals WHERE approval_id = ?", (approval_id,))
        if not found:
            raise ApprovalError(f"There is no request {approval_id!r}.", approval_id=approval_id)
        return msgspec.json.decode(found[0][0], type=Approval)

    async def list_approvals(
        self, *, run_id: str | None = None, status: ApprovalStatus | None = None
    ) -> list[Approval]:
        """Requests, oldest first."""
        found = await self._read(
            "SELECT payload FROM approvals WHERE (? IS NULL OR run_id = ?) AND (? IS NULL OR status = ?) "
            "ORDER BY requested_at, approval_id",
            (run_id, run_id, status, status),
        )
        return [msgspec.json.decode(row[0], type=Approval) for row in found]

    async def settle_approval(self, approval: Approval, expected: ApprovalStatus) -> bool:
        """Replace a request by its new state, if nobody was faster."""

        def work(db: sqlite3.Connection) -> bool:
            changed = db.execute(
                "UPDATE approvals SET status=?, payload=? WHERE approval_id=? AND status=?",
                (approval.status, msgspec.json.encode(approval), approval.approval_id, expected),
            )
            return changed.rowcount == 1

        return await self._writer.submit(work)

    # Lifetime ---------------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Finish what is being written and let go of the file."""
        await asyncio.to_thread(self._writer.close)
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    async def _read(self, statement: str, values: Sequence[Any]) -> list[Any]:
        return await asyncio.to_thread(self._query, statement, values)

    def _query(self, statement: str, values: Sequence[Any]) -> list[Any]:
        try:
            with self._reading:
                self._reader = self._reader or self._open()
                return self._reader.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise JournalError(
                f"The journal {self._path!r} could not be read: {error}.", cause=error
            ) from error


def _record(row: Sequence[Any]) -> RunRecord:
    fields = dict(zip(_RUN_COLUMNS.split(", "), row, strict=True))
    return RunRecord(**fields | {"status": RunStatus(fields["status"])})
