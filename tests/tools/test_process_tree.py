"""A process is ended with all that it has started, and with all that it is just starting."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maverick.tools.process_tree import end_trees, find_process

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")

SECONDS = f"36{os.getpid()}"
BUSY = f"(sleep {SECONDS} & sleep {SECONDS} & wait) & sleep {SECONDS} & sleep {SECONDS} & wait"


def sleepers() -> list[str]:
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if command.read_bytes() == f"sleep\0{SECONDS}\0".encode():
                found.append(command.parent.name)
        except OSError:
            continue  # it has ended meanwhile
    return found


@pytest.mark.requirement("PROC-LEFT")
def test_nothing_gets_away_from_a_process_that_is_ended_while_it_starts_others() -> None:
    moments = random.Random(7)

    for _ in range(25):
        program = subprocess.Popen(["/bin/sh", "-c", BUSY])  # noqa: S603 - a program of ours
        time.sleep(moments.random() * 0.006)  # whichever moment it is, the outcome is the same
        process = find_process(program.pid)
        assert process is not None
        end_trees([process])
        program.wait()

        assert sleepers() == []
