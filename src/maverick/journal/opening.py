"""A journal by its address: a path is a SQLite file, a ``postgresql://`` address is a database."""

from __future__ import annotations

from pathlib import Path

from maverick.exceptions import ErrorKind, JournalError
from maverick.journal.sqlite.journal import SqliteJournal
from maverick.journal.store import Journal
from maverick.misuse import refuse

_POSTGRES = ("postgresql", "postgres")


def open_journal(location: str | Path, *, create: bool = True) -> Journal:
    """The journal at a path, in which ``~`` is the home folder, or a ``postgresql://`` address. It is opened on first use.

    A file that is not there, and its folder, are created, unless ``create`` is false.
    """
    scheme, is_address, _ = str(location).partition("://")
    if not is_address:
        return _open_file(Path(location), create=create)
    if scheme not in _POSTGRES:
        refuse(
            "journal",
            f"expected a path or a postgresql:// address, got one that begins with {f'{scheme}://'!r}.",
        )
    from maverick.journal.postgres.journal import PostgresJournal  # here, since its driver is an extra

    return PostgresJournal(str(location))


def _open_file(location: Path, *, create: bool) -> SqliteJournal:
    try:
        path = location.expanduser().absolute()
        if create:
            # For its owner only: conversations are private.
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = _is_there(path) or create
    except (OSError, RuntimeError, ValueError) as error:  # no rights; no home folder; a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        raise JournalError(
            f"The journal {str(location)!r} cannot be opened: {reason}. Check the path and its permissions."
        ) from error
    if not found:
        raise JournalError(
            f"There is no journal at {str(path)!r}. Run an agent first (its runs are kept by default), or name another path with "
            "--journal or MAVERICK_JOURNAL.",
            kind=ErrorKind.INVALID,
        )
    return SqliteJournal(path)


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
