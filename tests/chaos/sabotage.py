"""Takes one safeguard out of a child process, to show that the oracle would notice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from maverick.journal.records import Append
from maverick.journal.sqlite import journal, writer
from maverick.journal.sqlite.writer import SqliteWriter, insert_entries
from maverick.journal.transaction import Transaction
from maverick.loop.entries import ToolFinished, ToolsStarted
from maverick.runtime import run_writer
from maverick.runtime.run_writer import RunWriter


def _without_intent() -> None:
    """Tools run before the intent to run them is written."""
    run_writer._INTENTS = tuple(kind for kind in run_writer._INTENTS if kind is not ToolsStarted)  # type: ignore[assignment]


def _without_fence() -> None:
    """Whoever held the run once may write to it for ever."""

    def write_anyway(db: sqlite3.Connection, append: Append) -> None:
        count = len(append.payloads)
        written = db.execute(
            "UPDATE runs SET status=?, reason=?, entries=entries+? WHERE run_id=? RETURNING number, entries",
            (append.status, append.reason, count, append.lease.run_id),
        ).fetchone()
        insert_entries(db, written[0], written[1] - count + 1, append.payloads)

    for module in (journal, writer):
        module.write_entries = write_anyway  # type: ignore[attr-defined]
    writer.append_all = lambda _, __: False  # type: ignore[assignment]


def _without_commit() -> None:
    """A write is said to be durable, and is committed only when the next one comes."""

    def hold_back(self: SqliteWriter, connection: sqlite3.Connection, jobs: list[Any]) -> None:
        if connection.in_transaction:
            connection.execute("COMMIT")
        connection.execute("BEGIN IMMEDIATE")
        for job in jobs:
            job.value = job.work(connection)

    SqliteWriter._commit = hold_back  # type: ignore[method-assign]


def _without_transaction() -> None:
    """A transactional tool's effect is committed alone; its entry follows later."""

    async def commit_effect_only(self: RunWriter, transaction: Transaction, entry: ToolFinished) -> None:
        self.journal.at_write_point("Transaction", before=True)
        await transaction.commit([])
        self.journal.at_write_point("Transaction", before=False)

    RunWriter.commit = commit_effect_only  # type: ignore[method-assign]


SABOTAGES: Mapping[str, Callable[[], None]] = {
    "intent": _without_intent,
    "fence": _without_fence,
    "commit": _without_commit,
    "transaction": _without_transaction,
}
