"""A sequential tool waits for the calls before it in the turn, and those after it wait for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel import Server

from durable.office import ProcessDied, die_at
from leaping_clock import LeapingClock
from maverick import AbortSignal, AgentExecutor, tool
from maverick.exceptions import ToolError
from maverick.journal import SqliteJournal
from maverick.loop import TerminateReason, ToolOutcome
from maverick.testing import ScriptedClient, call, calls
from maverick.tools.mcp import MCPToolset
from scenario import agent, assert_valid, results_in, run

PATIENCE = 10
"""Seconds after which a test that hangs is given up."""


class Diary:
    """Notes when its tools begin and end."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.together = asyncio.Barrier(2)

        @tool(effect="pure")
        async def look(name: str) -> str:
            """Look at something, together with another look."""
            self.notes.append(f"+{name}")
            await self.together.wait()
            self.notes.append(f"-{name}")
            return name

        @tool(effect="keyed", sequential=True)
        async def write(name: str) -> str:
            """Write something down, with time for others to come in between."""
            self.notes.append(f"+{name}")
            for _ in range(5):
                await asyncio.sleep(0)
            self.notes.append(f"-{name}")
            if name == "bad":
                raise ToolError("It did not work.")
            return name

        self.look, self.write = look, write


@pytest.mark.requirement("F-TOOL-SEQUENTIAL")
async def test_sequential_calls_run_alone_and_in_their_place_between_parallel_ones() -> None:
    diary = Diary()
    turn = calls(
        call("look", name="a"), call("look", name="b"), call("write", name="c"), call("write", name="d"),
        call("look", name="e"), call("look", name="f"),
    )  # fmt: skip

    async with asyncio.timeout(PATIENCE):
        result = await run([turn, "ok"], agent(diary.look, diary.write))

    assert sorted(diary.notes[:4]) == ["+a", "+b", "-a", "-b"]
    assert diary.notes[4:8] == ["+c", "-c", "+d", "-d"]
    assert sorted(diary.notes[8:]) == ["+e", "+f", "-e", "-f"]
    assert results_in(result.messages) == list("abcdef")


@pytest.mark.requirement("F-TOOL-SEQUENTIAL")
async def test_a_sequential_call_that_fails_or_is_refused_does_not_hold_up_the_others() -> None:
    diary = Diary()
    turn = calls(call("write", name="bad"), call("nobody_has_this"), call("write", name="good"))

    async with asyncio.timeout(PATIENCE):
        result = await run([turn, "ok"], agent(diary.write))

    assert [record.outcome for record in result.tool_calls] == [
        ToolOutcome.FAILED,
        ToolOutcome.DENIED,
        ToolOutcome.FINISHED,
    ]
    assert diary.notes == ["+bad", "-bad", "+good", "-good"]


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.requirement("F-TOOL-SEQUENTIAL", "F-TOOL-DEADLINE")
async def test_a_call_waits_until_the_one_before_has_cleaned_up_after_its_time(
    turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = LeapingClock(monkeypatch)
    diary = Diary()

    @tool(effect="keyed", timeout=30)
    async def hang() -> None:
        """Never answer."""
        asyncio.get_running_loop().call_soon(clock.leap, 31)
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            diary.notes.append("cleaned up")

    both = [call("hang"), call("write", name="after")]
    async with asyncio.timeout(300):
        result = await run([*(both if turns == 2 else [calls(*both)]), "ok"], agent(hang, diary.write))

    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FAILED, ToolOutcome.FINISHED]
    assert diary.notes == ["cleaned up", "+after", "-after"]


@pytest.mark.requirement("F-TOOL-SEQUENTIAL", "P3", "P4")
async def test_an_abort_leaves_what_was_waiting_for_its_turn_undone() -> None:
    signal, diary = AbortSignal(), Diary()

    @tool(effect="keyed", sequential=True)
    async def stop_here() -> str:
        """Have the run stopped."""
        signal.abort()
        await asyncio.Event().wait()
        return "never"

    async with asyncio.timeout(PATIENCE):
        result = await run(
            [calls(call("stop_here"), call("write", name="late")), "ok"],
            agent(stop_here, diary.write),
            signal=signal,
        )

    assert result.terminate_reason is TerminateReason.ABORTED
    assert diary.notes == []
    assert_valid(result.messages)


@pytest.mark.requirement("F-TOOL-SEQUENTIAL", "P2")
async def test_a_resumed_turn_keeps_the_order(tmp_path: Path) -> None:
    diary = Diary()
    turn = calls(call("write", name="one"), call("write", name="two"))
    worker = agent(diary.write)

    async with SqliteJournal(tmp_path / "runs.db") as journal:
        executor = AgentExecutor(ScriptedClient([turn, "ok"]), journal=journal)
        die_at(journal, "ToolFinished")
        with pytest.raises(ProcessDied):
            await executor.execute(worker, run_id="r")
        diary.notes.clear()
        async with asyncio.timeout(PATIENCE):
            result = await executor.resume("r", worker)

    assert diary.notes == ["+one", "-one", "+two", "-two"]
    assert [record.result for record in result.tool_calls] == ["one", "two"]


@pytest.mark.requirement("F-TOOL-SEQUENTIAL", "P3")
async def test_a_sequential_call_behind_an_agent_that_waits_for_a_person_is_to_be_asked_for_again(
    tmp_path: Path,
) -> None:
    diary = Diary()

    @tool(approval=True)
    async def pay() -> str:
        """Pay the bill."""
        return "paid"

    payer = agent(pay, name="payer")
    boss = agent(payer.as_tool(), diary.write, name="boss")
    turns: dict[str, list[Any]] = {
        "boss": [calls(call("payer"), call("write", name="paid")), call("write", name="paid"), "ok"],
        "payer": [call("pay"), "It is paid."],
    }
    client = ScriptedClient(
        lambda request: turns["payer" if request.tools[0].name == "pay" else "boss"].pop(0)
    )

    async with SqliteJournal(tmp_path / "runs.db") as journal, asyncio.timeout(PATIENCE):
        executor = AgentExecutor(client, journal=journal)
        parked = await executor.execute(boss, run_id="r")
        assert parked.terminate_reason is TerminateReason.AWAITING_APPROVAL
        assert diary.notes == []
        (asked,) = await journal.list_approvals()
        await journal.approve(asked.approval_id, by="ana")
        result = await executor.resume("r", boss)

    assert [record.outcome for record in result.tool_calls] == [
        ToolOutcome.FINISHED,
        ToolOutcome.FAILED,
        ToolOutcome.FINISHED,
    ]
    assert "Call it again" in result.tool_calls[1].result
    assert diary.notes == ["+paid", "-paid"]


@pytest.mark.requirement("F-TOOL-SEQUENTIAL")
async def test_a_tool_of_an_mcp_server_is_sequential_if_the_server_or_the_toolset_says_so() -> None:
    async def list_tools(*_: Any) -> types.ListToolsResult:
        empty = {"type": "object", "properties": {}}
        return types.ListToolsResult(
            tools=[
                types.Tool(name="says_so", input_schema=empty, _meta={"maverick/sequential": True}),
                types.Tool(name="told_so", input_schema=empty),
                types.Tool(name="parallel", input_schema=empty),
            ]
        )

    class Place:
        def client(self) -> Client:
            return Client(Server("office", on_list_tools=list_tools))

    toolset = MCPToolset("office", Place(), sequential_of=lambda described: described.name == "told_so")
    found = {made.name: made.sequential for made in await toolset.tools()}
    await toolset.aclose()

    assert found == {"says_so": True, "told_so": True, "parallel": False}
