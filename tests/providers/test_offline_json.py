"""What the offline model answers when it is asked for JSON of a given shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from maverick.model import Message, OutputSchema, Request, ToolCall
from maverick.providers.offline import connect


class GetWeather:
    name = "get_weather"
    description = "Today's weather in a city."
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }

    async def execute(self, args: dict[str, Any], /) -> str:
        raise AssertionError("the model only asks for tools; it never runs them")


WEATHER = GetWeather()


class Mood(StrEnum):
    GOOD = "good"
    BAD = "bad"


class Leg(BaseModel):
    city: str
    nights: int = Field(ge=1)


class Node(BaseModel):
    label: str
    children: list[Node]
    parent: Node | None = None


class Report(BaseModel):
    summary: str
    cities: list[str]


class Everything(BaseModel):
    kind: Literal["report"]
    mood: Mood
    count: int
    ratio: float
    sure: bool
    maybe: str | None
    first: Leg
    legs: list[Leg] = Field(min_length=2)
    note: str = "none"


@pytest.mark.parametrize(
    "shape", [Report, Everything, Node, Leg, list[int], int, str, bool, dict[str, int], Mood]
)
@pytest.mark.parametrize("text", ["hello", "Report on Brest: the mood is bad, count 4.", '"quoted"', ""])
async def test_asked_for_a_schema_it_answers_with_json_of_that_shape(shape: Any, text: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    output = OutputSchema("answer", adapter.json_schema())

    answer = await connect().run(Request([Message.user(text)], output=output))

    adapter.validate_json(answer.content)


async def test_the_json_holds_what_was_said_and_what_tools_found() -> None:
    output = OutputSchema("report", TypeAdapter(Everything).json_schema())
    said = "the mood is bad, count: 4, ratio: 0.5"

    answer = json.loads((await connect().run(Request([Message.user(said)], output=output))).content)

    assert (answer["mood"], answer["count"], answer["ratio"]) == ("bad", 4, 0.5)


async def test_it_uses_its_tools_before_it_answers_in_json() -> None:
    output = OutputSchema("report", TypeAdapter(Report).json_schema())
    said = [Message.user("Weather in Brest, please.")]

    asked = await connect().run(Request(said, tools=[WEATHER], output=output))
    results = [
        Message.tool_result(call.id, f"sunny in {call.arguments['city']}") for call in asked.tool_calls
    ]
    answer = await connect().run(Request([*said, asked.message, *results], tools=[WEATHER], output=output))

    report = json.loads(answer.content)
    assert report["cities"] == ["Brest"]
    assert "sunny in Brest" in report["summary"]


async def test_asked_to_repair_its_json_it_does_not_start_over_with_tools() -> None:
    call = ToolCall("c1", "get_weather", {"city": "Brest"})
    messages = [
        Message.user("weather in Brest"),
        Message.assistant([call]),
        Message.tool_result("c1", "sunny"),
        Message.assistant("It is sunny."),
        Message.user("The answer is not a valid report. Weather in Brest, as JSON only."),
    ]
    output = OutputSchema("report", TypeAdapter(Report).json_schema())

    answer = await connect().run(Request(messages, tools=[WEATHER], output=output))

    assert not answer.tool_calls
    assert json.loads(answer.content)["cities"] == ["Brest"]


async def test_fields_of_a_json_result_are_used_by_their_names_where_they_fit() -> None:
    found = {"count": 7, "ratio": 2, "sure": True, "mood": "unheard of", "kind": "other", "maybe": ["x", "y"]}
    messages = [
        Message.user("look"),
        Message.assistant([ToolCall("c1", "look")]),
        Message.tool_result("c1", json.dumps(found)),
    ]
    output = OutputSchema("everything", TypeAdapter(Everything).json_schema())

    answer = Everything.model_validate_json((await connect().run(Request(messages, output=output))).content)

    assert (answer.count, answer.ratio, answer.sure, answer.maybe) == (7, 2.0, True, "x")
    assert (answer.mood, answer.kind) == (Mood.GOOD, "report")


async def test_a_schema_that_contains_itself_without_end_is_answered_all_the_same() -> None:
    link = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Link"}}, "required": ["next"]}
    output = OutputSchema("chain", {"$ref": "#/$defs/Link", "$defs": {"Link": link}})

    answer = await connect().run(Request([Message.user("go")], output=output))

    assert json.loads(answer.content)["next"]
