"""Maverick as a contender of the peers bench. The bench reads lines 3 and 4 as text: keep them there."""

VENV, DIST, KIND = "maverick", "maverick-agents", "peer"
IMPORTS = "from maverick import AgentDefinition, AgentExecutor, connect, tool; connect('claude:any')"

from common import MODEL, SYSTEM, make_add  # type: ignore[import-not-found]  # noqa: E402 - the bench's own module

from maverick import (  # noqa: E402
    AgentDefinition,
    AgentExecutor,
    ContentChunk,
    ModelConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
    connect,
    tool,
)


class Driver:
    """What the bench drives: a model that all agents share, and agents with one tool."""

    SHARED = True
    """One definition serves any number of runs at once."""

    def __init__(self, base_url: str) -> None:
        self._executor = AgentExecutor(connect(f"claude:{MODEL}", api_key="any", base_url=base_url))

    def agent(self, sleep: float = 0.0) -> AgentDefinition:
        return AgentDefinition(
            name="adder",
            description="Adds numbers.",
            prompt_config=PromptConfig(system_prompt=SYSTEM),
            model_config=ModelConfig(model=f"claude:{MODEL}"),
            run_config=RunConfig(max_turns=None),
            tool_config=ToolConfig(tools=[tool(make_add(sleep))]),
        )

    async def run(self, agent: AgentDefinition, prompt: str) -> str | None:
        result = await self._executor.execute(agent, inputs={"prompt": prompt})
        return result.output if result.success else result.error

    async def stream(self, agent: AgentDefinition, prompt: str) -> int:
        """The number of pieces the answer came in."""
        events = self._executor.stream(agent, inputs={"prompt": prompt})
        return len([event async for event in events if type(event) is ContentChunk])
