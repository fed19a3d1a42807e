"""``maverick run`` with a person at the terminal: what they see, what they are asked, and how they stop it."""

from __future__ import annotations

import re
import shlex
import signal
import sys

import pytest

from cli.command import Terminal
from cli.folder import Folder
from maverick.tools.coding.sandbox import sandbox_problem

CLERK = "from cli.office_agents import clerk\n"
CHOICES = "[a]lways in this session, or this [p]roject, [e]dit: "
ENV = {"PYTHONPATH": ":".join(sys.path)}


def plain(shown: str) -> str:
    """What is shown without colours, and without lines that were taken away again."""
    lines = (line.rpartition("\r\x1b[K")[2] for line in shown.split("\n"))
    return "\n".join(re.sub(r"\x1b\[\d*m|\r", "", line) for line in lines)


def resume_words(shown: str) -> list[str]:
    """The words of the command that a run goes on with."""
    found = re.search(r"Resume with: maverick (runs resume .*)", plain(shown))
    assert found, shown
    return shlex.split(found[1])


@pytest.mark.requirement("007-RUN")
def test_tool_calls_and_words_are_shown_as_they_come_and_what_it_used_at_the_end(folder: Folder) -> None:
    folder.write("clerk.py", CLERK)

    with Terminal("run", "clerk.py", "-p", "calculate 12 * 7", home=folder.path, env=ENV) as terminal:
        terminal.expect("· calculate(expression='12 * 7')")
        terminal.expect("· calculate → 12 * 7 = 84.")
        terminal.expect("12 * 7 = 84.")
        terminal.expect("complete, 2 turns, ")

        assert terminal.end() == 0


@pytest.mark.requirement("007-RUN-PROGRESS", "P4")
def test_a_sign_of_life_is_shown_and_ctrl_c_stops_with_the_command_to_go_on(folder: Folder) -> None:
    folder.write("clerk.py", CLERK)

    with Terminal("run", "clerk.py", "-p", "ring Ana", home=folder.path, env=ENV) as terminal:
        terminal.expect("· ring(name='Ana')")
        terminal.expect("\r\x1b[K\x1b[2m⠙ ring (")
        terminal.type("\x03")

        assert terminal.end() == 130

    shown = plain(terminal.seen)
    assert "(stopped)\n" in shown
    assert "⠙" not in shown  # it is gone
    assert re.search(r"run_\w+: aborted, 1 turn, ", shown)
    words = resume_words(terminal.seen)
    (record,) = folder.runs()
    assert (words, record.reason) == (["runs", "resume", record.run_id], "aborted")  # its file is remembered


@pytest.mark.requirement("007-RUN-PROGRESS")
def test_what_a_command_says_is_shown_while_it_is_at_work(folder: Folder) -> None:
    words = ("run", "-p", "shell command 'echo one; echo half way; sleep 60'", "--mode", "yolo")
    with Terminal(*words, home=folder.path) as terminal:
        if sandbox_problem():
            terminal.expect(CHOICES)
            terminal.type("y\n")
        terminal.expect("· shell(command='echo one; echo half way; sleep 60'")
        terminal.expect("half way\x1b[0m")
        terminal.type("\x03")

        assert terminal.end() == 130


@pytest.mark.requirement("007-RUN-MODES", "C-SANDBOX")
@pytest.mark.parametrize("mode", ["ask", "accept-edits", "yolo"])
def test_without_a_sandbox_a_person_is_asked_about_a_command_in_every_mode_and_told_why(
    mode: str, folder: Folder
) -> None:
    words = ("run", "-p", "shell command 'echo x > made.txt'", "--mode", mode)
    (nowhere := folder.path / "nowhere").mkdir()
    with Terminal(*words, home=folder.path, env={"PATH": str(nowhere)}) as terminal:
        terminal.expect("Run a command?")
        terminal.expect("because bubblewrap (bwrap) is not installed")
        terminal.expect("    echo x > made.txt")
        terminal.expect(CHOICES)
        made_unasked = (folder.path / "made.txt").exists()
        terminal.type("y\n")

        assert terminal.end() == 0, terminal.seen

    assert not made_unasked
    assert (folder.path / "made.txt").read_text(encoding="utf-8") == "x\n"


@pytest.mark.requirement("007-RUN-MODES", "C-SANDBOX")
def test_without_a_sandbox_and_a_person_no_command_runs_and_the_run_waits(folder: Folder) -> None:
    words = ("run", "-p", "shell command 'echo x > made.txt'", "--mode", "yolo", "--model", "offline:")

    done = folder.start(*words, env={"PATH": str(folder.path / "nowhere")})

    assert done.returncode == 3
    assert "because bubblewrap (bwrap) is not installed" in done.stderr
    assert "maverick runs approve" in done.stderr
    assert not (folder.path / "made.txt").exists()


