"""The deadlines of model calls and tool calls, watched with one timer for each event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from weakref import WeakKeyDictionary

from maverick.exceptions import TimeoutError


class Deadlines:
    """The deadlines of the calls on one event loop.

    A timer for each call would be pushed onto the loop's heap and cancelled a moment later, since almost every call is
    done long before its deadline. Here a call is put into a dictionary and taken out again; the timer goes off at the
    earliest deadline there was, and is set again only if calls are left.
    """

    __slots__ = ("_callbacks", "_loop", "_stopped", "_timer", "_wakes_at")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._callbacks: dict[object, tuple[float, Callable[[], None]]] = {}
        self._stopped: dict[object, tuple[float, Callable[[], None]]] = {}
        """Those that do not come nearer, with the seconds that are left."""
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = 0.0

    def watch(self, key: object, deadline: float, callback: Callable[[], None]) -> None:
        """Call a function when the deadline passes, in the loop's time."""
        self._callbacks[key] = (deadline, callback)
        if self._timer is None or deadline < self._wakes_at:
            self._wake_at(deadline)

    def forget(self, key: object) -> None:
        """Stop watching a deadline."""
        if self._callbacks.pop(key, None) is None:
            self._stopped.pop(key, None)

    def stop(self, key: object) -> None:
        """Let a deadline come no nearer, until :meth:`go_on`."""
        if (watched := self._callbacks.pop(key, None)) is not None:
            self._stopped[key] = (watched[0] - self._loop.time(), watched[1])

    def go_on(self, key: object) -> None:
        """Let a deadline come nearer again, if it was stopped."""
        if (stopped := self._stopped.pop(key, None)) is not None:
            self.watch(key, self._loop.time() + stopped[0], stopped[1])

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


class RequestTimeout:
    """Ends the model call that is made in its ``with`` block when the time is up, and raises ``TimeoutError`` then.

    The time counts while the request is under way, not while it waits to be sent. As with :func:`asyncio.timeout`, the
    task is cancelled, and a cancellation by others stays one.

    ``on_waiting`` is called with true when the request begins to wait to be sent, and with false when it has waited.
    """

    __slots__ = (
        "_cancels",
        "_deadline",
        "_expired",
        "_is_open",
        "_loop",
        "_on_waiting",
        "_seconds",
        "_task",
        "_token",
    )

    def __init__(self, seconds: float, on_waiting: Callable[[bool], None] | None = None) -> None:
        self._seconds = seconds
        self._on_waiting = on_waiting
        self._deadline: float | None = None
        """When the time is up, while it counts."""
        self._expired = False
        self._is_open = True

    def __enter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a model call is made in a task
        self._task = task
        self._cancels = task.cancelling()
        self._count(self._seconds)
        self._token: Token[RequestTimeout | None] = _current.set(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)
        self._is_open = False
        self._pause()
        if (
            self._expired
            and self._task.uncancel() <= self._cancels
            and isinstance(error, asyncio.CancelledError)
        ):
            message = (
                f"The model did not answer within {self._seconds:g} s. Try again, or raise request_timeout."
            )
            raise TimeoutError(message) from error

    def _count(self, seconds: float) -> None:
        self._deadline = self._loop.time() + seconds
        deadlines_of(self._loop).watch(self, self._deadline, self._expire)

    def _pause(self) -> None:
        deadlines_of(self._loop).forget(self)
        self._deadline = None

    def _expire(self) -> None:
        self._deadline = None
        self._expired = True
        self._task.cancel()

    @contextmanager
    def _stopped(self) -> Iterator[None]:
        """Do not count the time of the block."""
        if self._deadline is None or asyncio.get_running_loop() is not self._loop:
            # It is over, or stopped already: a client may leave tasks, use other loops, or have several requests wait.
            yield
            return
        left = self._deadline - self._loop.time()
        self._pause()
        tell = self._on_waiting
        try:
            if tell is not None:
                tell(True)
            yield
        finally:
            if tell is not None and self._is_open:
                tell(False)
            if self._is_open and not self._expired:
                self._count(left)


_current: ContextVar[RequestTimeout | None] = ContextVar("maverick_request_timeout", default=None)
"""The one of the model call that is being made in this context."""


@contextmanager
def waiting_to_be_sent() -> Iterator[None]:
    """For clients that hold requests back: what the block takes does not count as time of the model call."""
    timeout = _current.get()
    if timeout is None:
        yield
        return
    with timeout._stopped():  # noqa: SLF001 - its other half
        yield
