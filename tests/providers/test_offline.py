from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from maverick.exceptions import InvalidInputError
from maverick.model import (
    LLMClient,
    Message,
    ModelInfo,
    Price,
    Request,
    RequestConfig,
    Response,
    StopReason,
    TextDelta,
    Tool,
    ToolCall,
    model_info,
)
from maverick.providers.network import forbid_network
from maverick.providers.offline import OfflineClient, connect
from maverick.tools import Workspace, coding_tools

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
NUMBERS = {"type": "array", "items": {"type": "number"}}


@dataclass
class FakeTool:
    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    async def execute(self, args: dict[str, Any], /) -> str:
        raise AssertionError("the model only asks for tools; it never runs them")


def needs(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


WEATHER = FakeTool("get_weather", "Today's weather in a city.", needs(city=TEXT))
CLOCK = FakeTool("date_and_time", "The date and the time of day.")
TOOLS = (
    WEATHER,
    CLOCK,
    FakeTool("count_words", "Count the words of a text.", needs(text=TEXT)),
    FakeTool("multiply", "Multiply two numbers.", needs(a=WHOLE, b=WHOLE)),
    FakeTool("delete_task", "Delete a task by its number.", needs(task_id=WHOLE)),
    FakeTool(
        "add_task",
        "Add a task to the list.",
        {
            "type": "object",
            "properties": {
                "title": TEXT,
                "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
                "priority": {"$ref": "#/$defs/Priority"},
                "urgent": {"type": "boolean"},
            },
            "required": ["title"],
            "$defs": {"Priority": {"type": "string", "enum": ["low", "normal", "high"]}},
        },
    ),
    FakeTool(
        "search_web",
        "Search the web.",
        {"type": "object", "properties": {"query": TEXT, "limit": WHOLE}, "required": ["query"]},
    ),
    FakeTool("average", "The mean of some values.", needs(values=NUMBERS)),
    FakeTool("invite", "Invite people.", needs(guests={"type": "array", "items": TEXT})),
)


async def ask(text: str, tools: Sequence[Tool] = ()) -> Response:
    return await connect().run(Request([Message.user(text)], tools=tools))


async def called(text: str, tools: Sequence[Tool]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.tool_name, call.arguments) for call in (await ask(text, tools)).tool_calls]


def after_tools(*finished: tuple[ToolCall, str, bool]) -> Request:
    calls = [call for call, _, _ in finished]
    results = [Message.tool_result(call.id, text, is_error=failed) for call, text, failed in finished]
    return Request([Message.user("weather in Brest"), Message.assistant(calls), *results], tools=TOOLS)


@pytest.mark.requirement("002-R1")
async def test_it_is_an_llm_client_that_needs_no_network_and_costs_nothing() -> None:
    assert isinstance(connect(), LLMClient)
    assert isinstance(connect("anything"), OfflineClient)
    assert model_info(connect(), "offline:") == ModelInfo(price=Price(0, 0), native_output=True)
    with forbid_network():
        assert (await ask("hello")).usage.cost_usd == 0


