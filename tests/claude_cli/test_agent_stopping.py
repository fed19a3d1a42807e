"""Agents on the real CLI: whatever stops a query, the CLI and all it started are gone."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from claude_cli.api import CliApi, Greeter, calls, endless
from claude_cli.census import gone, open_handles, there
from maverick import AbortSignal, TerminateReason
from maverick.agents import AgentContext, AgentRegistry
from maverick.config import MaverickConfig
from maverick.exceptions import AbortedError, StreamTimeoutError, TimeoutError

pytestmark = [
    pytest.mark.requirement("CLI-NO-ORPHANS", "P4"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]


@pytest.fixture
def mark(env: dict[str, str]) -> str:
    """What only the CLI of this test, and what it starts, have in their environment."""
    return f"CLAUDE_CONFIG_DIR={env['CLAUDE_CONFIG_DIR']}"


@pytest.fixture
def busy(api: CliApi, env: dict[str, str]) -> Greeter:
    """An agent whose CLI runs a shell command that takes for ever."""
    command = "(setsid sleep 600 &) ; exec tail -f /dev/null"
    api.play(calls(("Bash", {"command": command, "description": "Wait."})), endless)
    return Greeter(env=env, allowed_tools=["Bash"])


async def test_an_abort_ends_it_with_what_was_said_and_used(
    busy: Greeter, mark: str, api: CliApi, tmp_path: Path
) -> None:
    signal = AbortSignal()
    run = asyncio.create_task(busy.run_prompt("Wait.", signal=signal))
    assert len(await there(mark, 3, "sleep 600")) >= 3  # the CLI, its command, and the daemon

    signal.abort("enough")
    result = await run

    assert await gone(mark) == []
    assert result.terminate_reason is TerminateReason.ABORTED
    (error,) = result.errors
    assert isinstance(error, AbortedError)
    assert error.reason == "enough"
    assert result.raw_content == "Let me see."
    assert (result.usage.input_tokens, result.usage.output_tokens) == (118, 42)
    assert result.usage.total_cost_usd


@pytest.mark.requirement("000-EDGE-STREAM", "001-ERROR-STREAMING", "001-REGISTRY-CREATE")
async def test_a_timeout_ends_it_with_the_partial_text_in_the_result_and_on_the_error(
    api: CliApi, env: dict[str, str], mark: str, tmp_path: Path
) -> None:
    api.play(endless)
    registry = AgentRegistry()
    registry.register("greeter", Greeter)
    context = AgentContext(tmp_path, "main", MaverickConfig())

    for seconds in (3, 6, 12, 24):  # it may be slow to start
        result = await registry.create("greeter", env=env, timeout=seconds).execute(context)
        if result.raw_content:
            break

    assert await gone(mark) == []
    assert result.terminate_reason is TerminateReason.TIMEOUT
    (error,) = result.errors
    assert isinstance(error, StreamTimeoutError)
    assert isinstance(error, TimeoutError)
    assert "the timeout=… of its class" in str(error)
    assert [message.content for message in error.partial_messages] == [result.raw_content]
    assert result.raw_content.startswith("Once upon a time ")
    assert result.metadata["model"] == "claude-sonnet-4-5"


@pytest.mark.parametrize("seconds", [0.001, 0.05, 0.3])
async def test_a_cli_that_is_still_starting_is_ended_as_well(
    env: dict[str, str], mark: str, seconds: float
) -> None:
    agent = Greeter(env=env, timeout=seconds)

    result = await asyncio.wait_for(agent.run_prompt("Hello?"), 20)

    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert await gone(mark) == []


async def test_cancelling_the_task_ends_it(busy: Greeter, mark: str) -> None:
    run = asyncio.create_task(busy.run_prompt("Wait."))
    assert len(await there(mark, 3, "sleep 600")) >= 3

    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    assert await gone(mark) == []


async def test_a_consumer_that_fails_or_leaves_early_ends_it(
    api: CliApi, env: dict[str, str], mark: str, tmp_path: Path
) -> None:
    api.play(endless)
    agent = Greeter(env=env, partial_messages=True)

    async def fail() -> None:
        async for _ in agent.query("Tell.", tmp_path):
            raise LookupError("the consumer's own")

    with pytest.raises(LookupError):
        await fail()
    assert await gone(mark) == []

    async for _ in agent.query("Tell.", tmp_path):
        break
    assert await gone(mark) == []

    async with aclosing(agent.query("Tell.", tmp_path)) as messages:
        await anext(messages)
    assert await gone(mark) == []


async def test_a_query_that_is_over_leaves_no_process_and_no_handle(
    api: CliApi, env: dict[str, str], mark: str, tmp_path: Path
) -> None:
    background = {"command": "sleep 600", "description": "Wait.", "run_in_background": True}
    agent = Greeter(env=env, allowed_tools=["Bash"])
    assert [message async for message in agent.query("Hello?")]
    before = open_handles()
    api.play(calls(("Bash", background)), *api.turns)

    assert [message async for message in agent.query("Wait.")]
    assert (await agent.run_prompt("Hello?")).success

    assert await gone(mark) == []
    await asyncio.sleep(0)
    assert open_handles() == before
