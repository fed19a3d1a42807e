"""``maverick runs tail --follow``: a run as another process writes it down."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from cli.command import PATIENCE, environment
from cli.office_agents import clerk
from cli.runs_command import Runs
from maverick import AgentExecutor
from maverick.journal import Journal
from warm_start import Maverick


@contextmanager
def following(runs: Runs, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = Maverick(
        *("runs", "tail", *words, "--follow", "--journal", str(runs.file)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(runs.home),
        cwd=runs.home,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def test_new_entries_are_shown_until_the_run_ends(runs: Runs) -> None:
    async def go_on(journal: Journal) -> None:
        await AgentExecutor(journal=journal).resume("crash", clerk)

    with following(runs, "crash", "-n", "1") as process:
        (last,) = read_lines(process, 1)
        runs.use(go_on)
        rest, complaints = process.communicate(timeout=PATIENCE)

    assert "tools started, turn 1: " in last
    assert [line.split()[0] for line in rest.splitlines()] == ["5", "6", "7", "8"]
    assert rest.splitlines()[0].endswith("resumed")
    assert rest.splitlines()[-1].endswith("5 * 5 = 25.")
    assert (process.returncode, complaints) == (0, "")


def test_a_run_that_has_ended_is_not_waited_for(runs: Runs) -> None:
    assert len(runs.run("tail", "sum", "--follow").stdout.splitlines()) == 7


def test_ctrl_c_leaves(runs: Runs) -> None:
    with following(runs, "wait") as process:
        read_lines(process, 3)
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=PATIENCE)

    assert (process.returncode, rest, complaints) == (130, "", "")
