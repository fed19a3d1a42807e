"""Limits, timeouts and aborts end a run on the CLI as they end any other, and nothing of it is left."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest

from claude_cli.census import gone, marked, until
from claude_cli_runs.scripted_api import Body, Serve, calls, in_turn, ours, says, see
from maverick import AbortSignal, AgentExecutor, ApprovalRequest, TerminateReason, tool
from maverick.loop.result import ToolOutcome
from maverick.providers.claude_cli import cli_tool
from scenario import agent, assert_valid

WRONG = ("Read", {"path": "wrong"})
"""A call that the CLI refuses by itself, without asking anybody."""
CLI = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def always_add(body: Body, number: int) -> Any:
    return calls((ours("add"), {"a": number, "b": 1}))


@pytest.mark.requirement("005-RUN-LIMITS", "P5")
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_tool_calls": 1}, TerminateReason.MAX_TOOL_CALLS),
        ({"max_cost_usd": 0.0022}, TerminateReason.MAX_COST),
    ],
)
async def test_the_model_is_asked_no_more_once_a_limit_is_reached(
    serve: Serve, limits: dict[str, Any], reason: TerminateReason
) -> None:
    api = await serve(always_add)
    result = await AgentExecutor(api.client()).execute(agent(add, **limits))

    assert result.terminate_reason is reason
    assert_valid(result.messages)
    assert not marked(api.url)
    assert len(api.bodies) == 2


@pytest.mark.requirement("005-RUN-LIMITS", "P5")
async def test_the_cli_does_not_ask_again_by_itself_after_calls_it_refuses_itself(serve: Serve) -> None:
    api = await serve(lambda *_: calls(WRONG))
    result = await AgentExecutor(api.client()).execute(agent(cli_tool("Read"), max_turns=1))

    assert result.terminate_reason is TerminateReason.MAX_TURNS
    assert result.tool_calls[0].outcome is ToolOutcome.FAILED
    assert len(api.bodies) == 1


@pytest.mark.requirement("005-RUN-LIMITS", "P4")
async def test_a_model_that_does_not_answer_is_given_up_in_time(serve: Serve) -> None:
    api = await serve(in_turn(None))
    async with asyncio.timeout(60):
        result = await AgentExecutor(api.client()).execute(agent(timeout_ms=2500))

    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert not await gone(api.url)


@pytest.mark.requirement("005-RUN-LIMITS", "P4")
async def test_an_abort_ends_what_the_cli_is_running(serve: Serve) -> None:
    api = await serve(in_turn(calls(("Bash", {"command": "touch begun; exec tail -f /dev/null"}))))
    signal = AbortSignal()

    async def abort() -> None:
        await until((api.work / "begun").exists, 60)
        signal.abort("enough")

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(abort())
        result = await AgentExecutor(api.client()).execute(agent(cli_tool("Bash")), signal=signal)

    assert result.terminate_reason is TerminateReason.ABORTED
    assert result.tool_calls[0].outcome is ToolOutcome.CANCELLED
    assert not await gone(api.url)
    assert len(api.bodies) == 1


@pytest.mark.requirement("005-RUN-LIMITS", "P4")
async def test_a_tool_of_the_cli_that_takes_too_long_is_ended_and_the_run_goes_on(serve: Serve) -> None:
    api = await serve(in_turn(calls(("Bash", {"command": "exec tail -f /dev/null"})), says("Too slow.")))
    watched = await see(api.client(), agent(cli_tool("Bash", timeout=1.0)))

    assert watched.result.output == "Too slow."
    assert watched.result.tool_calls[0].outcome is ToolOutcome.FAILED
    assert "stopped after 1 seconds" in watched.result.tool_calls[0].result
    assert "stopped after 1 seconds" in str(api.bodies[1]["messages"])


@pytest.mark.requirement("005-RUN-LIMITS", "P5")
async def test_a_cli_that_does_not_wait_between_turns_is_found_out(serve: Serve) -> None:
    async def approve(call: ApprovalRequest) -> bool:
        return await until(lambda: len(api.bodies) > 3)

    api = await serve(lambda *_: calls(WRONG))
    hasty = api.folder / "hasty"
    hasty.write_text(f'#!/bin/sh\nsed -u s/PostToolBatch/SubagentStop/ | {CLI} "$@"\n')
    hasty.chmod(0o700)
    executor = AgentExecutor(api.client(cli_path=hasty), approve=approve)
    result = await executor.execute(agent(cli_tool("Read", approval=True)))

    assert result.terminate_reason is TerminateReason.ERROR
    assert "without being asked to" in str(result.errors[0])
