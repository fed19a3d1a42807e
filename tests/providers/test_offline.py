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
from maverick.providers.offline.rules import DEFAULT_RULES, Answer, Wish
from maverick.providers.offline.scene import Scene
from maverick.tools import Workspace, coding_tools

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
NUMBER = {"type": "number"}


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
CALCULATE = FakeTool("calculate", "Work out an arithmetic expression.", needs(expression=TEXT))
CLOCK = FakeTool("date_and_time", "The date and the time of day.")
COUNT = FakeTool("count_words", "Count the words of a text.", needs(text=TEXT))
CONVERT = FakeTool(
    "convert_units",
    "Convert a measure from one unit to another.",
    needs(value=NUMBER, from_unit=TEXT, to_unit=TEXT),
)
ADD = FakeTool("add", "Add two numbers.", needs(a=WHOLE, b=WHOLE))
MULTIPLY = FakeTool("multiply", "Multiply two numbers.", needs(a=WHOLE, b=WHOLE))
ADD_TASK = FakeTool(
    "add_task",
    "Add a task to the list.",
    {
        "type": "object",
        "properties": {
            "title": TEXT,
            "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "priority": {"$ref": "#/$defs/Priority"},
        },
        "required": ["title"],
        "$defs": {"Priority": {"type": "string", "enum": ["low", "normal", "high"]}},
    },
)
LIST_TASKS = FakeTool(
    "list_tasks",
    "List the tasks.",
    {"type": "object", "properties": {"status": {"type": "string", "enum": ["pending", "completed"]}}},
)
DELETE_TASK = FakeTool("delete_task", "Delete a task by its number.", needs(task_id=WHOLE))
SEND_MAIL = FakeTool("send_mail", "Send an e-mail.", needs(to=TEXT, body=TEXT))
TRANSLATE = FakeTool("translate", "Translate into another language.", needs(text=TEXT, target_language=TEXT))
READ_FILE = FakeTool("read_file", "Read a file.", needs(path=TEXT))
FETCH = FakeTool("fetch_page", "Fetch a web page.", needs(url=TEXT))
SEARCH = FakeTool(
    "search",
    "Search the web.",
    {"type": "object", "properties": {"query": TEXT, "limit": WHOLE}, "required": ["query"]},
)
AVERAGE = FakeTool(
    "average", "The mean of some values.", needs(values={"type": "array", "items": {"type": "number"}})
)
INVITE = FakeTool("invite", "Invite people.", needs(guests={"type": "array", "items": TEXT}))
TOGGLE = FakeTool(
    "switch_lamp",
    "Switch a lamp.",
    {"type": "object", "properties": {"dimmed": {"type": "boolean"}, "level": {"enum": [1, 2, 3]}}},
)

EVERYDAY = (CALCULATE, CLOCK, COUNT, CONVERT)
MANY = (
    WEATHER,
    ADD_TASK,
    LIST_TASKS,
    DELETE_TASK,
    SEND_MAIL,
    ADD,
    MULTIPLY,
    TRANSLATE,
    READ_FILE,
    FETCH,
    SEARCH,
    AVERAGE,
    INVITE,
    TOGGLE,
)


class Conversation:
    """A conversation with the offline model, in which every tool call is answered at once."""

    def __init__(self, *tools: Tool, result: str = "done") -> None:
        self.tools = tools
        self.result = result
        self.messages: list[Message] = []

    async def say(self, text: str) -> Response:
        """Say something and return the first answer; if it asks for tools, they run and the model goes on."""
        self.messages.append(Message.user(text))
        first = await self._turn()
        for call in first.tool_calls:
            self.messages.append(Message.tool_result(call.id, self.result))
        if first.tool_calls:
            assert not (await self._turn()).tool_calls
        return first

    async def _turn(self) -> Response:
        response = await connect().run(Request(self.messages, tools=self.tools))
        self.messages.append(response.message)
        return response


async def ask(text: str, tools: Sequence[Tool] = ()) -> Response:
    return await connect().run(Request([Message.user(text)], tools=tools))


