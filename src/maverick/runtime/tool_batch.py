"""Runs the tool calls of one turn and makes sure that each of them gets a result (promises P3, P4).

They run in parallel, except for sequential ones: such a call waits for those before it, and those after it wait for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from maverick.exceptions import RunHandedOverError
from maverick.loop.entries import ToolFinished
from maverick.loop.tool_round import PlannedCall
from maverick.providers.deadlines import Deadlines
from maverick.runtime.interruption import RunParked
from maverick.runtime.run import Waiting
from maverick.runtime.tool_runner import ToolRunner
from maverick.runtime.toolset import Toolset

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
    """The calls of a turn, running; the same object runs one turn of a run after the other."""

    def __init__(
        self,
        runner: ToolRunner,
        toolset: Toolset,
        max_parallel: int,
        deadlines: Deadlines,
        waiting: Waiting,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._deadlines = deadlines
        self._waiting = waiting
        self._runner = runner
        self._ready = toolset.ready
        self._max_parallel = max_parallel
        self._calls: Sequence[PlannedCall] = ()
        self._queued: deque[PlannedCall] = deque()
        self._running: dict[str, asyncio.Task[None]] = {}
        """By the ids of the calls."""
        self._ending: set[str] = set()
        """Calls whose time is up, and which may still be at work while they clean up."""
        self._alone: str | None = None
        """The sequential call that nothing may run beside."""
        self._finished: deque[ToolFinished] = deque()
        self._begun = False
        """Whether a call was started that has not had its first round of the event loop yet."""
        self._waiter: asyncio.Future[None] | None = None
        self._stopping = False
        self._parked: RunParked | RunHandedOverError | None = None
        self._broken: BaseException | None = None

    def start(self, calls: Sequence[PlannedCall]) -> None:
        """Start the calls of a turn, once those of the turn before have their results."""
        self._calls = calls
        self._queued.extend(calls)
        self._start_queued()

    async def next(self) -> ToolFinished:
        """The next call that has its result; at the end, what a subagent that waits or was handed over has raised."""
        while not self._finished:
            if self._broken is not None:
                raise self._broken
            if self._parked is not None and not self._running and not self._ending:
                raise self._parked
            if self._begun:
                # A call that waits for nothing has its result before this goes on, in the same round of the event loop.
                self._begun = False
                await asyncio.sleep(0)
            else:
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
        # What is being committed is recorded in any case: it must not come after the end of the run.
        committing = [running[each.call.id] for each in self._calls if self._is_committing(each, running)]
        if committing:
            await asyncio.wait(committing)
        for task in running.values():
            self._deadlines.forget(task)
            if not task.done():
                _leave_behind(task)
                _give_up(task)
        for planned in self._calls:
            if planned.call.id in running:
                self._runner.cut_off(planned)
        return list(self._finished)

    def stop_clock(self) -> None:
        """Count no time of the calls from here on."""
        for task in self._running.values():
            self._deadlines.stop(task)

    def start_clock(self) -> None:
        """Count the time of the calls again."""
        for task in self._running.values():
            self._deadlines.go_on(task)

    def _is_committing(self, planned: PlannedCall, running: Mapping[str, asyncio.Task[None]]) -> bool:
        task = running.get(planned.call.id)
        return task is not None and not task.done() and not self._runner.expire(planned)

    def _start_queued(self) -> None:
        while self._queued:
            planned = self._queued[0]
            ready = self._ready.get(planned.call.tool_name)
            sequential = ready is not None and ready.sequential and not planned.refusal
            if not self._may_start(sequential=sequential):
                break
            self._queued.popleft()
            if sequential:
                self._alone = planned.call.id
            # A subagent's own limits say how long it may take.
            self._start(planned, None if ready is None or ready.agent is not None else ready.timeout)
        if isinstance(self._parked, RunParked) and not self._running and not self._ending:
            # A call before them waits for a person, perhaps for days. They can be asked for again.
            self._finished.extend(self._runner.failed(planned, _HELD_UP) for planned in self._queued)
            self._queued.clear()

    def _may_start(self, *, sequential: bool) -> bool:
        if sequential:
            return not self._running and not self._ending and self._parked is None
        if self._alone is not None and (self._alone in self._running or self._alone in self._ending):
            return False
        return len(self._running) < self._max_parallel

    def _start(self, planned: PlannedCall, seconds: float | None) -> None:
        self._begun = True
        # Not by the loop's own factory: an eager one would run the call before it is known as running.
        task = self._running[planned.call.id] = asyncio.Task(self._run_one(planned), loop=self._loop)
        if seconds is not None:
            expire = partial(self._expire, planned, seconds)
            self._deadlines.watch(task, self._loop.time() + seconds, expire)
            if self._waiting.is_open:
                self._deadlines.stop(task)

    async def _run_one(self, planned: PlannedCall) -> None:
        # The result is handed over here and not in a callback of the task, which would cost a turn of the event loop.
        try:
            result = await self._runner.run(planned)
        except (RunParked, RunHandedOverError) as parked:
            if not isinstance(self._parked, RunHandedOverError):  # which is for all of the run
                self._parked = parked
            del self._running[planned.call.id]
            self._wake()
            return
        except asyncio.CancelledError:
            if self._stopping or planned.call.id not in self._running:
                raise
            result = self._runner.failed(planned, f"The tool cancelled itself. {_UNCERTAIN}")
        except BaseException as error:  # noqa: BLE001 - not the tool's: the run itself cannot continue
            self._broken = error
            self._queued.clear()
            self._wake()
            return
        if (task := self._running.pop(planned.call.id, None)) is not None:
            self._deadlines.forget(task)
            self._finished.append(result)
            self._wake()

    def _expire(self, planned: PlannedCall, seconds: float) -> None:
        if not self._runner.expire(planned):
            return
        task = self._running.pop(planned.call.id)
        self._ending.add(planned.call.id)
        _leave_behind(task)
        task.cancel()
        task.add_done_callback(lambda _: self._end(planned))
        self._loop.call_later(_GRACE, self._give_up, planned, task)
        text = f"The tool was stopped after {seconds:g} seconds without an answer. {_UNCERTAIN}"
        self._finished.append(self._runner.failed(planned, text, seconds))
        self._wake()

    def _give_up(self, planned: PlannedCall, task: asyncio.Task[None]) -> None:
        if not task.done():
            _give_up(task)
            self._end(planned)

    def _end(self, planned: PlannedCall) -> None:
        """Take a call as ended whose time was up, and which has cleaned up, or had the time for it."""
        self._runner.cut_off(planned)
        if planned.call.id in self._ending:
            self._ending.remove(planned.call.id)
            self._wake()

    def _wake(self) -> None:
        if self._queued:
            self._start_queued()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _give_up(task: asyncio.Task[None]) -> None:
    """Let the event loop end without waiting for a tool that ignores its cancellation."""
    asyncio._unregister_task(task)  # noqa: SLF001 - documented for those who extend asyncio


def _leave_behind(task: asyncio.Task[None]) -> None:
    _left_behind.add(task)
    task.add_done_callback(_left_behind.discard)
