"""The terminal, which may be slow, stand still or be gone: nothing that runs may be held up by that."""

from __future__ import annotations

import sys
import time
from typing import IO, Any

from textual.drivers.linux_driver import LinuxDriver

_PATIENCE = 0.2
"""Seconds that a terminal may take for what is written before it counts as stuck."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, whose terminal may be lost.

    Textual writes from a thread, to which it hands on what is to be written. When the thread is stuck, whoever hands
    it more has to wait in the end; when it has died of an error, for ever.

    Args:
        args: What Textual has to say, by place.
        options: What Textual has to say, by name.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._outlet = _Outlet(sys.__stderr__ or sys.stderr)
        self._file = self._outlet  # type: ignore[assignment] # all that is done with it is to write and flush

    @property
    def is_stuck(self) -> bool:
        """Whether the terminal does not take what is written, so that no more should be."""
        return self._outlet.is_stuck


class _Outlet:
    """Writes to a terminal as long as there is one."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._busy_since: float | None = None

    @property
    def is_stuck(self) -> bool:
        since = self._busy_since
        return since is not None and time.monotonic() - since > _PATIENCE

    def write(self, text: str) -> None:
        self._busy_since = time.monotonic()
        try:
            self._file.write(text)
        except OSError:
            pass  # the terminal is gone, and nobody sees it: the signal that says so ends the screen
        finally:
            self._busy_since = None

    def flush(self) -> None:
        self._busy_since = time.monotonic()
        try:
            self._file.flush()
        except OSError:
            pass  # as above
        finally:
            self._busy_since = None

    def fileno(self) -> int:
        return self._file.fileno()
