"""How long a run waits for a person, which none of its limits counts."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Something that ends what takes too long."""

    def stop_clock(self) -> None:
        """Count no time from here on."""
        ...

    def start_clock(self) -> None:
        """Count time again."""
        ...


class Waiting:
    """Whether a run waits for a person, itself or in a subagent; a ``with`` block is such a wait, and blocks may overlap.

    A process that ends meanwhile takes its wait with it: the time up to the entry ``Resumed`` does not count either.
    """

    def __init__(self) -> None:
        self.caller: Waiting | None = None
        """That of the run that called this one as a subagent, and waits with it."""
        self._open = 0
        self._since = self._untold = 0.0
        self._clocks: list[Clock] = []

    def __enter__(self) -> None:
        if self.caller is not None:
            self.caller.__enter__()
        self._open += 1
        if self._open == 1:
            self._since = time.monotonic()
            for clock in self._clocks:
                clock.stop_clock()

    def __exit__(self, *exc_info: object) -> None:
        self._open -= 1
        if not self._open:
            self._untold += time.monotonic() - self._since
            for clock in self._clocks:
                clock.start_clock()
        if self.caller is not None:
            self.caller.__exit__()

    @property
    def is_open(self) -> bool:
        """Whether a person is being waited for."""
        return self._open > 0

    def add(self, clock: Clock) -> None:
        """Stop a clock while the run waits, until it is removed."""
        self._clocks.append(clock)
        if self._open:
            clock.stop_clock()

    def remove(self, clock: Clock) -> None:
        """Leave a clock alone from here on."""
        self._clocks.remove(clock)

    def take(self) -> float:
        """The seconds that the run has waited since this was last asked."""
        if self._open:
            now = time.monotonic()
            self._untold += now - self._since
            self._since = now
        untold, self._untold = self._untold, 0.0
        return untold
