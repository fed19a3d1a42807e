"""A session at a real terminal, from the first prompt to the last key."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from maverick.journal import RunRecord, SqliteJournal
from programs import needs
from tui.terminal import Terminal

pytestmark = needs("tmux")


def kept_runs(home: Path) -> list[RunRecord]:
    async def look() -> list[RunRecord]:
        async with SqliteJournal(home / ".maverick" / "runs.db") as journal:
            return list(await journal.list_runs())

    return asyncio.run(look())


@pytest.mark.requirement("007-TUI-TERMINAL", "007-TUI-APPROVAL", "007-TUI-STOP")
def test_a_person_runs_an_agent_approves_its_tool_stops_it_resumes_it_and_leaves(tmp_path: Path) -> None:
    (tmp_path / "clerk.py").write_text("from cli.office_agents import clerk\n", encoding="utf-8")

    with Terminal("clerk.py", home=tmp_path) as terminal:
        terminal.expect("Type a prompt.")
        terminal.type("delete the file 'a.txt'")
        terminal.expect("Allow clerk to call delete_file?")
        terminal.answer("y")
        terminal.expect("According to delete_file: deleted a.txt.")
        terminal.expect(" approved")

        terminal.type("ring Ana")
        terminal.expect("… running")
        terminal.press("Escape")
        terminal.expect("stopped: 1 turn")
        terminal.type("/resume")
        terminal.expect("resumed")
        terminal.expect("ring failed: ")

        terminal.type("ring Bo")
        terminal.expect("… running")
        terminal.press("C-q")
        terminal.expect("ended with 0")

        left = terminal.shown().replace("\n", "")
        assert "was stopped. Resume it with: maverick runs resume run_" in left
        assert "--agents clerk.py" in left

    assert [(run.status.value, run.reason) for run in kept_runs(tmp_path)] == [
        ("stopped", "aborted"),
        ("complete", "complete"),
        ("complete", "complete"),
    ]


@pytest.mark.requirement("007-TUI-TERMINAL", "007-TUI-APPROVAL", "007-TUI-DIFF")
def test_a_person_runs_a_command_sees_a_difference_and_allows_edits_always(tmp_path: Path) -> None:
    (tmp_path / "greet.txt").write_text("Hi Ana\n", encoding="utf-8")

    with Terminal(home=tmp_path, size=(140, 45)) as terminal:
        terminal.expect("Ask general:")
        terminal.type("!ls; pwd")
        terminal.expect("[exit code 0]")
        terminal.type("edit the file 'greet.txt' replace 'Hi' with 'Hello'")
        terminal.expect("Allow general to edit greet.txt?")
        terminal.expect("+Hello Ana")
        terminal.answer("a")
        terminal.expect("Enter allows edits of files in this folder")
        terminal.answer("Enter")
        terminal.expect(" approved")
        terminal.type("write the file 'b.txt' with content 'tea'")
        terminal.expect("b.txt was made, 1 line.")  # without a question
        terminal.press("BTab")
        terminal.expect("accept-edits · ~")
        terminal.expect("\n ✓")  # the list is read again once the run is over

        listed = [line for line in terminal.shown().splitlines() if line.startswith(" ✓")]
        assert len(listed) == 1  # one conversation
        terminal.press("C-c")
        terminal.press("C-c")
        terminal.expect("ended with 0")

    assert (tmp_path / "greet.txt").read_text(encoding="utf-8") == "Hello Ana\n"


@pytest.mark.requirement("007-TUI-ERRORS")
def test_a_journal_that_can_not_be_opened_is_told_before_there_is_a_screen(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_text(
        "not a database, and long enough not to be taken for one", encoding="utf-8"
    )

    with Terminal("--journal", "bad.db", home=tmp_path) as terminal:
        terminal.expect("ended with 1")

        shown = terminal.shown().replace("\n", "")
        assert shown.startswith("maverick: The journal")
        assert "file is not a database" in shown


@pytest.mark.requirement("007-TUI-OFFLINE", "007-TUI-ERRORS")
def test_without_a_key_the_offline_model_answers_and_the_screen_says_so(tmp_path: Path) -> None:
    broken = tmp_path / ".maverick" / "agents" / "broken.md"
    broken.parent.mkdir(parents=True)
    broken.write_text("---\nname: broken\nmax_turns: many\n---\nHello.\n", encoding="utf-8")

    with Terminal(home=tmp_path) as terminal:
        terminal.expect("Type a prompt.")
        terminal.expect("broken.md")  # what is wrong with it is in the conversation
        terminal.type("write the file 'a.txt' with content 'tea'")
        terminal.expect("Allow general to create a.txt?")
        terminal.answer("s")
        terminal.expect("stopped:")
        terminal.expect("offline model: no key is set")  # which the question may have covered
        terminal.press("C-q")
        terminal.expect("ended with 0")

        assert "Traceback" not in terminal.shown()

    assert not (tmp_path / "a.txt").exists()
