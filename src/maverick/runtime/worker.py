"""Which process works on a run, by a name under which others can tell whether it is still there.

Claiming a run keeps its former process from writing, but not from finishing what it is doing. So the process that
resumes a run has to know whether that one may still act.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from maverick.loop.entries import Entry, Resumed, RunStarted

_MARGIN = 60.0
"""Seconds after its deadline that a call may still be running on another computer: clocks differ."""

_at_work: Counter[str] = Counter()
"""The runs this process works on."""


def worker_name() -> str:
    """This process, unlike any other: where it runs, its number, and when it began."""
    return _name(os.getpid())


def begin_work(run_id: str) -> None:
    """Note that this process works on a run, until :func:`end_work`."""
    _at_work[run_id] += 1


def end_work(run_id: str) -> None:
    """Note that this process has stopped working on a run."""
    _at_work[run_id] -= 1
    if not _at_work[run_id]:
        del _at_work[run_id]


class Predecessor(NamedTuple):
    """The process that worked on a run before."""

    is_there: bool | None
    """Whether it still works on the run; ``None`` if that cannot be known from here."""
    last_seen: float
    """When it last wrote something down."""

    @classmethod
    def of(cls, run_id: str, entries: Sequence[Entry]) -> Predecessor:
        """The process that wrote these entries last."""
        named = (entry.worker for entry in reversed(entries) if isinstance(entry, RunStarted | Resumed))
        name = next(named, "")
        return cls(_is_there(name, run_id) if name else None, entries[-1].at)

    def may_act(self, seconds: float | None, now: float) -> bool:
        """Whether it may still be running a tool call that it had begun, which may take so many seconds."""
        if self.is_there is None:
            return seconds is None or now - self.last_seen < seconds + _MARGIN
        return self.is_there


def _is_there(name: str, run_id: str) -> bool | None:
    if name == worker_name():
        return run_id in _at_work
    ours, *_ = worker_name().split()
    found = re.fullmatch(r"(\S+) (\d{1,18}) (\d{1,18})", name)
    if found is None or found[1] != ours or sys.platform != "linux":
        return None
    began = _start_of(int(found[2]))
    return began != 0 and began == int(found[3])


@cache
def _name(pid: int) -> str:
    return f"{_place()} {pid} {_start_of(pid)}"


def _start_of(pid: int) -> int:
    """When a process began, in clock ticks after the system's start; 0 if it does not run, or that cannot be known."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if state in b"ZX" else int(fields[18])


def _place() -> str:
    """Where numbers of processes mean the same: this computer since its start, and there the same name space."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - it is not a path
    except OSError:
        return "".join(platform.node().split()) or "here"
