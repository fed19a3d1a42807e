"""Tells every open page of a user that something of theirs has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

TASKS = "tasks"
CONVERSATIONS = "conversations"
SESSION = "session"
"""One of the user's sessions has ended."""


class Updates:
    """Who listens, and for whom. What changed is named, not told: whoever cares asks for it."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[_Listener]] = {}

    def close(self) -> None:
        """Have everybody stop listening."""
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.leave()

    def publish(self, user_id: str, what: str) -> None:
        """Something of a user has changed."""
        for listener in self._listeners.get(user_id, ()):
            listener.hear(what)

    async def listen(self, user_id: str, *, pause: float) -> AsyncGenerator[str | None, None]:
        """Yield what changes for a user; ``None`` after each pause in which nothing did."""
        listener = _Listener()
        listeners = self._listeners.setdefault(user_id, set())
        listeners.add(listener)
        try:
            while not listener.has_left:
                for what in await listener.wait(pause):
                    yield what
        finally:
            listeners.discard(listener)
            if not listeners and self._listeners.get(user_id) is listeners:
                del self._listeners[user_id]


class _Listener:
    """One who listens. Hearing the same twice before looking is hearing it once."""

    def __init__(self) -> None:
        self.has_left = False
        self._heard: set[str] = set()
        self._called = asyncio.Event()

    def hear(self, what: str) -> None:
        self._heard.add(what)
        self._called.set()

    def leave(self) -> None:
        self.has_left = True
        self._called.set()

    async def wait(self, pause: float) -> list[str | None]:
        try:
            async with asyncio.timeout(pause):
                await self._called.wait()
        except TimeoutError:
            return [None]
        heard, self._heard = self._heard, set()
        self._called.clear()
        return [*sorted(heard)]
