"""Ends processes with all that descends from them.

Everything is read from ``/proc``, so this is for Linux; elsewhere no process is found, and none is ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

_GRACE = 0.3
"""Seconds a process has to end by itself once it is told to."""
_STOP = 0.2
"""Seconds that stopping them may take."""
_DEATH = 0.5
"""Seconds the system has to end one that was killed; one that waits for a broken disk takes longer."""
_OTHERS_PATIENCE = 0.5
"""Seconds those who wait for a process have to take in its end."""


class Process(NamedTuple):
    """A process; its start tells it from a later one with the same number."""

    pid: int
    started: int
    """Clock ticks after the system's start."""


class Status(NamedTuple):
    """What the system says of a process."""

    process: Process
    parent: int
    session: int
    is_stopped: bool
    is_zombie: bool


def find_process(pid: int) -> Process | None:
    """The process of this number, running or ended and not waited for yet."""
    status = _status(pid)
    return None if status is None else status.process


def children_of(thread: int) -> frozenset[int]:
    """The numbers of the processes that a thread of this program has started and nobody has waited for."""
    try:
        with open(f"/proc/self/task/{thread}/children", "rb") as file:  # noqa: PTH123 - as below
            return frozenset(map(int, file.read().split()))
    except OSError:  # the thread has ended, or the system keeps no such list
        return frozenset()


def is_there(process: Process) -> bool:
    """Whether it runs, or has ended and was not waited for yet."""
    return find_process(process.pid) == process


def running(processes: Iterable[Process]) -> dict[Process, Status]:
    """Those that run, with all that descends from them, or belongs to a session one of them leads."""
    census = _census()
    below: dict[int, list[int]] = {}
    for status in census.values():
        below.setdefault(status.parent, []).append(status.process.pid)
        below.setdefault(status.session, []).append(status.process.pid)
    found: dict[int, Status] = {}
    waiting = [p.pid for p in processes if p.pid in census and census[p.pid].process == p]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found[pid] = census[pid]
            waiting += below.get(pid, [])
    return {status.process: status for status in found.values() if not status.is_zombie}


def end_trees(roots: Iterable[Process]) -> set[Process]:
    """End processes and all that descends from them: gently, then for good. It blocks until they have ended.

    Returns:
        All that were found, those that had ended already included.
    """
    known = set(roots)
    known |= (halted := _halt(known))
    _signal(halted, signal.SIGTERM)
    _signal(halted, signal.SIGCONT)
    if not _have_ended(known, _GRACE):
        known |= (halted := _halt(known))
        _signal(halted, signal.SIGKILL)
        _have_ended(known, _DEATH)
    return known


def bury(processes: Iterable[Process]) -> None:
    """Wait for those of our children that have ended and that nobody else waits for. It blocks for a moment.

    Who started a process may want to know how it ended, so they come first: asyncio does so at once, a ``Popen`` when it
    is asked, and ``multiprocessing`` whenever it lists its children.
    """
    time.sleep(_OTHERS_PATIENCE)
    if (multiprocessing := sys.modules.get("multiprocessing")) is not None:
        multiprocessing.active_children()
    for process in processes:
        status = _status(process.pid)
        if status is not None and status.process == process and status.parent == os.getpid():
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def _halt(processes: Iterable[Process]) -> set[Process]:
    """Stop them all: one that is told to end while it starts another would leave that one as nobody's child."""
    halted, found = set[Process](), set(processes)
    deadline = time.monotonic() + _STOP
    while time.monotonic() < deadline:
        census = running(found)
        fresh = census.keys() - halted
        if not fresh and all(status.is_stopped for status in census.values()):
            break
        _signal(fresh, signal.SIGSTOP)
        halted |= fresh
        found |= fresh
    return halted


def _have_ended(known: set[Process], seconds: float) -> bool:
    """Whether they end within so many seconds; who is found to descend from them meanwhile is known from then on."""
    deadline, pause = time.monotonic() + seconds, 0.002
    while alive := running(known):
        known |= alive.keys()
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause *= 1.5
    return True


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


def _census() -> dict[int, Status]:
    """Every process there is, by its number."""
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - only names
    except OSError:
        return {}
    found = ((pid, _status(pid)) for pid in numbers)
    return {pid: status for pid, status in found if status is not None}


def _status(pid: int) -> Status | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - many of them, and fast
            fields = file.read().rpartition(b")")[2].split()
    except OSError:  # it has ended, or there is no /proc
        return None
    state, parent, _group, session = fields[:4]
    return Status(
        Process(pid, int(fields[19])),
        int(parent),
        int(session),
        is_stopped=state in b"Tt",
        is_zombie=state in b"ZX",
    )
