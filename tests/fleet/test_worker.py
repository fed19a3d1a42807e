"""Runs that workers drive, each with a real Temporal server and a real Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from maverick import AgentDefinition, AgentExecutor, PromptConfig, ToolConfig, tool
from maverick.fleet import Fleet
from maverick.fleet.store import FleetState
from maverick.fleet.worker import Offer, Worker
from maverick.journal import PostgresJournal, RunStatus
from maverick.loop.entries import Interrupted, Resumed
from maverick.model import Role
from maverick.testing import ScriptedClient, call, reply

done: list[str] = []
gate: dict[str, asyncio.Event] = {}
"""What the tool ``hold`` waits for, while a test runs."""


@tool(effect="keyed")
async def note(text: str) -> str:
    """Note something."""
    done.append(text)
    return "noted"


@tool(effect="keyed", approval=True)
async def publish(text: str) -> str:
    """Publish something."""
    done.append(text)
    return "published"


@tool(effect="keyed")
async def hold(text: str) -> str:
    """Take a while."""
    done.append(text)
    await gate["open"].wait()
    return "held"


clerk: AgentDefinition[str] = AgentDefinition(
    name="clerk", description="Notes things.", tool_config=ToolConfig(tools=[note, publish, hold])
)


def offer(
    fleet: Fleet, answers: Callable[[], Any], definition: AgentDefinition[Any] = clerk
) -> dict[str, Offer]:
    @asynccontextmanager
    async def executor(user_id: str | None) -> AsyncIterator[AgentExecutor]:
        yield AgentExecutor(ScriptedClient(answers()), journal=fleet.journal)

    return {definition.name: Offer(definition, executor)}


@asynccontextmanager
async def working(worker: Worker) -> AsyncIterator[None]:
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that another task or process does."""
    async with asyncio.timeout(30):
        while not await is_so():  # noqa: ASYNC110 - another process may be the one that does it
            await asyncio.sleep(0.05)


async def is_held(times: int) -> bool:
    return len(done) >= times


@pytest.fixture(autouse=True)
def _at_the_beginning() -> None:
    done.clear()
    gate["open"] = asyncio.Event()


def then(*calls: Any) -> Callable[[], Any]:
    """A model that makes calls, one a turn, however often the run is resumed, and then answers."""

    def answer(request: Any) -> Any:
        turn = sum(message.role is Role.TOOL_RESULT for message in request.messages)
        return calls[turn] if turn < len(calls) else reply("Done.")

    return lambda: answer


async def is_parked(fleet: Fleet, run_id: str) -> bool:
    record = await fleet.store.get(run_id)
    return record is not None and record.state is FleetState.PARKED


async def test_a_worker_drives_a_run_to_its_end(fleet: Fleet) -> None:
    answers = offer(fleet, lambda: [call("note", text="milk"), reply("Noted.")])

    async with working(Worker(fleet, answers)):
        run = await fleet.start("clerk", inputs={"prompt": "Note milk."}, user_id="ana")
        record = await asyncio.wait_for(run.ended(), 30)

    assert (record.status, record.user_id) == (RunStatus.COMPLETE, "ana")
    assert done[-1] == "milk"


async def test_a_run_that_waits_for_a_person_needs_no_worker_and_goes_on_when_they_have_decided(
    fleet: Fleet,
) -> None:
    def answers(request: Any) -> Any:
        return reply("Done.") if len(request.messages) > 2 else call("publish", text="news")

    async with working(Worker(fleet, offer(fleet, lambda: answers))):
        run = await fleet.start("clerk", inputs={"prompt": "Publish the news."}, user_id="ana")
        await eventually(partial(is_parked, fleet, run.run_id))
        (asked,) = await fleet.journal.list_approvals(run_id=run.run_id)
        await run.approve(asked.approval_id, by="ana")
        record = await asyncio.wait_for(run.ended(), 30)

    assert record.status is RunStatus.COMPLETE
    assert done[-1] == "news"
    history = await fleet.temporal.get_workflow_handle(run.run_id).fetch_history()
    assert len(history.events) <= 32


@pytest.mark.parametrize("user_id", ["ana", None])
async def test_a_run_that_is_woken_before_anyone_has_decided_writes_nothing(
    fleet: Fleet, user_id: str | None
) -> None:
    async with working(Worker(fleet, offer(fleet, then(call("publish", text="news"))))):
        run = await fleet.start("clerk", inputs={"prompt": "Publish."}, user_id=user_id)
        await eventually(partial(is_parked, fleet, run.run_id))
        # As the second word of a decision, after the run has parked again.
        await fleet.workflows.wake(run.run_id)
        await eventually(partial(was_driven, fleet, run.run_id, 2))
        (asked,) = await fleet.journal.list_approvals(run_id=run.run_id)
        await fleet.journal.approve(asked.approval_id, by=user_id or "ana")
        record = await asyncio.wait_for(run.ended(), 30)

    entries = [stored.entry async for stored in fleet.journal.read(run.run_id)]
    assert (record.status, done) == (RunStatus.COMPLETE, ["news"])
    assert sum(isinstance(entry, Resumed) for entry in entries) == 1


async def was_driven(fleet: Fleet, run_id: str, times: int) -> bool:
    history = await fleet.temporal.get_workflow_handle(run_id).fetch_history()
    return (
        sum(event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED for event in history.events)
        >= times
    )