@pytest.mark.requirement("007-RUN", "P1")
def test_ctrl_c_twice_kills_and_the_run_is_still_there(folder: Folder) -> None:
    folder.write("clerk.py", CLERK)

    with Terminal("run", "clerk.py", "-p", "hold the line", home=folder.path, env=ENV) as terminal:
        terminal.expect("· hold(")
        terminal.type("\x03")
        terminal.expect("not letting go")
        terminal.type("\x03")

        assert terminal.end() == -signal.SIGINT

    assert folder.runs()[0].status == "running"


@pytest.mark.requirement("007-RUN-MODES")
@pytest.mark.parametrize(
    ("typed", "content", "told"),
    [
        ("y\n", "tea", "(approved"),
        ("what?\n\n", None, "(denied"),
        ("n drink coffee\n", None, "drink coffee"),
        ("no\ndrink water\n", None, "drink water"),
        ("no, drink juice instead\n", None, "drink juice instead"),
        ("no coffee after noon please\n", None, "no coffee after noon please"),
        ("that is too strong\n", None, "that is too strong"),
        ("yes but cold\ny\n", "tea", "(approved"),
        ('e {"content"\ne {"content": "milk"}\n', "milk", "(approved"),
    ],
)
def test_a_person_is_asked_about_what_they_have_not_allowed(
    typed: str, content: str | None, told: str, folder: Folder
) -> None:
    words = ("run", "-p", "write the file 'a.txt' with content 'tea'")
    with Terminal(*words, home=folder.path) as terminal:
        terminal.expect("Create a.txt?")
        terminal.expect("+tea")
        terminal.expect(CHOICES)
        for line in typed.splitlines(keepends=True):
            terminal.type(line)
            terminal.expect("\n")
        terminal.expect(told)

        assert terminal.end() == 0, terminal.seen

    assert [file.read_text() for file in folder.path.glob("a.txt")] == ([] if content is None else [content])


def test_beside_the_choices_a_long_change_is_named_again_with_its_size(folder: Folder) -> None:
    words = ("run", "-p", "write the file 'a.txt' with content '" + "tea\n" * 30 + "'")
    with Terminal(*words, home=folder.path) as terminal:
        terminal.expect("always: edits of files in this folder")
        terminal.expect("Create a.txt, 30 lines added and 0 lines removed above?")
        terminal.expect(CHOICES)
        terminal.type("n\n\n")

        assert terminal.end() == 0, terminal.seen


@pytest.mark.parametrize("key", ["a", "p"])
def test_what_is_always_allowed_is_not_asked_about_again_and_a_project_remembers_it(
    key: str, folder: Folder
) -> None:
    words = ("run", "-p", "write the file 'a.txt' with content 'tea'")
    with Terminal(*words, home=folder.path) as terminal:
        terminal.expect("always: edits of files in this folder")
        terminal.expect(CHOICES)
        terminal.type(f"{key}\n")

        assert terminal.end() == 0, terminal.seen

    with Terminal("run", "-p", "write the file 'b.txt' with content 'milk'", home=folder.path) as again:
        if key == "a":  # it held for that session
            again.expect(CHOICES)
            again.type("\n")
        assert again.end() == 0, again.seen

    unattended = folder.main("run", "-p", "write the file 'c.txt' with content 'rum'", "--model", "offline:")

    assert unattended.returncode == (0 if key == "p" else 3), unattended.stderr
    assert [(folder.path / name).exists() for name in ("b.txt", "c.txt")] == [key == "p"] * 2
    listed = folder.main("trust", "--list").stderr
    assert ("always allowed in this folder: general: (edits)" in listed) is (key == "p")


def test_ctrl_c_while_a_person_is_asked_stops_the_run(folder: Folder) -> None:
    words = ("run", "-p", "write the file 'a.txt' with content 'tea'")
    with Terminal(*words, home=folder.path) as terminal:
        terminal.expect(CHOICES)
        terminal.type("\x03")

        assert terminal.end() == 130

    assert len(list(folder.path.iterdir())) == 1


def test_a_dumb_terminal_gets_no_sign_of_life(folder: Folder) -> None:
    folder.write("clerk.py", CLERK)

    words = ("run", "clerk.py", "-p", "ring Ana", "--timeout", "2s")
    with Terminal(*words, home=folder.path, env=ENV | {"TERM": "dumb"}) as terminal:
        assert terminal.end() == 124

    assert "\x1b[" not in terminal.seen


def test_what_a_tool_returned_is_shown_as_it_is_by_the_offline_model(folder: Folder) -> None:
    folder.write("notes.txt", "*.py or src/**/test_*.py\nand __init__.py\n")

    with Terminal("run", "-p", "read the file 'notes.txt'", home=folder.path) as terminal:
        terminal.expect("*.py or src/**/test_*.py\r\n")
        terminal.expect("and __init__.py\r\n")

        assert terminal.end() == 0, terminal.seen
