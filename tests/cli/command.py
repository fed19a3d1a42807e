"""The command ``maverick`` as a user starts it: a process of its own, with pipes or with a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from canary import lookout
from warm_start import Maverick

PATIENCE = 60
"""Seconds until a test gives up; a busy machine is slow."""


def environment(home: Path, **changes: str) -> dict[str, str]:
    """An environment without keys and settings of whoever runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC_", "OPENAI_", "MAVERICK_")) and name != "NO_COLOR"
    }
    return {**kept, "HOME": str(home), "TERM": "xterm", "PYTHONWARNINGS": "error", **changes}


def run(
    *arguments: str,
    home: Path,
    folder: Path | None = None,
    said: bytes | str = b"",
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command with something piped into it, in a folder: the user's own, unless another is given."""
    given = said.encode() if isinstance(said, str) else said
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with Maverick(*arguments, env=environment(home, **(env or {})), cwd=folder or home, **pipes) as process:
        try:
            out, err = process.communicate(given, PATIENCE)
        finally:
            process.kill()
    lookout.look("the output of a command", (out, err))
    return subprocess.CompletedProcess(arguments, process.returncode, out.decode(), err.decode())


class Terminal:
    """The command in a terminal of its own, for the length of a ``with`` block."""

    def __init__(self, *arguments: str, home: Path, env: Mapping[str, str] | None = None) -> None:
        self._arguments = arguments
        self._home = home
        self._env = environment(home, **(env or {}))
        self.seen = ""
        """Everything the terminal has shown."""
        self._expected_to = 0

    def __enter__(self) -> Self:
        self._screen, keyboard = pty.openpty()
        streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), keyboard)
        self._process = Maverick(*self._arguments, env=self._env, cwd=self._home, at_terminal=True, **streams)
        os.close(keyboard)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lookout.look("a terminal", self.seen)
        self._process.kill()
        self._process.wait()
        os.close(self._screen)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._screen, keys.encode())

    def expect(self, text: str) -> None:
        """Wait until the terminal shows a text, after what was expected before."""
        while (found := self.seen.find(text, self._expected_to)) < 0:
            if not self._read():
                raise AssertionError(f"{text!r} was not shown; shown was: {self.seen[self._expected_to :]!r}")
        self._expected_to = found + len(text)

    def leave(self, key: str) -> int:
        """Press a key that ends the command, and return its exit code.

        Python loses a Ctrl-C between showing a prompt and waiting for a key. A person presses it again.
        """
        for _ in range(PATIENCE // 5):
            self.type(key)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                continue
            return self.end()
        raise AssertionError(f"{key!r} did not end it; shown was: {self.seen!r}")

    def end(self) -> int:
        """Wait for the command to end and return its exit code."""
        while self._read():
            pass
        return self._process.wait(PATIENCE)

    def _read(self) -> bool:
        deadline = time.monotonic() + PATIENCE
        ready, _, _ = select.select([self._screen], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            raise AssertionError(f"nothing more was shown in {PATIENCE} s; shown was: {self.seen!r}")
        try:
            shown = os.read(self._screen, 4096)
        except OSError:  # the terminal is gone with the last process in it
            return False
        # Line editing switches modes of the terminal, which is none of what is said.
        self.seen += re.sub(r"\x1b\[\?\d+[hl]", "", shown.decode(errors="replace"))
        return bool(shown)
