"""Starts children quickly: it has everything imported, and forks for each job it reads from its input.

Each child is a process of its own that dies as any other does; it only does not pay for starting Python. Run as
``python -m chaos.forker``; what it reads and writes are lines of JSON (:mod:`chaos.launcher` is the other end).
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
import traceback
from importlib import import_module
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import NoReturn

import msgspec

from chaos.child import Job, perform
from chaos.stores import SqliteStore

STOPPED = 1000
"""Stands for the exit code of a process that has none yet, since it is frozen."""
HUNG = 1001
"""Stands for the exit code of a process that did not end, and was not to be killed."""
PATIENCE = 60.0
"""Seconds after which a child is taken to hang."""
_THAW = b"thaw\n"


def main() -> None:
    """Serve until the input ends."""
    _warm_up()
    if os.fork():  # the runs have left a thread, and a copy has none
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    assert "pytest" not in sys.modules, "a child is a plain process"
    gc.collect()
    gc.freeze()  # so that collecting garbage in a child copies no page of what is imported
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    frozen = 0
    while line := _read_line():
        if line == _THAW:
            assert frozen, "no child is frozen"
            pid, kill_after = frozen, None
            os.kill(pid, signal.SIGCONT)
        else:
            _discard(frozen)
            job = msgspec.json.decode(line, type=Job)
            pid, kill_after = _start(job), job.kill_after
        exit_code, in_time = _wait(pid, PATIENCE if kill_after is None else kill_after)
        if kill_after is None and not in_time:
            exit_code = HUNG
        frozen = pid if exit_code == STOPPED else 0
        os.write(sys.stdout.fileno(), b"%d\n" % exit_code)
    _discard(frozen)


def _warm_up() -> None:
    """Do once what every child would do for itself when it first needs it, which is most of what a short one does."""
    if find_spec("asyncpg"):
        import_module("maverick.journal.postgres.journal")
    with TemporaryDirectory() as folder:
        for scenario in ("approval", "nested", "transactional"):
            place = SqliteStore(f"{folder}/runs.db")
            asyncio.run(place.prepare())
            perform(
                Job(
                    task="go",
                    scenario=scenario,
                    store=place.kind,
                    address=place.address,
                    run_id=scenario,
                    folder=folder,
                    number=0,
                )
            )


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
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    code = 1
    try:
        code = perform(job)
    except BaseException:  # noqa: BLE001 - the child must not return into the forker; its log says why it failed
        os.write(log, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _wait(pid: int, seconds: float) -> tuple[int, bool]:
    """The exit code of a child, negative for a signal, and whether it ended in time; if not, it is killed."""
    deadline, in_time = time.monotonic() + seconds, True
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if ended:
            return STOPPED if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status), in_time
        if in_time and time.monotonic() > deadline:
            in_time = False
            os.kill(pid, signal.SIGKILL)  # not yet waited for, so the number is still its own
        signal.sigtimedwait([signal.SIGCHLD], max(deadline - time.monotonic(), 0) if in_time else PATIENCE)


def _discard(frozen: int) -> None:
    """End a child that nobody has let go on."""
    if frozen:
        os.kill(frozen, signal.SIGKILL)
        os.waitpid(frozen, 0)


if __name__ == "__main__":
    main()
