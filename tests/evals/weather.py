"""An agent to evaluate, its model, and what its runs leave behind."""

from __future__ import annotations

from maverick import AgentDefinition, AgentExecutor, PromptConfig, ToolConfig, tool
from maverick.journal import Journal
from maverick.model import Request, Usage
from maverick.testing import ScriptedClient, Turn, call, reply, turn

COST = 0.01
"""What each answer costs, in US dollars."""


@tool(effect="pure")
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return f"sunny in {city}"


@tool(effect="pure")
async def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


REPORTER = AgentDefinition(
    name="reporter",
    description="Reports the weather.",
    prompt_config=PromptConfig(initial_messages=["Weather in ${city}?"]),
    tool_config=ToolConfig(tools=[get_weather, send_mail]),
)


def answer(request: Request) -> Turn:
    """Look the weather of the city up, then tell it."""
    city = request.messages[0].content.removeprefix("Weather in ").rstrip("?")
    usage = Usage(input_tokens=10, output_tokens=5, cost_usd=COST)
    if len(request.messages) == 1:
        return turn(call("get_weather", city=city), usage=usage)
    return reply(f"It is {request.messages[-1].content}.", usage=usage)


def executor(journal: Journal | None = None) -> AgentExecutor:
    """An executor with a model that always does the same."""
    return AgentExecutor(ScriptedClient(answer), journal=journal)
