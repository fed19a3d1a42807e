"""The terminal, which may be slow, hang or be closed, without holding up the runs."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import IO, Any

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys

# Most terminals send Alt-Enter like this, which Textual takes for Enter; as Ctrl-J, it adds a line.
ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)  # type: ignore[index] # a dict, declared as a mapping
_PATIENCE = 0.2
"""Seconds that a write may take before the terminal counts as stuck."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, for a terminal that may be lost.

    Textual writes from a thread with a bounded queue. While the thread is stuck, whoever draws more waits in the end;
    if it has died of an error, for ever.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._output = _Output(sys.__stderr__ or sys.stderr)
        self._file = self._output  # type: ignore[assignment] # Textual only writes to it and flushes it
        self._is_watched = False

    def start_application_mode(self) -> None:
        """Take over the terminal, and end with it."""
        super().start_application_mode()  # type: ignore[no-untyped-call] # Textual has no type for it
        if not self._is_watched and os.isatty(self.fileno):
            self._is_watched = True
            Thread(target=self._end_with_terminal, daemon=True).start()

    def _end_with_terminal(self) -> None:
        """Wait until the terminal is gone, read no more of it, and say so to this process.

        The kernel tells only the leader of the terminal's session. Anybody else would read its end over and over.
        """
        waiting = select.poll()
        waiting.register(self.fileno, 0)  # what is always told: that it has hung up
        waiting.poll()
        self.exit_event.set()
        os.kill(os.getpid(), signal.SIGHUP)

    @property
    def is_stuck(self) -> bool:
        """Whether the terminal does not take what is written, so that nothing more should be drawn."""
        since = self._output.busy_since
        return since is not None and time.monotonic() - since > _PATIENCE


class _Output:
    """Writes to a terminal as long as there is one."""

    def __init__(self, file: IO[str]) -> None:
        self.busy_since: float | None = None
        self.fileno = file.fileno
        self._file = file

    def write(self, text: str) -> None:
        with self._busy():
            self._file.write(text)

    def flush(self) -> None:
        with self._busy():
            self._file.flush()

    @contextmanager
    def _busy(self) -> Iterator[None]:
        self.busy_since = time.monotonic()
        try:
            yield
        except OSError:
            pass  # the terminal is gone; SIGHUP, which says so, ends the screen
        finally:
            self.busy_since = None
