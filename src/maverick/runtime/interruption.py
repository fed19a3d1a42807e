"""Ending what a run is waiting for when its time is up, it is aborted (promise P4) or handed over.

The run's own task is cancelled, as :func:`asyncio.timeout` does it, but only while it waits inside :meth:`guard`.
Between two waits the run records what happened, and that is never cut in half.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from maverick.exceptions import AgentError, RunHandedOverError
from maverick.loop.result import TerminateReason
from maverick.providers.deadlines import deadlines_of

R = TypeVar("R")


class AbortSignal:
    """Stops the runs it was given to. It can be used from any thread, and for any number of runs."""

    def __init__(self) -> None:
        self.aborted = False
        self.handing_over = False
        self.reason = ""
        self._on_abort: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = {}
        self._on_hand_over: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = {}

    def abort(self, reason: str = "") -> None:
        """Stop; a second call changes nothing."""
        if self.aborted:
            return
        self.reason = reason
        self.aborted = True
        for loop, listener in tuple(self._on_abort.values()):
            loop.call_soon_threadsafe(listener)

    def hand_over(self) -> None:
        """Have the runs left before their next step without ending them, so that another process can resume them.

        Model and tool calls in progress finish and are recorded; delays and questions to a person are not waited for.
        ``execute`` and ``resume`` then raise a ``RunHandedOverError``. A run without a journal continues to its end.
        """
        self.handing_over = True
        for loop, listener in tuple(self._on_hand_over.values()):
            loop.call_soon_threadsafe(listener)

    def subscribe(self, listener: Callable[[], None], *, to_hand_over: bool = False) -> Callable[[], None]:
        """Have a function called in the running loop on abort, or on hand-over; returns the function that ends this."""
        key, listeners = object(), self._on_hand_over if to_hand_over else self._on_abort
        listeners[key] = (asyncio.get_running_loop(), listener)
        if self.handing_over if to_hand_over else self.aborted:
            listener()
        return lambda: listeners.pop(key, None) and None


class RunInterrupted(Exception):  # noqa: N818 - not an error: how an interruption travels up to the driver
    """The run was stopped; ``reason`` and ``message`` say why, and ``error`` where code of the program's own failed."""

    def __init__(self, reason: TerminateReason, message: str, error: AgentError | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.error = error


class RunParked(Exception):  # noqa: N818 - not an error: how a run that waits leaves its driver
    """The run waits for a person; no process is needed until they have decided."""

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message)
        self.error = error


class Interruption:
    """Watches the deadline and the abort signal of one run, from the task that runs it.

    What hands it over is the same signal, or that of the run which called it as a subagent.
    """

    def __init__(
        self, seconds: float | None, signal: AbortSignal | None, handover: AbortSignal | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine of ours always runs in a task
        self._task = task
        self._cause: RunInterrupted | RunHandedOverError | None = None
        self._armed = False
        self._idle = False
        self._cancels = task.cancelling()
        self._fired = False
        self._signal = signal
        self.may_come = signal is not None or seconds is not None
        """Whether the run can be stopped while it waits: it has a time limit or an abort signal."""
        self._left: float | None = seconds
        """The seconds that are left, while the clock stands still."""
        self._deadline: float | None = None
        self._deadlines = deadlines_of(self._loop)
        self.start_clock()
        self._handover = handover
        self._unsubscribe: list[Callable[[], None]] = []
        if signal is not None:
            self._unsubscribe.append(signal.subscribe(self._was_aborted))
        if handover is not None:
            self._unsubscribe.append(handover.subscribe(self._was_handed_over, to_hand_over=True))

    async def guard(self, operation: Coroutine[Any, Any, R], *, idle: bool = False) -> R:
        """Wait for an operation, unless the run is stopped first; an idle one is also ended by a hand-over.

        That is raised, whatever the operation makes of its cancellation; one that cancels itself is an AgentError.
        """
        if self._cause is not None:
            operation.close()
            raise self._cause
        self._armed, self._idle = True, idle
        try:
            return await operation
        except BaseException as error:
            cancels = self._task.cancelling() - self._cancels
            if self._cause is None and isinstance(error, asyncio.CancelledError) and cancels <= 0:
                raise AgentError("What the run waited for cancelled itself.", cause=error) from error
            if self._cause is None or cancels > self._fired:  # others have cancelled it
                raise
            raise self._cause from error
        finally:
            self._armed = self._idle = False
            if self._fired:
                self._fired = False
                self._task.uncancel()

    def set_idle(self, idle: bool) -> None:
        """Say whether the operation in progress can be left for a hand-over: it has done nothing yet."""
        self._idle = idle
        if idle and self._handover is not None and self._handover.handing_over:
            self._was_handed_over()

    @property
    def deadline(self) -> float | None:
        """When the time is up, on the event loop's clock; while the clock stands still, if it went on now."""
        return self._deadline if self._left is None else self._loop.time() + self._left

    def check(self) -> None:
        """Stop here, with the error that says so, if the run is to be stopped or handed over."""
        if self._cause is None and self._signal is not None and self._signal.aborted:
            self._was_aborted()  # the event loop has not delivered it yet
        if self._cause is not None:
            raise self._cause
        if self._handover is not None and self._handover.handing_over:
            raise RunHandedOverError

    def stop_clock(self) -> None:
        """Count no time from here on."""
        if self._deadline is not None:
            self._deadlines.forget(self)
            self._left = self._deadline - self._loop.time()

    def start_clock(self) -> None:
        """Count time again."""
        if self._left is not None:
            self._deadline, self._left = self._loop.time() + self._left, None
            self._deadlines.watch(self, self._deadline, self._time_is_up)

    def close(self) -> None:
        """Stop watching."""
        self._deadlines.forget(self)
        for unsubscribe in self._unsubscribe:
            unsubscribe()

    def _time_is_up(self) -> None:
        self._interrupt(RunInterrupted(TerminateReason.TIMEOUT, ""))

    def _was_aborted(self) -> None:
        self._interrupt(RunInterrupted(TerminateReason.ABORTED, self._signal.reason if self._signal else ""))

    def _was_handed_over(self) -> None:
        if self._idle:  # else at the next check: what the run does is finished first
            self._interrupt(RunHandedOverError())

    def _interrupt(self, cause: RunInterrupted | RunHandedOverError) -> None:
        if self._cause is None:
            self._cause = cause
            if self._armed:
                self._fired = True
                self._task.cancel()
