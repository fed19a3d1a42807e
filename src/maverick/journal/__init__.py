"""Where runs are kept, so that they can be resumed, replayed and looked at."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from maverick.journal.memory import MemoryJournal
from maverick.journal.records import Approval, ApprovalStatus, RunRecord, RunStatus
from maverick.journal.store import Journal

if TYPE_CHECKING:
    from maverick.journal.postgres.journal import PostgresJournal
    from maverick.journal.sqlite.journal import SqliteJournal

__all__ = [
    "Approval",
    "ApprovalStatus",
    "Journal",
    "MemoryJournal",
    "PostgresJournal",
    "RunRecord",
    "RunStatus",
    "SqliteJournal",
]


_WITH_DATABASE = {
    "PostgresJournal": "maverick.journal.postgres.journal",
    "SqliteJournal": "maverick.journal.sqlite.journal",
}
"""Where to find what loads a database's driver; not every run is kept, and that of Postgres is an extra."""


if not TYPE_CHECKING:  # else any name would be one to a type checker

    def __getattr__(name: str) -> object:
        if name not in _WITH_DATABASE:
            raise AttributeError(f"module 'maverick.journal' has no attribute {name!r}")
        value = getattr(import_module(_WITH_DATABASE[name]), name)
        globals()[name] = value
        return value
