"""A worker of a fleet: takes runs from Temporal and drives them with the ordinary executor.

What a former worker may still write to a run is refused by the journal, because whoever drives a run has claimed its lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import platform
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from typing import Any

from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    PollerBehaviorSimpleMaximum,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    WorkerTuner,
)
from temporalio.worker import Worker as TemporalWorker

from maverick.config import RateLimit
from maverick.exceptions import MaverickError, NetworkError
from maverick.fleet.client import Fleet
from maverick.fleet.driving import Offer, OwnDrive, RunDriver
from maverick.fleet.liveness import Liveness
from maverick.fleet.metrics import WorkerMetrics
from maverick.fleet.rates import shared_rates
from maverick.fleet.schedules import Schedules, ScheduleWorkflow
from maverick.fleet.workflows import HEARTBEAT, RunWorkflow, Workflows
from maverick.runtime.event_log import log_failure

__all__ = ["Offer", "OwnDrive", "Worker"]

_LOOKS = 10.0
"""Seconds between two looks for runs that were given to a worker and never reached it."""
_SWEEP = 3
"""One look in so many is for all runs that no one drives."""
_THOROUGH = 60
"""One look in so many asks Temporal for every workflow."""
_POLLERS = 2
"""Polls of a task queue at once."""
_NEXT_POLL = 0.02
"""Seconds that a poll has to find a run before the next begins."""
_LOOK_AGAIN = 0.05


class Worker:
    """Drives runs of a fleet.

    Args:
        fleet: The fleet it belongs to.
        agents: The agents it has, by name.
        max_runs: How many runs it drives at once.
        grace: The seconds that runs have to reach a point where another worker can take them over, once the worker is to
            stop; those that have not reached it by then are stopped as if the process had died.
        rate_limits: What all workers together may use of each provider; all executors of this process keep to it.
    """

    def __init__(
        self,
        fleet: Fleet,
        agents: Mapping[str, Offer | OwnDrive],
        *,
        max_runs: int = 100,
        grace: float = 60.0,
        rate_limits: Mapping[str, RateLimit] | None = None,
    ) -> None:
        self.name = f"{platform.node()}-{os.getpid()}-{os.urandom(4).hex()}"
        self.fleet = fleet
        self.metrics = WorkerMetrics()
        self._max_runs = max_runs
        self._grace = grace
        self._rate_limits = rate_limits or {}
        self._driver = RunDriver(fleet, self.name, dict(agents), max_runs, self.metrics)
        self._workflows = Workflows(fleet.temporal, fleet.store)
        self._schedules = Schedules(fleet)
        self._liveness: Liveness | None = None
        self._stopping = asyncio.Event()
        self._stopping_now = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.metrics.add_gauge(
            "maverick_fleet_runs_in_progress", "Runs that the worker drives now.", lambda: self.runs
        )
        self.metrics.add_gauge(
            "maverick_fleet_capacity", "Runs that the worker drives at most.", lambda: self._max_runs
        )

    @property
    def is_alive(self) -> bool:
        """Whether the worker is in touch with the database and its peers."""
        return self._liveness is not None and self._liveness.is_in_touch

    @property
    def is_stopping(self) -> bool:
        """Whether the worker has been told to stop."""
        return self._stopping.is_set()

    @property
    def is_ready(self) -> bool:
        """Whether the worker takes runs."""
        return self.is_alive and not self.is_stopping

    @property
    def runs(self) -> int:
        """How many runs it drives now."""
        return self._driver.count

    def stop(self) -> None:
        """Take no more runs and hand those in progress over to other workers; :meth:`run` then returns.

        The second call does not wait for them: they are left as if the process had died.
        """
        (self._stopping_now if self._stopping.is_set() else self._stopping).set()
        self._driver.hand_over()

    async def run(self, on_ready: Callable[[], object] | None = None) -> None:
        """Work until :meth:`stop` is called. A task that is cancelled leaves its runs as if the process had died.

        ``on_ready`` is called once, when the database was reached and the agents can be run. Raises JournalError if
        the database cannot be reached, and MaverickError if an agent cannot be run.
        """
        await self.fleet.journal.database.fetch("SELECT 1")  # fails at once if it cannot be reached
        async with (
            shared_rates(self._rate_limits, self.fleet.journal.database, self.name, self.metrics.waited),
            self._driver.ready() as queues,
        ):
            self._liveness = Liveness(
                self.fleet.store,
                self.name,
                queues,
                self._max_runs,
                hear=self._hear,
                on_connected=lambda: self._do(self._driver.look_for_aborts()),
                on_gone=lambda: self._do(self._workflows.take_over(self.metrics.taken_over.inc)),
            )
            self._liveness.start()
            try:
                if on_ready is not None:
                    on_ready()
                await self._work(queues)
            finally:
                await self._liveness.stop()
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
                with contextlib.suppress(MaverickError):  # peers notice that it is gone
                    await self.fleet.store.remove_worker(self.name)

    async def _work(self, queues: list[str]) -> None:
        """Run Temporal's workers until :meth:`stop` is called or one of them fails."""
        workers = self._workers(queues)
        working = [asyncio.create_task(worker.run()) for worker in workers]
        background: list[asyncio.Task[Any]] = [
            asyncio.create_task(work)
            for work in (self._sweep(), self._beat(), self._driver.broadcast.run(), self._stopping.wait())
        ]
        try:
            await asyncio.wait([*working, *background], return_when=asyncio.FIRST_COMPLETED)
            self._driver.hand_over()
            closing = asyncio.gather(*(worker.shutdown() for worker in workers))
            background.append(asyncio.create_task(self._stopping_now.wait()))
            await asyncio.wait(
                [closing, background[-1]], timeout=self._grace, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            await self._driver.abandon()
            for task in (*working, *background):
                task.cancel()
            await asyncio.wait([*working, *background])
        for task in working:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise NetworkError(
                    "Temporal no longer gives this worker runs. Check its server and the namespace.",
                    cause=error,
                ) from error

    def _workers(self, queues: list[str]) -> list[TemporalWorker]:
        slots = _RunSlots(lambda: self._driver.free if self.is_alive else 0, _POLLERS * len(queues))
        return [
            TemporalWorker(
                self.fleet.temporal,
                task_queue=self.fleet.queue,
                workflows=[RunWorkflow, ScheduleWorkflow],
                activities=[self._schedules.begin],
                activity_task_poller_behavior=PollerBehaviorSimpleMaximum(1),
                identity=self.name,
                build_id="maverick",
                max_cached_workflows=0,  # else Temporal waits for the worker that has one, which may be gone
                workflow_task_poller_behavior=PollerBehaviorSimpleMaximum(_POLLERS),
            ),
            *(
                TemporalWorker(
                    self.fleet.temporal,
                    task_queue=queue,
                    activities=[self._driver.drive],
                    identity=self.name,
                    build_id="maverick",
                    tuner=slots.tuner,
                    activity_task_poller_behavior=PollerBehaviorSimpleMaximum(_POLLERS),
                    max_heartbeat_throttle_interval=HEARTBEAT,  # by itself Temporal takes four fifths of it
                    graceful_shutdown_timeout=timedelta(days=1),  # the grace is ours
                )
                for queue in queues
            ),
        ]

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT.total_seconds() / 4)
            self._driver.beat()

    async def _sweep(self) -> None:
        """Sweep now and then, while this is the worker that does."""
        looks = 0
        while True:
            if self._liveness is not None and self._liveness.sweeps:
                thoroughly = looks % _THOROUGH == 0
                if looks % _SWEEP == 0:
                    await self._try(
                        self._workflows.sweep(thoroughly=thoroughly, on_taken=self.metrics.taken_over.inc)
                    )
                if thoroughly:
                    await self._try(self._schedules.restore())
                await self._try(self._workflows.release_undelivered())
                looks += 1
                await asyncio.sleep(_LOOKS)
            else:
                looks = 0
                await asyncio.sleep(1)

    def _hear(self, text: str) -> None:
        try:
            message = json.loads(text)
            decided = message.get("decided")
        except (ValueError, AttributeError, RecursionError):  # not for workers
            return
        if "watch" in message:
            self._driver.broadcast.hear(message)
        elif "move" in message:
            self._driver.hand_over_run(message["move"])
        elif "abort" in message:
            self._do(self._driver.look_for_aborts())
        elif decided is not None and self._liveness is not None and self._liveness.sweeps:
            self._do(self._workflows.wake(str(decided)))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Start some work in the background."""
        task = asyncio.create_task(self._try(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _try(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except MaverickError as error:  # the next sweep may succeed
            log_failure(logging.WARNING, "fleet_work_failed", error, {"worker": self.name})


class _RunSlots(CustomSlotSupplier):
    """Lets a worker poll while ``free`` says that it may drive one more run, over all its task queues together.

    A worker polls a queue for each version of each agent, and Temporal asks for a slot before it polls: if polls held slots, a
    few idle queues would keep the others from being polled. So only runs hold slots. When few are free, polls begin one after
    the other, so that the first of them can find a run before the next begins.
    """

    def __init__(self, free: Callable[[], int], pollers: int) -> None:
        self._free = free
        self._pollers = pollers
        self._turn = asyncio.Lock()

    @property
    def tuner(self) -> WorkerTuner:
        """What tells a Temporal worker."""
        one = FixedSizeSlotSupplier(1)
        return WorkerTuner.create_composite(
            workflow_supplier=one, activity_supplier=self, local_activity_supplier=one, nexus_supplier=one
        )

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:  # noqa: ARG002 - Temporal's interface
        """Wait until one more run may be driven."""
        async with self._turn:
            while self._free() <= self._pollers:
                await asyncio.sleep(_NEXT_POLL if self._free() > 0 else _LOOK_AGAIN)
                if self._free() > 0:
                    break
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:  # noqa: ARG002 - Temporal's interface
        """Refuse: no run is driven without a poll."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """Nothing to do: the worker counts its runs."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """Nothing to do: the worker counts its runs."""
