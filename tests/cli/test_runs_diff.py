"""``maverick runs diff``: where two runs part."""

from __future__ import annotations

import json

import pytest

from cli.office_agents import clerk
from cli.runs_command import WILD, Runs, die_after, fits, is_safe
from maverick import AgentExecutor
from maverick.journal import Journal
from maverick.testing import ScriptedClient, reply


def say(runs: Runs, run_id: str, answer: str) -> None:
    """A run of one turn."""

    async def work(journal: Journal) -> None:
        executor = AgentExecutor(ScriptedClient([reply(answer)]), journal=journal)
        await executor.execute(clerk, inputs={"prompt": "Say it."}, run_id=run_id)

    runs.use(work)


def test_runs_that_differ_in_times_and_ids_only_are_the_same(runs: Runs) -> None:
    say(runs, "one", "Hello.")
    say(runs, "other", "Hello.")

    done = runs.start("diff", "one", "other")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "one and other are the same, ignoring times and ids.\n"
    assert runs.json("diff", "one", "other") == {"same": True}


def test_the_place_where_runs_part_is_shown_with_what_comes_before_it(runs: Runs) -> None:
    say(runs, "one", "Two and two, as everybody here knows, is four.")
    say(runs, "other", "Two and two, as everybody here knows, is five.")

    done = runs.start("diff", "one", "other")

    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "They differ at entry 3, response.parts[0].text:",
        "  one    …'ody here knows, is four.'",
        "  other  …'ody here knows, is five.'",
    ]


def test_a_run_that_breaks_off_has_nothing_where_the_other_goes_on(runs: Runs) -> None:
    async def break_off(journal: Journal) -> None:
        executor = AgentExecutor(ScriptedClient([reply("Hello.")]), journal=journal)
        running = executor.execute(clerk, inputs={"prompt": "Say it."}, run_id="other")
        await die_after(journal, "ModelCalled", running)

    say(runs, "one", "Hello.")
    runs.use(break_off)

    for words in (("one", "other"), ("other", "one")):
        done = runs.run("diff", *words)
        assert done.returncode == 1
        assert done.stdout.startswith("They differ at entry 3:\n")
        assert "  other  (nothing)\n" in done.stdout


@pytest.mark.parametrize("words", [("crash", "limit"), ("sum", "wild")])
def test_any_two_runs_can_be_compared_in_80_columns(runs: Runs, words: tuple[str, str]) -> None:
    done = runs.run("diff", *words)

    assert done.returncode == 1
    assert fits(done.stdout)
    assert is_safe(done.stdout)


def test_json_has_both_values_whole(runs: Runs) -> None:
    say(runs, "one", WILD)
    say(runs, "other", "Hello.")
    done = runs.run("diff", "one", "other", "--json")

    assert done.returncode == 1
    assert is_safe(done.stdout)
    assert json.loads(done.stdout) == {
        "same": False,
        "number": 3,
        "path": "response.parts[0].text",
        "one": WILD,
        "other": "Hello.",
    }


@pytest.mark.parametrize("words", [("sum", "nope"), ("nope", "sum")])
def test_a_run_that_is_not_there_is_one_line(runs: Runs, words: tuple[str, str]) -> None:
    assert "no run 'nope'" in runs.refuse("diff", *words)
