"""A program that a tool runs through its context ends with the call, the run and this process, and all it started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from canary import CANARY
from claude_cli.census import gone, parent_of, there
from maverick import AbortSignal, TerminateReason, ToolContext, tool
from maverick.processes import Program, run_program
from maverick.testing import call
from maverick.tools import FunctionTool
from scenario import agent, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

PATIENCE = 60
FAMILY = "(setsid sleep 600 &); setsid sleep 601 & trap '' TERM; sleep 602; sleep 603"
"""A daemon whose parent is gone, one in a session of its own, and a program that is deaf."""


@pytest.fixture
def mark() -> str:
    return f"MARK={uuid.uuid4().hex}"


def marked(mark: str) -> dict[str, str]:
    name, _, value = mark.partition("=")
    return {name: value, "PATH": "/usr/bin:/bin"}


@tool
async def look(context: ToolContext) -> str:
    """Look around."""
    result = await context.run_program(["sh", "-c", "pwd; echo oops >&2; exit 3"], cwd=Path("/"))
    return f"{result.exit_code}: {result.output}"


@pytest.mark.requirement("PROC-TOOL")
async def test_the_exit_code_and_the_output_come_back() -> None:
    result = await run([call("look"), "Done."], agent(look))

    assert result.tool_calls[0].result == "3: /\noops\n"


@pytest.mark.requirement("PROC-TOOL")
async def test_a_tool_may_return_what_its_program_gave_as_it_is() -> None:
    @tool
    async def deploy(context: ToolContext) -> Any:
        """Deploy it."""
        return await context.run_program(["sh", "-c", "echo ok"])

    result = await run([call("deploy"), "Done."], agent(deploy))

    assert result.tool_calls[0].result == '{"exit_code":0,"output":"ok\\n"}'


@pytest.mark.requirement("PROC-TOOL", "P9")
async def test_a_program_is_given_no_key_unless_the_tool_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    outputs: list[str] = []

    @tool
    async def env(context: ToolContext) -> str:
        """Show the environment of a program and of the process above it."""
        command = ["sh", "-c", "env; cat /proc/$PPID/environ"]
        outputs.append((await context.run_program(command)).output)
        outputs.append((await context.run_program(["/usr/bin/env"], env={"KEY": "given"})).output)
        return "shown"

    await run([call("env"), "Done."], agent(env))

    assert "PATH=" in outputs[0]
    assert CANARY not in outputs[0]
    assert "KEY=given\n" in outputs[1]


@pytest.mark.requirement("PROC-TOOL")
async def test_only_the_beginning_of_a_long_output_is_kept_and_a_missing_program_is_named() -> None:
    @tool
    async def count(context: ToolContext) -> str:
        """Count."""
        result = await context.run_program(["seq", "100000"], max_output=4)
        return f"{result.exit_code}: {result.output}"

    @tool
    async def miss(context: ToolContext) -> str:
        """Run what is not there."""
        return (await context.run_program(["/no/such/program"])).output

    result = await run([call("count"), call("miss"), "Done."], agent(count, miss))

    assert result.tool_calls[0].result == "0: 1\n2\n"
    assert "/no/such/program could not be started" in result.tool_calls[1].result


@pytest.mark.requirement("PROC-TOOL", "P4")
@pytest.mark.parametrize("how", ["times out", "aborts", "cancels"])
async def test_whatever_ends_the_call_ends_the_program_and_its_family(mark: str, how: str) -> None:
    async def work(context: ToolContext) -> str:
        """Work for long."""
        return (await context.run_program(["sh", "-c", FAMILY], env=marked(mark))).output

    async def stop() -> None:
        assert len(await there(mark, 4)) >= 4
        stopping.abort()
        if how == "cancels":
            running.cancel()

    stopping = AbortSignal()
    made = FunctionTool(work, timeout=1.0 if how == "times out" else PATIENCE)
    options: dict[str, Any] = {"signal": stopping} if how == "aborts" else {}
    running = asyncio.ensure_future(run([call("work"), "Done."], agent(made), **options))
    if how != "times out":
        await stop()
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait([running])

    assert await gone(mark) == []
    if how == "times out":
        assert "stopped after 1" in running.result().tool_calls[0].result
    elif how == "aborts":
        assert running.result().terminate_reason is TerminateReason.ABORTED


OWNER = """
import asyncio, sys
from maverick.model import ToolContext
context = ToolContext(
    run_id="r", trace_id="t", agent=("a",), turn=1, call_id="c", idempotency_key="r/1/0", deadline=1e9
)
name, value, command = sys.argv[1:]
asyncio.run(context.run_program(["sh", "-c", command], env={name: value, "PATH": "/usr/bin:/bin"}))
"""


@pytest.mark.requirement("PROC-TOOL", "P4")
async def test_a_program_does_not_outlive_the_process_that_runs_it(mark: str) -> None:
    name, _, value = mark.partition("=")
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, name, value, FAMILY)
    assert len(await there(mark, 4)) >= 4

    owner.kill()
    await owner.wait()

    assert await gone(mark) == []


@pytest.mark.requirement("PROC-TOOL")
@pytest.mark.parametrize(
    ("argv", "code"), [(["sh", "-c", "exit 5"], 5), (["sh", "-c", "kill -9 $$"], 128 + 9)]
)
async def test_the_exit_code_is_as_a_shell_says_it(argv: list[str], code: int) -> None:
    assert await run_program(argv, lambda _: True) == code


@pytest.mark.requirement("PROC-TOOL", "P4")
async def test_programs_are_kept_apart_when_the_keeper_of_one_is_killed(mark: str) -> None:
    programs = [
        (await Program.connect(["sh", "-c", "setsid sleep 600 & exec sleep 600"], (), env=env, cwd="/"))[0]
        for env in (marked(mark), marked("OTHER=1"))
    ]
    assert len(await there(mark, 2)) == 2

    os.kill(parent_of(programs[0].pid), signal.SIGKILL)

    assert await gone(mark) == []
    assert not await programs[1].exits_within(0.2)
    for program in programs:
        await program.aclose()


@pytest.mark.requirement("PROC-TOOL")
def test_a_program_runs_and_ends_on_uvloop(mark: str) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        assert await run_program(["true"], lambda _: True) == 0
        running = asyncio.ensure_future(run_program(["sh", "-c", FAMILY], lambda _: True, env=marked(mark)))
        assert len(await there(mark, 4)) >= 4
        running.cancel()
        await asyncio.wait([running])
        assert await gone(mark) == []

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


@pytest.mark.requirement("PROC-TOOL")
async def test_a_program_that_kills_its_keeper_at_once_was_killed_and_not_refused() -> None:
    codes = {await run_program(["sh", "-c", "kill -9 $PPID; sleep 600"], lambda _: True) for _ in range(20)}

    assert codes == {128 + 9}
