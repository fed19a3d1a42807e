"""The deadlines of running tools, watched with one timer for each event loop.

A timer for each call would be pushed onto the loop's heap and cancelled a moment later, since almost every tool is done
long before its deadline. Here a call is put into a dictionary and taken out again; the timer goes off at the earliest
deadline there was, and is set again only if calls are left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary


class Deadlines:
    """What is to be called when a deadline passes, on one event loop."""

    __slots__ = ("_callbacks", "_loop", "_timer", "_wakes_at")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._callbacks: dict[object, tuple[float, Callable[[], None]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = 0.0

    def watch(self, key: object, deadline: float, callback: Callable[[], None]) -> None:
        """Have a function called when the deadline passes, in the loop's time."""
        self._callbacks[key] = (deadline, callback)
        if self._timer is None or deadline < self._wakes_at:
            self._wake_at(deadline)

    def forget(self, key: object) -> None:
        """Watch a deadline no more."""
        self._callbacks.pop(key, None)

    def _wake_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wakes_at = deadline
        self._timer = self._loop.call_at(deadline, self._wake)

    def _wake(self) -> None:
        self._timer = None
        now = self._loop.time()
        due = [key for key, (deadline, _) in self._callbacks.items() if deadline <= now]
        for callback in [self._callbacks.pop(key)[1] for key in due]:
            callback()
        if self._callbacks and self._timer is None:
            self._wake_at(min(deadline for deadline, _ in self._callbacks.values()))


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Deadlines] = WeakKeyDictionary()


def deadlines_of(loop: asyncio.AbstractEventLoop) -> Deadlines:
    """The deadlines of an event loop."""
    found = _by_loop.get(loop)
    if found is None:
        found = _by_loop[loop] = Deadlines(loop)
    return found
