"""What is particular to SQLite: the file, its forms, its locks, and how often it syncs."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conformance.journals.shelf import notes, record, texts_of
from maverick.exceptions import JournalError, LeaseLostError, ToolError
from maverick.journal import SqliteJournal
from maverick.journal.records import Lease
from maverick.journal.sqlite import database
from maverick.journal.sqlite.database import MIGRATIONS, open_database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The file without the journal around it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def form_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def modes_in(folder: Path) -> list[int]:
    return [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()]


async def write_one_run(path: Path) -> None:
    async with SqliteJournal(path) as journal:
        await journal.create(record(), notes("one", "two"))


# Forms ----------------------------------------------------------------------------------------------------------


async def test_an_empty_database_becomes_a_journal(path: Path, raw: sqlite3.Connection) -> None:
    raw.execute("CREATE TABLE somebody_elses (x)")
    assert form_of(raw) == 0

    await write_one_run(path)

    assert form_of(raw) == len(MIGRATIONS)


async def test_a_journal_in_the_newest_form_is_opened_as_it_is(path: Path, raw: sqlite3.Connection) -> None:
    await write_one_run(path)
    before = raw.execute("PRAGMA schema_version").fetchone()

    async with SqliteJournal(path) as journal:
        assert await texts_of(journal) == ["one", "two"]

    assert raw.execute("PRAGMA schema_version").fetchone() == before


@pytest.mark.requirement("P10")
async def test_a_journal_of_a_newer_form_is_refused_by_its_number_and_left_alone(
    path: Path, raw: sqlite3.Connection
) -> None:
    await write_one_run(path)
    newer = len(MIGRATIONS) + 6
    raw.execute(f"PRAGMA user_version={newer}")

    async with SqliteJournal(path) as journal:
        for asking in (journal.list_runs(), journal.create(record("new"), [])):
            with pytest.raises(
                JournalError, match=f"form {newer}, and this Maverick knows {len(MIGRATIONS)}"
            ):
                await asking

    assert form_of(raw) == newer
    assert raw.execute("SELECT run_id FROM runs").fetchall() == [("r",)]


async def test_an_older_form_is_brought_up_step_by_step_and_keeps_its_runs(
    path: Path, raw: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_one_run(path)
    steps = (
        *MIGRATIONS,
        "CREATE TABLE added (x)",
        "ALTER TABLE added ADD COLUMN y; INSERT INTO added VALUES (1, 2)",
    )
    monkeypatch.setattr(database, "MIGRATIONS", steps)

    async with SqliteJournal(path) as journal:
        assert await texts_of(journal) == ["one", "two"]

    assert form_of(raw) == len(steps)
    assert raw.execute("SELECT x, y FROM added").fetchall() == [(1, 2)]


async def test_a_journal_of_the_first_form_keeps_its_runs_entries_and_leases(
    path: Path, raw: sqlite3.Connection
) -> None:
    raw.executescript(f"{MIGRATIONS[0]}; PRAGMA user_version=1")
    for run_id, created_at, texts in (("later", 2.0, ["three"]), ("r", 1.0, ["one", "two"])):
        values = (run_id, "a", "running", created_at, created_at, len(texts), 4)
        raw.execute(
            "INSERT INTO runs (run_id, agent, status, created_at, updated_at, entries, token) VALUES (?,?,?,?,?,?,?)",
            values,
        )
        for seq, payload in enumerate(notes(*texts), start=1):
            raw.execute("INSERT INTO entries VALUES (?,?,1,?)", (run_id, seq, payload))

    async with SqliteJournal(path) as journal:
        await journal.append(Lease("r", 4), notes("more"))
        with pytest.raises(LeaseLostError):
            await journal.append(Lease("later", 3), notes("no more"))

        assert [run.run_id for run in await journal.list_runs()] == ["later", "r"]
        assert await texts_of(journal) == ["one", "two", "more"]
        assert await texts_of(journal, "later") == ["three"]
        await journal.delete("later")
        assert await texts_of(journal) == ["one", "two", "more"]
    assert raw.execute("SELECT count(*) FROM entries").fetchone() == (3,)


async def test_a_step_that_fails_leaves_the_form_as_it_was(
    path: Path, raw: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_one_run(path)
    broken = (*MIGRATIONS, "CREATE TABLE added (x)", "INSERT INTO nowhere VALUES (1)")

    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", broken)
        with pytest.raises(JournalError, match="nowhere"):
            await texts_of(SqliteJournal(path))

    assert form_of(raw) == len(MIGRATIONS)
    assert raw.execute("SELECT name FROM sqlite_master WHERE name = 'added'").fetchall() == []
    async with SqliteJournal(path) as journal:
        assert await texts_of(journal) == ["one", "two"]


@pytest.mark.requirement("P10")
async def test_an_entry_of_a_newer_format_is_refused_by_its_number(
    path: Path, raw: sqlite3.Connection
) -> None:
    await write_one_run(path)
    raw.execute("UPDATE entries SET version = 7 WHERE seq = 2")

    async with SqliteJournal(path) as journal:
        with pytest.raises(JournalError, match="format 7"):
            await texts_of(journal)


# The file -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P1")
def test_every_commit_is_synced_to_the_disk(path: Path) -> None:
    with closing(open_database(str(path), 1.0)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


async def test_a_new_file_that_somebody_else_is_just_writing_to_is_waited_for(
    path: Path, raw: sqlite3.Connection
) -> None:
    raw.execute("CREATE TABLE somebody_elses (x)")
    raw.execute("BEGIN IMMEDIATE")
    async with SqliteJournal(path, busy_timeout=30) as journal:
        writing = asyncio.ensure_future(journal.create(record(), notes("one")))
        await asyncio.wait([writing], timeout=0.1)
        assert not writing.done()
        raw.execute("COMMIT")

        await writing

        assert await texts_of(journal) == ["one"]


async def test_a_folder_that_is_not_there_is_a_typed_error(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "nowhere" / "runs.db")

    with pytest.raises(JournalError, match="there is no folder") as told:
        await journal.create(record(), [])
    with pytest.raises(JournalError, match="there is no folder"):
        await journal.list_runs()

    assert isinstance(told.value.cause, sqlite3.Error)
    (tmp_path / "nowhere").mkdir()
    async with journal:
        await journal.create(record(), notes("now"))
        assert await texts_of(journal) == ["now"]


@pytest.fixture
def letter(path: Path) -> Path:
    """A file of another kind."""
    path.write_text("This is a letter, and a long one at that. " * 100)
    return path


async def test_another_kind_of_file_is_a_typed_error(letter: Path) -> None:
    async with SqliteJournal(letter) as journal:
        with pytest.raises(JournalError, match="right file"):
            await journal.create(record(), [])
        with pytest.raises(JournalError, match="right file"):
            await journal.list_runs()


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("another", [False, True], ids=["nothing", "another file"])
async def test_a_file_that_is_taken_away_is_noticed_before_anything_is_done(
    path: Path, another: bool
) -> None:
    async with SqliteJournal(path) as journal:
        lease = await journal.create(record(), notes("one"))
        for file in path.parent.iterdir():
            file.unlink()
        if another:
            await write_one_run(path)

        with pytest.raises(JournalError, match="was moved or deleted"):
            await journal.append(lease, notes("two"))

        await journal.create(record("new"), notes("three"))
    async with SqliteJournal(path) as journal:
        assert await texts_of(journal, "new") == ["three"]


# Locks ----------------------------------------------------------------------------------------------------------


async def test_a_file_that_stays_locked_is_a_typed_error_that_is_worth_another_try(
    path: Path, raw: sqlite3.Connection
) -> None:
    async with SqliteJournal(path, busy_timeout=0.05) as journal:
        lease = await journal.create(record(), notes("one"))
        raw.execute("BEGIN IMMEDIATE")

        with pytest.raises(JournalError, match="Another process holds it") as told:
            await journal.append(lease, notes("two"))

        assert told.value.retryable
        assert await texts_of(journal) == ["one"]
        raw.execute("ROLLBACK")
        await journal.append(await journal.claim("r"), notes("three"))
        assert await texts_of(journal) == ["one", "three"]


async def test_a_file_that_is_unlocked_in_time_is_waited_for(path: Path, raw: sqlite3.Connection) -> None:
    async with SqliteJournal(path, busy_timeout=30) as journal:
        lease = await journal.create(record(), [])
        raw.execute("BEGIN IMMEDIATE")
        writing = asyncio.ensure_future(journal.append(lease, notes("one")))
        await asyncio.sleep(0.05)
        assert not writing.done()
        raw.execute("ROLLBACK")

        await writing

        assert await texts_of(journal) == ["one"]


async def test_a_tool_that_can_not_have_the_file_fails_without_effect(
    path: Path, raw: sqlite3.Connection
) -> None:
    async with SqliteJournal(path, busy_timeout=0.05) as journal:
        lease = await journal.create(record(), [])
        raw.execute("CREATE TABLE effects (x)")
        raw.execute("BEGIN IMMEDIATE")
        async with journal.transaction(lease) as transaction:
            for _ in range(2):
                with pytest.raises(Exception, match="locked") as refused:
                    await transaction.execute("INSERT INTO effects VALUES (1)")
                assert refused.type.__name__ == "ToolError"
            with pytest.raises(JournalError, match="Nothing has happened"):
                await transaction.commit(notes("done"))
        raw.execute("ROLLBACK")

        assert raw.execute("SELECT * FROM effects").fetchall() == []
        await journal.append(lease, notes("on"))
        assert await texts_of(journal) == ["on"]


async def test_a_tool_that_holds_the_file_for_too_long_holds_nobody_up_for_ever(path: Path) -> None:
    async with SqliteJournal(path, busy_timeout=0.05) as journal:
        lease = await journal.create(record(), [])
        other = await journal.create(record("other"), [])
        async with journal.transaction(lease) as transaction:
            await transaction.execute("CREATE TABLE effects (x)")
            await journal.append(other, notes("waited"))
            with pytest.raises(ToolError, match=r"held the journal.*Nothing has happened"):
                await transaction.commit(notes("done"))

        await journal.append(lease, notes("on"))
        assert await texts_of(journal) == ["on"]
        assert await texts_of(journal, "other") == ["waited"]


async def test_writes_that_come_together_share_a_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = 0

    class Counting(sqlite3.Connection):
        def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
            nonlocal commits
            commits += sql == "COMMIT"
            return super().execute(sql, *values)  # type: ignore[arg-type]

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: connect(*args, factory=Counting, **options)
    )
    async with SqliteJournal(path) as journal:
        leases = [await journal.create(record(f"r{number}"), []) for number in range(200)]
        commits = 0

        await asyncio.gather(*(journal.append(lease, notes("hi")) for lease in leases))

    assert 1 <= commits <= 20


async def test_the_file_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with SqliteJournal(path) as journal:
        await journal.create(record("r"), notes("one"))

        assert modes_in(tmp_path) == [0o600] * 3