async def test_a_decision_that_any_process_writes_to_the_journal_lets_the_run_go_on(
    fleet: Fleet, postgres_url: str
) -> None:
    async with working(Worker(fleet, offer(fleet, then(call("publish", text="news"))))):
        run = await fleet.start("clerk", inputs={"prompt": "Publish."}, user_id="ana")
        await eventually(partial(is_parked, fleet, run.run_id))
        async with PostgresJournal(postgres_url) as elsewhere:
            (asked,) = await elsewhere.list_approvals(run_id=run.run_id)
            await elsewhere.deny(asked.approval_id, by="ana")
        record = await asyncio.wait_for(run.ended(), 30)

    assert (record.status, done) == (RunStatus.COMPLETE, [])


@pytest.mark.parametrize("times", [1, 2], ids=["gracefully", "at-once"])
async def test_a_worker_that_stops_leaves_its_runs_to_another(fleet: Fleet, times: int) -> None:
    first = Worker(fleet, offer(fleet, then(call("hold", text="a"), call("note", text="b"))))
    stopping = asyncio.create_task(first.run())
    run = await fleet.start("clerk", inputs={"prompt": "Go."}, user_id="ana")
    await eventually(partial(is_held, 1))

    for _ in range(times):
        first.stop()
    if times == 1:
        gate["open"].set()  # what is being done is finished first
    await asyncio.wait_for(stopping, 30)
    gate["open"].set()
    async with working(Worker(fleet, offer(fleet, then(call("hold", text="a"), call("note", text="b"))))):
        record = await asyncio.wait_for(run.ended(), 30)

    entries = [stored.entry async for stored in fleet.journal.read(run.run_id)]
    assert record.status is RunStatus.COMPLETE
    assert done == (["a", "b"] if times == 1 else ["a", "a", "b"])
    assert not any(isinstance(entry, Interrupted) for entry in entries)
    assert sum(isinstance(entry, Resumed) for entry in entries) == 1


async def test_a_worker_drives_no_more_runs_at_once_than_it_may_over_all_its_agents(fleet: Fleet) -> None:
    writer = AgentDefinition(name="writer", description="Writes.", tool_config=clerk.tool_config)
    agents = offer(fleet, then(call("hold", text="x"))) | offer(fleet, then(call("hold", text="x")), writer)
    worker = Worker(fleet, agents, max_runs=2)
    async with working(worker):
        runs = [
            await fleet.start(name, inputs={"prompt": "Go."})
            for _ in range(3)
            for name in ("clerk", "writer")
        ]
        await eventually(partial(is_held, 2))
        await asyncio.sleep(0.5)
        held, driven = len(done), worker.runs
        gate["open"].set()
        records = [await asyncio.wait_for(run.ended(), 60) for run in runs]

    assert (held, driven) == (2, 2)
    assert {record.status for record in records} == {RunStatus.COMPLETE}


@pytest.mark.parametrize("while_it", ["is-driven", "waits-for-a-person", "lost-its-connection"])
async def test_an_aborted_run_ends_with_the_reason_whatever_it_does(fleet: Fleet, while_it: str) -> None:
    asks = while_it == "waits-for-a-person"
    agents = offer(fleet, then(call("publish" if asks else "hold", text="x")))
    async with working(Worker(fleet, agents)):
        run = await fleet.start("clerk", inputs={"prompt": "Go."}, user_id="ana")
        await eventually(partial(is_parked, fleet, run.run_id) if asks else partial(is_held, 1))
        if while_it == "lost-its-connection":
            await fleet.journal.database.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND datname = current_database() AND query LIKE '%fleet_workers%'"
            )
        await run.abort("Too expensive.")
        record = await asyncio.wait_for(run.ended(), 30)

    entries = [stored.entry async for stored in fleet.journal.read(run.run_id)]
    assert (record.status, record.reason) == (RunStatus.STOPPED, "aborted")
    assert [entry.message for entry in entries if isinstance(entry, Interrupted)] == ["Too expensive."]


async def test_a_run_waits_for_a_worker_that_has_its_agent_and_can_be_stopped_meanwhile(fleet: Fleet) -> None:
    run = await fleet.start("clerk", inputs={"prompt": "Go."}, user_id="ana")
    other = await fleet.start("clerk", inputs={"prompt": "Go."}, user_id="ana")

    waits_for = (await run.status()).waits_for
    await other.abort("Not needed.")
    stopped = await other.status()
    async with working(Worker(fleet, offer(fleet, then()))):
        record = await asyncio.wait_for(run.ended(), 30)

    assert waits_for == "a worker that has the agent 'clerk'"
    assert stopped.state is FleetState.ENDED
    assert "Not needed." in stopped.error
    assert record.status is RunStatus.COMPLETE


@pytest.mark.requirement("P10")
async def test_a_run_of_another_version_is_named_and_goes_on_once_its_changes_are_accepted(
    fleet: Fleet,
) -> None:
    changed = AgentDefinition(
        name="clerk",
        description="Notes things.",
        tool_config=clerk.tool_config,
        prompt_config=PromptConfig(system_prompt="Be brief."),
    )
    async with working(Worker(fleet, offer(fleet, then(call("publish", text="x"))))):
        run = await fleet.start("clerk", inputs={"prompt": "Go."}, user_id="ana")
        await eventually(partial(is_parked, fleet, run.run_id))
    (asked,) = await fleet.journal.list_approvals(run_id=run.run_id)

    async with working(Worker(fleet, offer(fleet, then(call("publish", text="x")), changed))):
        await run.approve(asked.approval_id, by="ana")
        await eventually(lambda: _waits_for(fleet, run.run_id, "the prompt has changed"))
        await fleet.resume(run.run_id, accept_changes=True)
        record = await asyncio.wait_for(run.ended(), 30)

    assert (record.status, done) == (RunStatus.COMPLETE, ["x"])


async def _waits_for(fleet: Fleet, run_id: str, what: str) -> bool:
    record = await fleet.store.get(run_id)
    return record is not None and what in record.waits_for
