"""Runs that start at certain times: Temporal's own schedules, and in Postgres what each of them starts.

A schedule has Temporal start a workflow, which has a worker start the run; nothing but the schedule's name passes through
Temporal. A schedule that a server has lost is made again from the table.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Any
from zoneinfo import available_timezones

import msgspec
from msgspec import Struct
from temporalio import activity, workflow
from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    SchedulePolicy,
    ScheduleSpec,
)
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from maverick.exceptions import InvalidInputError, NetworkError
from maverick.fleet.client import Fleet
from maverick.fleet.connection import reaching_temporal
from maverick.fleet.request import DEFAULT_PRIORITY, check_agent, check_priority
from maverick.misuse import refuse
from maverick.runtime.event_log import log_failure

BEGIN = "begin"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_LARGEST = 1_000_000
_MISSED = timedelta(minutes=10)
"""How late a run may start; what was missed before, while the server was down, is left out."""


class ScheduleRecord(Struct, frozen=True, kw_only=True):
    """A schedule."""

    name: str
    cron: str
    time_zone: str | None
    agent: str
    inputs: dict[str, Any]
    user_id: str | None
    priority: int
    next_at: float | None = None
    """When it starts its next run, if Temporal has it."""


@workflow.defn(name="maverick.schedule", sandboxed=False)
class ScheduleWorkflow:
    """Starts a run of a schedule."""

    @workflow.run
    async def run(self, name: str) -> None:
        """Have a worker start the next run of the schedule ``name``."""
        await workflow.execute_activity(
            BEGIN,
            name,
            start_to_close_timeout=timedelta(minutes=1),
            retry_policy=RetryPolicy(
                initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=1)
            ),
        )


class Schedules:
    """The schedules of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._database = fleet.journal.database

    async def add(
        self,
        cron: str,
        agent: str,
        *,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        time_zone: str | None = None,
        user_id: str | None = None,
        priority: int = DEFAULT_PRIORITY,
    ) -> ScheduleRecord:
        """Have runs of an agent started at certain times, whether or not the one before has ended.

        Args:
            cron: When: minute, hour, day of the month, month and day of the week, such as ``0 7 * * *``.
            agent: The name of the agent.
            name: The name of the schedule; by default the agent's.
            inputs: The values of its variables.
            time_zone: The time zone of the times, such as ``Europe/Paris``; by default UTC.
            user_id: The user that the runs act for.
            priority: From 1, the first, to 5.

        Raises:
            InvalidInputError: There is a schedule of this name; or the name, the times, the time zone or the inputs are
                invalid.
            NetworkError: Temporal does not answer.
        """
        check_agent(agent)
        check_priority(priority)
        _check_time_zone(time_zone)
        record = ScheduleRecord(
            name=_checked(name or agent),
            cron=cron,
            time_zone=time_zone,
            agent=agent,
            inputs=dict(inputs or {}),
            user_id=user_id,
            priority=priority,
        )
        added = await self._database.fetch(
            "INSERT INTO maverick.fleet_schedules (name, queue, cron, time_zone, agent, inputs, user_id, priority) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING name",
            record.name,
            self._fleet.queue,
            cron,
            time_zone,
            agent,
            _encoded(record.inputs),
            user_id,
            priority,
        )
        if not added:
            raise InvalidInputError(
                f"There is a schedule named {record.name!r} already. Choose another name, or remove it first.",
                field="name",
            )
        try:
            await self._create(record)
        except BaseException:
            await self._forget(record.name)
            raise
        return record

    async def all(self) -> list[ScheduleRecord]:
        """All schedules by name, each with the time of its next run."""
        times = {}
        with reaching_temporal():
            async for found in await self._fleet.temporal.list_schedules():
                if found.info is not None and found.info.next_action_times:
                    times[found.id] = found.info.next_action_times[0].timestamp()
        return [
            msgspec.structs.replace(record, next_at=times.get(self._id(record.name)))
            for record in await self._records()
        ]

    async def remove(self, name: str) -> None:
        """Remove a schedule; the runs it has started continue.

        Raises:
            InvalidInputError: There is no such schedule.
            NetworkError: Temporal does not answer.
        """
        if not await self._forget(name):
            raise InvalidInputError(
                f"There is no schedule named {name!r}. See: maverick schedule list", field="name"
            )
        with reaching_temporal(or_not_found=True):  # if it fails, what the schedule starts does nothing
            await self._fleet.temporal.get_schedule_handle(self._id(name)).delete()

    async def restore(self) -> None:
        """Make the schedules again that Temporal has lost; raises NetworkError if Temporal does not answer."""
        for record in await self._records():
            await self._create(record)

    @activity.defn(name=BEGIN)
    async def begin(self, name: str) -> None:
        """Start the run for which a workflow was started; one run, however often this is called.

        Nothing of what goes wrong is told to Temporal but its kind.
        """
        try:
            await self._begin(name)
        except Exception as error:  # noqa: BLE001 - whatever it is, it may quote what is private
            log_failure(logging.ERROR, "scheduled_run_not_started", error, {"schedule": name})
            raise ApplicationError(
                "The run could not be started.",
                type=type(error).__name__,
                non_retryable=isinstance(error, InvalidInputError),
                category=ApplicationErrorCategory.BENIGN,
            ) from None

    async def _begin(self, name: str) -> None:
        started_by = activity.info().workflow_id
        assert started_by is not None  # noqa: S101 - only workflows ask for it
        for record in await self._records(name):
            await self._fleet.start(
                record.agent,
                inputs=record.inputs,
                user_id=record.user_id,
                priority=record.priority,
                run_id=started_by.rpartition("/")[2],
            )

    async def _create(self, record: ScheduleRecord) -> None:
        """See that Temporal has a schedule."""
        action = ScheduleActionStartWorkflow(
            ScheduleWorkflow.run,
            record.name,
            id=self._id(record.name),  # to which Temporal adds the time
            task_queue=self._fleet.queue,
        )
        spec = ScheduleSpec(cron_expressions=[record.cron], time_zone_name=record.time_zone)
        schedule = Schedule(action=action, spec=spec, policy=SchedulePolicy(catchup_window=_MISSED))
        try:
            with reaching_temporal():
                await self._fleet.temporal.create_schedule(self._id(record.name), schedule)
        except ScheduleAlreadyRunningError:
            return
        except NetworkError as error:
            cause = error.__cause__
            if not isinstance(cause, RPCError) or cause.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            raise InvalidInputError(
                f"{record.cron!r} is not a schedule that Temporal reads. Write minute, hour, day of the month, month and "
                "day of the week, such as '0 7 * * *', and check the time zone.",
                field="cron",
                cause=cause,
            ) from cause

    async def _records(self, name: str | None = None) -> list[ScheduleRecord]:
        rows = await self._database.fetch(
            "SELECT name, cron, time_zone, agent, inputs, user_id, priority FROM maverick.fleet_schedules "
            "WHERE queue = $1 AND ($2::text IS NULL OR name = $2) ORDER BY name",
            self._fleet.queue,
            name,
        )
        return [
            msgspec.convert({**dict(row), "inputs": msgspec.json.decode(row["inputs"])}, ScheduleRecord)
            for row in rows
        ]

    async def _forget(self, name: str) -> bool:
        return bool(
            await self._database.fetch(
                "DELETE FROM maverick.fleet_schedules WHERE queue = $1 AND name = $2 RETURNING name",
                self._fleet.queue,
                name,
            )
        )

    def _id(self, name: str) -> str:
        return f"{self._fleet.queue}/{name}"


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        refuse("name", f"expected up to 100 letters, digits, '-', '_' and '.', got {name!r}.")
    return name


def _encoded(inputs: Mapping[str, Any]) -> bytes:
    try:
        encoded = msgspec.json.encode(inputs)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError("inputs: expected JSON values.", field="inputs", cause=error) from error
    if len(encoded) > _LARGEST:
        refuse("inputs", "a schedule takes at most 1 MB.")
    return encoded


def _check_time_zone(name: str | None) -> None:
    known = available_timezones()  # none on a machine without them; Temporal knows its own
    if name is not None and known and name not in known:
        nearest = get_close_matches(name, known, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else " Use a name such as Europe/Paris."
        raise InvalidInputError(f"There is no time zone named {name!r}.{hint}", field="time_zone")
