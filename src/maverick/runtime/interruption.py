"""Ending what a run is waiting for when its time is up or it is aborted (promise P4).

The run's own task is cancelled, as :func:`asyncio.timeout` does it, but only while it waits inside :meth:`guard`.
Between two waits the run records what happened, and that is never cut in half.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from maverick.exceptions import AgentError
from maverick.loop.result import TerminateReason

R = TypeVar("R")


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


class RunInterrupted(Exception):  # noqa: N818 - not an error: how an interruption travels up to the driver
    """The run was stopped; ``reason`` and ``message`` say why."""

    def __init__(self, reason: TerminateReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class RunParked(Exception):  # noqa: N818 - not an error: how a run that waits leaves its driver
    """The run waits for a person; no process is needed until they have decided."""

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message)
        self.error = error


class Interruption:
    """Watches the deadline and the abort signal of one run, from the task that runs it."""

    def __init__(self, seconds: float | None, signal: AbortSignal | None) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine of ours always runs in a task
        self._task = task
        self._cause: RunInterrupted | None = None
        self._armed = False
        self._cancels = task.cancelling()
        self._fired = False
        self._signal = signal
        self.deadline = None if seconds is None else loop.time() + seconds
        """When the time is up, on the event loop's clock."""
        self._timer = None if self.deadline is None else loop.call_at(self.deadline, self._time_is_up)
        self._unsubscribe: Callable[[], None] | None = None
        if signal is not None:
            self._unsubscribe = signal.subscribe(self._was_aborted)

    async def guard(self, operation: Coroutine[Any, Any, R]) -> R:
        """Wait for an operation, unless the run is stopped first.

        Raises:
            RunInterrupted: It was, whatever the operation made of its cancellation.
            AgentError: The operation cancelled itself.
        """
        if self._cause is not None:
            operation.close()
            raise self._cause
        self._armed = True
        try:
            return await operation
        except BaseException as error:
            if (
                self._cause is None
                and isinstance(error, asyncio.CancelledError)
                and not self._was_cancelled()
            ):
                raise AgentError("What the run waited for cancelled itself.", cause=error) from error
            if self._cause is None or self._was_cancelled_by_others():
                raise
            raise self._cause from error
        finally:
            self._armed = False
            if self._fired:
                self._fired = False
                self._task.uncancel()

    @property
    def may_come(self) -> bool:
        """Whether the run can be stopped while it waits: it has a time limit or an abort signal."""
        return self._signal is not None or self.deadline is not None

    def check(self) -> None:
        """Stop here if the run is to be stopped.

        Raises:
            RunInterrupted: It is.
        """
        if self._cause is None and self._signal is not None and self._signal.aborted:
            self._was_aborted()  # the event loop has not delivered it yet
        if self._cause is not None:
            raise self._cause

    def _was_cancelled(self) -> bool:
        return self._task.cancelling() > self._cancels

    def _was_cancelled_by_others(self) -> bool:
        return self._task.cancelling() > self._cancels + self._fired

    def close(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
        if self._unsubscribe is not None:
            self._unsubscribe()

    def _time_is_up(self) -> None:
        self._interrupt(RunInterrupted(TerminateReason.TIMEOUT, ""))

    def _was_aborted(self) -> None:
        self._interrupt(RunInterrupted(TerminateReason.ABORTED, self._signal.reason if self._signal else ""))

    def _interrupt(self, cause: RunInterrupted) -> None:
        if self._cause is None:
            self._cause = cause
            if self._armed:
                self._fired = True
                self._task.cancel()