async def called(text: str, tools: Sequence[Tool]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.tool_name, call.arguments) for call in (await ask(text, tools)).tool_calls]


def after_tools(*outcomes: tuple[ToolCall, str, bool], said: str = "go") -> Request:
    calls = [call for call, _, _ in outcomes]
    results = [Message.tool_result(call.id, text, is_error=failed) for call, text, failed in outcomes]
    return Request([Message.user(said), Message.assistant(calls), *results], tools=MANY)


@pytest.mark.requirement("002-R1")
def test_it_is_an_llm_client_that_costs_nothing_and_holds_itself_to_a_schema() -> None:
    assert isinstance(connect(), LLMClient)
    assert isinstance(connect("anything"), OfflineClient)
    assert model_info(connect(), "offline:") == ModelInfo(price=Price(0, 0), native_output=True)


async def test_it_needs_no_network() -> None:
    with forbid_network():
        assert (await ask("hello")).content.startswith("Hello!")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("hi", "Hello!"),
        ("Good morning!", "Hello!"),
        ("How are you?", "Fine, thank you."),
        ("Thanks a lot!", "You are welcome."),
        ("bye", "Goodbye!"),
        ("Who are you?", "I am Maverick's offline model"),
        ("tell me a joke", "Why did the agent stop?"),
    ],
)
async def test_it_makes_small_talk(text: str, start: str) -> None:
    assert (await ask(text, MANY)).content.startswith(start)


async def test_help_names_the_tools_that_are_on_offer() -> None:
    answer = (await ask("What can you do?", [WEATHER, CLOCK])).content

    assert "- get_weather: Today's weather in a city" in answer
    assert "- date_and_time: The date and the time of day" in answer


@pytest.mark.parametrize(
    "text", ["What is the capital of France?", "Write me a poem about the sea.", "zzz", ""]
)
async def test_it_never_pretends_to_know_but_says_what_it_is_and_how_to_get_a_real_model(text: str) -> None:
    answer = await ask(text, EVERYDAY)

    assert not answer.tool_calls
    assert "this is the offline model" in answer.content
    assert "calculate" in answer.content
    assert "ANTHROPIC_API_KEY" in answer.content


