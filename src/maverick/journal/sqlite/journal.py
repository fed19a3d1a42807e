"""Runs kept in a SQLite file: the default store. Several processes may use one file at once."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from maverick.exceptions import ApprovalError, LeaseLostError, RunExistsError, RunNotFoundError
from maverick.journal.codec import encode_approval
from maverick.journal.damage import read_approval, read_approvals, read_record, read_records
from maverick.journal.records import (
    MOST_WAITING,
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
from maverick.journal.sqlite.database import WriteLock, checked_path, journal_error, open_database
from maverick.journal.sqlite.transaction import SqliteTransaction
from maverick.journal.sqlite.writer import SqliteWriter, insert_blobs, insert_entries, write_entries
from maverick.journal.store import Journal
from maverick.journal.words import HEARS, RESUMABLE_REASONS
from maverick.model import Blob

_FIELDS = RUN_COLUMNS.split(", ")
_MOST_FAULTS = 20

_FAMILY = """
    WITH RECURSIVE family (run_id) AS (
        SELECT run_id FROM runs WHERE run_id = ?
        UNION SELECT runs.run_id FROM runs JOIN family ON runs.parent = family.run_id
    )
    SELECT run_id FROM family
"""
_ADD_WORDS = f"""
    UPDATE runs SET words = words + 1 WHERE run_id = ? AND words < ?
    AND (status IN (?,?) OR reason IN ({",".join("?" * len(RESUMABLE_REASONS))}))
