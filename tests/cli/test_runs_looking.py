"""``maverick runs list``, ``show`` and ``tail``: looking at runs without changing them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.command import run
from cli.runs_command import WILD, Runs, fits, is_safe, table
from maverick import AgentDefinition, AgentExecutor, Image
from maverick.exceptions import InvalidInputError
from maverick.journal import Journal, RunStatus
from maverick.model import Response, ToolCall, Usage
from maverick.testing import ScriptedClient
from media_files import png

ALL = ["crash", "fail", "wild", "limit", "deep", "two", "wait", "nest", "sum"]


@pytest.fixture(autouse=True)
def terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


async def delete_all(journal: Journal) -> None:
    for run_id in ALL:
        await journal.delete(run_id)


# Listing


def test_the_newest_runs_are_listed_with_where_they_stand(runs: Runs) -> None:
    done = runs.start("list")

    titles, *rows = table(done.stdout)
    assert titles == ["RUN", "AGENT", "STATUS", "COST", "AGE", "TASK"]
    assert [row[0] for row in rows] == ALL
    by_id = {row[0]: row for row in rows}
    assert by_id["sum"][1:3] == ["clerk", "complete"]
    assert by_id["sum"][3].startswith("$")
    assert by_id["limit"][2:4] == ["stopped:", "max_turns"]
    assert by_id["wait"][2:5] == ["waiting:", "awaiting", "approval"]
    assert by_id["crash"][2] == "running"
    assert fits(done.stdout)
    assert done.stderr == ""


def test_a_list_that_does_not_show_all_runs_says_so(runs: Runs) -> None:
    some, exact = runs.run("list", "--limit", "3"), runs.run("list", "--limit", str(len(ALL)))

    assert [row[0] for row in table(some.stdout)[1:]] == ALL[:3]
    assert some.stderr == "The newest 3 are shown. More: --limit 6\n"
    assert exact.stderr == ""


def test_long_ids_are_shortened_on_a_terminal_to_what_tells_the_runs_apart(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = ["run_0123456789abcdef", "night-shift-2026-11-17", "night-shift-2026-11-18"]

    async def add(journal: Journal) -> None:
        for run_id in long:
            executor = AgentExecutor(ScriptedClient(["Done."]), journal=journal)
            await executor.execute(
                AgentDefinition("worker", "Works."), inputs={"prompt": "Work."}, run_id=run_id
            )

    runs.use(add)
    shown = [row[0] for row in table(runs.run("list", "--limit", "3").stdout)[1:]]
    found = [runs.json("show", name)["run"]["run_id"] for name in shown]
    monkeypatch.delenv("COLUMNS")
    piped = [row[0] for row in table(runs.run("list", "--limit", "3").stdout)[1:]]

    assert shown == ["night-shift-2026-11-18", "night-shift-2026-11-17", "run_01234567"]
    assert found == piped == long[::-1]


@pytest.mark.parametrize("words", [("list",), ("show", "wild")])
def test_nothing_is_cut_off_in_a_pipe(
    words: tuple[str, ...], runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = runs.run(*words).stdout
    monkeypatch.delenv("COLUMNS")

    assert len(runs.run(*words).stdout) > len(cut)


def test_columns_begin_and_figures_end_at_the_same_place(runs: Runs) -> None:
    head, *lines = runs.run("list").stdout.splitlines()

    for line in lines:
        assert line[head.index("AGENT") - 1] == " "
        assert line[head.index("AGENT")] != " "
        assert line[head.index("AGE") + len("AGE") - 1].isalpha()


@pytest.mark.parametrize(("named", "shown"), [("last", ALL[0]), (ALL[0][:-1], ALL[0]), ("sum", "sum")])
def test_a_run_is_named_by_the_beginning_of_its_id_or_as_the_last_one(
    runs: Runs, named: str, shown: str
) -> None:
    assert runs.run("show", named).stdout.splitlines()[0].split() == ["run", shown]


def test_runs_are_chosen_by_status_and_number(runs: Runs) -> None:
    assert [row["run_id"] for row in runs.json("list", "--status", "waiting")] == ["deep", "two", "wait"]
    assert [row["run_id"] for row in runs.json("list", "--limit", "2")] == ["crash", "fail"]


def test_subagents_are_listed_below_those_that_called_them(runs: Runs) -> None:
    lines = runs.run("list", "--all").stdout.splitlines()

    (at,) = [number for number, line in enumerate(lines) if line.startswith("nest ")]
    assert lines[at + 1].startswith("  nest/1/0  chief/clerk")


def test_json_has_what_the_table_has_and_more(runs: Runs) -> None:
    (newest,) = runs.json("list", "--limit", "1")

    assert newest["run_id"] == "crash"
    assert newest["status"] == "running"
    assert newest["created_at"] <= newest["updated_at"]
    assert [row["parent"] for row in runs.json("list", "--all") if row["run_id"] == "nest/1/0"] == ["nest"]


def test_a_status_that_does_not_exist_is_named_with_the_nearest(runs: Runs) -> None:
    assert "Did you mean 'waiting'?" in runs.refuse("list", "--status", "waitin")


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5", "9" * 30])
def test_a_number_that_is_none_is_refused(runs: Runs, number: str) -> None:
    assert "--limit: expected a whole number" in runs.refuse("list", f"--limit={number}")


def test_when_no_run_fits_that_is_said_beside_the_output(runs: Runs) -> None:
    runs.use(delete_all)

    assert runs.run("list").stderr == "There are no runs yet.\n"
    assert runs.run("list", "--status", "running").stderr == "No runs match.\n"
    assert runs.json("list") == []


def test_help_names_every_status_there_is(tmp_path: Path) -> None:
    shown = run("runs", "list", "--help", home=tmp_path).stdout

    assert all(status.value in shown for status in RunStatus)


# Showing


def test_a_run_is_shown_turn_by_turn_with_its_tools(runs: Runs) -> None:
    done = runs.start("show", "sum")

    head, timeline = done.stdout.split("\n\n")
    fields = {line[:8].strip(): line[8:].strip() for line in head.splitlines()}
    assert fields["agent"] == "clerk, on offline:"
    assert fields["status"] == "complete"
    assert fields["asked"] == "calculate 12 * 7"
    assert fields["used"].startswith("2 turns, 1 tool call, ")
    assert fields["used"].endswith(", cost $0")
    titles, first, tool, second = timeline.splitlines()
    assert titles.split() == ["TURN", "WHAT", "HAPPENED", "TIME", "TOKENS", "COST"]
    assert first.split()[:4] == ["1", "1", "tool", "call"]
    assert "· calculate(expression='12 * 7') → 12 * 7 = 84." in tool
    assert second.split()[:2] == ["2", "12"]
    assert fits(done.stdout)


def test_cached_tokens_are_told_from_others_and_a_changed_prompt_with_its_reason(runs: Runs) -> None:
    answers = [
        Response("Hm.", [ToolCall("c1", "look")], Usage(900, 10), model="one"),
        Response("Done.", usage=Usage(1_100, 10, cache_read_tokens=400), model="two"),
    ]

    async def keep(journal: Journal) -> None:
        await AgentExecutor(ScriptedClient(answers), journal=journal).execute(
            AgentDefinition("walker", "Walks."), inputs={"prompt": "Go."}, run_id="cached"
        )

    runs.use(keep)
    shown = runs.run("show", "cached").stdout

    assert "tokens   2,020 (2,000 in, 400 cached, 20 out)" in shown
    assert "1,110, 400 cached" in shown
    assert "(model changed: about 700 tokens not " in shown


def test_subagents_are_shown_where_they_were_called(runs: Runs) -> None:
    lines = [line.strip() for line in runs.run("show", "nest").stdout.splitlines()]

    (called,) = [number for number, line in enumerate(lines) if line.startswith("· ask_clerk(")]
    assert lines[called + 1].startswith("1: 1 tool call")
    assert lines[called + 2].startswith("· calculate(")
    assert lines[called + 3].startswith("2: 3 * 4 = 12.")
    assert lines[called + 4].startswith("2  3 * 4 = 12.")


def test_what_went_wrong_is_in_the_timeline(runs: Runs) -> None:
    shown = runs.run("show", "fail").stdout

    assert "status   stopped: error" in shown
    assert "(the model failed: Wrong key. Set another.)" in shown


def test_a_long_error_is_shown_in_full_and_images_in_what_was_asked(runs: Runs) -> None:
    long = "The house is on fire. " * 6 + "Call someone."

    async def keep(journal: Journal) -> None:
        await AgentExecutor(ScriptedClient([InvalidInputError(long)]), journal=journal).execute(
            AgentDefinition("seer", "Sees."),
            inputs={"prompt": ["Look:", Image.from_bytes(png(), name="shelf.png")]},
            run_id="fire",
        )

    runs.use(keep)
    done = runs.run("show", "fire")

    assert "asked    Look: [image: shelf.png]" in done.stdout
    assert " ".join(done.stdout.rsplit("\n\n", 1)[1].split()) == f"the model failed: {long}"
    assert fits(done.stdout)


def test_a_call_that_nobody_knows_the_end_of_is_shown_as_unfinished(runs: Runs) -> None:
    shown = runs.run("show", "crash").stdout

    assert "· calculate(expression='5 * 5') unfinished" in shown
    assert "last entry " in shown


def test_a_call_that_waits_is_shown_with_the_commands_to_decide(runs: Runs) -> None:
    shown = runs.run("show", "deep").stdout

    assert "Waiting for a decision on this call" in shown
    assert "\n  delete_file(name='d.txt')\n" in shown
    assert f"\n  maverick runs approve deep/1/0:1:0 --journal {runs.file}\n" in shown
    assert f"\n  maverick runs deny deep/1/0:1:0 --journal {runs.file}\n" in shown


def test_a_shown_run_as_json_has_turns_subagents_and_requests(runs: Runs) -> None:
    shown = runs.json("show", "deep")

    assert shown["run"]["run_id"] == "deep"
    assert shown["turns"][0]["tools"][0]["tool_name"] == "ask_clerk"
    assert shown["subagents"][0]["run"]["status"] == "waiting"
    assert shown["subagents"][0]["turns"][0]["tools"][0]["outcome"] == "unfinished"
    assert [request["approval_id"] for request in shown["approvals"]] == ["deep/1/0:1:0"]
    assert shown["usage"]["input_tokens"] > 0


# Tailing


def test_the_last_entries_are_shown_in_words(runs: Runs) -> None:
    lines = runs.start("tail", "sum", "-n", "3").stdout.splitlines()

    assert [line.split()[0] for line in lines] == ["5", "6", "7"]
    assert " calculate finished in" in lines[0]
    assert lines[1].endswith("model called, turn 2")
    assert lines[2].endswith("12 * 7 = 84.")


def test_more_entries_than_there_are_is_all_of_them(runs: Runs) -> None:
    assert len(runs.run("tail", "sum", "-n", "1000").stdout.splitlines()) == 7
    assert runs.run("tail", "sum", "-n", "0").stdout == ""


def test_each_entry_as_json_is_a_line_of_its_own(runs: Runs) -> None:
    done = runs.run("tail", "sum", "-n", "2", "--json")

    called, replied = map(json.loads, done.stdout.splitlines())
    assert called == {"seq": 6, "entry": {"type": "ModelCalled", "at": called["entry"]["at"], "turn": 2}}
    assert replied["entry"]["response"]["usage"]["output_tokens"] == 3


# What a run says may be anything


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", "wild"),
        ("show", "wild", "--json"),
        ("tail", "wild"),
        ("tail", "wild", "--json"),
    ],
)
def test_nothing_that_a_run_says_reaches_the_terminal_as_a_command(
    runs: Runs, words: tuple[str, ...]
) -> None:
    done = runs.run(*words)

    assert done.returncode == 0, done.stderr
    assert is_safe(done.stdout)
    assert fits(done.stdout) or "--json" in words


def test_json_keeps_what_a_run_says_to_the_letter(runs: Runs) -> None:
    assert runs.json("show", "wild")["task"] == WILD
    shown = runs.start("tail", "wild", "--json", "-n", "1", env={"PYTHONIOENCODING": "ascii"}).stdout
    assert json.loads(shown)["entry"]["response"]["parts"] == [{"type": "text", "text": WILD}]


# Wrong input


@pytest.mark.parametrize("words", [("show",), ("tail",), ("export",), ("approve",), ("deny",)])
def test_an_unknown_run_is_one_line(runs: Runs, words: tuple[str, ...]) -> None:
    assert "The journal has no run 'nope'" in runs.refuse(*words, "nope")


def test_bytes_that_are_no_text_are_no_run(runs: Runs) -> None:
    assert "expected text" in runs.refuse("show", "\udcff")


def test_a_journal_that_is_not_there_is_not_made(runs: Runs) -> None:
    runs.file = runs.home / "nowhere" / "runs.db"

    done = runs.start("list")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch("maverick: There is no journal at .+\n", done.stderr)
    assert not runs.file.parent.exists()


def test_a_file_that_is_no_journal_is_refused_and_left_alone(runs: Runs) -> None:
    runs.file.write_text("Dear diary, today nothing happened.\n" * 100)
    before = runs.file.read_bytes()

    assert "runs.db" in runs.refuse("list", code=1)
    assert runs.file.read_bytes() == before


def test_a_damaged_journal_is_one_line(runs: Runs) -> None:
    content = bytearray(runs.file.read_bytes())
    content[4096:] = b"\xaa" * (len(content) - 4096)
    runs.file.write_bytes(content)

    assert "runs.db" in runs.refuse("list", code=1)


def test_a_folder_is_no_journal(runs: Runs) -> None:
    runs.file = runs.home

    assert "opened" in runs.refuse("list", code=1)
