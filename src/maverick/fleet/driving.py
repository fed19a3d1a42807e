"""What a worker does with the runs it is given: the ordinary executor drives each until it ends, waits or is handed over."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias

from temporalio import activity
from temporalio.exceptions import ApplicationError

import maverick.tools.typed_arguments  # noqa: F401 - else the first run that is taken over waits until it is loaded
from maverick.exceptions import (
    InvalidInputError,
    LeaseLostError,
    MaverickError,
    NetworkError,
    RunChangedError,
    RunExistsError,
    RunHandedOverError,
    RunNotFoundError,
)
from maverick.fleet.client import Fleet
from maverick.fleet.live import Broadcast
from maverick.fleet.metrics import WorkerMetrics
from maverick.fleet.request import RunRequest
from maverick.fleet.store import FleetRecord, FleetState
from maverick.fleet.workflows import AT_ONCE, DRIVE, Drive, DriveEnd, again
from maverick.journal.records import ENDED, Approval, ApprovalStatus
from maverick.loop import AgentDefinition, AgentResult, TerminateReason
from maverick.loop.fingerprint import Fingerprint
from maverick.misuse import refuse
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.event_log import Listener, log_failure
from maverick.runtime.replay import load_beginning

_SOON = timedelta(seconds=1)
_LATER = timedelta(seconds=10)


OwnDrive: TypeAlias = Callable[[FleetRecord, AbortSignal, Listener], Awaitable[bool]]
"""Drives the runs of an agent, whichever version began them, in place of the executor's own code.

Given the run, what stops it, and whom to tell of its events, it drives the run to its end, and says whether it waits for a person's
decision. A run that has ended before has its outcome seen to again.
"""


class Offer(NamedTuple):
    """An agent that a worker has, and what runs it for a user."""

    definition: AgentDefinition[Any]
    executor: Callable[[str | None], AbstractAsyncContextManager[AgentExecutor]]
    for_each_user: bool = False
    """Whether each user has an executor of their own; else one serves all runs."""


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt at driving a run."""

    run_id: str
    token: bytes
    signal: AbortSignal
    context: contextvars.Context
    task: asyncio.Task[Drive] | None = None


