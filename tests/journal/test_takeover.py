"""Several processes resume the same run at once: one of them goes on with it, the others stop, and nothing is done twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from conformance.journals.shelf import KeptShelf, PostgresShelf, SqliteShelf
from journal.errands import Errands, Fault, assert_done_once
from journal.takeover import SharedLedger, rivals
from maverick import AgentExecutor, tool
from maverick.exceptions import LeaseLostError
from maverick.journal import RunStatus
from maverick.model import Request
from maverick.testing import ScriptedClient, call, reply
from scenario import agent


@pytest.fixture(params=["sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> KeptShelf:
    if request.param == "sqlite":
        return SqliteShelf(str(tmp_path / "runs.db"))
    return PostgresShelf(request.getfixturevalue("postgres_url"))


class Killed(BaseException):
    """Stands for a kill."""


async def leave_unfinished(errands: Errands, run_id: str, write: int) -> None:
    """A run whose process died just before a write."""
    fault = Fault(write)

    def die(_: str, before: bool) -> None:
        if before and fault.strikes():
            raise Killed

    async with errands.shelf.open() as journal:
        await errands.prepare(journal, "table")
        journal.on_write = die
        with pytest.raises(Killed):
            await AgentExecutor(errands.client, journal=journal).execute(errands.definition, run_id=run_id)


@pytest.mark.requirement("P1", "P2", "003-NFR2-INTENT")
@pytest.mark.parametrize("head_start", [0, 0.06])
async def test_processes_that_resume_a_run_at_once_do_nothing_twice(
    shelf: KeptShelf, tmp_path: Path, head_start: float
) -> None:
    ledger = tmp_path / "ledger"
    errands = Errands(shelf, SharedLedger(str(ledger)))
    await leave_unfinished(errands, "r", 3)

    async with rivals(shelf.address, ledger, "r", 3) as processes:
        endings = []
        for process in processes:
            endings.append(asyncio.ensure_future(asyncio.to_thread(process.communicate, b"go\n", 60)))
            await asyncio.sleep(head_start)
        said = [out.decode().strip() for out, _ in await asyncio.gather(*endings)]

    assert set(said) <= {"All done.", "LeaseLostError"}
    assert "All done." in said
    async with shelf.open() as journal:
        assert (await journal.get("r")).status is RunStatus.COMPLETE
        result = await AgentExecutor(errands.client, journal=journal).resume("r", errands.definition)
    errands.ledger = ledger.read_text().splitlines()
    await assert_done_once(errands, result, "r")


@pytest.mark.requirement("P2")
async def test_whoever_is_overtaken_while_the_model_thinks_does_nothing_of_what_it_says(
    shelf: KeptShelf,
) -> None:
    errands = Errands(shelf)
    asked, answer = asyncio.Event(), asyncio.Event()

    async def think(request: Request) -> object:
        asked.set()
        await answer.wait()
        return call("pay", payee="Dora")

    async with shelf.open() as journal, shelf.open() as elsewhere:
        await errands.prepare(journal, "table")
        slow = AgentExecutor(ScriptedClient(think), journal=journal)  # type: ignore[arg-type]
        overtaken = asyncio.ensure_future(slow.execute(errands.definition, run_id="r"))
        await asked.wait()

        fast = AgentExecutor(ScriptedClient([reply("Done.")]), journal=elsewhere)
        assert (await fast.resume("r", errands.definition)).output == "Done."
        answer.set()

        with pytest.raises(LeaseLostError) as lost:
            await overtaken
        assert lost.value.run_id == "r"
        assert errands.ledger == []
        assert (await journal.get("r")).status is RunStatus.COMPLETE


@pytest.mark.requirement("P2")
async def test_whoever_is_overtaken_while_a_tool_runs_asks_the_model_nothing_more(shelf: KeptShelf) -> None:
    running, overtaken = asyncio.Event(), asyncio.Event()

    @tool
    async def send() -> str:
        """Send a letter, slowly."""
        running.set()
        await overtaken.wait()
        return "Sent."

    clerk, client = agent(send), ScriptedClient([call("send"), reply("Done.")])
    async with shelf.open() as journal, shelf.open() as elsewhere:
        slow = asyncio.ensure_future(AgentExecutor(client, journal=journal).execute(clerk, run_id="r"))
        await running.wait()
        await elsewhere.claim("r")
        overtaken.set()

        with pytest.raises(LeaseLostError):
            await slow
        assert len(client.requests) == 1
