"""Where questions wait to be taken in: as many as can be served soon, and no more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from maverick.server.refusal import RequestRefusedError

_AT_ONCE = 4
"""Questions and answers that are written down at once; more threads than that only get in each other's way."""
_USUAL = 0.02
"""Seconds one of them takes, until it is known better."""


class Entrance:
    """A line for the database. Whoever finds it too long is told at once when to come back.

    Args:
        most: How many questions may wait.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting = 0
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._seconds = _USUAL

    @property
    def waiting(self) -> int:
        """How many questions wait, or are being taken in."""
        return self._waiting

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        """Have a question written down, in its turn.

        Raises:
            RequestRefusedError: Too many wait already.
        """
        if self._waiting >= self._most:
            pause = max(1, round(self._waiting * self._seconds / _AT_ONCE))
            raise RequestRefusedError(
                503,
                "overloaded",
                "There are more requests right now than can be served. Try again in a moment.",
                {"Retry-After": str(pause)},
            )
        self._waiting += 1
        try:
            async with self.leave():
                yield
        finally:
            self._waiting -= 1

    @asynccontextmanager
    async def leave(self) -> AsyncIterator[None]:
        """Have an answer written down, in its turn: one that was begun is always finished."""
        async with self._turns:
            began = time.monotonic()
            yield
            self._seconds += (time.monotonic() - began - self._seconds) / 16