class RunDriver:
    """Drives the runs of one worker."""

    def __init__(
        self,
        fleet: Fleet,
        worker: str,
        agents: Mapping[str, Offer | OwnDrive],
        max_runs: int,
        metrics: WorkerMetrics,
    ) -> None:
        self.broadcast = Broadcast(fleet.journal)
        """Tells those who watch a run what happens in it."""
        self._fleet = fleet
        self._store = fleet.store
        self._worker = worker
        self._agents = agents
        self._max_runs = max_runs
        self._metrics = metrics
        self._attempts: dict[bytes, Attempt] = {}
        self._shared: dict[str, AgentExecutor] = {}
        self._draining = False

    @property
    def free(self) -> int:
        """How many more runs may be driven."""
        return 0 if self._draining else self._max_runs - len(self._attempts)

    @property
    def count(self) -> int:
        """How many runs are being driven."""
        return len(self._attempts)

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[list[str]]:
        """Open the executors that serve all runs of an agent; yields the task queues of what can be driven."""
        queues = []
        async with AsyncExitStack() as stack:
            for name, offer in self._agents.items():
                queues.append(self._fleet.queue_of(name))
                if not isinstance(offer, Offer):
                    continue
                executor = await stack.enter_async_context(offer.executor(None))
                if not offer.for_each_user:
                    self._shared[name] = executor
                queues.append(self._queue_for(name, executor.fingerprint(offer.definition)))
            yield queues

    # Stopping ---------------------------------------------------------------------------------------------------

    async def look_for_aborts(self) -> None:
        """Stop the runs that are to stop."""
        if not self._attempts:
            return
        reasons = await self._store.aborts(self._worker)
        for attempt in self._attempts.values():
            if attempt.run_id in reasons:
                attempt.signal.abort(reasons[attempt.run_id])

    def hand_over_run(self, run_id: str) -> None:
        """Leave one run at its next write point, if it is being driven."""
        for attempt in self._attempts.values():
            if attempt.run_id == run_id:
                attempt.signal.hand_over()

    def hand_over(self) -> None:
        """Take no more runs, and leave each at its next write point for another worker."""
        self._draining = True
        for attempt in self._attempts.values():
            attempt.signal.hand_over()

    async def abandon(self) -> None:
        """Stop now, as if the process had died: what was not written is not written any more."""
        self._draining = True
        for attempt in tuple(self._attempts.values()):
            try:
                # A task that is cancelled ends its run, unless it has lost its lease.
                await self._fleet.journal.claim(attempt.run_id)
            except MaverickError as error:  # then it cannot be written to either, or has not begun
                log_failure(logging.WARNING, "run_not_fenced", error, {"run_id": attempt.run_id})
            if attempt.task is not None:
                attempt.task.cancel()

    def beat(self) -> None:
        """Tell Temporal that the runs are being driven."""
        for attempt in tuple(self._attempts.values()):
            attempt.context.run(activity.heartbeat)

    # Driving ----------------------------------------------------------------------------------------------------

    @activity.defn(name=DRIVE)
    async def drive(self, queue: str) -> Drive:
        """Drive the run whose workflow asks for it, until it ends or waits."""
        info = activity.info()
        assert info.workflow_id is not None  # noqa: S101 - only workflows ask for it
        if self.free <= 0:
            raise again("The worker is at its limit of runs.", "worker_full", timedelta(milliseconds=100))
        attempt = Attempt(info.workflow_id, info.task_token, AbortSignal(), contextvars.copy_context())
        self._attempts[attempt.token] = attempt
        queued = info.started_time - info.current_attempt_scheduled_time
        self._metrics.queue_seconds.observe(max(queued.total_seconds(), 0))
        attempt.task = asyncio.create_task(self._try(attempt, queue))
        try:
            while True:
                try:
                    return await asyncio.shield(attempt.task)
                except asyncio.CancelledError:
                    if attempt.task.done():
                        break
                    # Temporal no longer wants this attempt. Its task is not cancelled: that would end the run.
                    attempt.signal.hand_over()
        finally:
            del self._attempts[attempt.token]
        raise again("The worker has stopped.", "worker_stopped", AT_ONCE)

    async def _try(self, attempt: Attempt, queue: str) -> Drive:
        """Drive a run; nothing of what went wrong is told to Temporal but its kind."""
        end = "failed"
        try:
            drive = await self._drive(attempt, queue)
            end = drive.end
            return drive
        except ApplicationError as error:
            end = error.type or end
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is not lost: another attempt is made
            log_failure(logging.ERROR, "run_not_driven", error, {"run_id": attempt.run_id})
            raise again("The run could not be driven.", type(error).__name__, _LATER) from None
        finally:
            self._metrics.count_drive(end)

    async def _take(self, attempt: Attempt) -> tuple[FleetRecord, RunRequest] | Drive:
        """Take a run to drive it, if it may continue now; else what to tell its workflow."""
        run_id = attempt.run_id
        taken = await self._store.take(run_id, self._worker, attempt.token)
        if taken is not None:
            return taken
        asked = await self._store.open_requests(run_id)
        until = _decided_at(asked)
        if not asked or (until is not None and until <= time.time()):  # else it was woken for nothing
            admitted = await self._store.readmit(run_id)
            await self._offer(record for record in admitted if record.run_id != run_id)
            taken = await self._store.take(run_id, self._worker, attempt.token)
            if taken is not None:
                return taken
        left = await self._store.get(run_id)
        if left is None or left.state is FleetState.ENDED:
            return Drive(DriveEnd.ENDED)
        return Drive(DriveEnd.WAITING, until=until if left.state is FleetState.PARKED else None)

    async def _drive(self, attempt: Attempt, queue: str) -> Drive:
        taken = await self._take(attempt)
        if isinstance(taken, Drive):
            return taken
        record, request = taken
        if record.abort is not None:
            attempt.signal.abort(record.abort)
        if self._draining:
            attempt.signal.hand_over()
        try:
            with self.broadcast.listening(record.run_id) as listener:
                waits = await self._run(record, request, attempt.signal, listener)
        except RunHandedOverError:
            await self._leave(attempt)
            raise again("The run was handed over.", "handed_over", AT_ONCE) from None
        except (LeaseLostError, RunExistsError):
            raise again("Another worker has the run.", "lease_lost", _SOON) from None
        except RunChangedError as error:
            return await self._unfit(attempt, record.agent, queue, error)
        except MaverickError as error:
            if getattr(error, "retryable", False):
                raise again("The run could not be driven.", type(error).__name__, _SOON) from None
            log_failure(logging.ERROR, "run_not_driven", error, {"run_id": attempt.run_id})
            await self._leave(attempt, FleetState.ENDED, error=str(error))
            return Drive(DriveEnd.ENDED)
        if not waits:
            await self._leave(attempt, FleetState.ENDED)
            return Drive(DriveEnd.ENDED)
        await self._leave(attempt, FleetState.PARKED, waits_for="a person's decision")
        return Drive(DriveEnd.WAITING, until=_decided_at(await self._store.open_requests(attempt.run_id)))

    async def _run(
        self, record: FleetRecord, request: RunRequest, signal: AbortSignal, listener: Listener
    ) -> bool:
        """Drive a run; says whether it waits for a person's decision."""
        offer = self._agents[record.agent]
        if not isinstance(offer, Offer):
            return await offer(record, signal, listener)
        try:
            found = await self._fleet.journal.get(record.run_id)
        except RunNotFoundError:
            found = None
        asked_of = request.inputs["run_id"] if request.fork else None
        # It may have been made since the fleet was asked for one.
        if found and (found.user_id != record.user_id or asked_of not in (None, found.forked_from)):
            refuse("run_id", f"there is another run {record.run_id!r}.")
        if found is not None and found.status in ENDED:
            return False
        watched: dict[str, Any] = {"signal": signal, "on_activity": listener}
        async with self._executor(record.agent, offer, record.user_id) as executor:
            if found is None:
                result = await self._begin(executor, offer.definition, record, request, watched)
            else:
                changed = record.accept_changes
                result = await executor.resume(
                    record.run_id, offer.definition, accept_changes=changed, **watched
                )
        return result.terminate_reason is TerminateReason.AWAITING_APPROVAL

    async def _begin(
        self,
        executor: AgentExecutor,
        definition: AgentDefinition[Any],
        record: FleetRecord,
        request: RunRequest,
        watched: dict[str, Any],
    ) -> AgentResult[Any]:
        """Drive a run that the journal does not have yet."""
        run_id, inputs = record.run_id, request.all_inputs
        for blob in request.blobs:
            await self._fleet.journal.load_blob(blob, run_id)
        if not request.fork:
            watched |= {"user_id": record.user_id, "trace_id": request.trace_id}
            return await executor.execute(definition, inputs=inputs, run_id=run_id, **watched)
        try:
            return await executor.fork(definition=definition, new_run_id=run_id, **inputs, **watched)
        except RunChangedError as error:  # there is no run yet that could wait for other workers
            raise InvalidInputError(str(error), field="run_id", cause=error) from error

    @asynccontextmanager
    async def _executor(self, agent: str, offer: Offer, user_id: str | None) -> AsyncIterator[AgentExecutor]:
        if agent in self._shared:
            yield self._shared[agent]
        else:
            async with offer.executor(user_id) as executor:
                yield executor

    async def _leave(self, attempt: Attempt, state: FleetState = FleetState.STARTED, **why: str) -> None:
        """Drive a run no longer, and let its user's next one begin."""
        await self._offer(await self._store.leave(attempt.run_id, attempt.token, state, **why))

    async def _offer(self, records: Iterable[FleetRecord]) -> None:
        try:
            await self._fleet.workflows.offer(records)
        except NetworkError as error:  # whoever sweeps next finds that they have no workflow
            log_failure(logging.WARNING, "runs_not_offered", error, {"worker": self._worker})

    async def _unfit(self, attempt: Attempt, agent: str, queue: str, error: RunChangedError) -> Drive:
        """Give a run that was begun with another version of its agent to the workers that have that one."""
        begun = await load_beginning(self._fleet.journal, attempt.run_id)
        assert begun.fingerprint is not None  # noqa: S101 - else nothing can have changed
        fitting = self._queue_for(agent, begun.fingerprint)
        if fitting == queue:  # this worker is one of those, and a subagent has changed
            await self._leave(attempt, waits_for=str(error), queue=fitting)
            return Drive(DriveEnd.WAITING)
        await self._leave(attempt, queue=fitting, changes=str(error))
        return Drive(DriveEnd.UNFIT, queue=fitting)

    def _queue_for(self, agent: str, fingerprint: Fingerprint) -> str:
        return f"{self._fleet.queue_of(agent)}@{fingerprint.version}"


def _decided_at(asked: Sequence[Approval]) -> float | None:
    """When a run that waits for these decisions can continue: at once if there is one, or when the first request expires."""
    if any(request.status is not ApprovalStatus.PENDING for request in asked):
        return 0.0
    return min((request.expires_at for request in asked if request.expires_at is not None), default=None)
