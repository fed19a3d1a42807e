"""Many runs at once in one process, and what a long one costs."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from maverick import AgentExecutor, tool
from maverick.model import Request
from maverick.testing import ScriptedClient, call, reply
from scenario import agent, results_in, run
from scripts import run_python

CROWD = 1_000


@tool
async def echo(word: str) -> str:
    """Say it again."""
    return word


@pytest.mark.requirement("F-CONCURRENT")
async def test_a_thousand_runs_are_under_way_at_once_and_do_not_mix() -> None:
    under_way = 0
    all_here = asyncio.Event()

    async def answer(request: Request) -> Any:
        nonlocal under_way
        if len(request.messages) == 1:
            under_way += 1
            if under_way == CROWD:
                all_here.set()
            await all_here.wait()
            return call("echo", word=request.messages[0].content)
        return reply(f"heard {request.messages[-1].content}")

    executor = AgentExecutor(ScriptedClient(answer))
    definitions = [agent(echo, ask=f"word {number}") for number in range(CROWD)]

    async with asyncio.timeout(60):
        results = await asyncio.gather(*(executor.execute(definition) for definition in definitions))

    assert [result.output for result in results] == [f"heard word {number}" for number in range(CROWD)]
    assert [results_in(result.messages) for result in results] == [[f"word {n}"] for n in range(CROWD)]
    assert len({result.metadata["run_id"] for result in results}) == CROWD
    assert executor.metrics.invocations == 2 * CROWD
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.requirement("003-NFR1-OVERHEAD", "003-G1")
async def test_a_turn_takes_far_less_than_a_tenth_of_a_second_of_our_own() -> None:
    turns = 300
    client = ScriptedClient(
        lambda request: call("echo", word="x") if len(request.messages) < 2 * turns else "Done."
    )
    began = time.process_time()

    result = await run(client, agent(echo, max_turns=turns + 1))

    assert result.turn_count > turns
    assert (time.process_time() - began) / turns < 0.1


@pytest.mark.requirement("003-NFR1-MEMORY")
def test_a_long_session_stays_far_below_500_megabytes() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip(
            "needs /proc: what getrusage says is the peak of whoever started the process, if that is higher"
        )
    used = run_python(
        """
        import asyncio, re
        from pathlib import Path
        from maverick import AgentDefinition, AgentExecutor, PromptConfig, RunConfig, ToolConfig, tool
        from maverick.testing import ScriptedClient, call

        @tool
        async def read() -> str:
            "Read a page."
            return "star " * 1000

        definition = AgentDefinition(
            "reader",
            "Reads.",
            prompt_config=PromptConfig(initial_messages=["Read."]),
            run_config=RunConfig(max_turns=500),
            tool_config=ToolConfig(tools=[read]),
        )
        client = ScriptedClient(lambda request: call("read") if len(request.messages) < 800 else "Done.")
        result = asyncio.run(AgentExecutor(client).execute(definition))
        assert result.turn_count > 399, result
        print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
        """
    )

    assert int(used) // 1024 < 500
