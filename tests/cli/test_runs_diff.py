"""``maverick runs diff``: where two runs part."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest

from cli.office_agents import clerk
from cli.runs_command import WILD, Runs, die_after, fits, is_safe
from maverick import AgentExecutor
from maverick.journal import Journal
from maverick.providers.scripted import TurnLike
from maverick.testing import ScriptedClient, call, reply


@pytest.fixture(autouse=True)
def terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


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
    say(runs, "one", "It is well known that two and two, as everybody here knows, is four.")
    say(runs, "other", "It is well known that two and two, as everybody here knows, is five.")

    done = runs.start("diff", "one", "other")

    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "In turn 1 the model wrote:",
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
        assert [line.split() for line in done.stdout.splitlines()[:2]] == [
            [*words],
            ["status", *(["complete", "running"] if words[0] == "one" else ["running", "complete"])],
        ]
        assert "In turn 1 the model wrote:\n" in done.stdout
        assert "  other  (nothing)\n" in done.stdout


def test_what_tools_were_called_with_and_came_back_with_is_told_in_words(runs: Runs) -> None:
    def work(*turns: TurnLike) -> Callable[[Journal], Awaitable[None]]:
        async def run(journal: Journal) -> None:
            executor = AgentExecutor(ScriptedClient(turns), journal=journal)
            await executor.execute(clerk, inputs={"prompt": "Add."}, run_id=f"run{len(turns)}")

        return run

    runs.use(work(call("calculate", expression="1 + 1"), reply("2")))
    runs.use(work(call("calculate", expression="1 + 2"), call("calculate", expression="3"), reply("3")))

    told = runs.run("diff", "run2", "run3").stdout.splitlines()

    assert ["turns", "2", "3"] in [line.split() for line in told]
    assert told[-3:] == [
        "In turn 1 the model called:",
        "  run2  \"calculate(expression='1 + 1')\"",
        "  run3  \"calculate(expression='1 + 2')\"",
    ]


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
