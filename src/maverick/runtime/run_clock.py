"""The time of a run: the wall clock says when it begins, the monotonic clock counts from there."""

from __future__ import annotations

import time


class RunClock:
    """Tells when things happen in a run.

    The clock of a computer is set, by its owner or by the network, and leaps when the computer has slept. Times that
    follow it would end a run by its limit, or give it hours more. Here only the beginning is read from it, so that the
    times are ones a person can read; they never go back, and limits count the time that the run really had.

    Args:
        after: The newest time of a run that goes on. The clock begins with it if the wall clock was set back since.
    """

    __slots__ = ("_began", "_begins_at")

    def __init__(self, after: float = 0.0) -> None:
        self._begins_at = max(time.time(), after)
        self._began = time.monotonic()

    def now(self) -> float:
        """What the clock shows, in seconds since the epoch."""
        return self._begins_at + (time.monotonic() - self._began)
