"""A screen whose process is told to end, put to sleep, or loses its terminal, while a run works."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.command import environment
from maverick.journal import RunRecord, SqliteJournal
from tui.connection import PATIENCE, Connection

pytestmark = pytest.mark.requirement("007-TUI-SIGNALS")

WORKING = f"sleep 4711.{os.getpid()}"
"""A command that no other test runs."""


def kept_runs(home: Path) -> list[RunRecord]:
    async def look() -> list[RunRecord]:
        async with SqliteJournal(home / ".maverick" / "runs.db") as journal:
            return list(await journal.list_runs())

    return asyncio.run(look())


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def at_work() -> list[str]:
    """The processes of the command."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        if words.startswith(WORKING):
            found.append(words)
    return found


@pytest.mark.requirement("007-TUI-STOP")
def test_a_process_that_is_told_to_end_leaves_its_run_to_be_resumed_and_the_terminal_as_it_was(
    tmp_path: Path,
) -> None:
    with Connection("--mode", "yolo", home=tmp_path) as screen:
        screen.run_command(WORKING)
        until(at_work)
        taken = screen.echoes

        screen.send_signal(signal.SIGTERM)
        said = screen.read_on()

        assert screen.exit_code() == 128 + signal.SIGTERM
        assert "\x1b[?1049l" in said  # the screen of the shell is back
        assert "\x1b[?25h" in said  # and its cursor
        assert "\x1b[?1000l" in said  # and the mouse is its own
        assert "was stopped. Resume it with: maverick runs resume run_" in said
        assert "Traceback" not in said
        assert not taken
    assert at_work() == []
    (run,) = kept_runs(tmp_path)
    assert (run.status.value, run.reason) == ("stopped", "aborted")


@pytest.mark.requirement("007-TUI-STOP")
def test_a_lost_connection_leaves_a_run_to_be_resumed_and_no_process(tmp_path: Path) -> None:
    with Connection("--mode", "yolo", home=tmp_path) as screen:
        screen.run_command(WORKING)
        until(at_work)

        screen.lose()

        assert screen.exit_code() > 0
    assert at_work() == []
    (run,) = kept_runs(tmp_path)
    assert (run.status.value, run.reason) == ("stopped", "aborted")


def test_a_run_goes_on_while_the_connection_stands_still_and_the_process_ends_when_it_is_lost(
    tmp_path: Path,
) -> None:
    with Connection("--mode", "yolo", home=tmp_path) as screen:
        screen.run_command("for i in $(seq 1 1000); do echo $i $i $i $i; sleep 0.005; done")
        screen.expect("running")

        until(
            lambda: [run.status.value for run in kept_runs(tmp_path)] == ["complete"]
        )  # and nobody reads on
        screen.lose()

        assert screen.exit_code() > 0


def test_ctrl_z_puts_the_screen_to_sleep_and_it_comes_back_whole(tmp_path: Path) -> None:
    with Connection("--mode", "yolo", home=tmp_path) as screen:
        screen.run_command(WORKING)
        until(at_work)
        screen.press("\x1a")
        screen.expect("\x1b[?1049l")
        until(lambda: screen.is_stopped)
        screen.send_signal(signal.SIGCONT)
        screen.expect("\x1b[?1049h")
        screen.expect("Folder")
        screen.press("\x1b")
        screen.expect("stopped:")
        screen.press("\x11")
        screen.read_on()

        assert screen.exit_code() == 0
    assert at_work() == []


def test_a_screen_ends_with_a_terminal_that_only_its_session_leader_is_told_of(tmp_path: Path) -> None:
    controller, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    process = subprocess.Popen(
        [sys.executable, "-m", "maverick", "tui"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=tmp_path,
        env=environment(tmp_path, PYTHONPATH=":".join(sys.path), TERM="xterm-256color"),
    )
    os.close(terminal)
    shown = b""
    while b"offline:" not in shown:
        shown += os.read(controller, 65536)
    os.close(controller)

    try:
        assert process.wait(PATIENCE) == 128 + signal.SIGHUP
    finally:
        process.kill()
        process.wait()
