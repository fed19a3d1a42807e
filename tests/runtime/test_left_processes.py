"""What a tool call starts and leaves ends with its run, and at once if the call is cut off; nothing else is touched."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from maverick import AbortSignal, AgentExecutor, TerminateReason, tool
from maverick.exceptions import ToolError
from maverick.journal import MemoryJournal
from maverick.loop.events import ToolCallStart
from maverick.model import Request, Tool
from maverick.providers.claude_cli.guard import Guard
from maverick.providers.scripted import TurnLike
from maverick.telemetry import FIELDS
from maverick.testing import ScriptedClient, call, calls
from maverick.tools import FunctionTool
from maverick.tools.mcp import MCPToolset
from scenario import agent, run
from tools.mcp.office_server import Office

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")

PATIENCE = 60
SLEEPER = ("sleep", "3610")


def runs(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


class Nursery:
    """Starts programs for tools, and knows what has become of them."""

    def __init__(self) -> None:
        self.programs: list[Any] = []

    async def start(self) -> str:
        self.programs.append(await asyncio.create_subprocess_exec(*SLEEPER))
        return "started"

    def spawn(self) -> str:
        self.programs.append(subprocess.Popen(SLEEPER))  # noqa: S603 - a program of the system
        return "started"

    def runs(self, number: int = -1) -> bool:
        return runs(self.programs[number].pid)

    async def tidy(self) -> None:
        for program in self.programs:
            with suppress(ProcessLookupError):
                program.kill()
            if isinstance(program, subprocess.Popen):
                program.wait()
            else:
                await program.wait()


@pytest.fixture
async def nursery() -> AsyncIterator[Nursery]:
    made = Nursery()
    yield made
    await made.tidy()


async def eventually(is_so: Callable[[], bool]) -> bool:
    for _ in range(1000):
        if is_so():
            return True
        await asyncio.sleep(0.01)
    return False


def starting(nursery: Nursery, **options: Any) -> Tool:
    return FunctionTool(nursery.start, description="Start a program.", **options)


def spawning(nursery: Nursery, **options: Any) -> Tool:
    return FunctionTool(nursery.spawn, description="Start a program.", **options)


async def forever() -> None:
    await asyncio.Event().wait()


@pytest.mark.requirement("PROC-LEFT", "P4")
@pytest.mark.parametrize("make", [starting, spawning])
async def test_a_process_lives_as_long_as_the_run_whose_tool_has_started_it(
    nursery: Nursery, make: Callable[[Nursery], Tool]
) -> None:
    seen: list[bool] = []

    @tool
    async def look() -> str:
        """Look whether it runs."""
        seen.append(nursery.runs())
        return "looked"

    made = make(nursery)
    result = await run([call(made.name), call("look"), "Done."], agent(made, look))

    assert result.success
    assert seen == [True]
    assert not nursery.runs()


@pytest.mark.requirement("PROC-LEFT", "P4")
@pytest.mark.parametrize("how", ["aborts", "cancels", "fails", "parks"])
async def test_a_process_ends_with_its_run_however_that_ends(nursery: Nursery, how: str) -> None:
    stop = AbortSignal()

    @tool(approval=True)
    async def ask() -> str:
        """Ask a person."""
        return "asked"

    async def hang() -> str:
        """Start a program and wait."""
        await nursery.start()
        stop.abort()
        if how == "cancels":
            running.cancel()
        await forever()
        return "never"

    scripts: dict[str, list[TurnLike]] = {
        "aborts": [call("hang"), "never"],
        "cancels": [call("hang"), "never"],
        "fails": [call("start"), ValueError("broken")],
        "parks": [call("start"), call("ask")],
    }
    definition = agent(FunctionTool(hang), starting(nursery), ask, max_retries=0)
    executor = AgentExecutor(ScriptedClient(scripts[how]), journal=MemoryJournal())
    running = asyncio.ensure_future(executor.execute(definition, signal=stop if how == "aborts" else None))
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait([running])

    assert (
        how == "cancels"
        or running.result().terminate_reason
        in {
            "aborts": (TerminateReason.ABORTED,),
            "fails": (TerminateReason.ERROR,),
            "parks": (TerminateReason.AWAITING_APPROVAL,),
        }[how]
    )
    assert not nursery.runs()


@pytest.mark.requirement("PROC-CUT", "P4")
async def test_a_call_that_is_cut_off_loses_its_process_while_the_run_goes_on(nursery: Nursery) -> None:
    def hang() -> int:
        """Wait for a program that does not end."""
        nursery.spawn()
        code: int = nursery.programs[0].wait()
        return code

    @tool
    async def look() -> bool:
        """Look whether it ends, and the other call's does not."""
        return await eventually(lambda: not nursery.runs()) and others.runs()

    others = Nursery()
    tools = agent(FunctionTool(hang, timeout=0.2), starting(others), look)
    result = await run([calls(call("hang"), call("start")), call("look"), "Done."], tools)

    assert "stopped after 0.2 seconds" in result.tool_calls[0].result
    assert result.tool_calls[2].result == "true"
    assert await eventually(lambda: nursery.programs[0].returncode == -signal.SIGTERM)


