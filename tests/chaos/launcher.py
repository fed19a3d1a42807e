"""Starts child processes and says how they ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from chaos.child import Job
from chaos.forker import STOPPED

_TESTS = Path(__file__).parents[1]

KILLED = -signal.SIGKILL
"""The exit code of a killed process."""


class Launcher:
    """A process that forks the children, one at a time."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, (str(_TESTS), os.environ.get("PYTHONPATH"))))
        self._forker = subprocess.Popen(
            [sys.executable, "-m", "chaos.forker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"},
        )

    def run(self, job: Job) -> int:
        """Run a child until it ends or is frozen; returns its exit code, or ``STOPPED``."""
        return self._ask(msgspec.json.encode(job))

    def thaw(self) -> int:
        """Let the frozen child go on; returns its exit code."""
        return self._ask(b"thaw")

    def _ask(self, line: bytes) -> int:
        assert self._forker.stdin is not None
        assert self._forker.stdout is not None
        self._forker.stdin.write(line + b"\n")
        answer = self._forker.stdout.readline()
        assert answer, f"the forker ended with {self._forker.wait()}"
        return int(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._forker:  # closes its input, which ends it
            pass


__all__ = ["KILLED", "STOPPED", "Launcher"]
