"""A short tour for a terminal where nobody is: two runs of small agents, told event by event."""

from __future__ import annotations

from maverick.cli.screen import Screen, shortened, shown_call
from maverick.loop import AgentDefinition, AgentResult, ModelConfig, RunConfig, ToolConfig
from maverick.loop.events import (
    AgentActivityEvent,
    ContentChunk,
    RunEnd,
    ToolCallEnd,
    ToolCallStart,
    TurnStart,
)
from maverick.providers.offline import OfflineClient
from maverick.providers.scripted import ScriptedClient, call, calls
from maverick.runtime import AgentExecutor
from maverick.tools import tool

_INDENT = " " * 5
_TIDES = {"brest": "high water at 05:12 and 17:38", "calais": "high water at 00:40 and 13:05"}
_NAUTICAL_MILES = {frozenset(("brest", "calais")): 330}


@tool(effect="pure")
async def get_tides(port: str) -> str:
    """When the tide is high in a port.

    Args:
        port: The port's name.
    """
    return _TIDES.get(port.lower(), f"nothing is known of {port}")


@tool(effect="pure")
async def measure_distance(from_port: str, to_port: str) -> str:
    """The distance between two ports.

    Args:
        from_port: Where to start.
        to_port: Where to go.
    """
    miles = _NAUTICAL_MILES.get(frozenset((from_port.lower(), to_port.lower())))
    return f"unknown between {from_port} and {to_port}" if miles is None else f"{miles} nautical miles"


PILOT = AgentDefinition(
    name="pilot",
    description="Knows tides and distances.",
    model_config=ModelConfig(model="offline:"),
    run_config=RunConfig(max_turns=3),
    tool_config=ToolConfig(tools=[get_tides, measure_distance]),
)
"""An agent with two tools and a limit of three turns."""

QUESTION = "What is the distance from Brest to Calais, and how are the tides in Brest?"


async def play_tour(screen: Screen) -> int:
    """Run the pilot twice, once to its answer and once into its limit, and show what happens.

    Returns:
        The exit code: 0 when both runs ended as they should.
    """
    screen.say("A short tour of Maverick: no key, no network, nobody at the keyboard.\n")
    screen.say(f"\n1. An agent with two tools, on the offline model\n   “{QUESTION}”\n")
    answered = await _run(OfflineClient(), screen)
    screen.say("\n2. The same agent with a model that is lost and never comes to an end\n")
    lost = ScriptedClient(lambda _: calls(call("get_tides", port="Atlantis"), text="Let me look again. "))
    stopped = await _run(lost, screen)
    screen.say(
        "\nIn a terminal, “maverick chat” lets you talk to an agent; piped text is answered line by line.\n"
        "With ANTHROPIC_API_KEY set it talks to Claude.\n"
    )
    return 0 if answered.success and not stopped.success else 1


async def _run(client: OfflineClient | ScriptedClient, screen: Screen) -> AgentResult:
    executor = AgentExecutor(client)
    async for event in executor.stream(PILOT, inputs={"prompt": QUESTION}):
        _tell(event, screen)
    assert isinstance(event, RunEnd)  # noqa: S101 - always the last event of a run
    _summarise(event.result, screen)
    return event.result


def _tell(event: AgentActivityEvent, screen: Screen) -> None:
    match event:
        case TurnStart(turn_number=number):
            screen.end_line()
            screen.say(f"   turn {number}\n")
        case ToolCallStart(tool_call=made):
            screen.end_line()
            screen.say(f"{_INDENT}{made.id}: {shown_call(made.tool_name, made.arguments)}\n")
        case ToolCallEnd(tool_call_id=call_id, result=result):
            screen.say(f"{_INDENT}{call_id} → {shortened(result)}\n")
        case ContentChunk(content=text):
            indented = text.replace("\n", f"\n{_INDENT}")
            screen.say(indented if screen.mid_line else f"{_INDENT}{indented}")


def _summarise(result: AgentResult, screen: Screen) -> None:
    screen.end_line()
    screen.say(
        f"   result: success={result.success}, terminate_reason={result.terminate_reason}, "
        f"{result.turn_count} turns, {len(result.tool_calls)} tool calls, {result.usage.total_tokens} tokens\n"
    )
    if result.error:
        screen.say(f"   error: {result.error}\n")
