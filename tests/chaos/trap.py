"""Pulls the plug: counts how often a process passes its write points and stops it dead at one of them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import msgspec
from msgspec import Struct


class Passing(Struct, frozen=True, order=True):
    """A write point, before or after what it names is durable."""

    point: str
    before: bool

    def __str__(self) -> str:
        return f"{'before' if self.before else 'after'} {self.point}"


class Spring(Struct, frozen=True):
    """When a trap springs, and what it does then."""

    passing: Passing | None
    """The passing it waits for; ``None`` is any."""
    occurrence: int = 1
    """At how many of them it springs."""
    freeze: bool = False
    """Whether the process is only stopped, so that it can go on later and find itself overtaken."""

    def __str__(self) -> str:
        verb = "frozen" if self.freeze else "killed"
        return f"{verb} {self.passing or 'at any passing'} #{self.occurrence}"


class Trace(Struct, frozen=True):
    """What a trap has seen, as the process left it."""

    passings: tuple[Passing, ...]
    sprung_at: Passing | None
    """Where it sprang; written just before the signal."""


class Trap:
    """Fits ``Journal.on_write``.

    Args:
        path: Where the passings are written. What was written to a file outlives a kill, synced or not.
        spring: When to spring, if ever.
    """

    def __init__(self, path: Path, spring: Spring | None) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._spring = spring
        self._seen: Counter[Passing | None] = Counter()
        self.set = False
        """Whether it notices anything yet."""

    @property
    def inside(self) -> bool:
        """Whether a write is under way: more points were passed before their write than after it."""
        before = sum(times for passing, times in self._seen.items() if passing and passing.before)
        return 2 * before > self._seen[None]

    def __call__(self, point: str, before: bool) -> None:
        if not self.set:
            return
        passing, spring = Passing(point, before), self._spring
        self._note(passing, sprung=False)
        self._seen.update((passing, None))
        if spring is not None and spring.passing in (passing, None) and self._is_due(spring):
            self._spring = None
            self._note(passing, sprung=True)
            os.kill(os.getpid(), signal.SIGSTOP if spring.freeze else signal.SIGKILL)

    def _is_due(self, spring: Spring) -> bool:
        return self._seen[spring.passing] == spring.occurrence

    def _note(self, passing: Passing, *, sprung: bool) -> None:
        os.write(self._file, msgspec.json.encode((passing, sprung)) + b"\n")


def read_trace(path: Path) -> Trace:
    """What the trap of a process that is gone had seen."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    noted = [msgspec.json.decode(line, type=tuple[Passing, bool]) for line in lines]
    sprung = [passing for passing, has_sprung in noted if has_sprung]
    return Trace(
        tuple(passing for passing, has_sprung in noted if not has_sprung), sprung[0] if sprung else None
    )
