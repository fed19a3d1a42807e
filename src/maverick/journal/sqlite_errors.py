"""What SQLite says went wrong, in words a person can act on."""

from __future__ import annotations

import sqlite3

from maverick.exceptions import JournalDamagedError, JournalError

_DAMAGED = "It is damaged. `maverick runs check` tells which runs can be read, and `--repair COPY` saves what can be."
_DAMAGE = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
)
"""The last of them is a statement of ours that does not fit the tables, which are not what they were then."""
_ADVICE = {
    sqlite3.SQLITE_BUSY: "Another process holds it. Try again, or give the journal a longer busy_timeout.",
    sqlite3.SQLITE_FULL: "Make room on the disk, then resume the run.",
    sqlite3.SQLITE_CANTOPEN: "Check that its folder exists and may be written to.",
    sqlite3.SQLITE_NOTADB: "Check that it is the right file.",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_FORMAT: _DAMAGED,
    sqlite3.SQLITE_ERROR: _DAMAGED,
    sqlite3.SQLITE_READONLY: "Check the rights of the file and of its folder.",
    sqlite3.SQLITE_IOERR: "Check the disk, then resume the run.",
}


def is_busy(error: BaseException) -> bool:
    """Whether the file could not be had because somebody else writes to it."""
    return _code(error) == sqlite3.SQLITE_BUSY


def journal_error(path: str, failed: str, error: Exception, run_id: str = "") -> JournalError:
    """The error a caller gets.

    Args:
        path: The file.
        failed: What could not be done, such as ``written``.
        error: What was raised.
        run_id: The run it was about, if it was about one.
    """
    code = sqlite3.SQLITE_CORRUPT if _is_garbled(error) else _code(error)
    about = f"The run {run_id!r} in the journal" if run_id else "The journal"
    message = f"{about} {path!r} could not be {failed}: {error}. {_ADVICE.get(code, '')}".rstrip()
    if code in _DAMAGE:
        return JournalDamagedError(message, run_id=run_id, cause=error)
    return JournalError(
        message,
        cause=error,
        retryable=is_busy(error),
    )


def _is_garbled(error: Exception) -> bool:
    """Whether a text is none: Python says so itself, so the error has no number of SQLite's."""
    without_number = isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode")
    return isinstance(error, UnicodeDecodeError) or without_number


def _code(error: BaseException) -> int:
    """SQLite's own number of an error, without what it adds in its higher bytes."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
