"""A transactional tool that is stopped while its commit is under way has exactly one result, the committed one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.survey import survey
from maverick import AbortSignal, AgentExecutor, ToolContext, tool
from maverick.journal import SqliteJournal
from maverick.model import Request
from maverick.providers.scripted import TurnLike
from maverick.testing import ScriptedClient, call, reply
from scenario import agent


@tool(effect="transactional", timeout=3.0)
async def book(item: str, ctx: ToolContext) -> str:
    """Book an item."""
    await ctx.session.execute("CREATE TABLE IF NOT EXISTS bookings (item TEXT)")
    await ctx.session.execute("INSERT INTO bookings VALUES (?)", item)
    return f"booked {item}"


def answer(request: Request) -> TurnLike:
    return call("book", item="a") if len(request.messages) == 1 else reply(request.messages[-1].content)


def let_time_run_out(signal: AbortSignal) -> None:
    time.sleep(3.2)


def abort(signal: AbortSignal) -> None:
    signal.abort("enough")


@pytest.mark.requirement("P1", "P2", "P3")
@pytest.mark.parametrize("stop", [let_time_run_out, abort])
async def test_a_tool_that_is_stopped_during_its_commit_has_the_result_that_was_committed(
    stop: Callable[[AbortSignal], None], tmp_path: Path
) -> None:
    signal = AbortSignal()

    def on_write(point: str, before: bool) -> None:
        if point == "Transaction" and before:
            stop(signal)

    async with SqliteJournal(tmp_path / "runs.db") as journal:
        journal.on_write = on_write
        executor = AgentExecutor(ScriptedClient(answer), journal=journal)
        first = await executor.execute(agent(book), run_id="r", signal=signal)
        resumed = await executor.resume("r", agent(book))
        written = await survey(journal, "r")

    assert written.faults == []
    assert [call.outcome for call in written.calls] == ["finished"]
    assert [record.outcome for record in first.tool_calls] == ["finished"]
    assert resumed.output == "booked a"
