"""What happened in an answer so far, numbered, for any number of readers who come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from maverick.server.events import EventName


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One thing that happened."""

    id: int
    """Its number: larger than of all before it in the same answer."""
    name: EventName
    data: Mapping[str, Any]


class EventLog:
    """The events of one answer. It is written by one task and read by many."""

    def __init__(self) -> None:
        self.last_id = 0
        """The number of the newest event; whoever writes may leave some out before the first."""
        self._events: list[StreamEvent] = []
        self._closed = False
        self._changed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will happen."""
        return self._closed

    @property
    def newest(self) -> StreamEvent | None:
        """The newest event, if anything has happened."""
        return self._events[-1] if self._events else None

    def append(self, name: EventName, data: Mapping[str, Any]) -> None:
        """Add an event."""
        self.last_id += 1
        self._events.append(StreamEvent(self.last_id, name, data))
        self._wake()

    def close(self) -> None:
        """Nothing more will happen."""
        self._closed = True
        self._wake()

    async def closed(self) -> None:
        """Wait until nothing more will happen."""
        while not self._closed:
            await self._changed.wait()

    async def read(self, *, pause: float) -> AsyncGenerator[StreamEvent | None, None]:
        """Yield all events, those to come as they come; ``None`` after each pause in which there was none."""
        position = 0
        while True:
            while position < len(self._events):
                yield self._events[position]
                position += 1
            if self._closed:
                return
            try:
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                yield None

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
