"""Damaged journals: errors are typed and name the run, what can be read is read, told and saved.

``DAMAGED_N`` is the number of damaged files (60 unless it is set; the campaign is 500).
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from attacks.damaged_journal import AGENTS, RUNS, answer, ask_everything, damaged_copy, make_journal
from conformance.journals.shelf import notes, record, texts_of
from maverick import AgentExecutor
from maverick.cli.main import main
from maverick.exceptions import InvalidInputError, JournalDamagedError, MaverickError
from maverick.journal import PostgresJournal, SqliteJournal
from maverick.journal.repair import Repair, check_run, check_runs, repair
from maverick.testing import ScriptedClient
from postgres import postgres_server, postgres_url, run_statement

__all__ = ["postgres_server", "postgres_url"]

CASES = int(os.environ.get("DAMAGED_N") or 60)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with runs of every kind, to be copied and damaged."""
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    asyncio.run(make_journal(path))
    return path


@pytest.fixture
def damaged(template: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    path = tmp_path / "runs.db"
    path.write_bytes(template.read_bytes())
    return path


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)


def zero(path: Path, start: int, size: int) -> None:
    data = bytearray(path.read_bytes())
    data[start : start + size] = bytes(size)
    path.write_bytes(data)


async def contents(path: Path) -> dict[str, list[bytes]]:
    """All runs of a journal that can be read to their end, with their entries."""
    async with SqliteJournal(path) as journal:
        return {
            run.run_id: [payload async for _, _, payload in journal.read_payloads(run.run_id)]
            for run in await check_runs(journal)
            if not run.problem
        }


def saved(path: Path) -> tuple[Path, Repair]:
    copy = path.with_name(f"{path.name}-copy")
    return copy, repair(path, copy)


@pytest.mark.requirement("P8", "JOURNAL-DAMAGE")
@pytest.mark.parametrize("part", range(4))
async def test_whatever_is_damaged_errors_are_typed_and_what_can_be_read_is_saved(
    template: Path, tmp_path: Path, part: int
) -> None:
    whole = await contents(template)
    for seed in range(part, CASES, 4):
        path, kind, only = damaged_copy(template, tmp_path, seed)
        case, before = f"{seed} {kind}", path.read_bytes()
        kept: dict[str, list[bytes]] = {}
        try:
            copy, _ = saved(path)
        except MaverickError:
            assert only is None, f"{case}: nothing was saved"
        else:
            kept = await contents(copy)
            async with SqliteJournal(copy) as journal:
                assert [run for run in await check_runs(journal) if run.problem] == [], case
        assert path.read_bytes() == before, f"{case}: the damaged file was changed"
        if only is not None:
            others = {run: whole[run] for run in whole if run != only}
            readable = await contents(path)
            assert {run: readable.get(run) for run in others} == others, f"{case}: other runs are unreadable"
            assert {run: kept.get(run) for run in others} == others, f"{case}: other runs are lost"
        assert await ask_everything(path) == [], case


@pytest.mark.requirement("JOURNAL-DAMAGE")
async def test_a_damaged_entry_is_named_with_its_run_and_what_comes_before_it_is_read(damaged: Path) -> None:
    change(damaged, "UPDATE entries SET payload = x'7b' WHERE seq = 5 AND run = 1")
    seen: list[int] = []

    async def read(journal: SqliteJournal) -> None:
        async for stored in journal.read("answered"):
            seen.append(stored.seq)  # noqa: PERF401 - what comes before the error is wanted

    async with SqliteJournal(damaged) as journal:
        with pytest.raises(JournalDamagedError, match=r"'answered'.*entry 5.*first 4 entries") as told:
            await read(journal)
        health = await check_run(journal, "answered")

    assert (told.value.run_id, told.value.readable, seen) == ("answered", 4, [1, 2, 3, 4])
    assert (health.entries, bool(health.problem)) == (4, True)


