"""Limits across a fleet: how many runs of a user are in progress, and whose turn it is."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from maverick.fleet import Fleet
from maverick.fleet.request import RunRequest
from maverick.fleet.store import FleetState, FleetStore
from maverick.fleet.worker import Worker
from maverick.journal import PostgresJournal, RunStatus
from maverick.testing import call, reply

from .test_worker import eventually, offer, working

_LIMIT = 3


async def in_state(store: FleetStore, state: FleetState) -> list[str]:
    return [record.run_id for record in await store.runs(state)]


async def test_never_more_runs_of_a_user_are_in_progress_than_allowed_whoever_starts_and_ends_them(
    postgres_url: str,
) -> None:
    chance = random.Random(7)
    peers = [FleetStore(PostgresJournal(postgres_url), _LIMIT) for _ in range(4)]
    most, over = 0, set[str]()

    async def drive(store: FleetStore, run_id: str) -> None:
        """Park some runs once, then end them; each end starts what comes next."""
        worker = f"worker-{id(store)}"
        token = worker.encode()
        assert await store.take(run_id, worker, token) is not None
        await asyncio.sleep(chance.random() / 200)
        if chance.random() < 0.5:
            begin(await store.leave(run_id, token, FleetState.PARKED))
            begin(await store.readmit(run_id))
        elif run_id not in over:
            over.add(run_id)
            begin(await store.leave(run_id, token, FleetState.ENDED))

    def begin(records: list[Any]) -> None:
        for record in records:
            tasks.create_task(drive(chance.choice(peers), record.run_id))

    async def watch() -> None:
        nonlocal most
        while len(over) < 40:
            most = max(most, len(await in_state(peers[0], FleetState.STARTED)))

    try:
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            tasks.create_task(watch())
            for number in range(40):
                store = chance.choice(peers)
                await store.add(f"run-{number}", "clerk", "ana", 3, RunRequest(), "queue")
                begin(await store.admit("ana"))
        left = await peers[0].runs(limit=100)
    finally:
        await asyncio.gather(*(store.journal.aclose() for store in peers))

    assert most == _LIMIT
    assert {record.state for record in left} == {FleetState.ENDED}


async def test_runs_that_wait_for_a_place_start_by_priority_and_then_by_age(postgres_url: str) -> None:
    store = FleetStore(PostgresJournal(postgres_url), 1)
    started: list[str] = []
    try:
        for name, priority in [("old", 3), ("new", 3), ("urgent", 1), ("batch", 5)]:
            await store.add(name, "clerk", "ana", priority, RunRequest(), "queue")
        await store.add("bob's", "clerk", "bob", 5, RunRequest(), "queue")

        for _ in range(4):
            (record,) = await store.admit("ana")
            started.append(record.run_id)
            await store.take(record.run_id, "worker", b"worker")
            assert await store.admit("ana") == []
            await store.journal.database.fetch(
                "UPDATE maverick.fleet_runs SET state = 'ended' WHERE run_id = $1", record.run_id
            )
        others = await store.admit("bob")
    finally:
        await store.journal.aclose()

    assert started == ["urgent", "old", "new", "batch"]
    assert [record.run_id for record in others] == ["bob's"]


async def test_a_run_that_waits_for_a_person_leaves_its_place_to_the_next_and_waits_for_one_when_it_goes_on(
    fleet: Fleet,
) -> None:
    fleet.store.max_runs_per_user = 1
    may_end = asyncio.Event()

    async def answers(request: Any) -> Any:
        if "Wait" in str(request.messages[0]):
            await may_end.wait()
            return reply("Waited.")
        return reply("Done.") if len(request.messages) > 2 else call("publish", text="limits")

    async with working(Worker(fleet, offer(fleet, lambda: answers))):
        asks = await fleet.start("clerk", inputs={"prompt": "Publish it."}, user_id="ana")
        waits = await fleet.start("clerk", inputs={"prompt": "Wait."}, user_id="ana")
        await eventually(lambda: is_in(fleet, waits.run_id, FleetState.STARTED))
        assert await is_in(fleet, asks.run_id, FleetState.PARKED)
        (asked,) = await fleet.journal.list_approvals(run_id=asks.run_id)
        await asks.approve(asked.approval_id, by="ana")
        await eventually(lambda: is_in(fleet, asks.run_id, FleetState.QUEUED))
        may_end.set()
        ended = await asyncio.wait_for(asyncio.gather(asks.ended(), waits.ended()), 30)

    assert [record.status for record in ended] == [RunStatus.COMPLETE] * 2


async def test_a_run_whose_place_was_given_by_a_worker_that_then_died_is_woken_by_another(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(request: Any) -> Any:
        return reply("Done.") if len(request.messages) > 2 else call("publish", text="limits")

    async def dies(_: Any) -> None:
        """Do nothing more."""

    async with working(Worker(fleet, offer(fleet, lambda: answers))):
        run = await fleet.start("clerk", inputs={"prompt": "Publish it."}, user_id="ana")
        await eventually(lambda: is_in(fleet, run.run_id, FleetState.PARKED))
        fleet.store.max_runs_per_user = 0
        (asked,) = await fleet.journal.list_approvals(run_id=run.run_id)
        await run.approve(asked.approval_id, by="ana")
        await eventually(lambda: is_in(fleet, run.run_id, FleetState.QUEUED))
        with monkeypatch.context() as patch:
            patch.setattr(fleet.workflows, "offer", dies)
            fleet.store.max_runs_per_user = 1
            await fleet.workflows.offer(await fleet.store.admit("ana"))
        await fleet.journal.database.fetch(
            "UPDATE maverick.fleet_runs SET updated_at = now() - interval '1 minute'"
        )

        await fleet.workflows.release_undelivered()
        record = await asyncio.wait_for(run.ended(), 30)

    assert record.status is RunStatus.COMPLETE


async def is_in(fleet: Fleet, run_id: str, state: FleetState) -> bool:
    record = await fleet.store.get(run_id)
    return record is not None and record.state is state


async def test_a_user_with_many_runs_does_not_starve_another_and_what_is_urgent_goes_first(
    fleet: Fleet,
) -> None:
    fleet.store.max_runs_per_user = 1000
    order: list[str] = []

    def answers(request: Any) -> Any:
        order.append(request.messages[0].content)
        return reply("Done.")

    for user_id, prompt, count, priority in [
        ("ana", "one of many", 120, 3),
        ("bob", "one of few", 2, 3),
        ("ana", "urgent", 1, 1),
    ]:
        for _ in range(count):
            last = await fleet.start("clerk", inputs={"prompt": prompt}, user_id=user_id, priority=priority)
    described = await fleet.temporal.get_workflow_handle(last.run_id).describe()
    async with working(Worker(fleet, offer(fleet, lambda: answers), max_runs=1)):
        await eventually(lambda: have_run(order, ["one of few", "one of few", "urgent"]))

    assert len(order) < 100  # in the order of their starts, these would be the last three of 123
    assert "ana" not in str(described.raw_description)


async def have_run(order: list[str], prompts: list[str]) -> bool:
    return Counter(prompts) <= Counter(order)
