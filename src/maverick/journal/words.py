"""Words for a run in progress: what may be said to it, and when it can still hear."""

from __future__ import annotations

from collections.abc import Iterable

from maverick.exceptions import InvalidInputError, JournalDamagedError
from maverick.journal.codec import VERSION, blobs_in, decode_entry
from maverick.journal.records import MOST_WAITING, UNFINISHED, RunRecord
from maverick.loop.entries import Said
from maverick.loop.result import RESUMABLE
from maverick.misuse import refuse
from maverick.model import Document, Image, Part, Text
from maverick.model.media import MAX_BYTES
from maverick.model.message import describe_part, parts_of

_MOST_TEXT = 100_000
_MOST_PARTS = 100

RESUMABLE_REASONS = sorted(reason.value for reason in RESUMABLE)
"""Why a run has stopped that may be resumed, and takes in words then."""


def words_for(content: str | Iterable[str | Part], by: str, at: float) -> Said:
    """The entry of what is said to a run; an error if it is nothing, too much, or more than text, images and documents."""
    parts = parts_of(content)
    text = "\n".join(describe_part(part) for part in parts)
    if not all(isinstance(part, Text | Image | Document) for part in parts) or not text.strip():
        refuse("content", "expected text, images or documents to say.")
    said = Said(at=at, content=text, parts=() if isinstance(content, str) else parts, by=by)
    if len(text) > _MOST_TEXT or len(parts) > _MOST_PARTS or sum(b.size for b in blobs_in(said)) > MAX_BYTES:
        refuse(
            "content",
            f"at most {_MOST_TEXT:,} characters, {_MOST_PARTS} parts and {MAX_BYTES // 2**20} MB can be said "
            "at once. Say it in several pieces.",
        )
    return said


def decode_words(payload: bytes) -> Said:
    """The words that a row of a database holds; raises JournalDamagedError if it does not hold words."""
    said = decode_entry(payload, VERSION)
    if not isinstance(said, Said):
        raise JournalDamagedError("Words that wait for a run are damaged.")
    return said


def unheard(record: RunRecord) -> InvalidInputError:
    """The error for words that a run cannot take in."""
    if record.status in UNFINISHED or record.reason in RESUMABLE_REASONS:
        return InvalidInputError(
            f"{MOST_WAITING} messages already wait for the run {record.run_id!r}. Resume it, so that it takes them in.",
            field="content",
        )
    return InvalidInputError(
        f"The run {record.run_id!r} has ended ({record.reason}), so it hears nothing more. Start a new run that continues "
        "the conversation, or fork this one.",
        field="run_id",
    )
