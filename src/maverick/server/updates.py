"""Notifies every open page of a user that something of theirs has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

TASKS = "tasks"
CONVERSATIONS = "conversations"
SESSION = "session"
"""One of the user's sessions has ended."""


class Updates:
    """The listeners of each user. They are told what changed, not how: a page asks for what it shows."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[_Listener]] = {}

    def close(self) -> None:
        """End all streams of updates."""
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.is_closed = True
                listener.changed.set()

    def publish(self, user_id: str, what: str) -> None:
        """Something of a user has changed."""
        for listener in self._listeners.get(user_id, ()):
            listener.pending.add(what)
            listener.changed.set()

    async def listen(self, user_id: str, *, pause: float) -> AsyncGenerator[str | None, None]:
        """Yield what changes for a user; ``None`` after each pause in which nothing did."""
        listener = _Listener()
        listeners = self._listeners.setdefault(user_id, set())
        listeners.add(listener)
        try:
            while not listener.is_closed:
                try:
                    async with asyncio.timeout(pause):
                        await listener.changed.wait()
                except TimeoutError:
                    yield None
                    continue
                pending, listener.pending = sorted(listener.pending), set()
                listener.changed.clear()
                for what in pending:
                    yield what
        finally:
            listeners.discard(listener)
            if not listeners and self._listeners.get(user_id) is listeners:
                del self._listeners[user_id]


class _Listener:
    """One open stream of updates. The same change twice before it is sent is one update."""

    def __init__(self) -> None:
        self.is_closed = False
        self.pending: set[str] = set()
        self.changed = asyncio.Event()
