"""Stopping a query from outside: its time is up, or somebody aborts it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from maverick.exceptions import AbortedError, AgentError, TimeoutError
from maverick.runtime.abort import AbortSignal


class Stopping:
    """Watches the clock and the signal of one query, and ends it with a function that does not wait.

    Nothing is cancelled, so it does not matter which task reads the messages.

    Args:
        seconds: How long the query may take; ``None`` is as long as it likes.
        signal: What may abort it.
        stop: What ends it.
    """

    def __init__(self, seconds: float | None, signal: AbortSignal | None, stop: Callable[[], None]) -> None:
        self.cause: AgentError | None = None
        """Why the query was stopped, if it was."""
        self._seconds = seconds
        self._signal = signal
        self._stop = stop
        loop = asyncio.get_running_loop()
        self._timer = None if seconds is None else loop.call_later(seconds, self._time_is_up)
        self._unsubscribe = None if signal is None else signal.subscribe(self._was_aborted)

    def close(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
        if self._unsubscribe is not None:
            self._unsubscribe()

    def _time_is_up(self) -> None:
        self._end(
            TimeoutError(
                f"The agent was not done after {self._seconds:g} s. Give it a longer timeout, or less to do."
            )
        )

    def _was_aborted(self) -> None:
        reason = self._signal.reason if self._signal else ""
        self._end(AbortedError(f"The agent was stopped{f': {reason}' if reason else ''}.", reason=reason))

    def _end(self, cause: AgentError) -> None:
        if self.cause is None:
            self.cause = cause
            self._stop()
