from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canary import CANARY
from maverick import AgentDefinition, AgentExecutor, ToolConfig, connect, tool
from maverick.exceptions import (
    AgentError,
    CassetteMissError,
    ErrorKind,
    InvalidInputError,
    NetworkError,
    RateLimitError,
    ServerError,
    StreamingError,
    TimeoutError,
)
from maverick.journal.redaction import REDACTED
from maverick.model import (
    Blob,
    History,
    Image,
    Message,
    ModelInfo,
    Opaque,
    OutputSchema,
    Part,
    Price,
    Request,
    RequestConfig,
    Response,
    StopReason,
    StreamItem,
    Text,
    TextDelta,
    ThinkingDelta,
    Thought,
    ToolCall,
    Usage,
)
from maverick.testing import RecordingClient, ScriptedClient, call, calls, fail, reply
from runtime.taping import (
    Weather,
    answer,
    answers,
    ask,
    cassette,
    collect,
    content,
    lines,
    loop,
    record,
    scripted_loop,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


both_ways = pytest.mark.parametrize("way", ["run", "stream"])

RICH = Response(
    [
        Thought("Let me see.", signature="c2ln"),
        Thought("", redacted="ZW5j"),
        Text("I ask two places."),
        ToolCall("call_1", "get_weather", {"city": "Brest", "days": [1, 2.5, None, True]}),
        ToolCall("call_2", "get_weather", malformed='{"city": '),
    ],
    usage=Usage(1000, 20, 800, 100, 0.0125),
    stop_reason=StopReason.MAX_TOKENS,
    model="claude-sonnet-4-5",
    request_id="req_7",
)


# Replay gives what was recorded


@pytest.mark.parametrize("recorded", ["run", "stream"])
@pytest.mark.parametrize("replayed", ["run", "stream"])
async def test_an_answer_comes_back_whole_however_it_was_recorded(
    path: Path, recorded: str, replayed: str
) -> None:
    await record(path, [RICH], ask("hi"), way=recorded)
    assert await answer(cassette(path), ask("hi"), replayed) == RICH


async def test_a_stream_comes_back_in_the_same_pieces(path: Path) -> None:
    story = reply("Once upon a time", thinking="A story, then.", chunks=["Onc", "e upon", " ", "a time"])
    live = await collect(ScriptedClient([story]), ask("hi"))

    await record(path, [story], ask("hi"), way="stream")

    assert await collect(cassette(path), ask("hi")) == live


async def test_blocks_of_the_provider_come_back_in_their_place_in_the_stream(path: Path) -> None:
    search = Opaque("claude", {"type": "server_tool_use", "name": "web_search", "input": {"query": "tides"}})
    whole = Response([search, Text("High at noon.")])

    class Searching(ScriptedClient):
        async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
            for item in (ThinkingDelta("Hm."), search, TextDelta("High at noon."), whole):
                yield item

    live = await collect(RecordingClient(Searching([]), path), ask("hi"))

    assert await collect(cassette(path), ask("hi")) == live
    assert live == [ThinkingDelta("Hm."), search, TextDelta("High at noon."), whole]


async def test_a_run_with_images_is_recorded_as_one_and_played_back_by_their_hashes(path: Path) -> None:
    image = Image(media_type="image/png", blob=Blob(b"pixels"), pixels=(8, 8))

    @tool
    def look() -> list[str | Image]:
        """Look at the shelf."""
        return ["The shelf:", image]

    viewer = AgentDefinition(name="viewer", description="Views.", tool_config=ToolConfig(tools=[look]))
    seen = [Message.user(["Like this one?", image]), Message.assistant("Which?")]
    script = ScriptedClient([call("look"), call("look"), reply("Books.")])
    await AgentExecutor(RecordingClient(script, path)).execute(
        viewer, inputs={"prompt": "Look."}, messages=seen
    )

    result = await AgentExecutor(cassette(path)).execute(viewer, inputs={"prompt": "Look."}, messages=seen)

    assert result.output == "Books."
    assert sum("run" in line for line in lines(path)) == 1
    assert b"cGl4ZWxz" not in content(path)


async def test_an_answer_recorded_whole_can_be_streamed(path: Path) -> None:
    await record(path, [reply("Once upon a time")], ask("hi"))
    items = await collect(cassette(path), ask("hi"))
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == "Once upon a time"


@both_ways
async def test_the_same_request_gets_its_answers_in_the_order_they_were_recorded(
    path: Path, way: str
) -> None:
    await record(path, ["first", "second", "other", "third"], ask("a"), ask("a"), ask("b"), ask("a"), way=way)
    client = cassette(path)
    asked = [ask("b"), ask("a"), ask("a"), ask("a")]
    assert [(await answer(client, request, way)).content for request in asked] == [
        "other",
        "first",
        "second",
        "third",
    ]


@both_ways
async def test_a_recorder_changes_nothing_for_its_caller(path: Path, way: str) -> None:
    inner = ScriptedClient([RICH])
    async with RecordingClient(inner, path) as client:
        assert await answer(client, ask("hi"), way) is RICH
    assert inner.requests == [ask("hi")]


@both_ways
@pytest.mark.parametrize(
    "error",
    [
        RateLimitError("Slow down.", retry_after=2.5, status=429, request_id="req_1"),
        ServerError("Overloaded.", status=529, retryable=False),
        NetworkError("The line is dead."),
        TimeoutError("Too slow."),
        InvalidInputError("Too hot.", field="temperature"),
        AgentError("Something else.", kind="tool", retryable=True),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_comes_back_with_its_class_its_words_and_its_fields(
    path: Path, error: AgentError, way: str
) -> None:
    await record(path, [error], ask("hi"), way=way)
    with pytest.raises(type(error)) as caught:
        await answer(cassette(path), ask("hi"), way)
    assert type(caught.value) is type(error)
    assert vars(caught.value) == vars(error)


async def test_a_stream_that_broke_breaks_at_the_same_place(path: Path) -> None:
    broken = fail(StreamingError("Cut."), after="Once upon")
    await record(path, [broken], ask("hi"), way="stream")
    seen: list[StreamItem] = []
    with pytest.raises(StreamingError, match="Cut"):
        await collect(cassette(path), ask("hi"), seen)
    assert seen == [TextDelta("Once "), TextDelta("upon")]


async def test_an_error_class_of_another_package_comes_back_as_the_nearest_of_ours(path: Path) -> None:
    class AcmeOverloadedError(ServerError):
        def __init__(self, queue: int) -> None:
            super().__init__(f"{queue} are waiting.", status=503)
            self.queue = queue

    await record(path, [AcmeOverloadedError(7)], ask("hi"))
    with pytest.raises(ServerError, match="7 are waiting") as caught:
        await cassette(path).run(ask("hi"))
    assert caught.value.status == 503


async def test_a_stream_its_reader_gave_up_is_replayed_as_far_as_it_was_read(path: Path) -> None:
    stream = RecordingClient(ScriptedClient([reply("a b c d")]), path).stream(ask("hi"))
    await anext(stream)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    seen: list[StreamItem] = []
    with pytest.raises(StreamingError, match="stops here") as caught:
        await collect(cassette(path), ask("hi"), seen)
    assert seen == [TextDelta("a "), TextDelta("b ")]
    assert not caught.value.retryable


async def test_a_reader_that_stops_at_the_response_leaves_one_whole_exchange(path: Path) -> None:
    stream = RecordingClient(ScriptedClient([reply("a b")]), path).stream(ask("hi"))
    async for item in stream:
        if isinstance(item, Response):
            break
    await stream.aclose()  # type: ignore[attr-defined]
    assert answers(path) == 1
    assert (await cassette(path).run(ask("hi"))).content == "a b"


async def test_closing_a_recorder_closes_the_client_it_records(path: Path) -> None:
    class Closable(ScriptedClient):
        closed = False

        async def aclose(self) -> None:
            self.closed = True

    inner = Closable([])
    async with RecordingClient(inner, path):
        pass
    assert inner.closed


async def test_a_client_with_nothing_but_run_and_stream_can_be_recorded(path: Path) -> None:
    class Bare:
        async def run(self, request: Request) -> Response:
            return Response("bare")

        async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
            yield Response("bare")

    async with RecordingClient(Bare(), path) as client:
        await client.run(ask("hi"))
        await collect(client, ask("hi"))
    replayed = cassette(path)
    assert await collect(replayed, ask("hi")) == [TextDelta("bare"), Response("bare")]
    assert await collect(replayed, ask("hi")) == [Response("bare")]


async def test_what_the_client_knew_of_models_is_known_on_replay(path: Path) -> None:
    info = ModelInfo(context_window=200_000, price=Price(3, 15), native_output=True)
    named = ask("hi", config=RequestConfig(model="claude:sonnet"))
    await RecordingClient(ScriptedClient(["ok"], info=info), path).run(named)

    assert cassette(path).model_info("claude:sonnet") == info
    assert cassette(path).model_info("claude:other") == ModelInfo()


TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)


@given(question=TEXTS, reply_text=TEXTS, thought=TEXTS, argument=TEXTS)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
async def test_any_text_survives_the_file(
    tmp_path: Path, question: str, reply_text: str, thought: str, argument: str
) -> None:
    path = tmp_path / "any.json"
    parts: list[Part] = [Thought(thought), Text(reply_text), ToolCall("1", "f", {"x": argument})]
    recorder = RecordingClient(ScriptedClient([Response(parts)]), path, existing="replace")
    live = await collect(recorder, ask(question, system=thought))

    replayed = await collect(cassette(path), ask(question, system=thought))

    assert [as_json_has_it(item) for item in replayed] == [as_json_has_it(item) for item in live]


def as_json_has_it(item: StreamItem) -> str:
    """JSON cannot tell a character from the two surrogates that would encode it in UTF-16."""
    return repr(item).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@both_ways
async def test_odd_texts_match_and_come_back(path: Path, way: str) -> None:
    odd = "nul \x00, lone surrogates \ud800 and \udfff, line separators \u2028\u0085\r\n, 雨 🌧"
    await record(path, [reply(odd)], ask(odd), way=way)
    assert (await answer(cassette(path), ask(odd), way)).content == odd
    content(path).decode("utf-8")


async def test_a_long_text_comes_back(path: Path) -> None:
    long = "0123456789 " * 10_000
    await record(path, [reply(long)], ask(long))
    assert (await cassette(path).run(ask(long))).content == long


# A request is known by its content


async def test_a_run_of_many_turns_replays_to_its_end(path: Path) -> None:
    live = await loop(RecordingClient(scripted_loop(20), path), 20)
    assert await loop(cassette(path), 20) == live


async def test_a_conversation_is_written_once_not_once_for_each_of_its_turns(path: Path) -> None:
    await loop(RecordingClient(scripted_loop(20), path), 20)
    short = len(content(path))
    await loop(RecordingClient(scripted_loop(40), path, existing="replace"), 40)
    assert len(content(path)) < 2.2 * short
    assert sum("run" in line for line in lines(path)) == 1


async def test_runs_that_took_turns_replay_each_by_itself(path: Path) -> None:
    def speak(request: Request) -> str:
        return f"{request.messages[0].content} {len(request.messages)}"

    recorder = RecordingClient(ScriptedClient(speak), path)
    await asyncio.gather(loop(recorder, 3, "one"), loop(recorder, 3, "two"))

    client = cassette(path)
    assert await loop(client, 3, "two") == ["two 1", "two 2", "two 3"]
    assert await loop(client, 3, "one") == ["one 1", "one 2", "one 3"]


async def test_a_request_is_recognised_whether_its_messages_are_a_list_or_a_history(path: Path) -> None:
    messages = [Message.user("hi"), Message.assistant("hello"), Message.user("bye")]
    await record(path, ["ok"], Request(messages))
    assert (await cassette(path).run(Request(History(messages)))).content == "ok"


async def test_a_request_is_recognised_whether_or_not_its_thoughts_say_what_they_were_made_behind(
    path: Path,
) -> None:
    def asked(thought: Thought) -> Request:
        return Request(
            [Message.user("Two and three?"), Message.assistant([thought, "Five."]), Message.user("Sure?")]
        )

    client = RecordingClient(ScriptedClient(["Yes."]), path)
    await client.run(asked(Thought("Hm.", "signed")))
    await client.aclose()

    async with connect(f"cassette:{path}") as again:
        assert (await again.run(asked(Thought("Hm.", "signed", behind="0123456789abcdef")))).content == "Yes."


async def test_an_earlier_request_is_not_mistaken_for_what_its_history_grew_to(path: Path) -> None:
    short = History([Message.user("hi")])
    long = short.extended(Message.assistant("hello"), Message.user("bye"))
    await record(path, ["to long", "to short"], Request(long), Request(short))
    client = cassette(path)
    assert (await client.run(ask("hi"))).content == "to short"
    assert (await client.run(Request(long))).content == "to long"


async def test_the_order_of_keys_in_arguments_does_not_matter(path: Path) -> None:
    def request(**arguments: Any) -> Request:
        return Request([Message.user("hi"), Message.assistant([ToolCall("1", "f", arguments)])])

    await record(path, ["ok"], request(a=1, b=2))
    assert (await cassette(path).run(request(b=2, a=1))).content == "ok"


async def test_a_failed_tool_is_not_a_tool_that_answered_the_same_words(path: Path) -> None:
    def request(*, is_error: bool) -> Request:
        return Request([Message.tool_result("1", "no such city", is_error=is_error)])

    await record(path, ["ok"], request(is_error=True))
    assert (await cassette(path).run(request(is_error=True))).content == "ok"
    with pytest.raises(CassetteMissError, match=r"messages\[0\]\.is_error: recorded True, asked nothing"):
        await cassette(path).run(request(is_error=False))


# A miss is an error that explains itself, and nothing goes live

BASE: dict[str, Any] = {
    "system": "Be brief.",
    "tools": [Weather(city={"type": "string"})],
    "config": RequestConfig(max_tokens=100, model="claude:sonnet"),
    "output": OutputSchema("report", {"type": "object"}),
}


@both_ways
@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"system": "Be long."}, "system: recorded 'Be brief.', asked 'Be long.'"),
        ({"system": ""}, "system: recorded 'Be brief.', asked ''"),
        ({"tools": [Weather(town={"type": "string"})]}, "tools.get_weather: "),
        ({"tools": []}, "tools.get_weather: "),
        ({"output": OutputSchema("summary", {"type": "object"})}, "output: "),
    ],
)
async def test_a_miss_tells_the_first_difference(
    path: Path, way: str, change: dict[str, Any], place: str
) -> None:
    await record(path, ["ok"], ask("hi", **BASE))
    with pytest.raises(CassetteMissError) as caught:
        await answer(cassette(path), ask("hi", **(BASE | change)), way)

    assert caught.value.difference.path == place.partition(":")[0]
    assert place in str(caught.value)
    assert "never goes live" in str(caught.value)
    assert caught.value.kind is ErrorKind.INVALID
    assert not caught.value.retryable


