"""Counts processes: which are there, and whether they are gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

DEADLINE = 10.0
"""Seconds; what has to be gone is gone in a fraction of it, unless the machine is very busy."""


def marked(mark: str) -> list[int]:
    """The processes that have this in their environment or their command, whoever is their parent."""
    needle = mark.encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                said = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            except OSError:  # it has just gone, or is somebody else's
                continue
            if needle in said:
                found.append(int(entry.name))
    return found


def _command(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode()
    except OSError:  # it has just gone
        return ""


def working_in(folder: Path) -> list[int]:
    """The processes whose current folder this is."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it has just gone, or is somebody else's
                if (entry / "cwd").readlink() == folder:
                    found.append(int(entry.name))
    return found


def parent_of(pid: int) -> int:
    """The process that a process is a child of."""
    return int(Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[1])


async def until(condition: Callable[[], bool], within: float = DEADLINE) -> bool:
    """Wait until something is so; whether it is."""
    end = time.monotonic() + within
    while not (so := await asyncio.to_thread(condition)) and time.monotonic() < end:  # noqa: ASYNC110 - others' doing
        await asyncio.sleep(0.1)
    return so


async def gone(mark: str, within: float = DEADLINE) -> list[int]:
    """Wait until no process has the mark; the ones that still have it after the deadline."""
    await until(lambda: not marked(mark), within)
    return marked(mark)


async def there(mark: str, count: int = 1, doing: str = "", within: float = 3 * DEADLINE) -> list[int]:
    """Wait until this many processes have the mark, one of them ``doing`` this; a CLI also starts some that end soon."""
    found: list[int] = []

    def so() -> bool:
        found[:] = marked(mark)
        return len(found) >= count and (not doing or any(_command(pid) == doing for pid in found))

    await until(so, within)
    return found


def open_handles() -> int:
    """How many file descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
