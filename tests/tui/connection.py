"""The command at the end of a connection, as over SSH: one that may stand still, or be lost."""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect  # type: ignore[import-untyped]

from cli.command import environment
from maverick.tools.coding.sandbox import sandbox_problem
from maverick.tui.app import GRACE

PATIENCE = 90
"""Seconds until a test gives up; a busy machine is slow."""


class Connection:
    """``maverick tui`` on a terminal of its own, for the length of a ``with`` block.

    Args:
        words: What is written after the command.
        home: The folder it runs in, which is the person's home too.
    """

    def __init__(self, *words: str, home: Path) -> None:
        self._process = pexpect.spawn(
            sys.executable,
            ["-m", "maverick", "tui", *words],
            cwd=str(home),
            env=environment(home, PYTHONPATH=":".join(sys.path), TERM="xterm-256color"),
            dimensions=(24, 80),
            timeout=PATIENCE,
            encoding="utf-8",
        )
        self._is_lost = False

    def __enter__(self) -> Self:
        self.expect("ype a prompt")  # the cursor is on the first letter
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._process.terminated:
            self._process.kill(signal.SIGKILL)
            self._process.wait()
        self.lose()

    @property
    def process_id(self) -> int:
        return int(self._process.pid)

    @property
    def is_stopped(self) -> bool:
        """Whether the process was put to sleep."""
        state = (
            Path(f"/proc/{self.process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        )
        return state == "T"

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows what is typed, line by line, as it does for a shell."""
        flags = int(termios.tcgetattr(self._process.child_fd)[3])
        return bool(flags & termios.ECHO and flags & termios.ICANON)

    def expect(self, text: str) -> None:
        """Read what the screen sends until a text has come. Without this, the connection stands still."""
        self._process.expect_exact(text)

    def type(self, text: str) -> None:
        """Type a text and press Enter."""
        self._process.send(text)
        self.expect(text[-5:])
        self._process.send("\r")

    def run_command(self, command: str) -> None:
        """Have the agent run a command. Without a sandbox a person is asked about it, whatever the mode."""
        self.type(f"shell '{command}'")
        if sandbox_problem():
            self.expect("es, once")
            time.sleep(GRACE)
            self.press("y")

    def press(self, key: str) -> None:
        self._process.send(key)

    def send_signal(self, number: signal.Signals) -> None:
        self._process.kill(number)

    def read_on(self) -> str:
        """What else the screen sends, until the process has ended."""
        self._process.expect(pexpect.EOF)
        return str(self._process.before)

    def lose(self) -> None:
        """Close the connection at this end."""
        if not self._is_lost:
            self._is_lost = True
            os.close(self._process.child_fd)

    def exit_code(self) -> int:
        """Wait for the process to end."""
        deadline = time.monotonic() + PATIENCE
        while self._process.isalive():
            assert time.monotonic() < deadline, "the process has not ended"
            time.sleep(0.1)
        return int(self._process.exitstatus)
