from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maverick.exceptions import InvalidInputError, RateLimitError, ServerError
from maverick.model import (
    LLMClient,
    Message,
    ModelInfo,
    Request,
    Response,
    StopReason,
    StreamItem,
    Text,
    TextDelta,
    ThinkingDelta,
    Thought,
    ToolCall,
    Usage,
    model_info,
)
from maverick.testing import ScriptedClient, call, calls, fail, reply, turn


def request(*texts: str) -> Request:
    return Request([Message.user(text) for text in texts or ("hello",)])


async def collect(client: ScriptedClient, asked: Request | None = None) -> list[StreamItem]:
    return [item async for item in client.stream(asked or request())]


@pytest.mark.requirement("002-R1", "002-R3")
async def test_a_list_is_played_turn_by_turn_and_each_request_is_kept() -> None:
    client = ScriptedClient([call("get_weather", city="Brest"), reply("Sunny in Brest.")])
    first, second = request("weather?"), request("weather?", "and?")

    asked = await client.run(first)
    answered = await client.run(second)

    assert asked.tool_calls == (ToolCall("call_1", "get_weather", {"city": "Brest"}),)
    assert asked.stop_reason is StopReason.TOOL_USE
    assert answered.content == "Sunny in Brest."
    assert answered.stop_reason is StopReason.COMPLETE
    assert client.requests == [first, second]


def test_it_is_an_llm_client() -> None:
    assert isinstance(ScriptedClient([]), LLMClient)


async def test_a_function_sees_the_request_and_may_be_async() -> None:
    async def later(asked: Request) -> str:
        await asyncio.sleep(0)
        return f"{len(asked.messages)} messages so far"

    counting = ScriptedClient(lambda asked: reply(f"{len(asked.messages)} messages so far"))

    assert (await counting.run(request("a", "b"))).content == "2 messages so far"
    assert (await ScriptedClient(later).run(request("a", "b", "c"))).content == "3 messages so far"


async def test_tool_arguments_may_have_any_name() -> None:
    client = ScriptedClient([call("send", tool_name="x", text="y", delay=3, usage=None, self=1)])

    (made,) = (await client.run(request())).tool_calls

    assert made.tool_name == "send"
    assert made.arguments == {"tool_name": "x", "text": "y", "delay": 3, "usage": None, "self": 1}


@pytest.mark.parametrize(
    "several",
    [
        calls(call("a", n=1), call("b"), text="One moment. "),
        ["One moment. ", call("a", n=1), call("b")],
        turn("One moment. ", call("a", n=1), call("b")),
    ],
)
async def test_several_calls_in_one_turn_follow_the_words_before_them(several: Any) -> None:
    answer = await ScriptedClient([several]).run(request())

    assert answer.parts == (
        Text("One moment. "),
        ToolCall("call_1", "a", {"n": 1}),
        ToolCall("call_2", "b"),
    )
    assert answer.stop_reason is StopReason.TOOL_USE


async def test_calls_are_numbered_through_the_whole_list() -> None:
    client = ScriptedClient([calls(call("a"), call("b")), call("c")])

    ids = [made.id for _ in range(2) for made in (await client.run(request())).tool_calls]

    assert ids == ["call_1", "call_2", "call_3"]


async def test_calls_of_a_function_are_numbered_by_their_place_so_runs_do_not_affect_each_other() -> None:
    client = ScriptedClient(lambda _: calls(call("a"), call("b")))
    short, long = request("one"), request("one", "two", "three", "four")

    alone = [made.id for made in (await client.run(long)).tool_calls]
    await asyncio.gather(*(client.run(short) for _ in range(20)))
    among_others = [made.id for made in (await client.run(long)).tool_calls]

    assert alone == among_others == ["call_4", "call_5"]


async def test_a_call_with_its_own_id_keeps_it_so_that_duplicates_can_be_scripted() -> None:
    client = ScriptedClient([[ToolCall("same", "a"), ToolCall("same", "b", malformed="{oops"), call("c")]])

    made = (await client.run(request())).tool_calls

    assert [each.id for each in made] == ["same", "same", "call_1"]
    assert made[1].malformed == "{oops"


async def test_a_response_is_played_exactly_as_it_is() -> None:
    given = Response("as it is", [ToolCall("", "no_id")], Usage(1, 2), StopReason.PAUSE, request_id="req_1")

    assert await ScriptedClient([given]).run(request()) is given
    assert await ScriptedClient(lambda _: given).run(request()) is given


