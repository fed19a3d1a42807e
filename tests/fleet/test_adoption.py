"""Runs that Temporal has lost, and what it knows of those that it has."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import NoReturn

import pytest

from fleet.test_worker import clerk, eventually, hold, is_parked, note, offer, publish, then, working
from maverick import AgentDefinition, RunConfig, ToolConfig
from maverick.exceptions import NetworkError
from maverick.fleet import Fleet, liveness
from maverick.fleet.request import RunRequest
from maverick.fleet.worker import Worker
from maverick.journal import PostgresJournal, RunStatus
from maverick.journal.postgres.schema import FLEET_CHANNEL
from maverick.testing import call
from postgres import run_script
from temporal import connected, running_server, start_server

SECRET = "the-word-of-this-house"
_WORKERS = "SELECT worker, began_at FROM maverick.fleet_workers ORDER BY worker"


@pytest.mark.requirement("P1")
async def test_a_run_whose_workflow_is_lost_is_started_again_and_once_however_many_adopt_it(
    fleet: Fleet, postgres_url: str
) -> None:
    async with working(Worker(fleet, offer(fleet, then(call("publish", text="x"))))):
        run = await fleet.start("clerk", inputs={"prompt": "Go."}, user_id="ana")
        await eventually(partial(is_parked, fleet, run.run_id))
    await fleet.temporal.get_workflow_handle(run.run_id).terminate()
    peers = [Fleet(fleet.temporal, PostgresJournal(postgres_url), fleet.queue) for _ in range(4)]

    adopted = await asyncio.gather(*(peer.adopt() for peer in (*peers, fleet)))
    async with working(Worker(fleet, offer(fleet, then(call("publish", text="x"))))):
        (asked,) = await fleet.journal.list_approvals(run_id=run.run_id)
        await run.approve(asked.approval_id, by="ana")
        record = await asyncio.wait_for(run.ended(), 30)
    for peer in peers:
        await peer.aclose()

    assert [run.run_id] in adopted
    assert record.status is RunStatus.COMPLETE


@pytest.mark.requirement("P1")
async def test_a_decided_run_whose_worker_died_as_it_parked_the_run_goes_on_elsewhere(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = asyncio.Event()

    async def dies(_: str) -> NoReturn:
        """Tell Temporal nothing of the run that was just parked."""
        died.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with working(Worker(fleet, offer(fleet, then(call("publish", text="x"))))):
        with monkeypatch.context() as patch:
            patch.setattr(fleet.store, "open_requests", dies)
            run = await fleet.start("clerk", inputs={"prompt": "Go."}, user_id="ana")
            await asyncio.wait_for(died.wait(), 30)
        (asked,) = await fleet.journal.list_approvals(run_id=run.run_id)
        await run.approve(asked.approval_id, by="ana")
        await fleet.workflows.release_undelivered(settled_for=0)
        is_left_a_while = await is_parked(fleet, run.run_id)
        await fleet.workflows.release_undelivered(settled_for=0)
        record = await asyncio.wait_for(run.ended(), 30)

    assert is_left_a_while
    assert record.status is RunStatus.COMPLETE


async def test_a_fleet_leaves_the_runs_of_another_in_the_same_database_alone(
    fleet: Fleet, postgres_url: str
) -> None:
    async with Fleet(fleet.temporal, PostgresJournal(postgres_url), f"{fleet.queue}/b") as other:
        queue = other.queue_of("clerk")
        await other.store.add("theirs", "clerk", None, 3, RunRequest(inputs={"prompt": "Go."}), queue)

        assert await fleet.adopt() == []
        assert await other.adopt() == ["theirs"]
        await other.workflows.close("theirs")


async def test_the_runs_of_a_server_that_was_wiped_go_on_at_a_new_one(postgres_url: str) -> None:
    with running_server() as (address, old):
        await connected(address)
        async with await Fleet.connect(temporal=address, journal=PostgresJournal(postgres_url)) as fleet:
            waiting = await fleet.start("clerk", inputs={"prompt": "Go."}, user_id="ana")
            # Its client died before it told Temporal.
            queue = fleet.queue_of("clerk")
            await fleet.store.add("lost", "clerk", "bob", 3, RunRequest(inputs={"prompt": "Go."}), queue)
            old.kill()
            old.wait()
            new = start_server(int(address.rpartition(":")[2]))
            try:
                async with working(Worker(fleet, offer(fleet, then()))):
                    await eventually(partial(_is_adopted, fleet))
                    records = [
                        await asyncio.wait_for(fleet.run(run_id).ended(), 30)
                        for run_id in (waiting.run_id, "lost")
                    ]
            finally:
                new.kill()
                new.wait()

    assert {record.status for record in records} == {RunStatus.COMPLETE}


async def test_after_an_outage_of_the_database_no_worker_is_given_up(
    fleet: Fleet, temporal_server: str, postgres_url: str
) -> None:
    journal = PostgresJournal(postgres_url)
    async with await Fleet.connect(temporal=temporal_server, journal=journal, queue=fleet.queue) as other:
        workers = [Worker(one, offer(one, then())) for one in (fleet, other)]
        async with working(workers[0]), working(workers[1]):
            await eventually(partial(_are_alive, *workers))
            registered = await journal.database.fetch(_WORKERS)
            outage = "BEGIN; LOCK TABLE maverick.fleet_workers; SELECT pg_sleep(3); COMMIT"
            await run_script(postgres_url, outage)
            await eventually(partial(_are_alive, *workers))
            run = await fleet.start("clerk", inputs={"prompt": "Go."})
            record = await asyncio.wait_for(run.ended(), 30)
            still = await journal.database.fetch(_WORKERS)

    assert record.status is RunStatus.COMPLETE
    assert len(registered) == 2
    assert still == registered


async def test_a_worker_whose_connection_has_ended_is_given_up_before_one_that_is_silent(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "_STALE", 3600.0)
    database = fleet.journal.database
    silent = await database.connect(FLEET_CHANNEL, lambda _: None)
    await silent.fetch("SELECT pg_advisory_lock(hashtextextended('silent', $1))", liveness._PRESENT)
    for name in ("silent", "killed"):
        await database.fetch(
            "INSERT INTO maverick.fleet_workers (worker, host, version, queues, capacity, seen_at) "
            "VALUES ($1, 'here', '1', ARRAY[$2], 1, now() - interval '1 minute')",
            name,
            fleet.queue,
        )

    async with working(Worker(fleet, offer(fleet, then()))):
        await eventually(partial(_is_given_up, fleet, "killed"))
        has_silent = not await _is_given_up(fleet, "silent")
        await silent.close()
        await eventually(partial(_is_given_up, fleet, "silent"))

    assert has_silent


async def _is_given_up(fleet: Fleet, worker: str) -> bool:
    found = await fleet.journal.database.fetch(_WORKERS)
    return worker not in [row["worker"] for row in found]


@pytest.fixture
async def driven(fleet: Fleet) -> list[bytes]:
    """The events in Temporal of a run of many turns that asked a person twice, with a secret in all that it said."""
    many = AgentDefinition(
        name="clerk",
        description=clerk.description,
        tool_config=ToolConfig(tools=[note, publish, hold]),
        run_config=RunConfig(max_turns=200),
    )
    calls = [call("publish" if turn in (50, 100) else "note", text=f"{SECRET} {turn}") for turn in range(120)]
    async with working(Worker(fleet, offer(fleet, then(*calls), many))):
        run = await fleet.start("clerk", inputs={"prompt": f"Say {SECRET}."}, user_id="ana@example.org")
        for _ in range(2):
            await eventually(partial(is_parked, fleet, run.run_id))
            (asked, *_) = [
                a for a in await fleet.journal.list_approvals(run_id=run.run_id) if a.status == "pending"
            ]
            await run.approve(asked.approval_id, by="ana@example.org")
            await eventually(partial(_is_not_parked, fleet, run.run_id))
        await asyncio.wait_for(run.ended(), 60)
        handle = fleet.temporal.get_workflow_handle(run.run_id)
        assert await asyncio.wait_for(handle.result(), 30) == "ended"
    history = await handle.fetch_history()
    return [event.SerializeToString() for event in history.events]


async def test_temporal_has_little_of_a_run_and_nothing_that_was_said(driven: list[bytes]) -> None:
    said = b"".join(driven)

    assert len(driven) <= 11 + 2 * 20
    assert len(said) <= 2048 + 2 * 2048
    assert SECRET.encode() not in said
    assert b"ana@example.org" not in said


async def _is_adopted(fleet: Fleet) -> bool:
    try:
        await fleet.adopt()
    except NetworkError:  # the new server is not ready yet
        return False
    return True


async def _are_alive(*workers: Worker) -> bool:
    return all(worker.is_ready for worker in workers)


async def _is_not_parked(fleet: Fleet, run_id: str) -> bool:
    return not await is_parked(fleet, run_id)
