"""A fleet goes on with a run whose database connections the server ends, whatever the driver makes of it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from journal.lingering_server import LingeringServer
from maverick import AgentDefinition, AgentExecutor, ToolConfig, ToolContext, tool
from maverick.fleet import Fleet
from maverick.fleet.worker import Offer, Worker
from maverick.journal import PostgresJournal, RunStatus
from maverick.loop.entries import ToolFinished
from maverick.loop.result import ToolOutcome
from maverick.testing import ScriptedClient, call, reply
from postgres import run_statement


@pytest.mark.requirement("P1", "P2")
async def test_a_run_whose_connections_are_ended_under_a_tool_is_not_lost_and_its_call_not_failed(
    temporal_server: str, postgres_url: str
) -> None:
    await run_statement(postgres_url, "CREATE TABLE bookings (item TEXT)")
    attempts: list[str] = []

    @tool(effect="transactional")
    async def book(ctx: ToolContext) -> str:
        """Book a room."""
        attempts.append(ctx.idempotency_key)
        await ctx.session.execute("INSERT INTO bookings VALUES ('room')")
        if len(attempts) == 1:
            await server.end_connections()
        return "Booked."

    clerk: AgentDefinition[str] = AgentDefinition(
        name="clerk", description="Books.", tool_config=ToolConfig(tools=[book])
    )

    def answer(request: Any) -> Any:
        return reply("Done.") if len(request.messages) > 2 else call("book")

    @asynccontextmanager
    async def executor(_: str | None) -> AsyncIterator[AgentExecutor]:
        yield AgentExecutor(ScriptedClient(answer), journal=fleet.journal)

    queue = f"test-{uuid.uuid4().hex[:8]}"
    async with (
        LingeringServer(postgres_url).listening() as server,
        await Fleet.connect(
            temporal=temporal_server, journal=PostgresJournal(server.address), queue=queue
        ) as fleet,
    ):
        working = asyncio.create_task(Worker(fleet, {"clerk": Offer(clerk, executor)}).run())
        try:
            run = await fleet.start("clerk", inputs={"prompt": "Book."})
            async with asyncio.timeout(60):
                while len(attempts) < 2:  # noqa: ASYNC110 - Temporal makes the second
                    await asyncio.sleep(0.05)
            await server.hang_up()
            record = await asyncio.wait_for(run.ended(), 60)
        finally:
            working.cancel()
            await asyncio.wait([working])
        made = [s.entry async for s in fleet.journal.read(run.run_id) if isinstance(s.entry, ToolFinished)]
        await fleet.workflows.close(run.run_id)

    assert record.status is RunStatus.COMPLETE
    assert [entry.outcome for entry in made] == [ToolOutcome.FINISHED]
    assert len(await run_statement(postgres_url, "SELECT FROM bookings")) == 1
