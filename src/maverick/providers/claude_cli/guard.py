"""The helper process that starts CLIs for this one, and ends them with it.

There is one for each process that uses Maverick. It is started when the first CLI is wanted, and exits with this
process. See ``warden.py`` for what it does.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextvars import Context
from pathlib import Path
from weakref import WeakSet

from maverick.exceptions import ProcessError

_PROGRAM = Path(__file__).with_name("warden.py")


class Guard:
    """The way to the helper process. It can be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None
        self._held: WeakSet[socket.socket] = WeakSet()
        self.pid: int | None = None
        """The helper's process id, once it was started."""

    def hand_over(self, sockets: Sequence[socket.socket], life: socket.socket) -> None:
        """Have a CLI kept at the other ends of these sockets.

        Args:
            sockets: The CLI's standard input, output and error, and its end of the line to its keeper.
            life: Our end of that line.

        Raises:
            ProcessError: The helper process could not be started.
        """
        with self._lock:
            self._held.add(life)
            handles = [end.fileno() for end in sockets]
            try:
                socket.send_fds(self._started(), [b"\0"], handles)
            except OSError:  # somebody has killed it; what it kept is kept on
                self._forget()
                socket.send_fds(self._started(), [b"\0"], handles)

    def let_go(self) -> None:
        """Close what was inherited: a forked child must not keep alive what its parent holds."""
        self._lock = threading.Lock()
        self._forget()
        for held in list(self._held):
            held.close()
        self._held.clear()

    def _started(self) -> socket.socket:
        if self._requests is None:
            ours, theirs = socket.socketpair()
            try:
                # The context is empty, since the helper is nobody's: a tool call that needs a CLI has not started it.
                process = Context().run(
                    subprocess.Popen,
                    [sys.executable, "-I", "-S", str(_PROGRAM)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise ProcessError(
                    f"The process that looks after the Claude CLI could not be started: {error.strerror}. "
                    "Check the limits on processes and memory.",
                    cause=error,
                ) from error
            finally:
                theirs.close()
            process.returncode = 0  # it ends with this process, so nobody waits for it
            self.pid = process.pid
            self._requests = ours
        return self._requests

    def _forget(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None


guard = Guard()
"""The helper of this process."""

os.register_at_fork(after_in_child=guard.let_go)
