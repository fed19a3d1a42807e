"""An agent with a tool of each effect, a ledger of what was really done, and the story of a run that a fault cuts off."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from conformance.journals.shelf import KeptShelf, record
from maverick import AgentDefinition, AgentExecutor, AgentResult, ToolContext, tool
from maverick.exceptions import JournalError, RunNotFoundError
from maverick.journal import Journal
from maverick.loop.result import ToolOutcome
from maverick.model import Request, Role
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent, assert_valid


class Errands:
    """What one agent does, and the ledger outside the journal that notes each time it is done.

    Args:
        shelf: Where the journal stands.
        ledger: Where it is noted.
        pause: How many seconds the model and the tools take.
    """

    def __init__(self, shelf: KeptShelf, ledger: list[str] | None = None, pause: float = 0) -> None:
        self.shelf = shelf
        self.ledger: list[str] = [] if ledger is None else ledger
        self._pause = pause
        self.client = ScriptedClient(self._answer)
        first, second = shelf.placeholders
        self._book = f"INSERT INTO bookings (run_id, item) VALUES ({first}, {second})"  # noqa: S608 - our own
        self._booked = f"SELECT item FROM bookings WHERE run_id = {first}"  # noqa: S608 - our own

    @property
    def definition(self) -> AgentDefinition[Any]:
        """The agent."""

        @tool(effect="pure")
        async def look(ctx: ToolContext) -> str:
            """Look."""
            self.ledger.append(f"look {ctx.idempotency_key}")
            return "A fine day."

        @tool
        async def pay(payee: str, ctx: ToolContext) -> str:
            """Pay somebody, for good."""
            self.ledger.append(f"pay {payee} for {ctx.run_id}")
            await asyncio.sleep(self._pause)
            return f"Paid {payee}."

        @tool(effect="transactional")
        async def book(item: str, ctx: ToolContext) -> str:
            """Book something, in the journal's own database."""
            self.ledger.append(f"book {item} for {ctx.run_id}")
            await ctx.session.execute(self._book, ctx.run_id, item)
            await asyncio.sleep(self._pause)
            return f"Booked {item}."

        return agent(look, pay, book, name="errands", ask="Do the errands.")

    async def _answer(self, request: Request) -> Any:
        self.ledger.append("ask")
        await asyncio.sleep(self._pause)
        match sum(message.role is Role.TOOL_RESULT for message in request.messages):
            case 0:
                return call("look")
            case 1:
                return call("pay", payee="Ana")
            case 2:
                return call("book", item="a room")
            case 3:
                return calls(
                    call("pay", payee="Ben"),
                    call("book", item="a car"),
                    call("pay", payee="Cleo"),
                    call("look"),
                )
        return reply("All done.")

    async def prepare(self, journal: Journal, run_id: str) -> None:
        """Make the table of bookings, by a run of its own."""
        async with journal.transaction(await journal.create(record(run_id), [])) as transaction:
            await transaction.execute("CREATE TABLE bookings (run_id TEXT NOT NULL, item TEXT NOT NULL)")
            await transaction.commit([])

    async def booked(self, run_id: str) -> list[str]:
        """What was booked for a run."""
        async with self.shelf.open() as journal:
            lease = await journal.claim("table")
            async with journal.transaction(lease) as transaction:
                return sorted(row["item"] for row in await transaction.fetch(self._booked, run_id))


async def fail_and_recover(errands: Errands, journal: Journal, run_id: str, fault: Fault) -> bool:
    """Run into the fault, see that it is told and that nothing is done after it; lift it, and finish the run.

    Returns:
        Whether the fault came at all; the run may have needed fewer commits.
    """
    executor = AgentExecutor(errands.client, journal=journal)
    definition = errands.definition
    fault.ledger = errands.ledger
    try:
        result = await executor.execute(definition, run_id=run_id)
    except JournalError:
        came = True
        done_by_then = fault.done_by_then or list(errands.ledger)
        await _readable(errands, run_id)
        assert errands.ledger == done_by_then
        await fault.lift()
        try:
            result = await executor.resume(run_id, definition)
        except RunNotFoundError:
            result = await executor.execute(definition, run_id=run_id)
    else:
        came = False
        assert not fault.struck, "a commit failed, and nobody was told"
        await fault.lift()
    await assert_done_once(errands, result, run_id)
    return came


async def assert_done_once(errands: Errands, result: AgentResult[Any], run_id: str) -> None:
    """The run has its end, bookings were made once, and of each payment it is known, or said to be unknown, that it was made."""
    assert result.output == "All done.", result.error
    assert_valid(result.messages)
    assert await errands.booked(run_id) == ["a car", "a room"]
    done = Counter(errands.ledger)
    payments = [made for made in result.tool_calls if made.tool_name == "pay"]
    assert [made.arguments["payee"] for made in payments] == ["Ana", "Ben", "Cleo"]
    for made in payments:
        times = done[f"pay {made.arguments['payee']} for {run_id}"]
        assert (times, made.outcome) in {
            (1, ToolOutcome.FINISHED),
            (1, ToolOutcome.UNKNOWN),
            (0, ToolOutcome.UNKNOWN),
        }


async def _readable(errands: Errands, run_id: str) -> None:
    async with errands.shelf.open() as other:
        await other.list_runs()
        try:
            counted, entries = -1, []
            # What the run that was stopped had written without waiting for it may still arrive in between.
            while counted != (await other.get(run_id)).entries:
                counted = (await other.get(run_id)).entries
                entries = [stored async for stored in other.read(run_id)]
        except RunNotFoundError:
            return
        assert len(entries) == counted


class Fault:
    """A fault at the nth commit, once or for good; it notes what had been done when it came."""

    def __init__(self, nth: int, *, for_good: bool = False) -> None:
        self.ledger: list[str] = []
        self.done_by_then: list[str] = []
        self.struck = False
        self._left = nth
        self._for_good = for_good

    def strikes(self) -> bool:
        """Count a commit; says whether it is to fail."""
        self._left -= 1
        if self._left > 0 or (self._left < 0 and not self._for_good):
            return False
        if not self.struck:
            self.struck = True
            self.done_by_then = list(self.ledger)
        return True

    async def lift(self) -> None:
        """Let everything succeed from now on."""
        self._for_good = False
        self._left = -1
