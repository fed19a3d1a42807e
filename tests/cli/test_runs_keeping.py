"""``maverick runs prune`` and ``export``: how long runs are kept, and where else."""

from __future__ import annotations

import pytest

from cli.runs_command import Runs, fits, table

ENDED = ["wild", "nest", "sum", "fail", "limit"]


def kept(runs: Runs) -> set[str]:
    return {record["run_id"] for record in runs.json("list", "--all")}


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


def test_newer_runs_stay(runs: Runs) -> None:
    done = runs.run("prune", "--older-than", "1h", "--yes")

    assert done.stdout == "Removed 0 runs, subagents included.\n"
    assert runs.run("prune", "--older-than", "30d").stderr == "No run ended that long ago.\n"


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