async def test_without_tools_it_says_that_it_has_none() -> None:
    assert "I have no tools here" in (await ask("What is the capital of France?")).content


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("what is 12 times 7?", "calculate", {"expression": "12 * 7"}),
        ("15% of 80", "calculate", {"expression": "15 / 100 * 80"}),
        ("(3 + 4) * 2", "calculate", {"expression": "(3 + 4) * 2"}),
        ("What is 1,200 divided by 4, please?", "calculate", {"expression": "1200 / 4"}),
        ("2^10", "calculate", {"expression": "2**10"}),
        ("the square root of 16", "calculate", {"expression": "16 ** 0.5"}),
        ("What time is it?", "date_and_time", {}),
        ("what's the date today?", "date_and_time", {}),
        ("count the words in the cat sat on the mat", "count_words", {"text": "the cat sat on the mat"}),
        ('How many words are in "hello big world"?', "count_words", {"text": "hello big world"}),
        ("Convert 5 km to miles", "convert_units", {"value": 5, "from_unit": "km", "to_unit": "miles"}),
        ("how many miles is 5.5 km?", "convert_units", {"value": 5.5, "from_unit": "km", "to_unit": "miles"}),
        ("100 F in C", "convert_units", {"value": 100, "from_unit": "F", "to_unit": "C"}),
    ],
)
async def test_it_uses_everyday_tools(text: str, tool: str, arguments: dict[str, Any]) -> None:
    assert await called(text, EVERYDAY) == [(tool, arguments)]


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("What's the weather in Brest?", "get_weather", {"city": "Brest"}),
        ("weather Brest", "get_weather", {"city": "Brest"}),
        ("What is the weather like today in Rio de Janeiro?", "get_weather", {"city": "Rio de Janeiro"}),
        ("get_weather city: New York", "get_weather", {"city": "New York"}),
        ("Add task buy milk", "add_task", {"title": "buy milk"}),
        ("add milk to my list", "add_task", {"title": "milk"}),
        (
            "Please add a high priority task to call mum by 2026-05-01",
            "add_task",
            {"title": "call mum", "due": "2026-05-01", "priority": "high"},
        ),
        ("list my tasks", "list_tasks", {}),
        ("show completed tasks", "list_tasks", {"status": "completed"}),
        ("delete task 3", "delete_task", {"task_id": 3}),
        ("what is 2 + 3?", "add", {"a": 2, "b": 3}),
        ("multiply 4 and 6", "multiply", {"a": 4, "b": 6}),
        (
            "send a mail to ana@example.com saying see you there",
            "send_mail",
            {"to": "ana@example.com", "body": "see you there"},
        ),
        ("translate hello to French", "translate", {"text": "hello", "target_language": "French"}),
        ("read the file docs/index.md", "read_file", {"path": "docs/index.md"}),
        ("fetch https://example.com/a?b=1.", "fetch_page", {"url": "https://example.com/a?b=1"}),
        ("search for python books limit 5", "search", {"query": "python books", "limit": 5}),
        ("average 1, 2.5 and 4", "average", {"values": [1, 2.5, 4]}),
        ("invite Ana, Ben and Cleo", "invite", {"guests": ["Ana", "Ben", "Cleo"]}),
        ('invite "Ana Lee" and "Ben"', "invite", {"guests": ["Ana Lee", "Ben"]}),
        ("switch the lamp to a dimmed level 2", "switch_lamp", {"dimmed": True, "level": 2}),
        ("switch the lamp, dimmed: no", "switch_lamp", {"dimmed": False}),
    ],
)
async def test_it_picks_one_of_many_tools_and_fills_its_arguments(
    text: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert await called(text, MANY) == [(tool, arguments)]


@pytest.mark.parametrize(
    "text", ["I had a great time yesterday", "today was a bad day", "what do you think of love?"]
)
async def test_a_word_in_common_alone_is_no_reason_to_call_a_tool(text: str) -> None:
    assert not await called(text, (*EVERYDAY, *MANY))


async def test_two_wishes_in_one_sentence_become_two_calls_with_different_ids() -> None:
    answer = await ask("what is 2+2 and what time is it?", EVERYDAY)

    assert [call.tool_name for call in answer.tool_calls] == ["calculate", "date_and_time"]
    assert len({call.id for call in answer.tool_calls}) == 2
    assert answer.stop_reason is StopReason.TOOL_USE


async def test_two_places_become_two_calls_but_one_text_stays_one() -> None:
    weather = await called("How is the weather in Brest and Paris?", MANY)
    words = await called('Count the words of "salt and pepper and more"', EVERYDAY)

    assert weather == [("get_weather", {"city": "Brest"}), ("get_weather", {"city": "Paris"})]
    assert words == [("count_words", {"text": "salt and pepper and more"})]


async def test_an_only_tool_is_used_when_its_arguments_are_plainly_there() -> None:
    assert await called("Report on Brest.", [WEATHER]) == [("get_weather", {"city": "Brest"})]
    assert not await called("Report on Brest.", MANY)


async def test_it_asks_for_what_is_missing_and_goes_on_with_the_answer() -> None:
    talk = Conversation(*MANY)

    asked = await talk.say("What's the weather?")
    given = await talk.say("Brest")

    assert asked.content == "To use get_weather I need the city. What is it?"
    assert [(call.tool_name, call.arguments) for call in given.tool_calls] == [
        ("get_weather", {"city": "Brest"})
    ]


async def test_a_question_of_its_own_does_not_trap_the_conversation() -> None:
    talk = Conversation(*MANY, *EVERYDAY)

    await talk.say("What's the weather?")

    assert [call.tool_name for call in (await talk.say("What time is it?")).tool_calls] == ["date_and_time"]


async def test_a_follow_up_is_the_last_call_with_another_value() -> None:
    talk = Conversation(*EVERYDAY, WEATHER)

    await talk.say("weather in Brest")
    elsewhere = await talk.say("and in Paris?")
    await talk.say("convert 5 km to miles")
    farther = await talk.say("what about 8 km?")

    assert elsewhere.tool_calls[0].arguments == {"city": "Paris"}
    assert farther.tool_calls[0].arguments == {"value": 8, "from_unit": "km", "to_unit": "miles"}


async def test_call_ids_are_unique_in_a_conversation() -> None:
    talk = Conversation(*EVERYDAY)
    for text in ("what is 1+1 and what time is it?", "2+2", "what time is it?", "3+3 and 4+4"):
        await talk.say(text)

    ids = [call.id for message in talk.messages for call in message.tool_calls]

    assert len(ids) == len(set(ids)) == 6


async def test_it_remembers_what_was_said() -> None:
    talk = Conversation()

    assert (await talk.say("What's my name?")).content == "You have not told me."
    assert (await talk.say("My name is Ana.")).content == "Nice to meet you, Ana."
    assert (await talk.say("What is my name?")).content == "You said it is Ana."
    assert (await talk.say("what did I say?")).content == "You said: “What is my name?”"
    assert (await talk.say("hello again")).content.startswith("Hello, Ana!")


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("sunny, 21 °C", "According to get_weather: sunny, 21 °C."),
        ("It is sunny in Brest.", "It is sunny in Brest."),
        (
            '{"sky": "clear", "wind_speed": 3, "rain": false}',
            "According to get_weather: sky clear, wind speed 3, rain no.",
        ),
        ('["Brest", "Paris", null]', "According to get_weather: Brest, Paris, nothing."),
        ("line one\nline two", "line one\nline two"),
        ("", "get_weather is done; it had nothing to say."),
    ],
)
async def test_it_answers_from_the_tool_result_in_a_sentence(result: str, sentence: str) -> None:
    answer = await connect().run(after_tools((ToolCall("c1", "get_weather"), result, False)))

    assert answer.content == sentence
    assert answer.stop_reason is StopReason.COMPLETE


