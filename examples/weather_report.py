"""Structured output: the answer is a value of a type, and what happens on the way there is shown as it happens."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from maverick import (
    AgentDefinition,
    AgentExecutor,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunEnd,
    ToolCallEnd,
    ToolCallStart,
    ToolConfig,
    connect,
    tool,
)

MODEL = "offline:"  # or "claude:claude-sonnet-5-5", with ANTHROPIC_API_KEY set


class Report(BaseModel):
    """What the agent has to deliver."""

    summary: str
    cities: list[str]


@tool(effect="pure")
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return {"Brest": "rain, 14 °C", "Lyon": "sunny, 24 °C"}.get(city, "unknown")


REPORTER = AgentDefinition(
    name="reporter",
    description="Writes a weather report.",
    prompt_config=PromptConfig(
        system_prompt="You write weather reports for ${audience}.",
        initial_messages=["What is the weather in ${city}?"],
    ),
    model_config=ModelConfig(model=MODEL),
    tool_config=ToolConfig(tools=[get_weather]),
    output_config=OutputConfig(output_name="report", schema=Report),
)


async def main() -> None:
    """Run the agent and watch it."""
    inputs = {"audience": "sailors", "city": "Brest"}
    async with connect(MODEL) as client:
        async for event in AgentExecutor(client).stream(REPORTER, inputs=inputs):
            match event:
                case ToolCallStart(tool_call=call):
                    print(f"→ {call.tool_name}({call.arguments})")
                case ToolCallEnd(result=answer):
                    print(f"← {answer}")
                case RunEnd(result=result):
                    print(f"{result.terminate_reason}: {result.output!r}")
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main())
