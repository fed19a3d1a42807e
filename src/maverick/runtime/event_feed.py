"""Events handed from the task that runs an agent to the one that watches it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from maverick.loop.events import AgentActivityEvent


class EventFeed:
    """A queue with one reader that takes all there is at each awakening."""

    __slots__ = ("_closed", "_events", "_waiter")

    def __init__(self) -> None:
        self._events: deque[AgentActivityEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False

    def put(self, event: AgentActivityEvent) -> None:
        """Add an event."""
        self._events.append(event)
        self._wake()

    def close(self) -> None:
        """Say that no more will come."""
        self._closed = True
        self._wake()

    async def read(self) -> AsyncIterator[AgentActivityEvent]:
        """All events, to the last one before :meth:`close`."""
        events = self._events
        while True:
            while events:
                yield events.popleft()
            if self._closed:
                return
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
