"""Four ways a run is stopped, each with a result that says why and what there was so far.

The model here asks for the same tool again and again, as a model that is lost does.
"""

from __future__ import annotations

import asyncio

from maverick import (
    AbortSignal,
    AgentDefinition,
    AgentExecutor,
    AgentResult,
    RunConfig,
    ToolConfig,
    tool,
)
from maverick.loop.events import AgentActivityEvent
from maverick.testing import ScriptedClient, call, calls

LOST = ScriptedClient(lambda _: calls(call("search", where="here"), text="Still looking."))


@tool(effect="pure")
async def search(where: str) -> str:
    """Search a place."""
    await asyncio.sleep(0.02)
    return f"Nothing {where}."


def searcher(limits: RunConfig) -> AgentDefinition:
    """An agent that searches within these limits."""
    return AgentDefinition(
        name="searcher",
        description="Searches.",
        run_config=limits,
        tool_config=ToolConfig(tools=[search]),
    )


async def stop_after_first_tool() -> AgentResult:
    """Stop the run from outside, as a person at a button would."""
    signal = AbortSignal()

    def watch(event: AgentActivityEvent) -> None:
        if event.type == "tool_call_end":
            signal.abort("seen enough")

    executor = AgentExecutor(LOST)
    return await executor.execute(
        searcher(RunConfig()), inputs={"prompt": "Find it."}, signal=signal, on_activity=watch
    )


def show(result: AgentResult) -> None:
    """Print how a run ended."""
    print(f"{result.terminate_reason}: {result.error}")
    print(f"    {result.turn_count} turns, {len(result.tool_calls)} tool calls, text: {result.raw_content!r}")


async def main() -> None:
    """Run into each limit in turn."""
    executor = AgentExecutor(LOST)
    for limits in (RunConfig(max_turns=3), RunConfig(max_tool_calls=2), RunConfig(timeout_ms=100)):
        show(await executor.execute(searcher(limits), inputs={"prompt": "Find it."}))
    show(await stop_after_first_tool())


if __name__ == "__main__":
    asyncio.run(main())
