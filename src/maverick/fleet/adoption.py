"""Finds the runs that Temporal no longer has or that no one drives, and has them driven again.

One worker does it at a time. What it does can be done twice: a run has one workflow, whose id is the run's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from typing import Protocol, TypeVar

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client as TemporalClient
from temporalio.exceptions import ApplicationError

from maverick.fleet.connection import reaching_temporal
from maverick.fleet.metrics import WorkerMetrics
from maverick.fleet.store import FleetRecord, FleetState, FleetStore
from maverick.fleet.workflow import DRIVE, WORKFLOW, RunWorkflow

_SETTLED = 5.0
"""Seconds after which a run that has not changed should have a workflow that Temporal lists."""
_AT_ONCE = 50
_LOOKS = 4
_NEXT_LOOK = 2.0
"""Seconds between the looks at what was taken from a worker that is gone."""
_LOOKED_AT = 100
"""How many runs that no worker has taken are looked at, those first that wait longest."""
_BEGUN = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
_KEEP_DAYS = 7

T = TypeVar("T")


class _Fleet(Protocol):
    temporal: TemporalClient
    store: FleetStore
    queue: str

    async def offer(self, records: Iterable[FleetRecord]) -> None: ...

    async def wake(self, run_id: str) -> None: ...


class Adoption:
    """Sweeps the runs of a fleet."""

    def __init__(self, fleet: _Fleet, metrics: WorkerMetrics | None = None) -> None:
        self._fleet = fleet
        self._metrics = metrics
        self._undelivered: dict[str, int] = {}

    async def sweep(self, *, thoroughly: bool) -> None:
        """Make sure that every run continues; ``thoroughly`` lists all workflows even if Temporal has as many as it should."""
        await self.release_orphans()
        await self.adopt(thoroughly=thoroughly)
        await _for_each(await self._fleet.store.decided(), self._fleet.wake)
        await self._fleet.store.forget_ended(days=_KEEP_DAYS)

    async def adopt(self, *, thoroughly: bool = True, settled_for: float = _SETTLED) -> list[str]:
        """Start the workflow of each run that has none: it was lost, or its server was wiped.

        Returns:
            The ids of the runs whose workflow was started.
        """
        store = self._fleet.store
        await _for_each(await store.users_waiting(), self._admit)
        if not thoroughly:
            expected = await store.count_settled(settled_for=settled_for)
            with reaching_temporal():
                counted = await self._fleet.temporal.count_workflows(self._query)
            if counted.count >= expected:
                return []
        runs = await store.open_runs(settled_for=settled_for)
        if not runs:
            return []
        workflows = self._fleet.temporal.list_workflows(self._query, page_size=1000)
        with reaching_temporal():
            has_workflow = {found.id async for found in workflows}
        lost = [run for run in runs if run.run_id not in has_workflow]
        await _for_each(lost, self._offer)
        return [run.run_id for run in lost]

    async def _admit(self, user_id: str) -> None:
        await self._fleet.offer(await self._fleet.store.admit(user_id))

    async def _offer(self, record: FleetRecord) -> None:
        await self._fleet.offer([record])

    async def release_orphans(self) -> None:
        """Have Temporal give the runs of workers that are gone to others at once."""
        await _for_each(await self._fleet.store.orphans(), self._release)

    async def take_over(self) -> None:
        """Have the runs of workers that are gone driven by others, and look whether those have them.

        A worker that is frozen, or cut off, still has polls at Temporal: they may be given what was just taken from it.
        """
        await self.release_orphans()
        for _ in range(_LOOKS):
            await asyncio.sleep(_NEXT_LOOK)
            await self.release_undelivered(settled_for=_NEXT_LOOK / 2)

    async def release_undelivered(self, *, settled_for: float = _SETTLED) -> None:
        """Have Temporal give those runs to others that it has given to a worker which never took them.

        What Temporal says to a worker is lost with their connection. An attempt that has begun, and whose run no worker has
        taken between two looks, is such a one.

        A run that may go on and whose workflow still waits is woken.
        """
        begun: dict[str, int] = {}
        for run in await self._fleet.store.open_runs(settled_for=settled_for, limit=_LOOKED_AT):
            handle = self._fleet.temporal.get_workflow_handle(run.run_id)
            if run.state is FleetState.STARTED:
                with reaching_temporal(or_not_found=True):
                    found = (await handle.describe()).raw_description.pending_activities
                    begun.update((run.run_id, each.attempt) for each in found if each.state == _BEGUN)
                    if not found and not run.waits_for:  # whoever let it go on could not tell its workflow
                        await handle.signal(RunWorkflow.wake)
        for run_id, _ in begun.items() & self._undelivered.items():
            with reaching_temporal(or_not_found=True):
                await self._fleet.temporal.get_async_activity_handle(
                    workflow_id=run_id, run_id=None, activity_id=DRIVE
                ).fail(_gone())
        self._undelivered = begun

    async def _release(self, orphan: tuple[str, bytes]) -> None:
        run_id, token = orphan
        attempt = self._fleet.temporal.get_async_activity_handle(task_token=token)
        with reaching_temporal(or_not_found=True):
            await attempt.fail(_gone())
            if self._metrics is not None:
                self._metrics.taken_over.inc()
        await self._fleet.offer(await self._fleet.store.leave(run_id, token))

    @property
    def _query(self) -> str:
        queue = self._fleet.queue.replace("'", "")
        return f"WorkflowType = '{WORKFLOW}' AND TaskQueue = '{queue}' AND ExecutionStatus = 'Running'"


def _gone() -> ApplicationError:
    return ApplicationError(
        "The worker is gone.", type="worker_gone", next_retry_delay=timedelta(milliseconds=1)
    )


async def _for_each(items: Sequence[T], do: Callable[[T], Awaitable[None]]) -> None:
    """Do something with each item, several at once."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await do(item)

    workers = (work() for _ in range(min(_AT_ONCE, len(items))))
    for failed in filter(None, await asyncio.gather(*workers, return_exceptions=True)):
        raise failed
