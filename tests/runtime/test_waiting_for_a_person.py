"""The time in which a run waits for a person counts toward none of its limits."""

from __future__ import annotations

import asyncio

import pytest

from clocks import Clocks
from maverick import AbortSignal, AgentExecutor, ApprovalRequest, TerminateReason, tool
from maverick.journal import MemoryJournal
from maverick.loop import ToolOutcome
from maverick.loop.events import ToolCallStart
from maverick.model import Tool, ToolContext
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent

TEN_MINUTES = 600.0
A_MINUTE = 60.0
DONE = reply("Done.")


@tool(approval=True)
async def delete(name: str) -> str:
    """Delete something."""
    return f"{name} is gone"


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


@pytest.fixture
def work(clocks: Clocks) -> Tool:
    @tool(effect="pure")
    async def work(seconds: float) -> str:
        """Work for some time."""
        clocks.pass_by(seconds)
        return "worked"

    return work


class Person:
    """Somebody who agrees, after they have thought about it for ten minutes."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks

    async def __call__(self, request: ApprovalRequest) -> bool:
        self._clocks.pass_by(TEN_MINUTES)
        await asyncio.sleep(0.01)  # the event loop looks at its timers
        return True


@pytest.mark.requirement("F-APPROVAL", "P5")
async def test_a_run_is_not_ended_by_the_time_that_a_person_takes_to_decide(
    clocks: Clocks, work: Tool
) -> None:
    script: Script = [call("work", seconds=20), call("delete", name="a"), call("work", seconds=20), DONE]
    running = AgentExecutor(ScriptedClient(script), approve=Person(clocks))

    result = await running.execute(agent(delete, work, timeout=A_MINUTE))

    assert (result.terminate_reason, result.output) == (TerminateReason.COMPLETE, "Done.")
    assert 40_000 <= result.usage.duration_ms < 60_000


@pytest.mark.requirement("F-APPROVAL", "P5")
async def test_the_time_that_a_run_works_itself_still_ends_it_after_a_decision(
    clocks: Clocks, work: Tool
) -> None:
    script: Script = [call("work", seconds=30), call("delete", name="a"), call("work", seconds=31), DONE]
    running = AgentExecutor(ScriptedClient(script), approve=Person(clocks))

    result = await running.execute(agent(delete, work, timeout=A_MINUTE))

    assert result.terminate_reason is TerminateReason.TIMEOUT


@pytest.mark.requirement("F-APPROVAL", "P5", "P1")
async def test_a_resumed_run_and_a_replayed_one_count_no_time_of_a_persons_either(
    clocks: Clocks, work: Tool
) -> None:
    signal = AbortSignal()
    definition = agent(delete, work, timeout=A_MINUTE)
    script: Script = [call("delete", name="a"), call("work", seconds=20), call("work", seconds=20), DONE]
    running = AgentExecutor(ScriptedClient(script), approve=Person(clocks), journal=MemoryJournal())

    def stop_in_the_middle(event: object) -> None:
        if isinstance(event, ToolCallStart) and event.tool_call.tool_name == "work":
            signal.abort("enough")

    stopped = await running.execute(definition, run_id="r", signal=signal, on_activity=stop_in_the_middle)
    clocks.pass_by(TEN_MINUTES)
    result = await running.resume("r", definition)
    again = await running.resume("r", definition)

    assert stopped.terminate_reason is TerminateReason.ABORTED
    assert (result.terminate_reason, result.output) == (TerminateReason.COMPLETE, "Done.")
    assert again.usage.duration_ms == result.usage.duration_ms < 60_000


@pytest.mark.requirement("F-APPROVAL", "P5")
async def test_while_a_subagent_waits_for_a_person_neither_its_caller_nor_the_tools_beside_it_run_out_of_time(
    clocks: Clocks,
) -> None:
    decided = asyncio.Event()

    @tool(effect="pure", timeout=A_MINUTE)
    async def watch_over() -> str:
        """Wait for the decision."""
        await decided.wait()
        return "seen"

    class Thinking(Person):
        async def __call__(self, request: ApprovalRequest) -> bool:
            answer = await super().__call__(request)
            decided.set()
            return answer

    @tool(effect="pure", sequential=True)
    async def look_at_the_clock(context: ToolContext) -> str:
        """Say how much time is left."""
        return "enough" if context.deadline - asyncio.get_running_loop().time() > 1 else "none"

    helper = agent(delete, name="helper", timeout=A_MINUTE)
    boss = agent(helper.as_tool(), watch_over, look_at_the_clock, name="boss", timeout=A_MINUTE)
    script: Script = [
        calls(call("watch_over"), call("helper"), call("look_at_the_clock")),
        call("delete", name="a"),
        "Helped.",
        DONE,
    ]
    running = AgentExecutor(ScriptedClient(script), approve=Thinking(clocks))

    result = await running.execute(boss)

    assert (result.terminate_reason, result.output) == (TerminateReason.COMPLETE, "Done.")
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED] * 3
    assert result.tool_calls[-1].result == "enough"
    assert result.usage.duration_ms < 60_000