async def test_the_settings_of_a_request_do_not_matter(path: Path) -> None:
    await record(path, ["ok"], ask("hi", **BASE))

    other = {"config": RequestConfig(200, 0.5, "claude:opus")}
    assert (await cassette(path).run(ask("hi", **BASE | other))).content == "ok"


async def test_the_nearest_request_is_the_one_that_goes_along_furthest(path: Path) -> None:
    await loop(RecordingClient(scripted_loop(5), path), 5)
    client = cassette(path)
    history = History([Message.user("Report.")])
    for turn in range(3):
        request = Request(history, tools=[Weather(city={"type": "string"})], system="Be brief.")
        response = await client.run(request)
        result = Message.tool_result(response.tool_calls[0].id, "rainy" if turn == 2 else f"sunny {turn}")
        history = history.extended(response.message, result)

    with pytest.raises(CassetteMissError) as caught:
        await client.run(Request(history, tools=request.tools, system="Be brief."))

    assert caught.value.line is not None
    assert lines(path)[caught.value.line - 1]["entry"]["response"]["parts"][0]["text"] == "turn 3"
    assert "messages[6].content: recorded 'sunny 2', asked 'rainy'" in str(caught.value)


async def test_among_conversations_as_near_the_nearest_has_the_fewest_other_differences(path: Path) -> None:
    output = OutputSchema("report", {"type": "object"})
    await record(path, ["a", "b"], ask("hi", system="other"), ask("hi", system="old", output=output))
    with pytest.raises(CassetteMissError, match="system: recorded 'old', asked 'new'"):
        await cassette(path).run(ask("hi", system="new", output=output))


