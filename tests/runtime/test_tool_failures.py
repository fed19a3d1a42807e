"""Whatever a tool does, its call gets one result that the model can read, and the run goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maverick import TerminateReason, ToolContext, tool
from maverick.exceptions import ToolError
from maverick.loop import ToolOutcome
from maverick.model import Response, ToolCall
from maverick.testing import call, calls
from scenario import agent, assert_valid, results_in, run

PATIENCE = 10
"""Seconds after which a test that hangs is given up."""


class UnspeakableError(Exception):
    """An error whose own message can not be made."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unfinished(BaseException):
    """Not even an Exception."""


ERRORS: list[BaseException] = [
    ValueError("no such city"),
    SystemExit(3),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    TimeoutError("the service is slow"),
    StopAsyncIteration(),
    GeneratorExit(),
    Unfinished("odd"),
    UnspeakableError(),
    RecursionError("too deep"),
    ExceptionGroup("several", [ValueError("one")]),
]


@pytest.mark.requirement("003-ERR-TOOL", "P3", "002-R4-TOOLS")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("blocking", [False, True], ids=["async", "blocking"])
async def test_whatever_a_tool_raises_becomes_its_result_and_the_run_goes_on(
    error: BaseException, blocking: bool
) -> None:
    if blocking:

        @tool(name="fail")
        def fail() -> None:
            """Fail."""
            raise error
    else:

        @tool(name="fail")
        async def fail() -> None:
            """Fail."""
            raise error

    @tool
    async def work() -> str:
        """Work."""
        return "done"

    async with asyncio.timeout(PATIENCE):
        result = await run([calls(call("fail"), call("work")), "Sorry."], agent(fail, work))

    assert (result.success, result.output) == (True, "Sorry.")
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FAILED, ToolOutcome.FINISHED]
    assert result.messages[2].is_error
    assert result.messages[2].content
    assert_valid(result.messages)


@pytest.mark.requirement("003-ERR-TOOL", "P8")
async def test_the_model_reads_the_words_of_a_tool_error_and_the_name_of_any_other() -> None:
    @tool
    async def choose() -> None:
        """Fail with chosen words."""
        raise ToolError("The city is not known. Ask for another.")

    @tool
    async def stumble() -> None:
        """Fail without thinking."""
        raise LookupError("ctiy")

    result = await run([calls(call("choose"), call("stumble")), "ok"], agent(choose, stumble))

    assert results_in(result.messages) == ["The city is not known. Ask for another.", "LookupError: ctiy"]


@pytest.mark.requirement("003-ERR-TOOL", "P3")
async def test_a_tool_the_model_made_up_is_answered_with_the_nearest_one() -> None:
    @tool
    async def search() -> str:
        """Search."""
        return "found"

    result = await run([call("serach"), call("search"), "ok"], agent(search))

    assert "Did you mean 'search'?" in results_in(result.messages)[0]
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.DENIED, ToolOutcome.FINISHED]


async def test_a_tool_call_to_an_agent_without_tools_is_answered() -> None:
    result = await run([call("search"), "ok"], agent())

    assert "No tools are available" in results_in(result.messages)[0]


@pytest.mark.requirement("003-ERR-TOOL", "F-TOOL-SCHEMA")
async def test_arguments_that_do_not_fit_are_answered_with_what_to_correct() -> None:
    ran: list[int] = []

    @tool
    async def add(left: int, right: int) -> int:
        """Add."""
        ran.append(left)
        return left + right

    result = await run([call("add", left="one"), call("add", left=1, right=2), "ok"], agent(add))

    first, second = results_in(result.messages)
    assert "left" in first
    assert "right: Field required" in first
    assert (second, ran) == ("3", [1])


@pytest.mark.requirement("003-ERR-TOOL", "P3")
async def test_arguments_that_were_no_json_object_are_answered_and_not_run() -> None:
    ran: list[Any] = []

    @tool
    async def act() -> None:
        """Act."""
        ran.append("ran")

    asked = Response("", [ToolCall("a", "act", malformed='{"x": ')])
    result = await run([asked, "ok"], agent(act))

    assert "Send a JSON object" in results_in(result.messages)[0]
    assert ran == []


@pytest.mark.requirement("F-TOOL-DEADLINE", "003-ERR-TOOL", "002-R6")
@pytest.mark.parametrize("own", [True, False], ids=["of its own", "of the definition"])
async def test_a_tool_that_never_ends_is_stopped_at_its_deadline(own: bool) -> None:
    stopped = asyncio.Event()

    @tool(name="hang", timeout=0.05 if own else None)
    async def hang() -> None:
        """Never return."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    definition = agent(hang, tool_settings={} if own else {"timeout": 0.05})
    async with asyncio.timeout(PATIENCE):
        result = await run([call("hang"), "ok"], definition)
        await stopped.wait()

    assert "stopped after 0.05 seconds" in results_in(result.messages)[0]
    assert "may or may not have taken effect" in results_in(result.messages)[0]
    assert (result.success, result.tool_calls[0].outcome) == (True, ToolOutcome.FAILED)


@pytest.mark.requirement("F-TOOL-DEADLINE", "P4")
async def test_a_tool_that_ignores_its_cancellation_is_left_behind() -> None:
    release = asyncio.Event()
    left = asyncio.Event()

    @tool(timeout=0.05)
    async def stubborn() -> str:
        """Do not stop."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        left.set()
        return "too late"

    async with asyncio.timeout(PATIENCE):
        result = await run([call("stubborn"), "ok"], agent(stubborn))
        assert not left.is_set()
        release.set()
        await left.wait()

    assert (result.success, result.tool_calls[0].outcome) == (True, ToolOutcome.FAILED)
    assert "too late" not in str(result.messages)


async def test_a_tool_that_cancels_its_own_task_fails_alone() -> None:
    @tool
    async def stop_myself() -> None:
        """Cancel the task it runs in."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE):
        result = await run([call("stop_myself"), "ok"], agent(stop_myself))

    assert result.terminate_reason is TerminateReason.COMPLETE
    assert result.tool_calls[0].outcome is ToolOutcome.FAILED


@pytest.mark.requirement("F-TOOL-DEADLINE")
async def test_a_tool_knows_when_it_will_be_cut_off() -> None:
    left: dict[str, float] = {}

    @tool(timeout=100)
    async def look(ctx: ToolContext, name: str) -> None:
        """Look at the clock."""
        left[name] = ctx.deadline - asyncio.get_running_loop().time()

    await run([call("look", name="tool"), "ok"], agent(look, timeout_ms=None))
    await run([call("look", name="run"), "ok"], agent(look, timeout_ms=50_000))

    assert 50 < left["tool"] <= 100
    assert left["run"] <= 50
