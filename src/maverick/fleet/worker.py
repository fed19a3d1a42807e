"""A worker of a fleet: takes runs from Temporal and drives them with the ordinary executor.

Liveness belongs to workers, not to runs: each renews one row a second, and a peer that finds another's row stale has
Temporal give that one's runs to others at once. What the former worker may still write is refused by the journal, because
whoever drives a run has claimed its lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import platform
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from importlib.metadata import version
from typing import Any, NamedTuple

import msgspec
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import Worker as TemporalWorker

from maverick.exceptions import (
    LeaseLostError,
    MaverickError,
    RunChangedError,
    RunNotFoundError,
)
from maverick.fleet.client import Fleet
from maverick.fleet.store import CHANNEL, FleetRecord, FleetState, RunRequest
from maverick.fleet.workflow import DRIVE, Drive, DriveEnd, RunWorkflow
from maverick.journal import ApprovalStatus
from maverick.journal.store import ENDED
from maverick.loop import AgentDefinition, AgentResult, TerminateReason
from maverick.loop.fingerprint import Fingerprint
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.event_log import log_failure
from maverick.runtime.replay import load_beginning

_RENEWS = 0.5
"""Seconds between two signs of life."""
_STALE = 2.0
"""Seconds without one after which a worker is given up."""
_SWEEPS = 30.0
"""Seconds between two looks for runs that no one drives."""


class Offer(NamedTuple):
    """An agent that a worker has, and what runs it for a user."""

    definition: AgentDefinition[Any]
    executor: Callable[[str | None], AbstractAsyncContextManager[AgentExecutor]]


class OwnDrive(NamedTuple):
    """An agent whose runs other code than the executor's own drives, whichever version began them.

    It drives a run to its end; a run that has ended before has its outcome seen to again.
    """

    drive: Callable[[FleetRecord, AbortSignal], Awaitable[None]]


class Worker:
    """Drives runs of a fleet until it is cancelled.

    Args:
        fleet: The fleet it belongs to.
        agents: The agents it has, by name.
        max_runs: How many runs it drives at once.
    """

    def __init__(self, fleet: Fleet, agents: Mapping[str, Offer | OwnDrive], *, max_runs: int = 100) -> None:
        self.name = f"{platform.node()}-{os.getpid()}-{os.urandom(4).hex()}"
        self._fleet = fleet
        self._store = fleet.store
        self._agents = dict(agents)
        self._max_runs = max_runs
        self._driven: dict[str, AbortSignal] = {}
        self._queues: list[str] = []

    async def run(self) -> None:
        """Work until this task is cancelled."""
        self._queues = [queue for name in self._agents for queue in await self._queues_of(name)]
        await self._register()
        stop = await self._fleet.journal.database.listen(CHANNEL, self._hear)
        workers = [
            TemporalWorker(
                self._fleet.temporal,
                task_queue=self._fleet.queue,
                workflows=[RunWorkflow],
                sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
            ),
            *(
                TemporalWorker(
                    self._fleet.temporal,
                    task_queue=queue,
                    activities=[self.drive],
                    max_concurrent_activities=self._max_runs,
                )
                for queue in self._queues
            ),
        ]
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._stay_alive())
                tasks.create_task(self._sweep())
                for worker in workers:
                    tasks.create_task(worker.run())
        finally:
            await stop()
            await self._store.remove_worker(self.name)

    @activity.defn(name=DRIVE)
    async def drive(self, queue: str) -> Drive:
        """Drive the run whose workflow asks for it, until it ends or waits."""
        run_id = activity.info().workflow_id
        assert run_id is not None  # noqa: S101 - only workflows ask for it
        taken = await self._store.take(run_id, self.name)
        if taken is None:  # it was parked, or is over
            admitted = await self._store.readmit(run_id)
            await self._offer(record for record in admitted if record.run_id != run_id)
            taken = await self._store.take(run_id, self.name)
        if taken is None:
            left = await self._store.get(run_id)
            is_over = left is None or left.state is FleetState.ENDED
            return Drive(DriveEnd.ENDED if is_over else DriveEnd.WAITING)
        record, request = taken
        signal = self._driven[run_id] = AbortSignal()
        if record.abort is not None:
            signal.abort(record.abort)
        heartbeat = asyncio.create_task(_heartbeat())
        try:
            return await self._drive(record, request, signal)
        except LeaseLostError as error:
            raise ApplicationError("Another worker has the run.", type="lease_lost") from error
        except RunChangedError as error:
            return await self._unfit(record, queue, error)
        except MaverickError as error:
            if getattr(error, "retryable", False):
                raise ApplicationError("The run could not be driven.", type=type(error).__name__) from error
            log_failure(logging.ERROR, "run_not_driven", error, {"run_id": run_id})
            await self._leave(run_id, FleetState.ENDED, error=str(error))
            return Drive(DriveEnd.ENDED)
        finally:
            heartbeat.cancel()
            del self._driven[run_id]

    async def _drive(self, record: FleetRecord, request: RunRequest, signal: AbortSignal) -> Drive:
        run_id, journal = record.run_id, self._fleet.journal
        offer = self._agents[record.agent]
        if isinstance(offer, OwnDrive):
            await offer.drive(record, signal)
            await self._leave(run_id, FleetState.ENDED)
            return Drive(DriveEnd.ENDED)
        try:
            found = await journal.get(run_id)
        except RunNotFoundError:
            found = None
        result: AgentResult[Any] | None = None
        async with offer.executor(record.user_id) as executor:
            if found is None:
                result = await executor.execute(
                    offer.definition,
                    inputs=request.all_inputs,
                    run_id=run_id,
                    user_id=record.user_id,
                    trace_id=request.trace_id,
                    signal=signal,
                )
            elif found.status not in ENDED:
                result = await executor.resume(run_id, offer.definition, signal=signal)
        if result is None or result.terminate_reason is not TerminateReason.AWAITING_APPROVAL:
            await self._leave(run_id, FleetState.ENDED)
            return Drive(DriveEnd.ENDED)
        await self._leave(run_id, FleetState.PARKED, waits_for="a person's decision")
        return Drive(DriveEnd.WAITING, until=await self._expiry(run_id))

    async def _leave(self, run_id: str, state: FleetState, *, waits_for: str = "", error: str = "") -> None:
        """Drive a run no longer, and let its user's next one begin."""
        await self._offer(await self._store.leave(run_id, self.name, state, waits_for=waits_for, error=error))

    async def _offer(self, records: Iterable[FleetRecord]) -> None:
        try:
            await self._fleet.offer(records)
        except RPCError as error:  # whoever sweeps next finds that they have no workflow
            log_failure(logging.WARNING, "runs_not_offered", error, {"worker": self.name})

    async def _unfit(self, record: FleetRecord, queue: str, error: RunChangedError) -> Drive:
        """Give a run that was begun with another version of its agent to the workers that have that one."""
        begun = await load_beginning(self._fleet.journal, record.run_id)
        assert begun.fingerprint is not None  # noqa: S101 - else nothing can have changed
        fitting = self._queue_for(record.agent, begun.fingerprint)
        await self._leave(record.run_id, FleetState.STARTED, waits_for=str(error))
        if fitting == queue:  # this worker is one of those, and a subagent has changed
            return Drive(DriveEnd.WAITING)
        return Drive(DriveEnd.UNFIT, queue=fitting)

    async def _expiry(self, run_id: str) -> float | None:
        """When the first request that the run, or a subagent's, waits with expires."""
        requests = await self._fleet.journal.list_approvals(status=ApprovalStatus.PENDING)
        times = [
            request.expires_at
            for request in requests
            if request.expires_at is not None and request.run_id.partition("/")[0] == run_id
        ]
        return min(times, default=None)

    # Queues -----------------------------------------------------------------------------------------------------

    async def _queues_of(self, name: str) -> list[str]:
        offer = self._agents[name]
        if isinstance(offer, OwnDrive):
            return [f"{self._fleet.queue}/{name}"]
        async with offer.executor(None) as executor:
            return [
                f"{self._fleet.queue}/{name}",
                self._queue_for(name, executor.fingerprint(offer.definition)),
            ]

    def _queue_for(self, agent: str, fingerprint: Fingerprint) -> str:
        digest = hashlib.sha256(msgspec.json.encode(fingerprint, order="sorted")).hexdigest()
        return f"{self._fleet.queue}/{agent}@{digest[:12]}"

    # Staying alive ----------------------------------------------------------------------------------------------

    async def _register(self) -> None:
        await self._store.register(
            self.name, platform.node(), version("maverick"), self._queues, self._max_runs
        )

    async def _stay_alive(self) -> None:
        """Renew this worker's row, and tell on those that do not renew theirs."""
        while True:
            try:
                if not await self._store.renew(self.name):
                    await self._register()
                if await self._store.remove_stale(_STALE):
                    await self._release_orphans()
            except MaverickError as error:  # the next look may succeed
                log_failure(logging.WARNING, "fleet_out_of_touch", error, {"worker": self.name})
            await asyncio.sleep(_RENEWS)

    async def _release_orphans(self) -> None:
        """Have Temporal give the runs of workers that are gone to others."""
        for run_id in await self._store.orphans():
            handle = self._fleet.temporal.get_async_activity_handle(
                workflow_id=run_id, run_id=None, activity_id=DRIVE
            )
            with contextlib.suppress(RPCError):  # it has ended, or goes on elsewhere already
                await handle.fail(ApplicationError("Its worker is gone.", type="worker_gone"))

    async def _sweep(self) -> None:
        """See that every run has a workflow, and release those of workers that are gone."""
        while True:
            try:
                await self._fleet.adopt()
                await self._release_orphans()
            except (MaverickError, RPCError) as error:  # the next look may succeed
                logging.getLogger(__name__).warning("fleet_not_swept", exc_info=error)
            await asyncio.sleep(_SWEEPS)

    def _hear(self, text: str) -> None:
        try:
            run_id = json.loads(text).get("abort")
        except (ValueError, AttributeError):
            return
        if run_id in self._driven:
            self._driven[run_id].abort("")


async def _heartbeat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(30)
