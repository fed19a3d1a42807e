"""The handle with which a run is stopped from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class AbortSignal:
    """Stops the runs it was given to. It can be used from any thread, and for any number of runs."""

    def __init__(self) -> None:
        self.aborted = False
        self.reason = ""
        self._listeners: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = {}

    def abort(self, reason: str = "") -> None:
        """Stop; a second call changes nothing."""
        if self.aborted:
            return
        self.reason = reason
        self.aborted = True
        for loop, listener in tuple(self._listeners.values()):
            loop.call_soon_threadsafe(listener)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have a function called in the running loop on abort; returns the function that ends this."""
        key = object()
        self._listeners[key] = (asyncio.get_running_loop(), listener)
        if self.aborted:
            listener()
        return lambda: self._listeners.pop(key, None) and None