@pytest.mark.parametrize("text", ["What is the capital of France?", "Write me a poem.", "zzz", "hello", ""])
async def test_it_never_pretends_to_know_but_says_what_it_is_and_how_to_get_a_real_model(text: str) -> None:
    answer = await ask(text, TOOLS)

    assert not answer.tool_calls
    assert answer.content.startswith("This is Maverick's offline model")
    assert "- get_weather: Today's weather in a city\n" in answer.content
    assert "ANTHROPIC_API_KEY" in answer.content
    assert "There are no tools here." in (await ask(text)).content


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("What's the weather in Brest?", "get_weather", {"city": "Brest"}),
        ("weather Rio de Janeiro", "get_weather", {"city": "Rio de Janeiro"}),
        ("get_weather city: New York", "get_weather", {"city": "New York"}),
        ("get_weather of 'Brest'", "get_weather", {"city": "Brest"}),
        ("What is the time?", "date_and_time", {}),
        ('How many words are in "hello big world"?', "count_words", {"text": "hello big world"}),
        ("Multiply 6 by 7.", "multiply", {"a": 6, "b": 7}),
        ("delete task 3", "delete_task", {"task_id": 3}),
        ("Add task buy milk", "add_task", {"title": "buy milk"}),
        (
            "add the task 'call mum', priority high, due: 2026-05-01, urgent",
            "add_task",
            {"title": "call mum", "due": "2026-05-01", "priority": "high", "urgent": True},
        ),
        ("add task 'tea', urgent: no", "add_task", {"title": "tea", "urgent": False}),
        ("search the web for python books, limit: 5", "search_web", {"query": "python books", "limit": 5}),
        ("average 1, 2.5 and 4", "average", {"values": [1, 2.5, 4]}),
        ("invite Ana, Ben and Cleo", "invite", {"guests": ["Ana", "Ben", "Cleo"]}),
        ('invite "Ana Lee" and "Ben"', "invite", {"guests": ["Ana Lee", "Ben"]}),
    ],
)
async def test_a_tools_name_or_words_choose_it_and_values_fill_its_arguments(
    text: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert await called(text, TOOLS) == [(tool, arguments)]


@pytest.mark.parametrize(
    ("text", "path", "content"),
    [
        ("write the file 'list.txt' with content 'tea'", "list.txt", "tea"),
        ("write_file path: list.txt, content: 'tea, milk'", "list.txt", "tea, milk"),
    ],
)
async def test_it_writes_what_was_said_into_the_file_that_was_named(
    text: str, path: str, content: str, tmp_path: Path
) -> None:
    tools = coding_tools(Workspace(tmp_path), sandbox=False)

    assert await called(text, tools) == [("write_file", {"path": path, "content": content})]


async def test_an_only_tool_is_used_when_its_arguments_are_plainly_there() -> None:
    assert await called("Report on Brest.", [WEATHER]) == [("get_weather", {"city": "Brest"})]
    assert not await called("Report on Brest.", TOOLS)


async def test_it_says_which_value_is_missing() -> None:
    answer = await ask("What's the weather?", TOOLS)

    assert answer.content == "get_weather needs a value for city. Say it again with all values."


@pytest.mark.parametrize(
    ("result", "failed", "sentence"),
    [
        ("sunny, 21 °C", False, "According to get_weather: sunny, 21 °C."),
        ("It is sunny in Brest.", False, "It is sunny in Brest."),
        ("line one\nline two", False, "line one\nline two"),
        ("", False, "get_weather is done and returned nothing."),
        ("no such city", True, "get_weather failed: no such city."),
    ],
)
async def test_it_answers_with_the_tool_result_and_does_not_try_again(
    result: str, failed: bool, sentence: str
) -> None:
    answer = await connect().run(after_tools((ToolCall("c1", "get_weather"), result, failed)))

    assert answer.content == sentence
    assert answer.stop_reason is StopReason.COMPLETE
    assert not answer.tool_calls


async def test_call_ids_are_unique_in_a_conversation_and_the_same_request_gets_the_same_answer() -> None:
    said = [Message.user("weather in Brest")]
    first = await connect().run(Request(said, tools=TOOLS))
    again = [*said, first.message, Message.tool_result(first.tool_calls[0].id, "sunny"), *said]

    second = await connect().run(Request(again, tools=TOOLS))

    assert first.tool_calls[0].id != second.tool_calls[0].id
    assert second == await connect().run(Request(again, tools=TOOLS))


async def test_a_stream_gives_the_answer_word_by_word_and_then_whole() -> None:
    request = after_tools((ToolCall("c1", "get_weather"), "It is sunny.", False))

    *deltas, last = [item async for item in connect().stream(request)]

    assert deltas == [TextDelta("It "), TextDelta("is "), TextDelta("sunny.")]
    assert last == await connect().run(request)


async def test_the_pace_of_a_stream_can_be_set() -> None:
    stream = connect(pace=3600).stream(Request([Message.user("thanks")]))

    assert await anext(stream) == TextDelta("This ")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(stream), 0.01)
    with pytest.raises(InvalidInputError, match="pace"):
        connect(pace=-1)


async def test_an_answer_stays_within_the_tokens_it_may_have() -> None:
    config = RequestConfig(max_tokens=5)

    answer = await connect().run(Request([Message.user("help")], tools=TOOLS, config=config))

    assert answer.stop_reason is StopReason.MAX_TOKENS
    assert 0 < answer.usage.output_tokens <= 5
    assert answer.content


async def test_it_condenses_a_record_without_adding_to_it() -> None:
    record = [f"user: question {n}" + " and so on" * 50 for n in range(100)]

    answer = (await ask("Condense this record:\n\n" + "\n".join(record))).content

    assert answer.splitlines()[-1].startswith("user: question 99 and so on")
    assert len(answer) < len("".join(record)) / 10


@pytest.mark.parametrize("blank", [Request([]), Request([Message.assistant("I spoke first.")])])
async def test_it_has_an_answer_even_when_nothing_was_said(blank: Request) -> None:
    assert (await connect().run(blank)).content


LONG = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "“" * LONG,
        "«" + " " * (LONG - 1),
        "1" * LONG,
        "1-" * (LONG // 2),
        "a" * LONG,
        "average " + "1 " * (LONG // 2 - 4),
        "add task title" + " " * (LONG // 2),
        "city: " * (LONG // 6),
        "weather in A" + " 'b' and" * (LONG // 8 - 2),
    ],
    ids=lambda text: text[:15],
)
async def test_odd_and_long_texts_are_read_in_no_time(text: str) -> None:
    await asyncio.wait_for(asyncio.to_thread(asyncio.run, ask(text, TOOLS)), 10)


@pytest.mark.parametrize("text", ["a" * 30_000_000, "weather in Brest " * 1_000_000])
async def test_of_a_text_that_is_too_long_no_tool_gets_a_part_and_it_says_so(text: str) -> None:
    answer = await asyncio.wait_for(asyncio.to_thread(asyncio.run, ask(text, TOOLS)), 10)

    assert not answer.tool_calls
    assert "I read at most 20000 characters." in answer.content