async def test_it_reports_each_result_and_admits_failures_without_trying_again() -> None:
    answer = await connect().run(
        after_tools(
            (ToolCall("c1", "get_weather", {"city": "Brest"}), "sunny", False),
            (ToolCall("c2", "get_weather", {"city": "Paris"}), "no such city", True),
            said="What's the weather in Brest and Paris?",
        )
    )

    assert answer.content.splitlines() == [
        "According to get_weather: sunny.",
        "I tried get_weather, but it did not work: no such city.",
    ]
    assert not answer.tool_calls


async def test_the_same_request_gets_the_same_answer() -> None:
    request = Request([Message.user("weather in Brest and 2+2")], tools=[WEATHER, CALCULATE])

    assert await connect().run(request) == await connect().run(request)


async def test_a_stream_gives_the_answer_word_by_word_and_then_whole() -> None:
    request = Request([Message.user("thanks")])

    *deltas, last = [item async for item in connect().stream(request)]

    assert deltas == [TextDelta("You "), TextDelta("are "), TextDelta("welcome.")]
    assert last == await connect().run(request)


async def test_the_pace_of_a_stream_can_be_set() -> None:
    stream = connect(pace=3600).stream(Request([Message.user("thanks")]))

    assert await anext(stream) == TextDelta("You ")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(stream), 0.01)
    with pytest.raises(InvalidInputError, match="pace"):
        connect(pace=-1)


async def test_usage_grows_with_the_conversation_and_costs_nothing() -> None:
    short = (await ask("hello")).usage
    long = (await connect().run(Request([Message.user("hello " * 50), Message.user("hello")]))).usage

    assert 0 < short.input_tokens < long.input_tokens
    assert short.output_tokens > 0
    assert short.cost_usd == 0


async def test_an_answer_stays_within_the_tokens_it_may_have() -> None:
    config = RequestConfig(max_tokens=5)

    answer = await connect().run(Request([Message.user("help")], tools=MANY, config=config))

    assert answer.stop_reason is StopReason.MAX_TOKENS
    assert answer.usage.output_tokens <= 5
    assert answer.content


