"""Where runs are kept, so that they can be resumed, replayed and looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maverick.journal.records import Approval, ApprovalStatus, RunRecord, RunStatus
from maverick.journal.store import Journal
from maverick.misuse import load_on_use

if TYPE_CHECKING:
    from maverick.journal.memory import MemoryJournal
    from maverick.journal.postgres.journal import PostgresJournal
    from maverick.journal.sqlite.journal import SqliteJournal

__all__ = [
    "Approval", "ApprovalStatus", "Journal", "MemoryJournal", "PostgresJournal", "RunRecord", "RunStatus",
    "SqliteJournal",
]  # fmt: skip


_STORES = {
    "MemoryJournal": "maverick.journal.memory",
    "PostgresJournal": "maverick.journal.postgres.journal",
    "SqliteJournal": "maverick.journal.sqlite.journal",
}
"""Where to find the stores: a run needs one of them at most, and the driver of Postgres is an extra."""


if not TYPE_CHECKING:  # else any name would be one to a type checker
    __getattr__ = load_on_use(__name__, _STORES)
