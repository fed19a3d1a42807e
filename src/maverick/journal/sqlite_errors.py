"""What SQLite says went wrong, in words a person can act on."""

from __future__ import annotations

import sqlite3

from maverick.exceptions import JournalError

_ADVICE = {
    sqlite3.SQLITE_BUSY: "Another process holds it. Try again, or give the journal a longer busy_timeout.",
    sqlite3.SQLITE_FULL: "Make room on the disk, then resume the run.",
    sqlite3.SQLITE_CANTOPEN: "Check that its folder exists and may be written to.",
    sqlite3.SQLITE_NOTADB: "Check that it is the right file.",
    sqlite3.SQLITE_READONLY: "Check the rights of the file and of its folder.",
    sqlite3.SQLITE_IOERR: "Check the disk, then resume the run.",
}


def is_busy(error: BaseException) -> bool:
    """Whether the file could not be had because somebody else writes to it."""
    return _code(error) == sqlite3.SQLITE_BUSY


def journal_error(path: str, failed: str, error: Exception) -> JournalError:
    """The error a caller gets.

    Args:
        path: The file.
        failed: What could not be done, such as ``written``.
        error: What was raised.
    """
    advice = _ADVICE.get(_code(error), "")
    return JournalError(
        f"The journal {path!r} could not be {failed}: {error}. {advice}".rstrip(),
        cause=error,
        retryable=is_busy(error),
    )


def _code(error: BaseException) -> int:
    """SQLite's own number of an error, without what it adds in its higher bytes."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
