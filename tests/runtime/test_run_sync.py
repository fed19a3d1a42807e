"""Agents from scripts that are not async, and processes that end when they should."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from maverick import ModelConfig, SqliteJournal, TerminateReason, run_sync, tool
from maverick.exceptions import InvalidInputError
from maverick.testing import ScriptedClient, call
from scenario import agent
from scripts import run_python

PREAMBLE = """
import asyncio, sys, threading
from maverick import AgentDefinition, AgentExecutor, PromptConfig, RunConfig, ToolConfig, run_sync, tool
from maverick.testing import ScriptedClient, call

def define(made, **limits):
    return AgentDefinition(
        "worker",
        "Works.",
        prompt_config=PromptConfig(initial_messages=["Go."]),
        run_config=RunConfig(**limits),
        tool_config=ToolConfig(tools=[made]),
    )
"""


@tool
def work() -> str:
    """Work."""
    return "done"


@pytest.mark.requirement("F-SYNC")
def test_a_script_keeps_a_run_in_a_journal_and_gets_its_answer_again(tmp_path: Path) -> None:
    kept = SqliteJournal(tmp_path / "runs.db")

    first = run_sync(agent(), client=ScriptedClient(["Hello."]), journal=kept, run_id="r")
    again = run_sync(
        agent(),
        client=ScriptedClient([]),
        journal=SqliteJournal(tmp_path / "runs.db"),
        run_id="r",
        if_exists="resume",
    )

    assert first.output == again.output == "Hello."


@pytest.mark.requirement("F-SYNC")
def test_what_happens_in_a_run_has_no_error_around_it() -> None:
    around = []

    run_sync(agent(), client=ScriptedClient(["Hello."]), on_activity=lambda _: around.append(sys.exception()))

    assert set(around) == {None}


@pytest.mark.requirement("F-SYNC")
def test_a_script_runs_an_agent_and_gets_its_result() -> None:
    definition = agent(work, ask="Greet ${name}.")
    client = ScriptedClient([call("work"), "Hello Ana."])

    result = run_sync(definition, client=client, inputs={"name": "Ana"}, run_id="run_7")

    assert (result.success, result.output) == (True, "Hello Ana.")
    assert result.metadata["run_id"] == "run_7"
    assert client.requests[0].messages[0].content == "Greet Ana."


@pytest.mark.requirement("F-SYNC")
def test_without_a_client_the_definitions_own_model_answers() -> None:
    result = run_sync(agent(model=ModelConfig(model="offline:"), ask="Hello!"))

    assert result.success


@pytest.mark.requirement("F-SYNC")
async def test_inside_an_event_loop_it_says_what_to_write_instead() -> None:
    with pytest.raises(InvalidInputError, match=r"await executor\.execute"):
        run_sync(agent(), client=ScriptedClient(["never"]))


@pytest.mark.requirement("F-TOOL-THREAD", "P4")
@pytest.mark.parametrize(
    ("run_ms", "tool_seconds", "expected"),
    [(100, 60, "timeout cancelled"), (60_000, 0.1, "complete failed")],
    ids=["stopped by the run's timeout", "stopped by its own deadline"],
)
def test_a_blocking_tool_that_never_returns_does_not_keep_the_process_alive(
    run_ms: int, tool_seconds: float, expected: str
) -> None:
    printed = run_python(
        f"""
{PREAMBLE}
@tool(timeout={tool_seconds})
def block() -> None:
    "Block."
    threading.Event().wait()

result = run_sync(define(block, timeout_ms={run_ms}), client=ScriptedClient([call("block"), "Done."]))
print(result.terminate_reason, result.tool_calls[0].outcome)
"""
    )

    assert printed.strip() == expected


@pytest.mark.requirement("F-SYNC", "P4")
def test_an_async_tool_that_ignores_its_cancellation_does_not_keep_run_sync_from_returning() -> None:
    printed = run_python(
        f"""
{PREAMBLE}
@tool
async def stubborn() -> None:
    "Stay."
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

result = run_sync(define(stubborn, timeout_ms=100), client=ScriptedClient([call("stubborn")]))
print(result.terminate_reason)
""",
        timeout=20,
    )

    assert printed.strip() == TerminateReason.TIMEOUT


@pytest.mark.requirement("F-TOOL-THREAD")
@pytest.mark.parametrize("death", ["sys.exit(3)", "raise KeyboardInterrupt"])
@pytest.mark.parametrize("kind", ["async def", "def"])
def test_a_tool_that_tries_to_end_the_process_does_not(death: str, kind: str) -> None:
    printed = run_python(
        f"""
{PREAMBLE}
@tool
{kind} leave() -> None:
    "Leave."
    {death}

result = run_sync(define(leave), client=ScriptedClient([call("leave"), "Still here."]))
print(result.output)
"""
    )

    assert printed.strip() == "Still here."