async def test_it_condenses_a_record_without_adding_to_it() -> None:
    record = [f"user: question {n}" + " and so on" * 50 for n in range(100)]

    answer = (await ask("Condense this record:\n\n" + "\n".join(record))).content

    assert answer.splitlines()[-1].startswith("user: question 99 and so on")
    assert len(answer) < len("".join(record)) / 10


async def test_a_new_skill_is_one_more_rule() -> None:
    class Reminders:
        def answer(self, scene: Scene) -> Answer | None:
            return [Wish("remind", {"what": scene.said[7:]})] if scene.said.startswith("remind ") else None

    client = OfflineClient([Reminders(), *DEFAULT_RULES])

    answer = await client.run(Request([Message.user("remind water the plants")]))

    assert answer.tool_calls == (ToolCall("call_1", "remind", {"what": "water the plants"}),)
    assert (await client.run(Request([Message.user("thanks")]))).content == "You are welcome."


@pytest.mark.parametrize("blank", [Request([]), Request([Message.assistant("I spoke first.")])])
async def test_it_has_an_answer_even_when_nobody_said_anything(blank: Request) -> None:
    assert (await connect().run(blank)).content


@pytest.mark.parametrize(
    ("text", "path", "content"),
    [
        ("write the file 'list.txt' with content 'tea'", "list.txt", "tea"),
        ("write the file 'list' with content 'see a.txt'", "list", "see a.txt"),
        ("write 'see a.txt' to the file 'b.txt'", "b.txt", "see a.txt"),
        (
            'Write the file notes/list.txt with content "tea, milk and more"',
            "notes/list.txt",
            "tea, milk and more",
        ),
        ("write_file path: list.txt, content: 'tea, milk'", "list.txt", "tea, milk"),
    ],
)
async def test_it_writes_what_was_said_into_the_file_that_was_named(
    text: str, path: str, content: str, tmp_path: Path
) -> None:
    tools = coding_tools(Workspace(tmp_path), sandbox=False)

    assert await called(text, tools) == [("write_file", {"path": path, "content": content})]


LONG = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "convert 1" + " " * 5000 + "x",
        "in " * 5000,
        "«" + " " * 5000,
        "1-" * 5000,
        "1" * LONG,
        "a" * LONG,
        "a.b+c-" * (LONG // 6),
        "a@" * (LONG // 2),
        "mail “" * (LONG // 6),
        "mail «" * (LONG // 6),
        "average " + "1" * (LONG - 10) + "-2",
        "average " + "1 " * (LONG // 2 - 4),
        "mail to" + " " * (LONG // 2) + "x" * (LONG // 3) + "\nx",
        "mail" + "-to x" * (LONG // 5 - 2) + "\nx",
        "weather in A" + " 'b' and" * (LONG // 8 - 2),
        "what time is it and " * (LONG // 20),
        "./" * (LONG // 2),
        "http://" + "." * (LONG - 7),
    ],
    ids=lambda text: text[:15],
)
async def test_odd_and_long_texts_are_read_in_no_time(text: str) -> None:
    await asyncio.wait_for(asyncio.to_thread(asyncio.run, ask(text, (*MANY, *EVERYDAY))), 10)


@pytest.mark.parametrize(
    "text", ["a" * 30_000_000, "weather in Brest and " * 1_000_000, "Condense this:\n" + "a b" * 10_000_000]
)
async def test_a_text_that_is_too_long_is_answered_at_once_and_no_tool_gets_a_part_of_it(text: str) -> None:
    talk = Conversation(*MANY, *EVERYDAY)
    await talk.say("weather in Brest")
    await talk.say("weather")

    answers = [
        await asyncio.wait_for(asyncio.to_thread(asyncio.run, talk.say(said)), 10) for said in (text, "x")
    ]

    assert not any(answer.tool_calls for answer in answers)
    assert answers[0].content


async def test_what_it_does_not_read_it_says() -> None:
    assert "longer than the 20000 characters I read" in (await ask("a" * 20_001, MANY)).content