async def test_a_conversation_that_began_alike_and_is_as_long_is_the_nearest(path: Path) -> None:
    def chat(*words: str) -> Request:
        return Request([Message.user(word) for word in words])

    longer, alike = chat("one", "two", "three", "more"), chat("one", "two", "three")
    await record(path, ["a", "b", "c"], chat("x", "y", "z"), longer, alike)
    place = r"messages\[2\]\.content: recorded 'three', asked 'four'"
    with pytest.raises(CassetteMissError, match=place):
        await cassette(path).run(chat("one", "two", "four"))


async def test_of_long_texts_the_place_where_they_part_is_shown(path: Path) -> None:
    await record(path, ["ok"], ask("x" * 5000 + "recorded" + "y" * 5000))
    with pytest.raises(CassetteMissError) as caught:
        await cassette(path).run(ask("x" * 5000 + "asked" + "y" * 5000))
    assert "xxrecordedyy" in str(caught.value)
    assert "xxaskedyy" in str(caught.value)
    assert len(str(caught.value)) < 1000


async def test_true_is_not_one(path: Path) -> None:
    def request(value: object) -> Request:
        return Request([Message.assistant([ToolCall("1", "f", {"x": value})])])

    await record(path, ["ok"], request(1))
    with pytest.raises(CassetteMissError, match="recorded 1, asked True"):
        await cassette(path).run(request(True))