"""  # noqa: S608 - placeholders
_BLOB_NAMES = "SELECT sha256 FROM run_blobs WHERE run_id = ? ORDER BY sha256"


class SqliteJournal(Journal):
    """A journal in a file. It opens on first use.

    Args:
        path: The file; it is made if it does not exist.
        busy_timeout: How many seconds to wait for another process that writes and gets nothing done. A tool's
            transaction may hold the file for a third of it.
    """

    def __init__(self, path: str | Path, *, busy_timeout: float = 30.0) -> None:
        self.path = checked_path(path)
        """The file."""
        self._open = partial(open_database, self.path, busy_timeout)
        self._lock = WriteLock()
        self._writer = SqliteWriter(self._open, self._lock, self.path)
        self._tool_seconds = busy_timeout / 3
        self._reader: sqlite3.Connection | None = None
        self._reading = threading.Lock()

    # Runs -------------------------------------------------------------------------------------------------------

    async def create(
        self,
        record: RunRecord,
        payloads: Sequence[bytes],
        caller: Lease | None = None,
        blobs: Sequence[Blob] = (),
    ) -> Lease:
        """Add a run with its first entries."""

        def work(db: sqlite3.Connection) -> Lease:
            _check_held(db, caller)
            return _create(db, record, payloads, blobs, token=1)

        return await self._writer.write(work)

    async def claim(self, run_id: str, caller: Lease | None = None) -> Lease:
        """Take the lease on a run."""

        def work(db: sqlite3.Connection) -> Lease:
            _check_held(db, caller)
            claimed = dict(
                db.execute(
                    f"UPDATE runs SET token = token + 1 WHERE run_id IN ({_FAMILY}) RETURNING run_id, token",  # noqa: S608 - our own
                    (run_id,),
                ).fetchall()
            )
            if run_id not in claimed:
                raise RunNotFoundError(run_id=run_id)
            return Lease(run_id, claimed[run_id])

        return await self._writer.write(work)

    async def _append(self, append: Append) -> tuple[int, bytes] | None:
        return await self._writer.append(append)

    async def get(self, run_id: str) -> RunRecord:
        """What is known of a run."""
        found = await self._read(
            f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?",  # noqa: S608 - our own names
            (run_id,),
            run_id,
        )
        if not found:
            raise RunNotFoundError(run_id=run_id)
        return read_record(_fields(found[0]))

    async def list_runs(
        self, *, status: RunStatus | None = None, parent: str | None = None, limit: int = 100
    ) -> list[RunRecord]:
        """Runs, newest first."""
        found = await self._read(
            f"SELECT {RUN_COLUMNS} FROM runs WHERE parent IS ? AND (? IS NULL OR status = ?) "  # noqa: S608 - our own names
            "ORDER BY created_at DESC, run_id LIMIT ?",
            (parent, status, status, limit),
        )
        return read_records(map(_fields, found))

    async def run_ids(self) -> list[str]:
        """The ids of all runs."""
        found = await self._read("SELECT CAST(run_id AS TEXT) FROM runs ORDER BY number", ())
        return [row[0] for row in found]

    async def faults(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        found = await self._read(f"PRAGMA quick_check({_MOST_FAULTS})", ())
        return [str(row[0]) for row in found if row[0] != "ok"]

    async def read_page(self, run_id: str, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """A page of entries."""
        return await self._read(
            "SELECT seq, version, payload FROM entries "
            "WHERE run = (SELECT number FROM runs WHERE run_id = ?) AND seq > ? ORDER BY seq LIMIT ?",
            (run_id, after, limit),
            run_id,
        )

    async def delete(self, run_id: str) -> int:
        """Remove a run and its subagents' runs."""
        return await self._writer.write(partial(_delete, run_id))

    async def receive(self, copies: Sequence[RunCopy]) -> None:
        """Add a run and its subagents' runs as another journal had them."""

        def work(db: sqlite3.Connection) -> None:
            token = _make_room(db, copies[0].record.run_id)
            for copy in copies:
                run_id = copy.record.run_id
                _create(db, copy.record, copy.payloads, copy.blobs, token=token)
                db.executemany(
                    "INSERT INTO words (run_id, payload) VALUES (?,?)", [(run_id, one) for one in copy.words]
                )
                db.execute("UPDATE runs SET words = ? WHERE run_id = ?", (len(copy.words), run_id))
                _insert_approvals(db, copy.approvals)

        await self._writer.write(work)

    async def waiting_words(self, run_id: str) -> list[bytes]:
        """The words that wait for a run."""
        found = await self._read(
            "SELECT payload FROM words WHERE run_id = ? ORDER BY number", (run_id,), run_id
        )
        return [row[0] for row in found]

    async def blob_names(self, run_id: str) -> list[str]:
        """The hashes of the blobs that a run names."""
        return [row[0] for row in await self._read(_BLOB_NAMES, (run_id,), run_id)]

    async def _read_blob(self, sha256: str) -> bytes | None:
        found = await self._read("SELECT data FROM blobs WHERE sha256 = ?", (sha256,))
        return found[0][0] if found and isinstance(found[0][0], bytes) else None

    def transaction(self, lease: Lease) -> SqliteTransaction:
        """A transaction for a tool's effect and its entry."""
        return SqliteTransaction(self._open, self._lock, lease, self._tool_seconds)

    async def _say(self, run_id: str, payload: bytes, blobs: Sequence[Blob]) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            hears = db.execute(_ADD_WORDS, (run_id, MOST_WAITING, *HEARS, *RESUMABLE_REASONS)).rowcount == 1
            if hears:
                db.execute("INSERT INTO words (run_id, payload) VALUES (?,?)", (run_id, payload))
                insert_blobs(db, run_id, blobs)
            return hears

        return await self._writer.write(work)

    # Approvals --------------------------------------------------------------------------------------------------

    async def _request_approvals(self, lease: Lease, approvals: Sequence[Approval]) -> None:
        def work(db: sqlite3.Connection) -> None:
            write_entries(db, Append(lease, (), RunStatus.WAITING))
            _insert_approvals(db, approvals)

        await self._writer.write(work)

    async def get_approval(self, approval_id: str) -> Approval:
        """One request."""
        found = await self._read("SELECT payload FROM approvals WHERE approval_id = ?", (approval_id,))
        if not found:
            raise ApprovalError(approval_id=approval_id)
        return read_approval(approval_id, found[0][0])

    async def _list_approvals(
        self, run_id: str | None, user_id: str | None, status: ApprovalStatus | None
    ) -> list[Approval]:
        found = await self._read(
            "SELECT approval_id, payload FROM approvals WHERE run_id = coalesce(?, run_id) "
            "AND (? IS NULL OR run_id IN (SELECT run_id FROM runs WHERE user_id = ?)) "
            "AND status = coalesce(?, status) ORDER BY requested_at, approval_id",
            (run_id, user_id, user_id, status),
        )
        return read_approvals(found)

    async def settle_approval(
        self, approval: Approval, expected: ApprovalStatus, lease: Lease | None = None
    ) -> bool:
        """Replace a request by its new state, unless it was decided meanwhile."""

        def work(db: sqlite3.Connection) -> bool:
            _check_held(db, lease)
            changed = db.execute(
                "UPDATE approvals SET status=?, payload=? WHERE approval_id=? AND status=?",
                (approval.status, encode_approval(approval), approval.approval_id, expected),
            )
            return changed.rowcount == 1

        return await self._writer.write(work)

    # Lifetime ---------------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Finish what is being written and let go of the file."""
        if (writing := self._writer.close()) is not None:
            await asyncio.to_thread(writing.join)
        await asyncio.to_thread(self._close_reader)

    def _close_reader(self) -> None:
        with self._reading:
            reader, self._reader = self._reader, None
            if reader is not None:
                reader.close()

    async def _read(self, statement: str, values: Sequence[Any], run_id: str = "") -> list[Any]:
        return await asyncio.to_thread(self._query, statement, values, run_id)

    def _query(self, statement: str, values: Sequence[Any], run_id: str) -> list[Any]:
        try:
            with self._reading:
                self._reader = self._reader or self._opened_to_read()
                return self._reader.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeError) as error:
            raise journal_error(self.path, "read", error, run_id) from error

    def _opened_to_read(self) -> sqlite3.Connection:
        reader = self._open()
        # Else one damaged text of one run would keep all others from being read.
        reader.text_factory = lambda raw: raw.decode(errors="surrogateescape")
        return reader


