"""How entries are written into the tables of a SQLite journal, in whatever transaction is open."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from maverick.exceptions import LeaseLostError
from maverick.journal.codec import VERSION
from maverick.journal.records import Lease, RunStatus


def write_entries(
    db: sqlite3.Connection,
    lease: Lease,
    payloads: Sequence[bytes],
    status: RunStatus = RunStatus.RUNNING,
    reason: str = "",
) -> None:
    """Add entries to a run whose lease is held.

    Raises:
        LeaseLostError: Somebody else has claimed the run.
    """
    run = db.execute(
        "UPDATE runs SET status=?, reason=?, updated_at=?, entries=entries+? WHERE run_id=? AND token=? "
        "RETURNING number, entries",
        (status, reason, time.time(), len(payloads), lease.run_id, lease.token),
    ).fetchone()
    if run is None:
        raise LeaseLostError(run_id=lease.run_id)
    number, entries = run
    insert_entries(db, number, entries - len(payloads) + 1, payloads)


def insert_entries(db: sqlite3.Connection, number: int, first: int, payloads: Sequence[bytes]) -> None:
    """Add entries to the run of that number, counted from ``first`` on."""
    db.executemany(
        "INSERT INTO entries (run, seq, version, payload) VALUES (?,?,?,?)",
        [(number, seq, VERSION, payload) for seq, payload in enumerate(payloads, start=first)],
    )
