"""Where runs are kept, so that they can be resumed, replayed and looked at."""

from maverick.journal.memory import MemoryJournal
from maverick.journal.records import Approval, ApprovalStatus, RunRecord, RunStatus
from maverick.journal.sqlite import SqliteJournal
from maverick.journal.store import Journal

__all__ = [
    "Approval",
    "ApprovalStatus",
    "Journal",
    "MemoryJournal",
    "RunRecord",
    "RunStatus",
    "SqliteJournal",
]
