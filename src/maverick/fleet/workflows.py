"""The workflows of a fleet's runs in Temporal: starts, wakes and ends them, and sees that no run is left without one.

One worker looks for runs that Temporal no longer has, or that no one drives. What it does can be done twice: a run has one
workflow, whose id is the run's.

A workflow has a worker drive its run, waits while the run waits for a person, and has it driven again. Ids, queue names and times
are all that passes through Temporal; the run itself is in its journal. Nothing of an agent is replayed here, so agents and
Maverick may change while workflows are open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from temporalio import workflow
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client as TemporalClient
from temporalio.common import Priority, RetryPolicy, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory, WorkflowAlreadyStartedError

from maverick.fleet.connection import reaching_temporal
from maverick.fleet.request import fairness_key
from maverick.fleet.store import FleetRecord, FleetState, FleetStore

WORKFLOW = "maverick.run"
DRIVE = "drive"
"""The name of the activity, and its id."""
_LONGEST_DRIVE = timedelta(days=365)
HEARTBEAT = timedelta(seconds=120)
"""Without one for so long, another attempt is made. It is the last resort, when no worker is left to notice that another is
gone: each costs the server a request, for each run."""
_WAIT_AT_MOST = 3600.0
"""Seconds after which a run that waits is looked at again, whatever happens."""
_SETTLED = 5.0
"""Seconds after which a run that has not changed should have a workflow that Temporal lists."""
_DECIDES_WITHIN = timedelta(seconds=3)
"""How long a worker may take to say what comes next in a workflow before another is asked: it may be frozen."""
AT_ONCE = timedelta(milliseconds=1)
_SIDE_BY_SIDE = 50
_LOOKS = 4
_NEXT_LOOK = 2.0
"""Seconds between the looks at what was taken from a worker that is gone."""
_LOOKED_AT = 100
"""How many runs that no worker has taken are looked at, those first that wait longest."""
_BEGUN = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
_KEEP_DAYS = 7

T = TypeVar("T")


class DriveEnd(StrEnum):
    """Why a worker has stopped driving a run."""

    ENDED = "ended"
    """The run has ended."""
    WAITING = "waiting"
    """It waits for a person."""
    UNFIT = "unfit"
    """Another worker has to continue: the run was begun with another version of its agent."""


@dataclass(frozen=True, slots=True)
class Drive:
    """What came of driving a run."""

    end: DriveEnd
    until: float | None = None
    """When to drive again if nothing happens before, in seconds since the epoch."""
    queue: str | None = None
    """The queue of the workers that fit."""


def again(message: str, kind: str, delay: timedelta) -> ApplicationError:
    """Has Temporal make another attempt at driving a run, whose workflow need not know."""
    return ApplicationError(
        message, type=kind, next_retry_delay=delay, category=ApplicationErrorCategory.BENIGN
    )


@workflow.defn(name=WORKFLOW, sandboxed=False)
class RunWorkflow:
    """One run. Its id is the run's."""

    def __init__(self) -> None:
        self._woken = False

    @workflow.run
    async def run(self, queue: str) -> str:
        """Have the run driven, by the workers that poll ``queue``, until it has ended."""
        while True:
            self._woken = False
            drive: Drive = await workflow.execute_activity(
                DRIVE,
                queue,
                activity_id=DRIVE,
                task_queue=queue,
                result_type=Drive,
                start_to_close_timeout=_LONGEST_DRIVE,
                heartbeat_timeout=HEARTBEAT,
                # As a rule, who fails an attempt says when to make the next.
                retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), backoff_coefficient=1.0),
            )
            if drive.end is DriveEnd.ENDED:
                return drive.end
            queue = drive.queue or queue
            if drive.end is DriveEnd.WAITING:
                await self._wait(drive.until)
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(queue)

    @workflow.signal
    def wake(self) -> None:
        """Drive the run again: what it waits for may have happened."""
        self._woken = True

    async def _wait(self, until: float | None) -> None:
        seconds = _WAIT_AT_MOST if until is None else max(until - workflow.time(), 0)
        try:
            await workflow.wait_condition(lambda: self._woken, timeout=seconds)
        except TimeoutError:
            return


