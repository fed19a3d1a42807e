"""Checks which runs can be read, and recovers those of a damaged SQLite journal into a new file.

The damaged file is only read. Rows are copied by SQLite itself, table by table. A range of a table that cannot be read is
halved until only the unreadable rows are left. Then each run in the copy is cut back to the entries that can be read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct

from maverick.exceptions import JournalDamagedError, JournalError
from maverick.journal.codec import blobs_in, decode_approval, decode_entry
from maverick.journal.damage import read_record
from maverick.journal.records import DAMAGED, RUN_COLUMNS, RunStatus
from maverick.journal.sqlite.database import journal_error, open_database
from maverick.journal.store import Journal
from maverick.loop.entries import Entry, RunStarted
from maverick.misuse import refuse
from maverick.model import Blob

_OWN = {
    "runs": f"number, {RUN_COLUMNS}, token",
    "entries": "rowid, run, seq, version, payload",
    "approvals": "approval_id, run_id, status, requested_at, payload",
    "blobs": "rowid, sha256, data",
    "run_blobs": "run_id, sha256",
    "words": "number, run_id, payload",
}
"""The tables of a journal and what is copied of them."""
_NEWER = {"blobs": 3, "run_blobs": 3, "words": 4}
"""The form of a journal from which on it has a table."""
_MOST_FAILURES = 20_000
"""How many stretches of a table may be unreadable before the rest of it is given up."""


class RunHealth(Struct, frozen=True, kw_only=True):
    """What a check found of a run."""

    run_id: str
    entries: int
    """How many of its entries can be read, from the first on."""
    problem: str = ""
    """What is wrong with it; nothing if all of it can be read."""


async def check_runs(journal: Journal) -> list[RunHealth]:
    """Check all runs, including those of subagents, oldest first; an error only if the list of runs cannot be read."""
    return [await check_run(journal, run_id) for run_id in await journal.run_ids()]


async def check_run(journal: Journal, run_id: str) -> RunHealth:
    """Check a run."""
    entries, problem = 0, ""
    try:
        async for stored in journal.read(run_id):
            if stored.seq == 1 and not _begins(stored.entry, run_id):
                problem = "It does not begin with its start."
                break
            for blob in blobs_in(stored.entry):
                await journal.load_blob(blob)
            entries = stored.seq
        record = await journal.get(run_id)
        if not problem and record.entries != entries:
            problem = f"Its record counts {record.entries} entries."
    except JournalError as error:
        problem = error.message
    return RunHealth(run_id=run_id, entries=entries, problem=problem)


class Repair(Struct, frozen=True, kw_only=True):
    """What was saved, and what was not."""

    whole: int
    """How many runs are whole."""
    damaged: list[RunHealth]
    """The others, with the entries that were saved; one without any is not in the copy."""
    lost_tables: list[str]
    """Tables of which something is missing, those of tools among them."""


def repair(source: str | Path, copy: str | Path) -> Repair:
    """Copy what can be read of a journal into a new file; blocks.

    A run that is not whole can be looked at and forked there, and not resumed: what its lost entries did must not be
    done again. Raises InvalidInputError if the new file exists already, or cannot be created, and JournalDamagedError
    if nothing can be read.
    """
    path = Path(copy)
    try:
        path.open("xb").close()
    except OSError as error:
        refuse(
            "copy",
            f"{str(copy)!r} cannot be created: {error.strerror}. Name a file that does not exist yet.",
            error,
        )
    try:
        with closing(open_database(str(path), 1.0)) as db:
            # A text that is not valid UTF-8 is no reason to give up the rest.
            db.text_factory = lambda raw: raw.decode(errors="surrogateescape")
            db.execute("PRAGMA writable_schema = ON")  # SQLite then reads on in a file that is cut off
            db.execute("ATTACH ? AS damaged", (f"{Path(source).absolute().as_uri()}?mode=ro",))
            # In no transaction: after a page that cannot be read, it could write nothing.
            lost = list(_copy_tables(db))
            db.execute("DETACH damaged")
            db.execute("BEGIN")
            found = [*_save_records(db), *_cut_back(db)]
            _drop_approvals(db)
            db.execute("DELETE FROM words WHERE run_id NOT IN (SELECT run_id FROM runs)")
            db.execute(
                "UPDATE runs SET words = (SELECT count(*) FROM words WHERE words.run_id = runs.run_id)"
            )
            db.execute("DELETE FROM blobs WHERE sha256 NOT IN (SELECT sha256 FROM run_blobs)")
            whole = db.execute("SELECT count(*) FROM runs WHERE reason != ?", (DAMAGED,)).fetchone()[0]
            db.execute("COMMIT")
    except sqlite3.Error as error:
        path.unlink()
        told = journal_error(str(source), "read", error)
        if isinstance(told, JournalDamagedError):  # whose advice is this repair
            problem = (
                f"Nothing can be read of the journal {str(source)!r}: {error}. Restore it from a backup."
            )
            told = JournalDamagedError(problem, cause=error)
        raise told from error
    except BaseException:
        path.unlink()
        raise
    return Repair(whole=whole, damaged=found, lost_tables=lost)


# Copying --------------------------------------------------------------------------------------------------------


def _copy_tables(db: sqlite3.Connection) -> Iterator[str]:
    """Copy all tables; yields those of which something is missing."""
    # In a file that somebody has prepared, any statement may stand there.
    made = db.execute(
        "SELECT type, name, sql FROM damaged.sqlite_master WHERE sql LIKE 'create %' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    tables = {name: sql for kind, name, sql in made if kind == "table" and name.isprintable()}
    form = db.execute("PRAGMA damaged.user_version").fetchone()[0]
    for name in _OWN.keys() - tables.keys():
        if form >= _NEWER.get(name, 0):
            yield name
    for name, sql in tables.items():
        if name not in _OWN:
            with suppress(sqlite3.Error, sqlite3.Warning, UnicodeError):  # then none of it is copied
                db.execute(sql)
        if not _copy_table(db, name):
            yield name
    ours = {row[0] for row in db.execute("SELECT name FROM main.sqlite_master")}
    for kind, name, sql in made:
        if kind != "table" and name not in ours:
            # An index that what was saved does not allow.
            with suppress(sqlite3.Error, sqlite3.Warning, UnicodeError):
                db.execute(sql)


def _copy_table(db: sqlite3.Connection, name: str) -> bool:
    """Copy a table; says whether all of it was."""
    columns = _OWN.get(name)
    quoted = '"{}"'.format(name.replace('"', '""'))
    into = f"{quoted} ({columns})" if columns else quoted
    statement = f"INSERT OR IGNORE INTO main.{into} SELECT {columns or '*'} FROM damaged.{quoted}"  # noqa: S608 - quoted
    with suppress(sqlite3.DatabaseError):
        db.execute(f"{statement} NOT INDEXED")
        return True
    try:
        last = db.execute(f"SELECT max(rowid) FROM damaged.{quoted}").fetchone()[0]  # noqa: S608 - quoted
    except sqlite3.DatabaseError:
        last = 1 << 24  # the end of the table cannot be read; what comes before it may be readable
    _copy_rows(db, f"{statement} NOT INDEXED WHERE rowid BETWEEN ? AND ?", int(last or 0))
    return False


def _copy_rows(db: sqlite3.Connection, statement: str, last: int) -> None:
    stretches, failures = [(1, last)], 0
    while stretches and failures < _MOST_FAILURES:
        first, end = stretches.pop()
        try:
            db.execute(statement, (first, end))
        except sqlite3.DatabaseError:
            failures += 1
            if first < end:
                middle = (first + end) // 2
                stretches += [(middle + 1, end), (first, middle)]


# Cutting back ---------------------------------------------------------------------------------------------------


def _save_records(db: sqlite3.Connection) -> Iterator[RunHealth]:
    """Make a record for every run that has entries and no record that can be read; yields what has neither."""
    names = RUN_COLUMNS.split(", ")
    for number, token, *row in db.execute(f"SELECT number, token, {RUN_COLUMNS} FROM runs").fetchall():  # noqa: S608 - our own names
        try:
            read_record(dict(zip(names, row, strict=True)))
            if isinstance(token, int):
                continue
        except JournalDamagedError:
            pass
        db.execute("DELETE FROM runs WHERE number = ?", (number,))
    orphans = db.execute(
        "SELECT DISTINCT run FROM entries WHERE run NOT IN (SELECT number FROM runs)"
    ).fetchall()
    for (number,) in orphans:
        if not _make_record(db, number):
            db.execute("DELETE FROM entries WHERE run = ?", (number,))
            yield RunHealth(run_id=f"number {number}", entries=0, problem="Its beginning cannot be read.")


def _make_record(db: sqlite3.Connection, number: int) -> bool:
    """Make the record of a run from its beginning; says whether that can be read."""
    start = next(_entries(db, number), None)
    if not isinstance(start, RunStarted):
        return False
    values = (
        number,
        start.run_id,
        "/".join(start.agent),
        RunStatus.STOPPED,
        DAMAGED,
        start.parent,
        start.user_id,
    )
    made = db.execute(
        "INSERT OR IGNORE INTO runs (number, run_id, agent, status, reason, parent, user_id, created_at, updated_at, "
        "entries, token) VALUES (?,?,?,?,?,?,?,?,?,-1,1)",
        (*values, start.at, start.at),
    )
    return made.rowcount == 1


def _cut_back(db: sqlite3.Connection) -> Iterator[RunHealth]:
    """Cut each run back to what can be read of it; yields those that are not whole."""
    db.execute("DELETE FROM run_blobs")  # which may be damaged; what a run names is in its entries
    for number, run_id, expected in db.execute("SELECT number, run_id, entries FROM runs").fetchall():
        entries = list(_entries(db, number))
        readable = len(entries) if entries and _begins(entries[0], run_id) else 0
        named = {(run_id, blob.sha256) for entry in entries[:readable] for blob in blobs_in(entry)}
        db.executemany("INSERT INTO run_blobs (run_id, sha256) VALUES (?,?)", named)
        db.execute("DELETE FROM entries WHERE run = ? AND NOT seq BETWEEN 1 AND ?", (number, readable))
        if readable == expected:
            continue
        if readable:
            db.execute(
                "UPDATE runs SET entries = ?, status = ?, reason = ? WHERE number = ?",
                (readable, RunStatus.STOPPED, DAMAGED, number),
            )
        else:
            db.execute("DELETE FROM runs WHERE number = ?", (number,))
        of = f" of {expected}" if expected >= 0 else ""
        yield RunHealth(run_id=run_id, entries=readable, problem=f"{readable}{of} entries can be read.")


def _begins(entry: Entry, run_id: str) -> bool:
    return isinstance(entry, RunStarted) and entry.run_id == run_id


def _entries(db: sqlite3.Connection, number: int) -> Iterator[Entry]:
    """The entries of a run up to the first that is missing or cannot be read."""
    rows = db.execute("SELECT seq, version, payload FROM entries WHERE run = ? ORDER BY seq", (number,))
    with suppress(sqlite3.Error, JournalError):
        for expected, (seq, version, payload) in enumerate(rows, start=1):
            if seq != expected or not isinstance(payload, bytes):
                return
            entry = decode_entry(payload, version)
            if not all(_is_stored(db, blob) for blob in blobs_in(entry)):
                return
            yield entry


def _is_stored(db: sqlite3.Connection, blob: Blob) -> bool:
    """Whether the bytes of an image or document are there, and are what they were."""
    found = db.execute("SELECT data FROM blobs WHERE sha256 = ?", (blob.sha256,)).fetchone()
    return found is not None and isinstance(found[0], bytes) and Blob(found[0]) == blob


def _drop_approvals(db: sqlite3.Connection) -> None:
    """Remove the approval requests of incomplete runs, and those that cannot be read."""
    approvals = db.execute("SELECT CAST(approval_id AS BLOB), payload FROM approvals").fetchall()
    for approval_id, payload in approvals:
        try:
            decode_approval(payload)
        except JournalDamagedError:
            db.execute("DELETE FROM approvals WHERE CAST(approval_id AS BLOB) = ?", (approval_id,))
    db.execute(
        "DELETE FROM approvals WHERE run_id NOT IN (SELECT run_id FROM runs WHERE reason != ?)", (DAMAGED,)
    )
