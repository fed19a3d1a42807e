"""A connection that the server has ended, and whose end has not arrived yet: only the server's last words have (Postgres).

The driver takes such a connection for an open one, and raises errors of its own when it is used. They mean what any lost
connection means: nothing is done that is not written, and the run goes on from its journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conformance.journals.shelf import notes, record, texts_of
from journal.lingering_server import LingeringServer
from maverick import AgentExecutor, ToolContext, tool
from maverick.exceptions import JournalError, ToolError
from maverick.journal import PostgresJournal
from maverick.loop.result import ToolOutcome
from maverick.testing import ScriptedClient, call, reply
from postgres import run_statement
from scenario import agent


@pytest.fixture
async def server(postgres_url: str) -> AsyncIterator[LingeringServer]:
    async with LingeringServer(postgres_url).listening() as server:
        yield server


def assert_lost(error: object) -> None:
    assert type(error) is JournalError
    assert error.retryable
    assert "the connection broke" in str(error)


@pytest.mark.requirement("P1", "P8")
async def test_a_read_may_be_tried_again_and_has_another_connection_then(server: LingeringServer) -> None:
    async with PostgresJournal(server.address) as journal:
        await journal.create(record(), notes("one"))
        assert await texts_of(journal) == ["one"]
        await server.end_connections()

        with pytest.raises(JournalError) as told:
            await journal.get("r")

        assert_lost(told.value)
        assert await texts_of(journal) == ["one"]
        await server.hang_up()


@pytest.mark.requirement("P1", "P8")
@pytest.mark.parametrize("runs", [1, 5])
async def test_writes_are_not_made_and_the_runs_can_be_claimed_again(
    server: LingeringServer, runs: int
) -> None:
    async with PostgresJournal(server.address) as journal:
        leases = [await journal.create(record(f"r{number}"), []) for number in range(runs)]
        await server.end_connections()

        told = await asyncio.gather(
            *(journal.append(lease, notes("one")) for lease in leases), return_exceptions=True
        )

        await server.hang_up()
        for number, error in enumerate(told):
            assert_lost(error)
            await journal.append(await journal.claim(f"r{number}"), notes("two"))
            assert await texts_of(journal, f"r{number}") == ["two"]


# Tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P2")
async def test_a_transaction_is_undone_and_the_journal_is_what_failed(
    server: LingeringServer, postgres_url: str
) -> None:
    await run_statement(postgres_url, "CREATE TABLE effects (x INTEGER)")
    async with PostgresJournal(server.address) as journal:
        lease = await journal.create(record(), [])
        async with journal.transaction(lease) as transaction:
            await transaction.execute("INSERT INTO effects VALUES (1)")
            await server.end_connections()
            with pytest.raises(JournalError, match="nothing has happened") as told:
                await transaction.commit(notes("done"))
        assert_lost(told.value)
        await server.hang_up()

        async with journal.transaction(await journal.claim("r")) as transaction:
            await transaction.execute("INSERT INTO effects VALUES (2)")
            await transaction.commit(notes("done"))

        assert [row["x"] for row in await run_statement(postgres_url, "SELECT x FROM effects")] == [2]
        assert await texts_of(journal) == ["done"]


@pytest.mark.requirement("P1", "P2")
@pytest.mark.parametrize("breaks", ["before it begins", "before a statement", "before the commit"])
@pytest.mark.parametrize("conceals", [False, True], ids=["told", "concealed by the tool"])
async def test_a_call_whose_connection_is_lost_has_not_failed_and_is_made_when_the_run_is_resumed(
    server: LingeringServer, postgres_url: str, breaks: str, conceals: bool
) -> None:
    await run_statement(postgres_url, "CREATE TABLE bookings (item TEXT)")
    faults = [breaks]

    async def reach(point: str) -> None:
        if point in faults:
            faults.remove(point)
            await server.end_connections()

    @tool(effect="transactional")
    async def book(ctx: ToolContext) -> str:
        """Book a room and a car."""
        try:
            await reach("before it begins")
            await ctx.session.execute("INSERT INTO bookings VALUES ('room')")
            await reach("before a statement")
            await ctx.session.execute("INSERT INTO bookings VALUES ('car')")
            await reach("before the commit")
        except ToolError:
            if not conceals:
                raise
        return "Booked."

    definition = agent(book, name="clerk", ask="Book.")

    def answer(request: Any) -> Any:
        return reply("Done.") if len(request.messages) > 1 else call("book")

    async with PostgresJournal(server.address) as journal:
        await journal.list_runs()
        executor = AgentExecutor(ScriptedClient(answer), journal=journal)

        with pytest.raises(JournalError) as told:
            await executor.execute(definition, run_id="r")
        assert_lost(told.value)
        await server.hang_up()
        result = await executor.resume("r", definition)

    assert [made.outcome for made in result.tool_calls] == [ToolOutcome.FINISHED]
    booked = await run_statement(postgres_url, "SELECT item FROM bookings")
    assert [row["item"] for row in booked] == ["room", "car"]
