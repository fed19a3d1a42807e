"""An agent with one tool, and a model whose answers are ready before they are asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator

from maverick import AgentDefinition, AgentExecutor, AgentResult, RunConfig, ToolConfig, tool
from maverick.model import Request, Response, StreamItem, ToolCall, Usage

DONE = Response("done", usage=Usage(100, 5))


@tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADDER = AgentDefinition(
    name="adder",
    description="Adds numbers.",
    run_config=RunConfig(max_turns=None),
    tool_config=ToolConfig(tools=[add]),
)


def prepared_calls(turns: int) -> list[Response]:
    """The answers of so many turns, each with one call of the tool."""
    return [
        Response("", [ToolCall(f"call_{turn}", "add", {"a": 2, "b": 3})], Usage(100, 20))
        for turn in range(1, turns + 1)
    ]


class PreparedClient:
    """Calls the tool once a turn and then ends the run; any number of runs may share it."""

    def __init__(self, turns: int) -> None:
        self._answers = [*prepared_calls(turns), DONE]

    async def run(self, request: Request) -> Response:
        return self._answers[len(request.messages) // 2]  # the task, then a call and its result each turn

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield await self.run(request)


async def run_adder(executor: AgentExecutor, turns: int) -> AgentResult:
    """Run the agent and make sure that the work was really done."""
    result = await executor.execute(ADDER, inputs={"prompt": "Add."})
    assert result.success and len(result.tool_calls) == turns, result.error  # noqa: PT018 - one fact
    return result
