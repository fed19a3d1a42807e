"""``maverick runs export`` and ``prune``: where else runs are kept, and how long."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from cli.runs_command import WILD, Runs, fits, is_safe, table

ENDED = ["wild", "nest", "sum", "fail", "limit"]
UNFINISHED = ["crash", "deep", "two", "wait"]


@pytest.fixture(autouse=True)
def terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def kept(runs: Runs) -> set[str]:
    return {record["run_id"] for record in runs.json("list", "--all")}


# Exporting


def test_a_run_is_exported_line_by_line_with_its_subagents(runs: Runs) -> None:
    done = runs.start("export", "nest")

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["run"]["run_id"] for line in lines if "run" in line] == ["nest", "nest/1/0"]
    entries = [line for line in lines if "entry" in line]
    assert [line["seq"] for line in entries] == [*range(1, 8), *range(1, 8)]
    assert entries[0]["entry"]["type"] == "RunStarted"
    assert done.stderr == ""


def test_a_file_has_the_same_lines_as_the_output(runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "wild.jsonl"
    shown = runs.run("export", "wild")
    done = runs.run("export", "wild", "-o", str(file))

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"Wrote 8 lines to {file}.\n"
    in_file = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert in_file == [json.loads(line) for line in shown.stdout.splitlines()]
    assert in_file[-1]["entry"]["response"]["parts"] == [{"type": "text", "text": WILD}]


def test_nothing_that_a_run_says_reaches_the_terminal_as_a_command(runs: Runs) -> None:
    assert is_safe(runs.run("export", "wild").stdout)


def test_a_run_that_is_not_there_leaves_the_file_alone(runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine")

    assert "no run 'nope'" in runs.refuse("export", "nope", "-o", str(file))
    assert file.read_text() == "mine"


def test_a_file_that_is_there_is_written_over_only_when_that_is_asked_for(runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine")

    assert "mine.txt already exists" in runs.refuse("export", "sum", "-o", str(file))
    assert file.read_text() == "mine"
    assert runs.run("export", "sum", "-o", str(file), "--force").returncode == 0
    assert len(file.read_text().splitlines()) == 8


def test_a_pipe_with_a_name_can_be_written_to(runs: Runs, tmp_path: Path) -> None:
    done = runs.start("export", "sum", "-o", "/dev/stdout")

    assert (done.returncode, len(done.stdout.splitlines())) == (0, 8)


@pytest.mark.parametrize("name", ["nowhere/run.jsonl", "."])
def test_a_file_that_can_not_be_written_is_one_line(runs: Runs, tmp_path: Path, name: str) -> None:
    assert "cannot be written: " in runs.refuse("export", "sum", "-o", str(tmp_path / name))


def test_a_full_disk_is_one_line(runs: Runs) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no such device")

    assert "cannot be written: No space left on device" in runs.refuse("export", "sum", "-o", str(full))


def test_a_damaged_entry_can_be_exported_but_not_shown(runs: Runs) -> None:
    with sqlite3.connect(runs.file) as database:
        database.execute(
            "UPDATE entries SET payload = ? FROM runs WHERE number = run AND run_id = 'sum' AND seq = 3",
            (b'{"type":\xff\n',),
        )
    database.close()

    assert (
        runs.run("export", "sum").stdout.splitlines()[3]
        == '{"seq":3,"version":1,"entry":{"type":\\ufffd\\u000a}'
    )
    assert "damaged" in runs.refuse("show", "sum", code=1)


# Pruning


def test_without_yes_it_only_says_which_runs_would_go(runs: Runs) -> None:
    before = kept(runs)
    done = runs.run("prune", "--older-than", "0s")

    assert done.returncode == 0
    assert [row[0] for row in table(done.stdout)[1:]] == ENDED
    assert done.stderr == "5 runs would be removed. Add --yes to do it.\n"
    assert fits(done.stdout)
    assert kept(runs) == before


def test_with_yes_ended_runs_go_and_their_subagents_with_them(runs: Runs) -> None:
    done = runs.start("prune", "--older-than", "0s", "--yes")

    assert (done.returncode, done.stdout) == (0, "Removed 6 runs, subagents included.\n")
    assert kept(runs) == {"crash", "wait", "two", "deep", "deep/1/0"}


def test_runs_that_never_ended_go_too_when_that_is_asked_for(runs: Runs) -> None:
    planned = runs.run("prune", "--older-than", "0s", "--unfinished")
    before = kept(runs)
    done = runs.start("prune", "--older-than", "0s", "--unfinished", "--yes")

    assert [row[0] for row in table(planned.stdout)[1:]] == [*ENDED, *UNFINISHED]
    assert planned.stderr == "9 runs would be removed. Add --yes to do it.\n"
    assert {*ENDED, *UNFINISHED} <= before
    assert (done.returncode, done.stdout) == (0, "Removed 11 runs, subagents included.\n")
    assert kept(runs) == set()


def test_a_run_that_was_at_work_of_late_stays(runs: Runs) -> None:
    done = runs.run("prune", "--older-than", "1h", "--unfinished")

    assert (done.stdout, done.stderr) == ("", "No run is that old.\n")


def test_newer_runs_stay(runs: Runs) -> None:
    done = runs.run("prune", "--older-than", "1h", "--yes")

    assert done.stdout == "Removed 0 runs, subagents included.\n"
    assert runs.run("prune", "--older-than", "30d").stderr == "No run is that old.\n"


def test_pruning_as_json_names_the_runs(runs: Runs) -> None:
    planned = runs.json("prune", "--older-than", "0s")
    done = runs.json("prune", "--older-than", "0s", "--yes")

    assert [record["run_id"] for record in planned["runs"]] == ENDED
    assert (planned["removed"], done["removed"]) == (0, 6)


@pytest.mark.parametrize("age", ["30", "d", "-1d", "1.5h", "30 d", "1y", "9999999d", ""])
def test_an_age_that_is_none_is_refused_with_an_example(runs: Runs, age: str) -> None:
    assert "such as 30d" in runs.refuse("prune", f"--older-than={age}", "--yes")
    assert "sum" in kept(runs)


def test_the_age_has_to_be_named(runs: Runs) -> None:
    assert "required: --older-than" in runs.refuse("prune", "--yes")