@pytest.mark.requirement("P2", "JOURNAL-DAMAGE")
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM entries WHERE run = 1 AND seq > 4",
        "DELETE FROM entries WHERE run = 1 AND seq = 3",
        "UPDATE entries SET seq = seq + 100 WHERE run = 1 AND seq = 5",
    ],
)
async def test_a_run_that_has_lost_entries_is_not_resumed_as_if_it_had_not(
    damaged: Path, damage: str
) -> None:
    change(damaged, damage)
    client = ScriptedClient(answer)

    async with SqliteJournal(damaged) as journal:
        with pytest.raises(JournalDamagedError, match="missing"):
            await AgentExecutor(client, journal=journal).resume("answered", AGENTS["answered"])

    assert client.requests == []


@pytest.mark.requirement("JOURNAL-DAMAGE")
async def test_one_damaged_record_leaves_the_others_in_the_list(damaged: Path) -> None:
    change(damaged, "UPDATE runs SET status = 'nonsense' WHERE run_id = 'answered'")

    async with SqliteJournal(damaged) as journal:
        listed = [record.run_id for record in await journal.list_runs()]
        with pytest.raises(JournalDamagedError) as told:
            await journal.get("answered")

    assert sorted(listed) == ["caller", "failed", "forked", "parked", "stopped"]
    assert told.value.run_id == "answered"


@pytest.mark.requirement("P2", "JOURNAL-DAMAGE")
async def test_a_run_that_was_saved_in_part_can_be_looked_at_and_forked_and_not_resumed(
    damaged: Path,
) -> None:
    change(damaged, "UPDATE entries SET payload = x'00' WHERE seq = 10 AND run = 1")

    copy, report = saved(damaged)

    assert [(run.run_id, run.entries) for run in report.damaged] == [("answered", 9)]
    assert report.whole == len(RUNS) - 1
    async with SqliteJournal(copy) as journal:
        record = await journal.get("answered")
        assert (record.entries, record.status, record.reason) == (9, "stopped", "damaged")
        executor = AgentExecutor(ScriptedClient(answer), journal=journal)
        with pytest.raises(JournalDamagedError, match="fork"):
            await executor.resume("answered", AGENTS["answered"])
        assert (await executor.fork("answered", AGENTS["answered"], turn=1)).output == "Done."
        assert (await executor.resume("stopped", AGENTS["stopped"])).turn_count == 1


@pytest.mark.requirement("JOURNAL-DAMAGE")
@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM runs WHERE run_id = 'answered'", "UPDATE runs SET agent = x'ff' WHERE run_id = 'answered'"],
)
async def test_a_run_without_a_record_gets_one_from_its_beginning(damaged: Path, damage: str) -> None:
    change(damaged, damage)

    copy, report = saved(damaged)

    assert report.whole == len(RUNS) - 1
    async with SqliteJournal(copy) as journal:
        record = await journal.get("answered")
        assert (record.agent, record.reason) == ("reader", "damaged")
        assert len([stored async for stored in journal.read("answered")]) == record.entries > 10


@pytest.mark.requirement("JOURNAL-DAMAGE")
async def test_a_damaged_index_costs_nothing_and_what_tools_have_written_is_saved(damaged: Path) -> None:
    with closing(sqlite3.connect(damaged, isolation_level=None)) as db:
        root, size = db.execute(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE name = 'entries_by_run'"
        ).fetchone()
        notes = db.execute("SELECT text FROM notes").fetchall()
    zero(damaged, (root - 1) * size, size)

    copy, report = saved(damaged)

    assert (report.whole, report.damaged, report.lost_tables) == (len(RUNS), [], [])
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("SELECT text FROM notes").fetchall() == notes
    async with SqliteJournal(damaged) as journal:
        assert await journal.faults() != []