def _create(
    db: sqlite3.Connection, record: RunRecord, payloads: Sequence[bytes], blobs: Sequence[Blob], *, token: int
) -> Lease:
    try:
        created = db.execute(
            f"INSERT INTO runs ({RUN_COLUMNS}, token) VALUES (?,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608 - our own names
            [*(getattr(record, name) for name in _FIELDS[:-1]), len(payloads), token],
        )
    except sqlite3.IntegrityError:
        raise RunExistsError(run_id=record.run_id) from None
    assert created.lastrowid is not None  # noqa: S101 - it was inserted
    insert_entries(db, created.lastrowid, 1, payloads)
    insert_blobs(db, record.run_id, blobs)
    return Lease(record.run_id, token)


def _make_room(db: sqlite3.Connection, run_id: str) -> int:
    """Remove the copy of a run that was moved away; returns a token that is newer than those of its leases."""
    found = db.execute(f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?", (run_id,)).fetchone()  # noqa: S608 - our own names
    if found is None:
        return 1
    if Departure.of(read_record(_fields(found))) is None:
        raise RunExistsError(run_id=run_id)
    newest: int = db.execute(
        f"SELECT max(token) FROM runs WHERE run_id IN ({_FAMILY})",  # noqa: S608 - our own
        (run_id,),
    ).fetchone()[0]
    _delete(run_id, db)
    return newest + 1


def _delete(run_id: str, db: sqlite3.Connection) -> int:
    family = db.execute(_FAMILY, (run_id,)).fetchall()
    if not family:
        raise RunNotFoundError(run_id=run_id)
    db.executemany("DELETE FROM entries WHERE run = (SELECT number FROM runs WHERE run_id = ?)", family)
    db.executemany("DELETE FROM approvals WHERE run_id = ?", family)
    db.executemany("DELETE FROM words WHERE run_id = ?", family)
    db.executemany("DELETE FROM runs WHERE run_id = ?", family)
    named = [row for run in family for row in db.execute(_BLOB_NAMES, run)]
    db.executemany("DELETE FROM run_blobs WHERE run_id = ?", family)
    db.executemany(
        "DELETE FROM blobs WHERE sha256 = ? AND sha256 NOT IN (SELECT sha256 FROM run_blobs)",
        named,
    )
    return len(family)


def _insert_approvals(db: sqlite3.Connection, approvals: Sequence[Approval]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO approvals (approval_id, run_id, status, requested_at, payload) VALUES (?,?,?,?,?)",
        [(a.approval_id, a.run_id, a.status, a.requested_at, encode_approval(a)) for a in approvals],
    )


def _check_held(db: sqlite3.Connection, lease: Lease | None) -> None:
    """Make sure that a lease is still held."""
    if lease is not None:
        values = (lease.run_id, lease.token)
        if db.execute("SELECT 1 FROM runs WHERE run_id = ? AND token = ?", values).fetchone() is None:
            raise LeaseLostError(run_id=lease.run_id)


def _fields(row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(_FIELDS, row, strict=True))
