"""Where runs are kept, so that they can be resumed, replayed and looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maverick.journal.memory import MemoryJournal
from maverick.journal.records import Approval, ApprovalStatus, RunRecord, RunStatus
from maverick.journal.sqlite import SqliteJournal
from maverick.journal.store import Journal

if TYPE_CHECKING:
    from maverick.journal.postgres import PostgresJournal

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


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name == "PostgresJournal":  # it needs asyncpg, which is an extra
        from maverick.journal.postgres import PostgresJournal

        return PostgresJournal
    raise AttributeError(f"module 'maverick.journal' has no attribute {name!r}")
