"""Runs that move into a fleet and out of it, in the middle of their work."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli.command import run
from fleet.test_worker import clerk, done, eventually, is_parked, offer, working
from maverick import AgentDefinition, AgentExecutor, ToolContext, tool
from maverick.exceptions import (
    InvalidInputError,
    LeaseLostError,
    RunExistsError,
    RunMovedError,
    RunNotFoundError,
)
from maverick.fleet import Fleet, client
from maverick.fleet.client import move_in, move_out
from maverick.fleet.worker import Offer, Worker
from maverick.journal import Journal, MemoryJournal, RunStatus, SqliteJournal
from maverick.journal.records import Departure
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
        watching = asyncio.create_task(fleet.run("r").result())
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
        with pytest.raises(RunMovedError, match=r"moved to laptop:runs\.db"):  # perhaps not yet arrived
            await watching


async def test_a_run_in_the_journal_of_the_fleet_only_changes_who_drives_it(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_PATIENCE", 0.2)
    book = Notebook(3, 10)

    async with asyncio.timeout(PATIENCE), working(book.worker(fleet)):
        await fleet.start("clerk", run_id="r")
        await book.reached[3].wait()
        await move_out(fleet, "r")  # the worker is busy, and the run is taken away from it
        assert not await has_workflow(fleet, "r")
        book.released[3].set()
        local = asyncio.create_task(book.executor(fleet.journal).resume("r", book.clerk))
        await book.reached[10].wait()
        run = await move_in(fleet, "r")
        book.released[10].set()
        with pytest.raises(LeaseLostError):
            await local
        assert (await run.ended()).status is RunStatus.COMPLETE

    assert sorted(book.noted.values()) == [1] * TURNS


@pytest.mark.requirement("P7")
async def test_a_run_that_waits_for_a_person_waits_where_it_was_moved_to(
    fleet: Fleet, tmp_path: Path
) -> None:
    def answers(request: Request) -> Any:
        return "Published." if len(request.messages) > 2 else call("publish", text="the news")

    async with asyncio.timeout(PATIENCE), SqliteJournal(tmp_path / "runs.db") as laptop:
        executor = AgentExecutor(ScriptedClient(answers), journal=laptop)
        await executor.execute(clerk, inputs={"prompt": "Publish it."}, run_id="r", user_id="ana")
        run = await move_in(fleet, "r", laptop)
        async with working(Worker(fleet, offer(fleet, lambda: answers))):
            await eventually(partial(is_parked, fleet, "r"))
        await move_out(fleet, "r", laptop, "laptop")
        (asked,) = await laptop.list_approvals()
        await laptop.approve(asked.approval_id, by="ana")
        await move_in(fleet, "r", laptop)
        async with working(Worker(fleet, offer(fleet, lambda: answers))):
            assert (await run.ended()).status is RunStatus.COMPLETE

    assert done[-1] == "the news"


async def test_a_run_that_cannot_be_moved_stays_in_the_fleet(fleet: Fleet) -> None:
    book, laptop = Notebook(3), MemoryJournal()
    await Notebook().executor(laptop).execute(agent(name="another"), run_id="r")

    async with asyncio.timeout(PATIENCE), working(book.worker(fleet)):
        run = await fleet.start("clerk", run_id="r", priority=1)
        await book.reached[3].wait()
        out = asyncio.create_task(move_out(fleet, "r", laptop, "laptop"))
        book.released[3].set()
        with pytest.raises(RunExistsError):
            await out
        assert (await run.ended()).status is RunStatus.COMPLETE

    with pytest.raises(RunNotFoundError):
        await move_out(fleet, "another")
    with pytest.raises(InvalidInputError, match="run_id"):
        await move_in(fleet, "no id", laptop)


async def test_the_command_moves_a_run_there_and_back(
    fleet: Fleet, postgres_url: str, temporal_server: str, tmp_path: Path
) -> None:
    book = Notebook()
    async with SqliteJournal(tmp_path / "runs.db") as laptop:
        await book.executor(laptop).execute(agent(name="clerk", max_turns=1), run_id="r")

    async def moved(journal: str, *arguments: str) -> Any:
        words = ("runs", "move", "r", *arguments, "--json", "--journal", journal, "--db", postgres_url)
        queue = {"MAVERICK_TEMPORAL_QUEUE": fleet.queue}
        done = await asyncio.to_thread(run, *words, home=tmp_path, env=queue)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["moved_to"]

    file, there = str(tmp_path / "runs.db"), f"temporal://{temporal_server}/default"
    assert await moved(file, "--to", there) == there
    assert await fleet.store.get("r") is not None
    assert (await moved(file, "--to", "local", "--temporal", temporal_server)).endswith(file)
    assert await fleet.store.get("r") is None
    assert await moved(file, "--to", there) == there
    await moved(postgres_url, "--to", "local", "--temporal", temporal_server)  # nothing is copied
    assert Departure.of(await fleet.journal.get("r")) is None
    assert await fleet.store.get("r") is None
