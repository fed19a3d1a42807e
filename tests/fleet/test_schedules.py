"""Runs that Temporal's own schedules start, from what the table of schedules says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from temporalio.client import WorkflowFailureError

from maverick import AgentDefinition, AgentExecutor
from maverick.exceptions import InvalidInputError
from maverick.fleet import Fleet
from maverick.fleet.schedules import Schedules, ScheduleWorkflow
from maverick.fleet.worker import Offer, Worker
from maverick.journal import RunStatus
from maverick.testing import ScriptedClient, reply

PRIVATE = "the combination of the safe"
clerk: AgentDefinition[str] = AgentDefinition("clerk", "Works.")


@asynccontextmanager
async def working(fleet: Fleet) -> AsyncIterator[None]:
    @asynccontextmanager
    async def executor(user_id: str | None) -> AsyncIterator[AgentExecutor]:
        yield AgentExecutor(ScriptedClient(lambda request: reply("Done.")), journal=fleet.journal)

    worker = Worker(fleet, {"clerk": Offer(clerk, executor)})
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def test_a_schedule_starts_runs_and_nothing_of_them_passes_through_temporal(fleet: Fleet) -> None:
    schedules = Schedules(fleet)
    await schedules.add(
        "0 7 * * *", "clerk", name="daily", inputs={"prompt": f"Work, {PRIVATE}."}, time_zone="Asia/Tokyo"
    )
    handle = fleet.temporal.get_schedule_handle(f"{fleet.queue}/daily")

    async with working(fleet), asyncio.timeout(30):
        while (listed := (await schedules.all())[0]).next_at is None:  # noqa: ASYNC110 - Temporal lists it a little later
            await asyncio.sleep(0.05)
        await handle.trigger()
        while not (started := await fleet.list()):  # noqa: ASYNC110 - another process starts it
            await asyncio.sleep(0.05)
        record = await fleet.run(started[0].run_id).ended()

    assert (record.agent, record.status) == ("clerk", RunStatus.COMPLETE)
    assert record.run_id.startswith("daily-20")
    assert listed.next_at is not None
    assert listed.next_at % 86_400 == 22 * 3600
    history = await fleet.temporal.get_workflow_handle(f"{fleet.queue}/{record.run_id}").fetch_history()
    assert PRIVATE not in history.to_json()
    assert PRIVATE not in str((await handle.describe()).raw_description)


async def test_why_a_scheduled_run_could_not_be_started_is_not_told_to_temporal(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise InvalidInputError(f"inputs: {PRIVATE}", field="inputs") from ValueError(PRIVATE)

    await Schedules(fleet).add("0 7 * * *", "clerk", name="daily")
    monkeypatch.setattr(fleet, "start", fail)
    async with working(fleet), asyncio.timeout(30):
        handle = await fleet.temporal.start_workflow(
            ScheduleWorkflow.run, "daily", id=f"{fleet.queue}/daily-1", task_queue=fleet.queue
        )
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert PRIVATE not in (await handle.fetch_history()).to_json()


async def test_a_schedule_that_temporal_has_lost_is_made_again_and_one_that_is_removed_is_not(
    fleet: Fleet,
) -> None:
    schedules = Schedules(fleet)
    for name in ("kept", "removed"):
        await schedules.add("@hourly", "clerk", name=name)
    await fleet.temporal.get_schedule_handle(f"{fleet.queue}/kept").delete()

    await schedules.remove("removed")
    await schedules.restore()
    await schedules.restore()

    await fleet.temporal.get_schedule_handle(f"{fleet.queue}/kept").describe()
    assert [record.name for record in await schedules.all()] == ["kept"]


async def test_a_schedule_that_is_wrong_is_refused_and_leaves_nothing(fleet: Fleet) -> None:
    schedules = Schedules(fleet)
    for cron, name, problem in (
        ("every morning", "a", "is not a schedule that Temporal reads"),
        ("0 7 * * *", "a b", "name: expected up to 100 letters"),
    ):
        with pytest.raises(InvalidInputError, match=problem):
            await schedules.add(cron, "clerk", name=name)
    assert await schedules.all() == []

    await schedules.add("0 7 * * *", "clerk")
    with pytest.raises(InvalidInputError, match="a schedule named 'clerk' already"):
        await schedules.add("0 8 * * *", "clerk")
    with pytest.raises(InvalidInputError, match="no schedule named 'nothing'"):
        await schedules.remove("nothing")
