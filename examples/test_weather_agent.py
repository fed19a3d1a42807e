"""Tests of an agent without a model: a script for what it does, a cassette for what a model really said.

::

    pytest examples/test_weather_agent.py
"""

from __future__ import annotations

from pathlib import Path

from maverick import connect, define_agent, run_sync, tool
from maverick.exceptions import ToolError
from maverick.testing import ScriptedClient, call, forbid_network, reply

CASSETTE = Path(__file__).with_name("weather_agent.cassette.json")

forbid_network()


@tool(effect="pure")
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    if city != "Brest":
        raise ToolError(f"There is no station in {city}.")
    return "rain, 14 °C"


reporter = define_agent("reporter", "You report the weather.", tools=[get_weather])


def test_it_looks_before_it_answers() -> None:
    client = ScriptedClient([call("get_weather", city="Brest"), reply("Rain in Brest.")])

    result = run_sync(reporter, inputs={"prompt": "Weather in Brest?"}, client=client)

    assert result.unwrap() == "Rain in Brest."
    assert client.requests[1].messages[-1].content == "rain, 14 °C"


def test_it_is_told_why_a_tool_failed() -> None:
    client = ScriptedClient([call("get_weather", city="Ys"), reply("I cannot say.")])

    result = run_sync(reporter, inputs={"prompt": "Weather in Ys?"}, client=client)

    assert result.tool_calls[0].result == "There is no station in Ys."


def test_the_model_still_gives_the_temperature() -> None:
    """To record it again, delete the file and add ``live="claude:claude-sonnet-5-5"``."""
    client = connect(f"cassette:{CASSETTE}")

    result = run_sync(reporter, inputs={"prompt": "How warm is it in Brest?"}, client=client)

    assert "14" in result.unwrap()
