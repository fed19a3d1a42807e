"""``maverick run`` and ``runs resume`` when the process is told to end: by a signal, or since its terminal is gone."""

from __future__ import annotations

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cli.command import PATIENCE, environment
from cli.folder import Folder

WORKER = """
    from maverick import AgentDefinition, ModelConfig, ToolConfig, ToolContext, tool


    @tool
    async def dig(place: str, context: ToolContext) -> str:
        "Dig somewhere, which takes very long."
        await context.run_program(["sh", "-c", "echo $$ > new.pid; mv new.pid child.pid; exec sleep 600"])
        return "done"


    worker = AgentDefinition(
        "worker", "Digs.", model_config=ModelConfig("offline:"), tool_config=ToolConfig(tools=[dig])
    )
"""
# As a shell starts it, whatever whoever runs the tests has set for its children.
_WITH_SIGNALS = (
    "import os, signal, sys; signal.signal(signal.SIGHUP, getattr(signal, sys.argv[1])); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)
Start = Callable[..., "subprocess.Popen[bytes]"]


def eventually(holds: Callable[[], Any]) -> Any:
    """What something comes to be, as soon as it is."""
    deadline = time.monotonic() + PATIENCE
    while not (value := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def is_gone(process: int) -> bool:
    """Whether a process has ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def said(started: subprocess.Popen[bytes]) -> str:
    """What a command says until it ends."""
    _, errors = started.communicate(timeout=PATIENCE)
    return errors.decode()


@pytest.fixture
def start(folder: Folder) -> Iterator[Start]:
    """Starts the command, and waits until its agent has begun to dig."""
    folder.write("worker.py", WORKER)
    begun: list[subprocess.Popen[bytes]] = []
    digging: list[int] = []

    def start(words: Sequence[str], *, hangup: str = "SIG_DFL") -> subprocess.Popen[bytes]:
        (folder.path / "child.pid").unlink(missing_ok=True)
        started = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-c", _WITH_SIGNALS, hangup, sys.executable, "-m", "maverick", *words],
            env=environment(folder.path),
            cwd=folder.path,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        begun.append(started)
        eventually((folder.path / "child.pid").exists)
        digging.append(int((folder.path / "child.pid").read_text()))
        return started

    yield start
    for started in begun:
        started.kill()
        started.communicate()
    for child in digging:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


DIG = ("run", "worker.py", "-p", "dig a hole")


@pytest.mark.requirement("007-RUN-SIGNALS", "P4")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_no_process_and_says_how_it_goes_on(
    number: signal.Signals, start: Start, folder: Folder
) -> None:
    started = start(DIG)
    started.send_signal(number)
    told = said(started)

    assert started.returncode == 128 + number
    assert "(stopped)\n" in told
    assert eventually(lambda: is_gone(int((folder.path / "child.pid").read_text())))
    (record,) = folder.runs()
    assert (record.status, record.reason) == ("stopped", "aborted")
    found = re.search(r"Resume with: maverick (runs resume .*)", told)
    assert found
    assert shlex.split(found[1]) == ["runs", "resume", record.run_id]


@pytest.mark.requirement("007-RUN-SIGNALS")
def test_a_resumed_run_that_is_told_to_end_stops_in_the_same_way(start: Start, folder: Folder) -> None:
    first = start(DIG)
    first.kill()
    first.communicate()
    (record,) = folder.runs()

    words = ("runs", "fork", record.run_id, "--turn", "1", "--agents", "worker.py", "--json")
    forked = start(words)
    forked.terminate()
    said(forked)

    assert forked.returncode == 128 + signal.SIGTERM
    assert eventually(lambda: is_gone(int((folder.path / "child.pid").read_text())))
    assert folder.runs()[0].reason == "aborted"


@pytest.mark.requirement("007-RUN-SIGNALS")
def test_being_told_several_times_is_no_reason_to_leave_anything_behind(start: Start, folder: Folder) -> None:
    started = start(DIG)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
        started.send_signal(number)
    told = said(started)

    assert started.returncode in (128 + signal.SIGTERM, 128 + signal.SIGHUP)
    assert "Resume with: " in told
    assert eventually(lambda: is_gone(int((folder.path / "child.pid").read_text())))


@pytest.mark.requirement("007-RUN-SIGNALS")
def test_a_run_whose_terminal_is_closed_stops_as_well(start: Start, folder: Folder) -> None:
    screen, keyboard = pty.openpty()
    take = "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); import runpy; "
    folder.write(
        "in_terminal.py", take + "sys.argv[:1] = []; runpy.run_module('maverick', run_name='__main__')"
    )
    words = [sys.executable, "in_terminal.py", "maverick", *DIG]
    started = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-c", _WITH_SIGNALS, "SIG_DFL", *words],
        stdin=keyboard,
        stdout=keyboard,
        stderr=keyboard,
        env=environment(folder.path),
        cwd=folder.path,
        start_new_session=True,
    )
    os.close(keyboard)
    try:
        eventually((folder.path / "child.pid").exists)
        os.close(screen)

        assert started.wait(PATIENCE) == 128 + signal.SIGHUP
    finally:
        started.kill()
        started.wait()
    assert eventually(lambda: is_gone(int((folder.path / "child.pid").read_text())))
    assert folder.runs()[0].reason == "aborted"


@pytest.mark.requirement("007-RUN-SIGNALS")
def test_a_run_that_is_to_outlive_its_terminal_does(start: Start, folder: Folder) -> None:
    started = start(DIG, hangup="SIG_IGN")
    started.send_signal(signal.SIGHUP)
    time.sleep(0.2)

    assert started.poll() is None
    started.terminate()
    said(started)
    assert started.returncode == 128 + signal.SIGTERM
