"""A real terminal of its own, with the command in it: what is typed goes through it, what it shows is read back."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from cli.command import environment
from maverick.tui.app import GRACE

PATIENCE = 90
"""Seconds until a test gives up; a busy machine is slow."""


class Terminal:
    """The command in tmux, for the length of a ``with`` block.

    Args:
        words: What is written after the command.
        home: The folder it runs in, which is the person's home too.
        command: The command.
        size: The columns and lines of the terminal.
    """

    def __init__(
        self, *words: str, home: Path, command: str = "tui", size: tuple[int, int] = (80, 24)
    ) -> None:
        self._words = (command, *words)
        self._size = [str(number) for number in size]
        self._home = home
        self._socket = str(home / "tmux.sock")

    def __enter__(self) -> Self:
        kept = environment(self._home, PYTHONPATH=":".join(sys.path), TERM="xterm-256color")
        for name in ("COLUMNS", "LINES"):  # of whoever runs the tests
            kept.pop(name, None)
        command = shlex.join([sys.executable, "-m", "maverick", *self._words])
        ended = "; echo ended with $?; sleep 600"
        columns, lines = self._size
        size = ("-x", columns, "-y", lines)
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, command + ended, env=kept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server")

    def type(self, text: str) -> None:
        """Type a text and press Enter."""
        self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        """Press keys, as tmux names them."""
        self._tmux("send-keys", *keys)

    def shown(self) -> str:
        """What the terminal shows."""
        return self._tmux("capture-pane", "-p")

    def answer(self, key: str) -> None:
        """Answer a question that is shown, once it takes answers."""
        time.sleep(GRACE)
        self.press(key)

    def expect(self, text: str) -> None:
        """Wait until a text is shown."""
        deadline = time.monotonic() + PATIENCE
        while text not in (shown := self.shown()):
            assert time.monotonic() < deadline, f"{text!r} was not shown; shown is:\n{shown}"
            time.sleep(0.2)

    def _tmux(self, *words: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(  # noqa: S603 - a terminal of our own
            ["tmux", "-S", self._socket, *words],  # noqa: S607 - wherever it is
            capture_output=True,
            encoding="utf-8",
            cwd=self._home,
            env=env,
            timeout=PATIENCE,
            check=True,
        )
        return done.stdout
