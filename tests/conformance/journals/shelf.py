"""Where a journal stands: what the suite has to know of each kind, and small things to put into it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from maverick.journal import Journal, MemoryJournal, PostgresJournal, RunRecord, RunStatus, SqliteJournal
from maverick.journal.codec import encode_entry
from maverick.loop.entries import Edited, ToolFinished
from maverick.loop.result import ToolOutcome
from maverick.model import Blob, Document


class Shelf(ABC):
    """A place for runs."""

    @abstractmethod
    def open(self) -> Journal:
        """A journal of the runs that stand here."""


class MemoryShelf(Shelf):
    """Memory; each journal has its own."""

    def open(self) -> Journal:
        return MemoryJournal()


class KeptShelf(Shelf):
    """A database.

    Args:
        address: Where it is.
    """

    placeholders: tuple[str, str]
    """What stands for the first and for the second value of a statement."""

    def __init__(self, address: str) -> None:
        self.address = address


class SqliteShelf(KeptShelf):
    """A file."""

    placeholders = ("?", "?")

    def open(self) -> Journal:
        return SqliteJournal(self.address)


class PostgresShelf(KeptShelf):
    """A database on a server."""

    placeholders = ("$1", "$2")

    def open(self) -> Journal:
        return PostgresJournal(self.address)


def shelf_at(address: str) -> KeptShelf:
    """The place an address names."""
    return (PostgresShelf if address.startswith("postgresql:") else SqliteShelf)(address)


def record(run_id: str = "r", **fields: Any) -> RunRecord:
    """A run that goes on."""
    defaults: dict[str, Any] = {
        "agent": "clerk",
        "status": RunStatus.RUNNING,
        "created_at": 1.0,
        "updated_at": 1.0,
        "entries": 0,
    }
    return RunRecord(run_id=run_id, **defaults | fields)


def note(text: str) -> bytes:
    """A small entry."""
    return encode_entry(Edited(at=1.0, content=text))


def notes(*texts: str) -> list[bytes]:
    """Small entries."""
    return [note(text) for text in texts]


class Attachment(NamedTuple):
    """A document, and the blob in it."""

    part: Document
    blob: Blob


def document(text: str) -> Attachment:
    """A document with a text."""
    part = Document.from_bytes(text.encode())
    assert part.blob is not None
    return Attachment(part, part.blob)


def seen(attachment: Attachment) -> bytes:
    """An entry that names a document."""
    return encode_entry(
        ToolFinished(
            at=1.0, index=0, outcome=ToolOutcome.FINISHED, content="a document", parts=(attachment.part,)
        )
    )


async def texts_of(journal: Journal, run_id: str = "r", *, after: int = 0) -> list[str]:
    """The texts of a run's small entries, in order."""
    stored = [stored async for stored in journal.read(run_id, after=after)]
    assert [item.seq for item in stored] == list(range(after + 1, after + 1 + len(stored)))
    return [item.entry.content for item in stored if isinstance(item.entry, Edited)]