@pytest.mark.requirement("JOURNAL-DAMAGE")
@pytest.mark.parametrize("percent", [75, 90])
def test_of_a_file_that_is_cut_off_what_is_left_is_saved(damaged: Path, percent: int) -> None:
    os.truncate(damaged, damaged.stat().st_size * percent // 100)

    _, report = saved(damaged)

    assert report.whole + sum(run.entries > 0 for run in report.damaged) > 0


@pytest.mark.requirement("JOURNAL-DAMAGE")
@pytest.mark.parametrize(
    "statement", ["VACUUM main INTO '{}'", "ATTACH '{}' AS other", "DROP TABLE main.runs"]
)
def test_no_statement_that_stands_in_place_of_a_table_is_run(
    damaged: Path, tmp_path: Path, statement: str
) -> None:
    planted = tmp_path / "planted.db"
    with closing(sqlite3.connect(damaged, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('table', 't', 't', 0, ?)",
            (statement.format(planted),),
        )

    _, told = saved(damaged)

    assert told.whole == len(RUNS)
    assert not planted.exists()


@pytest.mark.parametrize("column", ["agent", "user_id", "run_id", "reason"])
async def test_a_text_that_is_not_utf8_costs_no_entry_of_its_run(damaged: Path, column: str) -> None:
    whole = await contents(damaged)
    change(damaged, f"UPDATE runs SET {column} = CAST(x'ff616263' AS TEXT) WHERE number = 1")  # noqa: S608 - ours

    copy, _ = saved(damaged)

    assert await contents(copy) == whole


def test_nothing_is_repaired_in_place_or_over_another_file(damaged: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.db").write_text("mine")

    for copy in (damaged, tmp_path / "mine.db", tmp_path / "nowhere" / "copy.db"):
        with pytest.raises(InvalidInputError, match="does not exist yet"):
            repair(damaged, copy)

    assert (tmp_path / "mine.db").read_text() == "mine"


@pytest.mark.requirement("JOURNAL-DAMAGE")
def test_a_file_of_another_kind_leaves_no_copy(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ana, " * 1_000)

    with pytest.raises(JournalDamagedError, match="from a backup"):
        repair(letter, tmp_path / "copy.db")

    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.requirement("JOURNAL-DAMAGE")
def test_the_command_tells_how_runs_are_and_saves_them(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--journal", str(damaged))
    assert main(["runs", "check", *where]) == 0
    assert "7 runs whole, 0 damaged." in capsys.readouterr().out

    change(damaged, "UPDATE entries SET payload = x'00' WHERE seq = 10 AND run = 1")
    assert main(["runs", "check", *where]) == 1
    told = capsys.readouterr()
    assert "answered" in told.out
    assert "6 runs whole, 1 damaged." in told.out
    assert "--repair COPY" in told.err

    copy = tmp_path / "copy.db"
    assert main(["runs", "check", "--repair", str(copy), *where]) == 1
    assert "Saved 6 whole runs" in capsys.readouterr().out
    assert main(["runs", "check", "--journal", str(copy)]) == 0
    assert main(["runs", "check", "stopped", *where]) == 0


@pytest.mark.requirement("JOURNAL-DAMAGE")
async def test_damage_in_a_database_is_told_in_the_same_way(postgres_url: str) -> None:
    async with PostgresJournal(postgres_url) as journal:
        for run_id in ("one", "two"):
            await journal.create(record(run_id), notes("a", "b", "c"))
        await run_statement(
            postgres_url, "UPDATE maverick.entries SET payload = 'x' WHERE seq = 2 AND run_id = 'one'"
        )

        with pytest.raises(JournalDamagedError, match=r"'one'.*entry 2") as told:
            await texts_of(journal, "one")
        assert told.value.readable == 1
        assert await texts_of(journal, "two") == ["a", "b", "c"]
        await run_statement(postgres_url, "UPDATE maverick.runs SET status = 'x' WHERE run_id = 'one'")
        assert [run.run_id for run in await journal.list_runs()] == ["two"]
        await run_statement(postgres_url, "DROP TABLE maverick.entries")
        with pytest.raises(JournalDamagedError, match="'two'"):
            await texts_of(journal, "two")
