"""The Temporal workflow of a run: have a worker drive it, wait while it waits for a person, and drive it again.

Ids, queue names and times are all that passes through Temporal; the run itself is in its journal. Nothing of an agent is
replayed here, so agents and Maverick may change while workflows are open.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from temporalio import workflow
from temporalio.common import RetryPolicy

WORKFLOW = "maverick.run"
DRIVE = "drive"
"""The name of the activity, and its id."""
_LONGEST_DRIVE = timedelta(days=365)
HEARTBEAT = timedelta(seconds=120)
"""Without one for so long, another attempt is made. It is the last resort, when no worker is left to notice that another is
gone: each costs the server a request, for each run."""
_LOOK_AGAIN = 3600.0
"""Seconds after which a run that waits is looked at again, whatever happens."""


class DriveEnd(StrEnum):
    """Why a worker has stopped driving a run."""

    ENDED = "ended"
    """The run has ended."""
    WAITING = "waiting"
    """It waits for a person."""
    UNFIT = "unfit"
    """It was begun with another version of its agent."""


@dataclass(frozen=True, slots=True)
class Drive:
    """What came of driving a run."""

    end: DriveEnd
    until: float | None = None
    """When to drive again if nothing happens before, in seconds since the epoch."""
    queue: str | None = None
    """The queue of the workers that fit."""


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
        seconds = _LOOK_AGAIN if until is None else max(until - workflow.time(), 0)
        try:
            await workflow.wait_condition(lambda: self._woken, timeout=seconds)
        except TimeoutError:
            return