class Workflows:
    """The workflows of a fleet."""

    def __init__(self, temporal: TemporalClient, store: FleetStore) -> None:
        self._temporal = temporal
        self._store = store
        self._undelivered: dict[str, tuple[int, int]] = {}

    async def offer(self, records: Iterable[FleetRecord]) -> None:
        """Start the workflow of each run that is in progress or parked; one that exists is woken.

        A run of another fleet in the same database is left to that one, which finds it when it next looks.
        """
        for record in records:
            if record.state in (FleetState.QUEUED, FleetState.ENDED) or not self._store.has(record):
                continue
            priority = Priority(priority_key=record.priority, fairness_key=fairness_key(record.user_id))
            try:
                with reaching_temporal():
                    await self._temporal.start_workflow(
                        RunWorkflow.run,
                        record.queue,
                        id=record.run_id,
                        task_queue=self._store.queue,
                        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                        id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                        task_timeout=_DECIDES_WITHIN,
                        priority=priority,
                    )
            except WorkflowAlreadyStartedError:
                await self.wake(record.run_id)

    async def wake(self, run_id: str) -> None:
        """Wake the workflow of a run that waits."""
        with reaching_temporal(or_not_found=True):
            await self._temporal.get_workflow_handle(run_id.partition("/")[0]).signal(RunWorkflow.wake)

    async def close(self, run_id: str) -> None:
        """Terminate the workflow of a run that no worker should drive any more."""
        with reaching_temporal(or_not_found=True):
            await self._temporal.get_workflow_handle(run_id).terminate()

    # Runs that are left behind ----------------------------------------------------------------------------------

    async def sweep(self, *, thoroughly: bool, on_taken: Callable[[], object]) -> None:
        """Make sure that every run continues; ``thoroughly`` lists all workflows even if Temporal has as many as it should.

        ``on_taken`` is called for each run that is taken from a worker that is gone.
        """
        await self.release_orphans(on_taken)
        await self.adopt(thoroughly=thoroughly)
        decided = await self._store.open_runs(settled_for=0, waiting=False)
        await _for_each([run.run_id for run in decided if run.state is FleetState.PARKED], self.wake)
        await self._store.forget_ended(days=_KEEP_DAYS)

    async def adopt(self, *, thoroughly: bool = True, settled_for: float = _SETTLED) -> list[str]:
        """Start the workflow of each run that has none: it was lost, or its server was wiped; returns these runs' ids."""
        store = self._store
        await _for_each(await store.users_waiting(), self._admit)
        if not thoroughly:
            expected = await store.count_settled(settled_for=settled_for)
            with reaching_temporal():
                counted = await self._temporal.count_workflows(self._query)
            if counted.count >= expected:
                return []
        runs = await store.open_runs(settled_for=settled_for)
        if not runs:
            return []
        workflows = self._temporal.list_workflows(self._query, page_size=1000)
        with reaching_temporal():
            has_workflow = {found.id async for found in workflows}
        lost = [run for run in runs if run.run_id not in has_workflow]
        await _for_each([[run] for run in lost], self.offer)
        return [run.run_id for run in lost]

    async def _admit(self, user_id: str) -> None:
        await self.offer(await self._store.admit(user_id))

    async def release_orphans(self, on_taken: Callable[[], object]) -> None:
        """Have Temporal give the runs of workers that are gone to others at once."""

        async def release(orphan: tuple[str, bytes]) -> None:
            run_id, token = orphan
            with reaching_temporal(or_not_found=True):
                await self._temporal.get_async_activity_handle(task_token=token).fail(_gone())
                on_taken()
            await self.offer(await self._store.leave(run_id, token))

        await _for_each(await self._store.orphans(), release)

    async def take_over(self, on_taken: Callable[[], object]) -> None:
        """Have the runs of workers that are gone driven by others, and look whether those have them.

        A worker that is frozen, or cut off, still has polls at Temporal: they may be given what was just taken from it.
        """
        await self.release_orphans(on_taken)
        for _ in range(_LOOKS):
            await asyncio.sleep(_NEXT_LOOK)
            await self.release_undelivered(settled_for=_NEXT_LOOK / 2)

    async def release_undelivered(self, *, settled_for: float = _SETTLED) -> None:
        """Have Temporal give those runs to others that it has given to a worker which never took them, or has left them.

        What Temporal says to a worker is lost with their connection, and so is what a worker says that dies. An attempt that
        has begun, and whose run could continue and is driven by no worker between two looks, is such a one.

        A run that may continue and whose workflow still waits is woken.
        """
        begun: dict[str, tuple[int, int]] = {}
        for run in await self._store.open_runs(settled_for=settled_for, waiting=False, limit=_LOOKED_AT):
            handle = self._temporal.get_workflow_handle(run.run_id)
            with reaching_temporal(or_not_found=True):
                found = (await handle.describe()).raw_description.pending_activities
                begun.update(
                    # The attempts of a run that continued elsewhere are counted from 1 again.
                    (run.run_id, (each.attempt, each.last_started_time.ToNanoseconds()))
                    for each in found
                    if each.state == _BEGUN
                )
                # Whoever let it continue could not tell its workflow, unless it waits for a worker that fits.
                if not found and (run.state is FleetState.PARKED or not run.waits_for):
                    await handle.signal(RunWorkflow.wake)
        for run_id, _ in begun.items() & self._undelivered.items():
            with reaching_temporal(or_not_found=True):
                await self._temporal.get_async_activity_handle(
                    workflow_id=run_id, run_id=None, activity_id=DRIVE
                ).fail(_gone())
        self._undelivered = begun

    @property
    def _query(self) -> str:
        queue = self._store.queue.replace("'", "")
        return f"WorkflowType = '{WORKFLOW}' AND TaskQueue = '{queue}' AND ExecutionStatus = 'Running'"


def _gone() -> ApplicationError:
    """What ends the attempt of a worker that is gone.

    Temporal's timers are as much as a second late. A new attempt is still sooner than a new activity, which its workflow would
    have to ask for: workers that take over many runs at once are busy enough.
    """
    return again("The worker is gone.", "worker_gone", AT_ONCE)


async def _for_each(items: Sequence[T], do: Callable[[T], Awaitable[None]]) -> None:
    """Do something with each item, several at once."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await do(item)

    workers = (work() for _ in range(min(_SIDE_BY_SIDE, len(items))))
    for failed in filter(None, await asyncio.gather(*workers, return_exceptions=True)):
        raise failed
