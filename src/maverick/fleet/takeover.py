"""How a worker drives the runs of one that is gone: in its place, with the attempts that Temporal had given to it.

Temporal has nothing to do for it, and could not give all runs of a worker to others as fast. What the worker that is gone may still
tell it of these attempts would end them; so one that comes back looks first whether they are still its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle
from temporalio.client import Client as TemporalClient
from temporalio.service import RPCError, RPCStatusCode

from maverick.exceptions import JournalError, NetworkError
from maverick.fleet.connection import reaching_temporal
from maverick.fleet.orphans import Orphan, Orphans
from maverick.fleet.store import FleetStore
from maverick.fleet.workflows import ELSEWHERE, Drive
from maverick.runtime import AbortSignal

_NEXT_TRY = 1.0


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt at driving a run."""

    run_id: str
    token: bytes
    signal: AbortSignal
    beat: Callable[[], object]
    """Tells Temporal that the run is being driven."""
    task: asyncio.Task[Drive] | None = None


class Takeover:
    """Drives runs of workers that are gone.

    Args:
        temporal: The connection to Temporal.
        store: The fleet's tables.
        worker: The worker that drives them.
        attempts: What the worker drives; those that are taken over are added.
        drive: Drives the run of an attempt, for the workers of a task queue.
    """

    def __init__(
        self,
        temporal: TemporalClient,
        store: FleetStore,
        worker: str,
        attempts: set[Attempt],
        drive: Callable[[Attempt, str], Coroutine[Any, Any, Drive]],
    ) -> None:
        self._temporal = temporal
        self._orphans = Orphans(store)
        self._worker = worker
        self._attempts = attempts
        self._drive = drive
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def take(self, queues: Sequence[str], most: int) -> int:
        """Begin to drive runs of these task queues, so many at most; returns how many there were."""
        orphans = await self._orphans.take(self._worker, queues, max(most, 0))
        for orphan in orphans:
            self._do(self._stand_in(orphan))
        return len(orphans)

    async def is_taken(self, attempt: Attempt) -> bool:
        """Whether another worker has taken an attempt of this one; it then tells Temporal what comes of it."""
        while True:
            try:
                return await self._orphans.is_taken_from(self._worker, attempt.run_id, attempt.token)
            except JournalError:  # nothing can be driven without it either
                if self._stopped:
                    return False
                await asyncio.sleep(_NEXT_TRY)

    async def settle(self) -> None:
        """Wait until none of the runs is driven any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """Stop now, and tell Temporal nothing."""
        self._stopped = True
        for task in self._tasks:
            task.cancel()
        await self.settle()

    async def _stand_in(self, orphan: Orphan) -> None:
        handle, signal = self._temporal.get_async_activity_handle(task_token=orphan.token), AbortSignal()
        attempt = Attempt(
            orphan.run_id, orphan.token, signal, lambda: self._do(_beat(handle, signal.hand_over))
        )
        self._attempts.add(attempt)
        attempt.task = asyncio.create_task(self._drive(attempt, orphan.queue))
        attempt.beat()  # the last one may be long ago
        try:
            (end,) = await asyncio.gather(attempt.task, return_exceptions=True)
        finally:
            self._attempts.discard(attempt)
        if isinstance(end, Drive):
            await _until_reached(lambda: handle.complete(end))
        elif not await self.is_taken(attempt):
            await _until_reached(lambda: handle.complete(ELSEWHERE))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _beat(handle: AsyncActivityHandle, give_up: Callable[[], object]) -> None:
    """Tell Temporal that an attempt goes on; ``give_up`` is called if it no longer wants that."""
    try:
        await handle.heartbeat()
    except AsyncActivityCancelledError:
        give_up()
    except RPCError as error:  # if it could not be reached, the next one may succeed
        if error.status is RPCStatusCode.NOT_FOUND:
            give_up()


async def _until_reached(tell: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            with reaching_temporal(or_not_found=True):
                await tell()
            return
        except NetworkError:
            await asyncio.sleep(_NEXT_TRY)