@pytest.mark.requirement("PROC-CUT", "P4")
async def test_a_thread_that_waits_in_os_system_is_set_free_when_its_call_is_cut_off() -> None:
    statuses: list[int] = []

    def hang() -> None:
        """Wait for a command that does not end."""
        statuses.append(os.system("exec sleep 3611"))  # noqa: S605, S607 - that is what is tested

    await run([call("hang"), "Done."], agent(FunctionTool(hang, timeout=0.2)))

    assert await eventually(lambda: statuses == [signal.SIGTERM])


@pytest.mark.requirement("PROC-CUT", "P4")
async def test_a_call_that_was_cut_off_can_clean_up_and_then_starts_nothing_more(nursery: Nursery) -> None:
    cleaned: list[int | None] = []
    late: list[str] = []

    async def hang() -> None:
        """Hang, clean up with a program, and leave a task that starts another later."""
        tasks.append(asyncio.ensure_future(start_late()))
        try:
            await forever()
        finally:
            program = await asyncio.create_subprocess_exec("true")
            cleaned.append(await program.wait())

    async def start_late() -> None:
        await over.wait()
        try:
            await nursery.start()
        except ToolError as error:
            late.append(str(error))

    tasks: list[asyncio.Future[None]] = []
    over = asyncio.Event()
    await run([call("hang"), "Done."], agent(FunctionTool(hang, timeout=0.2)))
    assert await eventually(lambda: cleaned == [0])
    over.set()
    await asyncio.wait(tasks)

    assert late == ["The call of hang was cut off; it can start no more processes."]
    assert nursery.programs == []


@pytest.mark.requirement("PROC-KEPT")
async def test_a_tool_that_says_so_keeps_its_process_and_the_call_beside_it_does_not(
    nursery: Nursery,
) -> None:
    keep = starting(nursery, name="keep", keeps_processes=True)
    others = Nursery()

    result = await run(
        [calls(call("keep"), call("start"), call("spawn"), call("keep")), "Done."],
        agent(keep, starting(others), spawning(others)),
    )

    assert [record.result for record in result.tool_calls] == ["started"] * 4
    assert [nursery.runs(number) for number in range(2)] == [True, True]
    assert [others.runs(number) for number in range(2)] == [False, False]
    await others.tidy()


