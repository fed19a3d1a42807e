"""How entries are written into the tables of a SQLite journal, in whatever transaction is open."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from maverick.exceptions import LeaseLostError
from maverick.journal.codec import VERSION
from maverick.journal.records import Lease, RunStatus

_Row: TypeAlias = tuple[Any, ...]

_MOST_ROWS = 1_024
"""The rows of one statement; SQLite takes 32,766 values in one."""


@dataclass(frozen=True, slots=True)
class Append:
    """Entries to add to a run whose lease is held."""

    lease: Lease
    payloads: Sequence[bytes]
    status: RunStatus
    reason: str

    def __call__(self, db: sqlite3.Connection) -> None:
        """Add them.

        Raises:
            LeaseLostError: Somebody else has claimed the run.
        """
        write_entries(db, self.lease, self.payloads, self.status, self.reason)


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


def append_all(db: sqlite3.Connection, appends: Sequence[Append]) -> bool:
    """Add entries to many runs in few statements, which let other threads run meanwhile; one by one takes twice as long.

    Returns:
        Whether all were added. If not, whoever asks rolls back: one of the leases is lost.

    Raises:
        sqlite3.IntegrityError: Two of them are for the same run.
    """
    entries = [
        (append.lease.run_id, append.lease.token, offset, payload)
        for append in appends
        for offset, payload in enumerate(append.payloads, start=1)
    ]
    # The entries first: their numbers follow from how many there were before.
    added = sum(
        db.execute(
            f"INSERT INTO entries (run, seq, version, payload) "  # noqa: S608 - placeholders and our own number
            f"SELECT number, entries + column3, {VERSION}, column4 "
            f"FROM (VALUES {_placeholders(rows)}) CROSS JOIN runs ON run_id = column1 AND token = column2",
            tuple(chain.from_iterable(rows)),
        ).rowcount
        for rows in _portions(entries)
    )
    now = time.time()
    runs = [
        (append.lease.run_id, append.lease.token, append.status, append.reason, len(append.payloads))
        for append in appends
    ]
    noted = sum(
        db.execute(
            f"UPDATE runs SET status = column3, reason = column4, entries = entries + column5, updated_at = ? "  # noqa: S608 - placeholders
            f"FROM (VALUES {_placeholders(rows)}) WHERE run_id = column1 AND token = column2",
            (now, *chain.from_iterable(rows)),
        ).rowcount
        for rows in _portions(runs)
    )
    return added == len(entries) and noted == len(runs)


def _portions(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """The rows in powers of two, so that there are few statements to prepare, whatever their number is."""
    done = 0
    while left := len(rows) - done:
        size = min(1 << left.bit_length() - 1, _MOST_ROWS)
        yield rows[done : done + size]
        done += size


def _placeholders(rows: Sequence[_Row]) -> str:
    return ",".join([f"({','.join('?' * len(rows[0]))})"] * len(rows))
