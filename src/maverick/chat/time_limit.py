"""The time an answer may take, from its first step to its last word."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from maverick.runtime import AbortSignal


class TimeLimit:
    """Stops an answer when its time is up, or when its user does.

    Args:
        seconds: How long it may take, from entering the context; ``None`` is as long as it likes.
        signal: The user's own.
    """

    def __init__(self, seconds: float | None, signal: AbortSignal | None) -> None:
        self.signal = AbortSignal()
        """Stops a run for either reason."""
        self.is_over = False
        """Whether the time is up."""
        self._seconds = seconds
        self._users = signal
        self._leave: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._deadline = None if self._seconds is None else loop.time() + self._seconds
        if self._deadline is not None:
            self._leave.append(loop.call_at(self._deadline, self._end).cancel)
        if (users := self._users) is not None:
            self._leave.append(users.subscribe(lambda: self.signal.abort(users.reason)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for leave in self._leave:
            leave()

    def before_run(self) -> asyncio.Timeout:
        """A context for what comes before the run: it is left with a ``TimeoutError`` when the time is up."""
        return asyncio.timeout_at(self._deadline)

    def _end(self) -> None:
        self.is_over = True
        self.signal.abort("the time is up")