@pytest.mark.parametrize(
    "item", [ServerError("down"), ServerError, fail(ServerError), fail(ServerError("x"))]
)
async def test_an_error_in_the_script_is_raised_and_the_next_turn_follows(item: Any) -> None:
    client = ScriptedClient([item, "back again"])

    with pytest.raises(ServerError):
        await client.run(request())

    assert (await client.run(request())).content == "back again"


async def test_a_stream_that_fails_midway_yields_what_came_before() -> None:
    broken = RateLimitError("slow down", retry_after=2)
    stream = ScriptedClient([fail(broken, after="half an ")]).stream(request())

    assert [await anext(stream), await anext(stream)] == [TextDelta("half "), TextDelta("an ")]
    with pytest.raises(RateLimitError) as caught:
        await anext(stream)
    assert caught.value is broken


@pytest.mark.requirement("002-R3")
async def test_a_stream_yields_thoughts_and_words_one_by_one_and_then_the_whole_response() -> None:
    planned = reply("Sunny in Brest.", thinking="Let me see.")

    *deltas, last = await collect(ScriptedClient([planned]))

    assert deltas == [
        ThinkingDelta("Let "),
        ThinkingDelta("me "),
        ThinkingDelta("see."),
        TextDelta("Sunny "),
        TextDelta("in "),
        TextDelta("Brest."),
    ]
    assert last == await ScriptedClient([planned]).run(request())
    assert isinstance(last, Response)
    assert last.parts == (Thought("Let me see."), Text("Sunny in Brest."))


@pytest.mark.parametrize("text", ["", " ", "one", "  two\n\nlines \t of text\n", "ein Müßiggänger — ja!"])
async def test_the_deltas_of_a_stream_add_up_to_its_text(text: str) -> None:
    *deltas, _ = await collect(ScriptedClient([reply(text)]))

    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == text


async def test_chunks_say_where_a_stream_is_cut() -> None:
    *deltas, _ = await collect(ScriptedClient([reply("Brest", chunks=["Br", "es", "t"])]))

    assert deltas == [TextDelta("Br"), TextDelta("es"), TextDelta("t")]


def test_chunks_that_are_not_the_text_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="add up to the text 'Brest'"):
        reply("Brest", chunks=["Br", "est!"])


async def test_the_turn_waits_as_long_as_it_was_told_and_can_be_cancelled_meanwhile() -> None:
    client = ScriptedClient(lambda _: reply("never", delay=3600))

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.run(request()), 0.01)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(collect(client), 0.01)


async def test_a_paced_stream_gives_its_first_word_and_then_waits() -> None:
    stream = ScriptedClient([reply("one two", pace=3600)]).stream(request())

    assert await anext(stream) == TextDelta("one ")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(stream), 0.01)


async def test_usage_and_stop_reason_are_the_scripts() -> None:
    spent = Usage(100, 50, cache_read_tokens=80, cost_usd=0.01)

    answer = await ScriptedClient([reply("cut", usage=spent, stop_reason=StopReason.MAX_TOKENS)]).run(
        request()
    )

    assert answer.usage == spent
    assert answer.stop_reason is StopReason.MAX_TOKENS


async def test_usage_has_a_default_that_is_the_same_every_time_and_grows_with_the_answer() -> None:
    async def spent(item: Any) -> Usage:
        return (await ScriptedClient([item]).run(request())).usage

    assert await spent("short") == await spent(reply("short"))
    assert (await spent("short")).input_tokens > 0
    assert (await spent("a much longer answer than that")).output_tokens > (
        await spent("short")
    ).output_tokens
    assert (await spent(call("tool", text="x" * 100))).output_tokens > (
        await spent(call("tool"))
    ).output_tokens


async def test_running_out_of_script_says_how_long_it_was_and_what_to_do() -> None:
    client = ScriptedClient(["only one"])
    await client.run(request())

    with pytest.raises(InvalidInputError, match=r"has 1 turns.*Add the missing turn") as caught:
        await client.run(request())

    assert caught.value.field == "script"
    assert not caught.value.retryable


@pytest.mark.parametrize("nonsense", [42, None, object, {"a": 1}])
async def test_what_is_no_turn_is_refused_with_the_ways_to_write_one(nonsense: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"Use reply\(\), call\(\)"):
        ScriptedClient([nonsense])
    with pytest.raises(InvalidInputError, match=r"Use reply\(\), call\(\)"):
        await ScriptedClient(lambda _: nonsense).run(request())


def test_model_info_is_what_the_client_was_given() -> None:
    info = ModelInfo(context_window=1000, native_output=True)

    assert model_info(ScriptedClient([], info=info), "any") == info
    assert model_info(ScriptedClient([]), "any") == ModelInfo()
