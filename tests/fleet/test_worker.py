"""Runs that workers drive, each with a real Temporal server and a real Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from maverick import AgentDefinition, AgentExecutor, ToolConfig, tool
from maverick.fleet import Fleet
from maverick.fleet.store import FleetState
from maverick.fleet.worker import Offer, Worker
from maverick.journal import RunStatus
from maverick.testing import ScriptedClient, call, reply

done: list[str] = []


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


clerk: AgentDefinition[str] = AgentDefinition(
    name="clerk", description="Notes things.", tool_config=ToolConfig(tools=[note, publish])
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
