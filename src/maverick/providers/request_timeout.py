"""The time limit of one model call: it runs while the request is in progress, not while it waits to be sent."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType

from maverick.exceptions import TimeoutError


class RequestTimeout:
    """Cancels the model call in its block when the time is up, and raises ``TimeoutError``.

    Args:
        milliseconds: How long the call may take.
    """

    __slots__ = ("_is_open", "_loop", "_milliseconds", "_timer", "_token")

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds
        self._loop = asyncio.get_running_loop()
        self._timer = asyncio.timeout(milliseconds / 1000)
        self._is_open = True

    async def __aenter__(self) -> None:
        await self._timer.__aenter__()
        self._token: Token[RequestTimeout | None] = _current.set(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)
        self._is_open = False
        try:
            await self._timer.__aexit__(kind, error, trace)
        except builtins.TimeoutError as cause:
            message = f"The model did not answer within {self._milliseconds} ms."
            raise TimeoutError(message, cause=cause) from cause

    @contextmanager
    def _stopped(self) -> Iterator[None]:
        """Stop the timer for the length of the block."""
        ends_at = self._timer.when() if self._can_be_set() else None
        if (
            ends_at is None
        ):  # it has ended, or is stopped already: several requests of a client may wait at once
            yield
            return
        left = ends_at - self._loop.time()
        self._timer.reschedule(None)
        try:
            yield
        finally:
            if self._can_be_set():
                self._timer.reschedule(self._loop.time() + left)

    def _can_be_set(self) -> bool:
        """Whether it still runs, and in this event loop: a client may leave tasks behind, or use other loops."""
        return self._is_open and not self._timer.expired() and asyncio.get_running_loop() is self._loop


_current: ContextVar[RequestTimeout | None] = ContextVar("maverick_request_timeout", default=None)
"""The time limit of the model call in this context."""


@contextmanager
def waiting_to_be_sent() -> Iterator[None]:
    """For clients that hold requests back: the time of the block does not count for the model call."""
    timeout = _current.get()
    if timeout is None:
        yield
        return
    with timeout._stopped():  # noqa: SLF001 - its other half
        yield
