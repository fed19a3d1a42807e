"""The events of a run, handed from the task that runs an agent to the one that watches it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from maverick.loop.events import AgentActivityEvent
from maverick.runtime.event_log import Listener

R = TypeVar("R")


class EventStream(Generic[R]):
    """Starts a run and iterates over its events; leaving the ``async with`` block stops the run."""

    def __init__(self, start: Callable[[Listener], Coroutine[Any, Any, R]]) -> None:
        self._start = start
        self._events: deque[AgentActivityEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        self.result = asyncio.ensure_future(self._start(self._put))
        """What the run returns, once its last event was read."""
        self.result.add_done_callback(self._wake)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.result.cancel()
        await asyncio.wait([self.result])

    async def __aiter__(self) -> AsyncIterator[AgentActivityEvent]:
        events = self._events
        while True:
            while events:
                yield events.popleft()
            if self.result.done():
                return
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def _put(self, event: AgentActivityEvent) -> None:
        self._events.append(event)
        self._wake()

    def _wake(self, _: object = None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
