"""Starts children quickly: it has everything imported, and forks for each job it reads from its input.

Each child is a process of its own that dies as any other does; it only does not pay for starting Python. Run as
``python -m chaos.forker``; what it reads and writes are lines of JSON (:mod:`chaos.launcher` is the other end).
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from importlib import import_module
from importlib.util import find_spec
from typing import NoReturn

import msgspec

from chaos.child import Job, perform

STOPPED = 1000
"""Stands for the exit code of a process that has none yet, since it is frozen."""
PATIENCE = 60.0
"""Seconds until a child that does not end is taken to hang."""
_THAW = b"thaw\n"


def main() -> None:
    """Serve until the input ends."""
    if find_spec("asyncpg"):
        import_module("maverick.journal.postgres")
    pid, deadline = 0, 0.0
    while line := _read_line():
        if line == _THAW:
            os.kill(pid, signal.SIGCONT)
            deadline = time.monotonic() + PATIENCE
        else:
            job = msgspec.json.decode(line, type=Job)
            pid = _start(job)
            deadline = time.monotonic() + (job.kill_after or PATIENCE)
        os.write(sys.stdout.fileno(), b"%d\n" % _wait(pid, deadline))


def _read_line() -> bytes:
    """A line, read without buffering: what a fork copies it would read twice."""
    line = b""
    while not line.endswith(b"\n"):
        if not (piece := os.read(sys.stdin.fileno(), 1)):
            return b""
        line += piece
    return line


def _start(job: Job) -> int:
    return os.fork() or _become_child(job)


def _become_child(job: Job) -> NoReturn:
    log = os.open(job.file("log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    code = 1
    try:
        code = perform(job)
    except BaseException:  # noqa: BLE001 - the child must not return into the forker; its log says why it failed
        os.write(log, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _wait(pid: int, deadline: float) -> int:
    """The exit code of a child, negative for a signal; a child that is late is killed."""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if ended:
            return STOPPED if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)  # not yet waited for, so the number is still its own
        time.sleep(0.0005)


if __name__ == "__main__":
    main()
