"""The tool calls of one turn run at the same time, and no more of them than are allowed."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from maverick import tool
from maverick.loop import ToolOutcome
from maverick.loop.events import ToolCallEnd
from maverick.testing import call, calls
from scenario import agent, results_in, run, watch

PATIENCE = 10
"""Seconds after which a test that hangs is given up."""


@pytest.mark.requirement("003-FR2-AC4", "003-NFR1-PARALLEL")
async def test_calls_of_one_turn_are_under_way_at_the_same_time() -> None:
    together = asyncio.Barrier(5)

    @tool
    async def meet() -> str:
        """Return when all five are here."""
        await together.wait()
        return "met"

    async with asyncio.timeout(PATIENCE):
        result = await run([calls(*[call("meet") for _ in range(5)]), "ok"], agent(meet))

    assert results_in(result.messages) == ["met"] * 5


@pytest.mark.requirement("003-FR2-AC4", "F-TOOL-THREAD")
async def test_blocking_and_async_tools_are_under_way_at_the_same_time() -> None:
    blocking_there, async_there = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool
    def blocks() -> str:
        """Return when the other one is here."""
        blocking_there.set()
        loop.call_soon_threadsafe(async_there.set)
        return "done"

    @tool
    async def waits() -> str:
        """Return when the other one is here."""
        await async_there.wait()
        return "done"

    async with asyncio.timeout(PATIENCE):
        result = await run([calls(call("waits"), call("blocks")), "ok"], agent(waits, blocks))

    assert results_in(result.messages) == ["done", "done"]
    assert blocking_there.is_set()


@pytest.mark.requirement("F-TOOL-BOUND")
@pytest.mark.parametrize("bound", [1, 3])
async def test_no_more_run_at_once_than_the_definition_allows(bound: int) -> None:
    running = most = 0

    @tool
    async def work() -> str:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return "done"

    result = await run(
        [calls(*[call("work") for _ in range(10)]), "ok"], agent(work, tool_settings={"max_parallel": bound})
    )

    assert most == bound
    assert results_in(result.messages) == ["done"] * 10


@pytest.mark.requirement("F-TOOL-BOUND", "F-TOOL-DEADLINE")
async def test_a_call_that_hangs_gives_its_place_to_the_next_at_its_deadline() -> None:
    @tool(timeout=0.05)
    async def hang() -> None:
        """Never return."""
        await asyncio.Event().wait()

    @tool
    async def work() -> str:
        """Work."""
        return "done"

    async with asyncio.timeout(PATIENCE):
        result = await run(
            [calls(call("hang"), call("work")), "ok"], agent(hang, work, tool_settings={"max_parallel": 1})
        )

    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FAILED, ToolOutcome.FINISHED]


@pytest.mark.requirement("003-FR2-AC5", "P3")
async def test_results_stand_in_the_order_of_the_calls_and_are_told_as_they_come() -> None:
    second_done = asyncio.Event()

    @tool
    async def slow() -> str:
        """Wait for the other."""
        await second_done.wait()
        return "slow"

    @tool
    async def quick() -> str:
        """Be done at once."""
        second_done.set()
        return "quick"

    async with asyncio.timeout(PATIENCE):
        watched = await watch([calls(call("slow"), call("quick")), "ok"], agent(slow, quick))

    assert [event.result for event in watched.of(ToolCallEnd)] == ["quick", "slow"]
    assert results_in(watched.result.messages) == ["slow", "quick"]


async def test_the_event_loop_goes_on_while_a_blocking_tool_runs() -> None:
    released = threading.Event()

    @tool
    def block() -> str:
        """Block until released."""
        return "released" if released.wait(PATIENCE) else "forgotten"

    async def release() -> None:
        await asyncio.sleep(0)
        released.set()

    result, _ = await asyncio.gather(run([call("block"), "ok"], agent(block)), release())

    assert results_in(result.messages) == ["released"]


async def test_a_turn_of_tools_that_answer_at_once_takes_one_round_of_the_event_loop() -> None:
    turns, rounds = 20, 0

    @tool
    async def greet() -> str:
        """Answer without waiting for anything."""
        return "hello"

    async def count() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += 1

    counting = asyncio.create_task(count())
    await run([*[calls(call("greet"), call("greet"))] * turns, "ok"], agent(greet, max_turns=None))
    counting.cancel()

    assert rounds <= turns


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the event loop starts tasks eagerly from Python 3.12 on"
)
@pytest.mark.requirement("003-FR2-AC4")
async def test_tools_that_answer_at_once_are_heard_where_tasks_start_eagerly() -> None:
    @tool
    async def greet() -> str:
        """Answer without waiting for anything."""
        return "hello"

    asyncio.get_running_loop().set_task_factory(getattr(asyncio, "eager_task_factory", None))
    async with asyncio.timeout(PATIENCE):
        result = await run([calls(call("greet"), call("greet")), "ok"], agent(greet))

    assert results_in(result.messages) == ["hello", "hello"]
