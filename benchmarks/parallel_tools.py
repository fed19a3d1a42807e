"""Twenty tools of one turn that each wait 50 ms: how much longer the run takes than one of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial

from benchmarks.figure import Figure, Target
from benchmarks.prepared import DONE
from benchmarks.stopwatch import median_of, wall_of
from maverick import AgentDefinition, AgentExecutor, ToolConfig, tool
from maverick.model import Response, Tool, ToolCall
from maverick.testing import ScriptedClient

_TOOLS = 20
_SECONDS = 0.05


@tool(effect="pure")
async def wait() -> str:
    """Wait without blocking."""
    await asyncio.sleep(_SECONDS)
    return "waited"


@tool(effect="pure")
def block() -> str:
    """Wait and block the thread."""
    time.sleep(_SECONDS)
    return "waited"


def measure(rounds: int) -> Iterator[Figure]:
    for kind, waiting in (("async", wait), ("blocking", block)):
        seconds = median_of(rounds, partial(_fan, waiting))
        yield Figure(f"{_TOOLS} {kind} tools of 50 ms in one turn", seconds * 1e3, "ms", Target(55))


def _fan(waiting: Tool) -> float:
    agent = AgentDefinition(
        name="waiter", description="Waits.", tool_config=ToolConfig(tools=[waiting], max_parallel=_TOOLS)
    )
    calls = [ToolCall(f"call_{index}", waiting.name) for index in range(_TOOLS)]

    async def scenario() -> None:
        executor = AgentExecutor(ScriptedClient([Response("", calls), DONE]))
        result = await executor.execute(agent, inputs={"prompt": "Wait."})
        assert result.success and len(result.tool_calls) == _TOOLS, result.error  # noqa: PT018 - one fact

    return wall_of(scenario)
