"""Runs that move into a fleet and out of it, in the middle of their work."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fleet.test_worker import working
from maverick import AgentDefinition, AgentExecutor, ToolContext, tool
from maverick.exceptions import LeaseLostError, RunMovedError, RunNotFoundError
from maverick.fleet import Fleet, moving
from maverick.fleet.moving import move_in, move_out
from maverick.fleet.worker import Offer, Worker
from maverick.journal import Journal, MemoryJournal, RunStatus, SqliteJournal
from maverick.model import Request
from maverick.testing import ScriptedClient, call
from runtime.test_handover import entries_of
from scenario import agent

PATIENCE = 60
TURNS = 20


class Notebook:
    """An agent that notes something in each of twenty turns, and can be held up in the middle of one."""

    def __init__(self, *held: int) -> None:
        self.noted: defaultdict[str, int] = defaultdict(int)
        self.reached = {turn: asyncio.Event() for turn in held}
        self.released = {turn: asyncio.Event() for turn in held}

        @tool(effect="keyed")
        async def note(ctx: ToolContext) -> str:
            """Note something, once for each key."""
            self.noted[ctx.idempotency_key] = 1
            if ctx.turn in self.reached:
                self.reached[ctx.turn].set()
                await self.released[ctx.turn].wait()
            return "noted"

        self.clerk: AgentDefinition[Any] = agent(note, name="clerk")

    def executor(self, journal: Journal) -> AgentExecutor:
        def answer(request: Request) -> Any:
            return call("note") if len(request.messages) < 2 * TURNS else "All noted."

        return AgentExecutor(ScriptedClient(answer), journal=journal)

    def worker(self, fleet: Fleet) -> Worker:
        @asynccontextmanager
        async def executor(user_id: str | None) -> AsyncIterator[AgentExecutor]:
            yield self.executor(fleet.journal)

        return Worker(fleet, {"clerk": Offer(self.clerk, executor)})


async def has_workflow(fleet: Fleet, run_id: str) -> bool:
    described = await fleet.temporal.get_workflow_handle(run_id).describe()
    return described.status is not None and described.status.name == "RUNNING"


@pytest.mark.requirement("P1", "P2")
async def test_a_run_moves_to_a_fleet_and_back_in_the_middle_of_its_work(
    fleet: Fleet, tmp_path: Path
) -> None:
    unmoved = MemoryJournal()
    await Notebook().executor(unmoved).execute(Notebook().clerk, run_id="r", user_id="ana")
    book, laptop = Notebook(7, 14), SqliteJournal(tmp_path / "runs.db")

    async with asyncio.timeout(PATIENCE), laptop, working(book.worker(fleet)):
        local = asyncio.create_task(book.executor(laptop).execute(book.clerk, run_id="r", user_id="ana"))
        await book.reached[7].wait()
        await move_in(fleet, "r", laptop)
        book.released[7].set()
        with pytest.raises(LeaseLostError):
            await local
        with pytest.raises(RunMovedError, match="was moved to temporal://"):
            await book.executor(laptop).resume("r", book.clerk)

        await book.reached[14].wait()
        out = asyncio.create_task(move_out(fleet, "r", laptop, "laptop:runs.db"))
        book.released[14].set()
        await out
        result = await book.executor(laptop).resume("r", book.clerk)

        assert result.output == "All noted."
        assert sorted(book.noted.values()) == [1] * TURNS
        assert await entries_of(laptop) == await entries_of(unmoved)
        assert await fleet.store.get("r") is None
        assert not await has_workflow(fleet, "r")
        with pytest.raises(RunMovedError, match=r"was moved to laptop:runs\.db"):
            await fleet.journal.say("r", "hello?")


async def test_a_run_in_the_journal_of_the_fleet_only_changes_who_drives_it(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_PATIENCE", 0.2)
    book = Notebook(3)
    executor = book.executor(fleet.journal)

    async with asyncio.timeout(PATIENCE):
        local = asyncio.create_task(executor.execute(book.clerk, run_id="r"))
        await book.reached[3].wait()
        await move_in(fleet, "r")
        assert await has_workflow(fleet, "r")
        await move_out(fleet, "r")  # no worker is there to hand it over
        assert not await has_workflow(fleet, "r")
        book.released[3].set()
        with pytest.raises(LeaseLostError):
            await local
        async with working(book.worker(fleet)):
            run = await move_in(fleet, "r")
            assert (await run.ended()).status is RunStatus.COMPLETE

    assert sorted(book.noted.values()) == [1] * TURNS
    with pytest.raises(RunNotFoundError):
        await move_out(fleet, "another")
