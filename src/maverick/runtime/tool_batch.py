"""Runs the tool calls of one turn and sees to it that each of them gets a result (promises P3, P4).

They run in parallel, but for sequential ones: such a call waits for those before it, and those after it wait for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from maverick.loop.entries import ToolFinished
from maverick.loop.result import ToolOutcome
from maverick.loop.tool_round import PlannedCall
from maverick.runtime.deadlines import deadlines_of
from maverick.runtime.parking import RunParked
from maverick.runtime.run_clock import RunClock

_GRACE = 0.5
"""Seconds a cancelled tool has to clean up before it is left behind."""

_left_behind: set[asyncio.Task[Any]] = set()
"""Tools that did not stop when told to. Kept here, since the event loop itself holds tasks only weakly."""

_HELD_UP = (
    "Not run: a call before it in this turn waits for a person, and this tool runs only after it. "
    "Call it again once that is decided."
)
_UNCERTAIN = "It may or may not have taken effect."


class ToolBatch:
    """The calls of one turn, running.

    Args:
        calls: The calls.
        run: Runs one of them; what it raises is ``RunParked``, an error that ends the run, or ``CancelledError`` once it
            was cancelled.
        timeout: The seconds a call may take; ``None`` is as long as it likes.
        expire: Told of a call whose time is up; says whether it can still be cut off.
        cut_off: Told of a call that was, once it has cleaned up or had the time for it.
        is_sequential: Whether a call runs alone, in its place in the turn.
        max_parallel: How many run at once.
        clock: The clock of the run.
    """

    def __init__(
        self,
        calls: Sequence[PlannedCall],
        run: Callable[[PlannedCall], Coroutine[Any, Any, ToolFinished]],
        timeout: Callable[[PlannedCall], float | None],
        expire: Callable[[PlannedCall], bool],
        cut_off: Callable[[PlannedCall], None],
        is_sequential: Callable[[PlannedCall], bool],
        max_parallel: int,
        clock: RunClock,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._deadlines = deadlines_of(self._loop)
        self._run = run
        self._timeout = timeout
        self._expires = expire
        self._cut_off = cut_off
        self._is_sequential = is_sequential
        self._max_parallel = max_parallel
        self._clock = clock
        self._calls = calls
        self._queued = deque(calls)
        self._running: dict[int, asyncio.Task[None]] = {}
        self._ending: set[int] = set()
        """Calls whose time is up, and which may still be at work while they clean up."""
        self._alone: int | None = None
        """The sequential call that nothing may run beside."""
        self._finished: deque[ToolFinished] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._stopping = False
        self._parked: RunParked | None = None
        self._broken: BaseException | None = None
        self._start_queued()

    async def next(self) -> ToolFinished:
        """The next call that has its result.

        Raises:
            RunParked: All others have theirs, and a subagent waits for a person.
            JournalError: The run can not go on.
        """
        while not self._finished:
            if self._broken is not None:
                raise self._broken
            if self._parked is not None and not self._running and not self._ending:
                raise self._parked
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._finished.popleft()

    async def stop(self) -> list[ToolFinished]:
        """Cancel what still runs; what has finished by then is returned, the rest is left without a result."""
        self._stopping = True
        self._queued.clear()
        running = dict(self._running)
        for task in running.values():
            task.cancel()
        if running:
            await asyncio.wait(running.values(), timeout=_GRACE)
        # What is being committed is written down in any case: it must not come after the end of the run.
        committing = [running[call.index] for call in self._calls if self._is_committing(call, running)]
        if committing:
            await asyncio.wait(committing)
        for index, task in running.items():
            self._deadlines.forget((self, index))
            if not task.done():
                _leave_behind(task)
                _give_up(task)
        for planned in self._calls:
            if planned.index in running:
                self._cut_off(planned)
        return list(self._finished)

    def _is_committing(self, planned: PlannedCall, running: Mapping[int, asyncio.Task[None]]) -> bool:
        task = running.get(planned.index)
        return task is not None and not task.done() and not self._expires(planned)

    def _start_queued(self) -> None:
        while self._queued and self._may_start(self._queued[0]):
            self._start(self._queued.popleft())
        if self._parked is not None and not self._running and not self._ending:
            # A call before them waits for a person, perhaps for days. They can be asked for again.
            self._finished.extend(self._failed(planned, _HELD_UP) for planned in self._queued)
            self._queued.clear()

    def _may_start(self, planned: PlannedCall) -> bool:
        if self._is_sequential(planned):
            return not self._running and not self._ending and self._parked is None
        if self._alone is not None and (self._alone in self._running or self._alone in self._ending):
            return False
        return len(self._running) < self._max_parallel

    def _start(self, planned: PlannedCall) -> None:
        if self._is_sequential(planned):
            self._alone = planned.index
        seconds = self._timeout(planned)
        self._running[planned.index] = self._loop.create_task(self._run_one(planned))
        if seconds is not None:
            expire = partial(self._expire, planned, seconds)
            self._deadlines.watch((self, planned.index), self._loop.time() + seconds, expire)

    async def _run_one(self, planned: PlannedCall) -> None:
        # The result is handed over here and not in a callback of the task, which would cost a turn of the event loop.
        try:
            result = await self._run(planned)
        except RunParked as parked:
            self._parked = parked
            del self._running[planned.index]
            self._wake()
            return
        except asyncio.CancelledError:
            if self._stopping or planned.index not in self._running:
                raise
            result = self._failed(planned, f"The tool cancelled itself. {_UNCERTAIN}")
        except BaseException as error:  # noqa: BLE001 - not the tool's: the run itself can not go on
            self._broken = error
            self._queued.clear()
            self._wake()
            return
        if self._running.pop(planned.index, None) is not None:
            self._deadlines.forget((self, planned.index))
            self._settle(result)

    def _expire(self, planned: PlannedCall, seconds: float) -> None:
        if not self._expires(planned):
            return
        task = self._running.pop(planned.index)
        self._ending.add(planned.index)
        _leave_behind(task)
        task.cancel()
        task.add_done_callback(lambda _: self._end(planned))
        self._loop.call_later(_GRACE, self._give_up, planned, task)
        text = f"The tool was stopped after {seconds:g} seconds without an answer. {_UNCERTAIN}"
        self._settle(self._failed(planned, text, seconds))

    def _give_up(self, planned: PlannedCall, task: asyncio.Task[None]) -> None:
        if not task.done():
            _give_up(task)
            self._end(planned)

    def _end(self, planned: PlannedCall) -> None:
        """A call whose time was up has cleaned up, or had the time for it."""
        self._cut_off(planned)
        if planned.index in self._ending:
            self._ending.remove(planned.index)
            self._wake()

    def _settle(self, result: ToolFinished) -> None:
        self._finished.append(result)
        self._wake()

    def _wake(self) -> None:
        self._start_queued()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _failed(self, planned: PlannedCall, text: str, seconds: float = 0.0) -> ToolFinished:
        return ToolFinished(
            at=self._clock.now(),
            index=planned.index,
            outcome=ToolOutcome.FAILED,
            content=text,
            duration_ms=round(seconds * 1000),
        )


def _give_up(task: asyncio.Task[None]) -> None:
    """Let the event loop end without waiting for a tool that ignores its cancellation."""
    asyncio._unregister_task(task)  # noqa: SLF001 - documented for those who extend asyncio


def _leave_behind(task: asyncio.Task[None]) -> None:
    _left_behind.add(task)
    task.add_done_callback(_left_behind.discard)