@pytest.mark.requirement("PROC-OWNER")
async def test_runs_at_the_same_time_end_their_own_processes_and_no_others(nursery: Nursery) -> None:
    slow_may_end = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for the other run."""
        await slow_may_end.wait()
        return "waited"

    others = Nursery()
    slow = asyncio.ensure_future(
        run([calls(call("start"), call("spawn")), call("wait"), "Done."],
            agent(starting(nursery), spawning(nursery), wait))
    )  # fmt: skip
    assert await eventually(lambda: len(nursery.programs) == 2)

    await run([calls(call("start"), call("spawn")), "Done."], agent(starting(others), spawning(others)))
    assert [others.runs(number) for number in range(2)] == [False, False]
    assert [nursery.runs(number) for number in range(2)] == [True, True]
    slow_may_end.set()
    await slow

    assert [nursery.runs(number) for number in range(2)] == [False, False]
    await others.tidy()


@pytest.mark.requirement("PROC-OWNER")
async def test_a_subagents_process_ends_with_the_subagents_run(nursery: Nursery) -> None:
    seen: list[bool] = []

    @tool
    async def look() -> str:
        """Look whether they run."""
        seen.extend(nursery.runs(number) for number in range(2))
        return "looked"

    inner = agent(starting(nursery), name="inner")
    outer = agent(inner.as_tool(), starting(nursery), look, name="outer")
    await run([call("start"), call("inner"), call("start"), "Inner.", call("look"), "Done."], outer)

    assert seen == [True, False]
    assert not nursery.runs(0)


@pytest.mark.requirement("PROC-OWNER")
async def test_what_a_run_needs_is_not_the_tools_that_has_started_that_run(nursery: Nursery) -> None:
    async def answer(_request: Request) -> TurnLike:
        await nursery.start()
        return "Inner."

    @tool
    async def delegate() -> str:
        """Run an agent whose model is a program."""
        result = await AgentExecutor(ScriptedClient(answer)).execute(agent())
        return str(result.output)

    result = await run([call("delegate"), "Done."], agent(delegate))

    assert result.tool_calls[0].result == "Inner."
    assert nursery.runs()


@pytest.mark.requirement("PROC-OWNER")
async def test_a_program_that_a_listener_starts_during_a_run_is_left_alone(nursery: Nursery) -> None:
    @tool
    async def work() -> str:
        """Work."""
        return "worked"

    await AgentExecutor(ScriptedClient([call("work"), "Done."])).execute(
        agent(work), on_activity=lambda event: nursery.spawn() if isinstance(event, ToolCallStart) else None
    )

    assert len(nursery.programs) == 1
    assert nursery.runs()


@pytest.mark.requirement("PROC-OWNER")
async def test_an_mcp_server_that_a_tool_call_starts_serves_the_next_run_too(
    nursery: Nursery, tmp_path: Path
) -> None:
    class Program(Office):
        """A server that is a program, as far as anybody can tell from the processes."""

        def client(self) -> Client:
            nursery.spawn()
            return super().client()

    office = MCPToolset("office", Program(tmp_path / "log"))
    echo = [found for found in await office.tools() if found.name == "echo"]
    await office.aclose()  # so that it is the call that opens the session

    result = await run([call("echo", text="hello"), "Done."], agent(*echo))

    assert "hello" in result.tool_calls[0].result
    assert len(nursery.programs) == 2
    assert nursery.runs()
    await office.aclose()


@pytest.mark.requirement("PROC-OWNER")
async def test_the_helper_of_the_claude_cli_is_not_the_tool_calls_that_needs_it_first() -> None:
    helper = Guard()
    pairs = [socket.socketpair() for _ in range(4)]

    @tool
    def ask_claude() -> str:
        """Have a CLI kept."""
        helper.hand_over([theirs for _, theirs in pairs], pairs[3][0])
        return "asked"

    await run([call("ask_claude"), "Done."], agent(ask_claude))

    assert helper.pid is not None
    assert runs(helper.pid)
    for pair in pairs:
        for end in pair:
            end.close()
    helper.let_go()
    await asyncio.to_thread(os.waitpid, helper.pid, 0)


@pytest.mark.requirement("PROC-OWNER")
async def test_what_a_call_starts_in_its_threads_and_tasks_is_its_own(nursery: Nursery) -> None:
    def soon() -> None:
        tasks.append(asyncio.ensure_future(nursery.start()))

    @tool
    async def scatter() -> str:
        """Start programs from here and there."""
        await asyncio.to_thread(nursery.spawn)
        await asyncio.gather(nursery.start(), nursery.start())
        asyncio.get_running_loop().call_soon(soon)
        return "scattered"

    @tool
    async def wait() -> str:
        """Wait for the last of them."""
        await eventually(lambda: len(nursery.programs) == 4)
        return "waited"

    tasks: list[asyncio.Future[str]] = []
    await run([call("scatter"), call("wait"), "Done."], agent(scatter, wait))

    assert [nursery.runs(number) for number in range(4)] == [False] * 4


@pytest.mark.requirement("PROC-LEFT")
async def test_a_process_whose_parent_has_ended_is_found_in_the_session_it_was_started_in(
    nursery: Nursery,
) -> None:
    numbers: list[int] = []

    def start() -> str:
        """Start a program that starts another one, and ends."""
        program = subprocess.Popen(
            ["/bin/sh", "-c", "sleep 3612 >/dev/null & echo $!"],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        nursery.programs.append(program)
        assert program.stdout is not None
        with program.stdout as output:
            numbers.append(int(output.read()))
        return "started"

    await run([call("start"), "Done."], agent(FunctionTool(start)))

    assert await eventually(lambda: not Path(f"/proc/{numbers[0]}").exists())


@pytest.mark.requirement("PROC-LEFT", "PROC-CUT")
def test_a_process_that_uvloop_has_started_ends_too() -> None:
    uvloop = pytest.importorskip("uvloop")
    nursery = Nursery()

    async def hang() -> None:
        """Start a program, and another one when it is told to stop."""
        await nursery.start()
        try:
            await forever()
        finally:
            await nursery.start()

    async def main() -> None:
        tools = agent(starting(nursery), FunctionTool(hang, timeout=0.2))
        async with asyncio.timeout(PATIENCE):
            await run([call("start"), call("hang"), "Done."], tools)
        assert await eventually(lambda: len(nursery.programs) == 3)
        assert await eventually(lambda: not any(map(nursery.runs, range(3))))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


@pytest.mark.requirement("PROC-LEFT")
async def test_no_zombie_is_left_and_who_waits_for_a_process_hears_how_it_ended(
    nursery: Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    forked: list[int] = []

    @tool
    def fork() -> str:
        """Start programs that nobody waits for."""
        forked.append(os.posix_spawn("/bin/sleep", SLEEPER, {}))
        forked.append(os.posix_spawn("/bin/true", ["true"], {}))
        return "started"

    await run([calls(call("start"), call("fork")), "Done."], agent(starting(nursery), fork))

    assert await nursery.programs[0].wait() == -signal.SIGTERM
    assert await eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in forked))
    assert [record for record in caplog.records if record.name == "asyncio" and record.levelno > 20] == []


@pytest.mark.requirement("PROC-LEFT")
async def test_a_process_is_not_forgotten_among_many_that_end_by_themselves(nursery: Nursery) -> None:
    def start() -> str:
        """Start a program that stays and many that do not."""
        nursery.spawn()
        for _ in range(100):
            subprocess.run(["/bin/true"], check=True)
        return "started"

    await run([call("start"), "Done."], agent(FunctionTool(start)))

    assert not nursery.runs()


@pytest.mark.requirement("PROC-LOG", "P9")
async def test_the_log_names_the_call_and_the_processes_it_has_left(
    nursery: Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def tidy() -> str:
        """Start a program and wait for it."""
        await (await asyncio.create_subprocess_exec("true")).wait()
        return "tidy"

    with caplog.at_level(logging.WARNING, "maverick"):
        await run(
            [calls(call("tidy"), call("start")), "Done."],
            agent(tidy, starting(nursery)),
            run_id="run_1",
            trace_id="trace_1",
        )

    (line,) = [record for record in caplog.records if record.getMessage() == "tool_left_processes"]
    assert getattr(line, FIELDS) == {
        "run_id": "run_1",
        "trace_id": "trace_1",
        "agent": "worker",
        "tool": "start",
        "tool_call_id": "call_2",
        "pids": [nursery.programs[0].pid],
    }


@pytest.mark.requirement("PROC-OWNER")
async def test_a_start_that_fails_fails_as_it_would_without_us_and_signatures_stay() -> None:
    @tool
    def start() -> str:
        """Start what is not there."""
        subprocess.Popen(["/does/not/exist"])
        return "never"

    result = await run([call("start"), "Done."], agent(start))

    assert result.tool_calls[0].result.startswith("FileNotFoundError: ")
    assert "args" in inspect.signature(subprocess.Popen).parameters
    assert inspect.signature(os.system).parameters.keys() == {"command"}