async def test_a_request_asked_more_often_than_it_was_recorded_is_a_miss(path: Path) -> None:
    await record(path, ["a", "b"], ask("hi"), ask("hi"))
    client = cassette(path)
    await client.run(ask("hi"))
    await client.run(ask("hi"))
    with pytest.raises(CassetteMissError, match="given already") as caught:
        await client.run(ask("hi"))
    assert caught.value.difference is None


async def test_an_empty_cassette_misses_everything(path: Path) -> None:
    await record(path, [])
    with pytest.raises(CassetteMissError, match="given already"):
        await cassette(path).run(ask("hi"))


# Secrets are not written

KEY = "sk-ant-api03-AbCdEf123456"


@pytest.mark.requirement("P9")
@both_ways
async def test_no_secret_reaches_the_file_and_the_run_still_replays(path: Path, way: str) -> None:
    login = calls(call("login", user="ana", password="hunter2", headers={"Authorization": "Basic YW5hOnB3"}))
    refused = RateLimitError(f"The key {KEY} is over its limit.", request_id="req_1")
    script: list[Any] = [
        login,
        refused,
        reply(f"Your key is {KEY}.", chunks=["Your key is sk-an", "t-api03-AbCd", "Ef123456."]),
    ]
    tools = [Weather(password={"type": "string"})]

    def run_requests(first: Response) -> list[Request]:
        messages = [
            Message.user(f"Use {CANARY}."),
            first.message,
            Message.tool_result("call_1", f"token {KEY}"),
        ]
        return [
            Request(messages[:1], tools=tools),
            *[Request(messages, tools=tools, system=f"x-api-key: {CANARY}")] * 2,
        ]

    await record(path, script, *run_requests(await ScriptedClient(script).run(ask("hi"))), way=way)
    written = content(path).decode()
    for secret in (KEY, CANARY, "hunter2", "YW5hOnB3", "AbCd", "Ef123456"):
        assert secret not in written

    client = cassette(path)
    first = await answer(client, run_requests(Response())[0], way)
    assert first.tool_calls[0].arguments == {
        "user": "ana",
        "password": REDACTED,
        "headers": {"Authorization": REDACTED},
    }
    _, second, third = run_requests(first)
    with pytest.raises(RateLimitError, match=r"The key \[redacted\] is over"):
        await answer(client, second, way)
    assert (await answer(client, third, way)).content == f"Your key is {REDACTED}."


@pytest.mark.requirement("P9")
async def test_no_secret_is_in_the_words_of_a_miss(path: Path) -> None:
    await record(path, ["ok"], ask(f"Use {CANARY} here."))
    with pytest.raises(CassetteMissError) as caught:
        await cassette(path).run(ask(f"Use {CANARY} there."))
    assert CANARY not in str(caught.value)


# What is missing can be recorded


@both_ways
async def test_only_what_is_missing_is_asked_and_recorded(path: Path, way: str) -> None:
    await record(path, ["known"], ask("1"))
    live = ScriptedClient(["new"])
    async with RecordingClient(live, path, existing="reuse") as client:
        said = [(await answer(client, ask(number), way)).content for number in "12"]

    assert said == ["known", "new"]
    assert live.requests == [ask("2")]
    assert [(await answer(cassette(path), ask(number), way)).content for number in "12"] == said


async def test_a_cassette_can_name_the_model_that_is_asked_for_what_is_missing(path: Path) -> None:
    async with connect(f"cassette:{path}", live="offline:") as client:
        said = (await client.run(ask("Hello?"))).content

    assert (await cassette(path).run(ask("Hello?"))).content == said
