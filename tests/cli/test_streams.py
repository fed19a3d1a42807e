"""``maverick`` without standard streams, or with some that cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import PATIENCE, environment
from cli.folder import Folder
from cli.runs_command import Runs

FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no such device")
RUN = 'run -p "list files"'


def shell(folder: Folder, words: str, *, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command as a shell does, with the redirections that are written after it."""
    return subprocess.run(  # noqa: S603 - our own command
        ["/bin/sh", "-c", f'"{sys.executable}" -m maverick {words}'],
        env=environment(folder.path, PYTHONUNBUFFERED=unbuffered),
        cwd=folder.path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize(
    ("words", "closed"),
    [
        *((RUN, closed) for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-")),
        *((words, "<&- >&- 2>&-") for words in ("--help", "runs list --journal runs.db")),
    ],
)
def test_a_stream_that_is_closed_is_one_that_nobody_looks_at(
    words: str, closed: str, folder: Folder, runs: Runs
) -> None:
    (folder.path / "notes.txt").write_text("mine")

    done = shell(folder, f"{words} {closed}")

    assert done.returncode == 0, done.stderr
    assert "maverick:" not in done.stderr
    assert bool(done.stdout) is (closed in ("<&-", "2>&-"))
    assert (folder.path / "notes.txt").read_text() == "mine"


@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize("words", ["", "--help", "run"])
def test_a_mistake_keeps_its_exit_code_when_nobody_can_be_told(words: str, folder: Folder) -> None:
    wrong = shell(folder, f"{words} --nonsense 2>&-")

    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (
        (0 if words == "--help" else 2),
        wrong.stdout,
        "",
    )


@FULL
@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize("words", [RUN, f"{RUN} --json", "--help", "--version"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_can_not_be_written_is_one_line(words: str, unbuffered: str, folder: Folder) -> None:
    done = shell(folder, f"{words} > /dev/full", unbuffered=unbuffered)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "maverick: The output could not be written: No space left on device. Free some space, or write it elsewhere."
    )
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@FULL
@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize(("words", "code"), [(RUN, 1), ("run nobody", 2), ("--nonsense", 2)])
def test_remarks_that_can_not_be_written_have_an_exit_code(words: str, code: int, folder: Folder) -> None:
    done = shell(folder, f"{words} 2> /dev/full")

    assert (done.returncode, done.stderr) == (code, "")
