"""An agent as a tool of another: its events are nested under its caller's, and its budget comes out of its caller's.

The models here follow a script, so that the example shows the same thing every time.
"""

from __future__ import annotations

import asyncio

from maverick import (
    AgentDefinition,
    AgentExecutor,
    PromptConfig,
    RunConfig,
    RunEnd,
    RunStart,
    ToolCallStart,
    ToolConfig,
    tool,
)
from maverick.loop.events import AgentActivityEvent
from maverick.model import Request, Role
from maverick.testing import ScriptedClient, Turn, call, calls, reply


@tool(effect="pure")
async def look_up(topic: str) -> str:
    """Look a topic up."""
    return f"Three facts about {topic}."


RESEARCHER = AgentDefinition(
    name="researcher",
    description="Finds out about one topic.",
    prompt_config=PromptConfig(system_prompt="You research.", initial_messages=["Research ${topic}."]),
    run_config=RunConfig(max_turns=5),
    tool_config=ToolConfig(tools=[look_up]),
)
EDITOR = AgentDefinition(
    name="editor",
    description="Writes an article from what researchers find out.",
    prompt_config=PromptConfig(system_prompt="You edit.", initial_messages=["Write about ${subject}."]),
    run_config=RunConfig(max_turns=12, max_tool_calls=10),
    tool_config=ToolConfig(tools=[RESEARCHER.as_tool()]),
)


def answer(request: Request) -> Turn:
    """Play both agents: each first uses its tools, and then says what it has."""
    found = [message.content for message in request.messages if message.role is Role.TOOL_RESULT]
    if found:
        return reply(" ".join(found))
    if request.system == "You edit.":
        return calls(call("researcher", topic="tides"), call("researcher", topic="winds"))
    task = request.messages[-1].content
    return calls(call("look_up", topic=task.removeprefix("Research ").rstrip(".")))


def show(event: AgentActivityEvent) -> None:
    """Print when runs begin and end and tools are called, indented as deep as the agent is nested."""
    line = f"{'    ' * (len(event.agent) - 1)}{'/'.join(event.agent)}"
    match event:
        case RunStart():
            print(f"{line} begins")
        case ToolCallStart(tool_call=called):
            print(f"{line} calls {called.tool_name} {called.arguments}")
        case RunEnd(result=result):
            print(f"{line} ends after {result.turn_count} turns: {result.terminate_reason}")
        case _:
            pass


async def main() -> None:
    """Run the editor, which calls two researchers at once."""
    executor = AgentExecutor(ScriptedClient(answer))
    result = await executor.execute(EDITOR, inputs={"subject": "the sea"}, on_activity=show)
    print(result.output)
    print(
        f"{executor.metrics.invocations} model calls, {result.usage.total_tokens} tokens, all agents together"
    )


if __name__ == "__main__":
    asyncio.run(main())
