"""Answers of Chat Completions servers from their bytes, however they are sliced and however odd they are."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from maverick.exceptions import AgentError, MalformedResponseError, ServerError, StreamingError
from maverick.model import (
    Message,
    Price,
    Request,
    Response,
    StopReason,
    Text,
    TextDelta,
    ThinkingDelta,
    Thought,
    ToolCall,
    Usage,
)
from maverick.providers.http.exchange import Exchange
from maverick.providers.http.sse import SSEDecoder
from maverick.providers.openai.chat_request import ChatEncoder
from maverick.providers.openai.chat_response import CompletionAccumulator, read_completion
from maverick.providers.prices import PriceTable
from wire.openai_answers import DONE, Answer, Call, call, sse
from wire.openai_server import ANSWERS

NO_PRICES = PriceTable(vendor="")
EXCHANGE = Exchange("The server", "an API", "asked-model", {"x-request-id": "req_1"}, NO_PRICES)
QUESTION: dict[str, Any] = {
    "messages": [{"role": "user", "content": "hi"}],
    "response_format": {"json_schema": {"schema": {"properties": {"city": {"type": "string"}}}}},
}
SCENARIOS = sorted(ANSWERS)
WITH_CALLS = Answer("On it.", [call("call_1", "add", a=1), call("call_2", "add", b=2)], "tool_calls")


def exchange_at(price: Price) -> Exchange:
    return Exchange("The server", "an API", "m", {}, PriceTable({"m": price}))


def stream_bytes(answer: Answer) -> bytes:
    return b"".join(map(sse, answer.chunks("test-model"))) + DONE


def whole(answer: Answer, exchange: Exchange = EXCHANGE) -> Response:
    return read_completion(json.dumps(answer.completion("test-model")).encode(), exchange)


def fed(*pieces: bytes, exchange: Exchange = EXCHANGE) -> tuple[list[Any], CompletionAccumulator]:
    decoder, stream = SSEDecoder(), CompletionAccumulator(exchange)
    deltas: list[Any] = []
    for piece in pieces:
        for event in decoder.feed(piece):
            if stream.response is None:
                deltas += stream.feed(event.data)
    return deltas, stream


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_openais_own_types_accept_what_the_test_server_sends(scenario: str) -> None:
    answer = ANSWERS[scenario](QUESTION)

    ChatCompletion.model_validate(answer.completion("test-model"))
    for chunk in answer.chunks("test-model"):
        if answer.numbering != "none":  # that one is a fault of its server
            ChatCompletionChunk.model_validate(chunk)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_streamed_answer_is_the_answer_that_comes_whole(scenario: str) -> None:
    answer = ANSWERS[scenario](QUESTION)
    deltas, stream = fed(stream_bytes(answer))

    response = stream.response
    assert response == whole(answer)
    said = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    thought = "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta))
    assert (said, thought) == (response.content, response.message.thinking)


@given(st.lists(st.integers(min_value=0, max_value=len(stream_bytes(WITH_CALLS)))))
def test_it_does_not_matter_where_a_stream_is_sliced(cuts: list[int]) -> None:
    sent = stream_bytes(WITH_CALLS)
    places = [0, *sorted(cuts), len(sent)]
    pieces = [sent[start:end] for start, end in pairwise(places)]

    assert fed(*pieces)[1].response == whole(WITH_CALLS)


@given(st.integers(min_value=0, max_value=stream_bytes(WITH_CALLS).index(b'"finish_reason": "tool_calls"')))
@pytest.mark.requirement("P8")
def test_a_stream_that_is_cut_anywhere_has_no_call_that_could_run(length: int) -> None:
    _, stream = fed(stream_bytes(WITH_CALLS)[:length])

    with pytest.raises(StreamingError) as caught:
        stream.end()

    calls = [made for message in caught.value.partial_messages for made in message.tool_calls]
    assert all(made.malformed for made in calls[-1:])


@given(
    st.lists(st.sampled_from([*map(sse, WITH_CALLS.chunks("m")), DONE, b"data: {", b"\n\n", b"data: 1\n\n"]))
)
@pytest.mark.requirement("P8")
def test_chunks_in_any_order_make_an_answer_or_a_typed_error(pieces: list[bytes]) -> None:
    try:
        _, stream = fed(*pieces)
    except AgentError:
        return
    assert stream.response is None or stream.response.stop_reason in StopReason


@given(st.binary(max_size=200))
@pytest.mark.requirement("P8")
def test_garbage_is_a_typed_error(garbage: bytes) -> None:
    with pytest.raises(AgentError):
        read_completion(garbage, EXCHANGE)
    with pytest.raises(AgentError):
        CompletionAccumulator(EXCHANGE).feed(b"\x00" + garbage)


def test_thoughts_words_and_calls_come_in_that_order() -> None:
    answer = Answer("Let me see.", [call("call_1", "add", a=2)], "tool_calls", thoughts="A sum.")

    assert whole(answer).parts == (
        Thought("A sum."),
        Text("Let me see."),
        ToolCall("call_1", "add", {"a": 2}),
    )


def test_a_chunk_may_have_a_thought_and_words_at_once() -> None:
    chunk = {"choices": [{"delta": {"reasoning": "Hm. ", "content": "Yes."}, "finish_reason": "stop"}]}

    assert fed(sse(chunk), DONE)[0] == [ThinkingDelta("Hm. "), TextDelta("Yes.")]


@pytest.mark.parametrize(
    ("finish_reason", "stop_reason"),
    [
        ("stop", StopReason.COMPLETE),
        ("length", StopReason.MAX_TOKENS),
        ("content_filter", StopReason.REFUSAL),
        ("tool_calls", StopReason.COMPLETE),
        ("a_new_one", StopReason.COMPLETE),
    ],
)
def test_the_reason_to_stop_is_translated(finish_reason: str, stop_reason: StopReason) -> None:
    assert whole(Answer("Hm.", finish_reason=finish_reason)).stop_reason is stop_reason


@pytest.mark.parametrize("finish_reason", ["tool_calls", "stop", "function_call", "a_new_one"])
def test_an_answer_that_calls_tools_wants_them_run_whatever_reason_it_gives(finish_reason: str) -> None:
    answer = Answer(calls=[call("call_1", "add", a=1)], finish_reason=finish_reason)

    assert whole(answer).stop_reason is StopReason.TOOL_USE


def test_a_refusal_is_a_refusal_even_if_the_server_says_stop() -> None:
    response = whole(Answer(refusal="I can't help with that."))

    assert response.stop_reason is StopReason.REFUSAL
    assert response.content == "I can't help with that."


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
def test_the_last_call_of_an_answer_that_was_cut_short_cannot_run(finish_reason: str) -> None:
    answer = Answer(
        calls=[call("call_1", "add", a=1), call("call_2", "pay", euros=1)], finish_reason=finish_reason
    )

    first, last = whole(answer).tool_calls

    assert first == ToolCall("call_1", "add", {"a": 1})
    assert last == ToolCall("call_2", "pay", malformed='{"euros":1}')


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("arguments", ['{"a": 1, "b": ', "[1, 2]", "3", "null", "add 1 and 2", " "])
def test_arguments_that_are_no_object_are_kept_as_they_came(arguments: str) -> None:
    answer = Answer(calls=[Call("call_1", "add", arguments)], finish_reason="tool_calls")

    assert whole(answer).tool_calls == (ToolCall("call_1", "add", malformed=arguments),)


def test_no_arguments_at_all_are_none() -> None:
    answer = Answer(calls=[Call("call_1", "now", "")], finish_reason="tool_calls")

    assert whole(answer).tool_calls == (ToolCall("call_1", "now", {}),)


def test_usage_counts_the_whole_request_and_what_of_it_was_cached() -> None:
    assert whole(Answer("Hi.")).usage == Usage(118, 42, 11, 7)


def test_usage_has_a_cost_when_the_price_is_known() -> None:
    priced = exchange_at(Price(input=2, output=10, cache_read=1, cache_write=4))
    cost = whole(Answer("Hi."), priced).usage.cost_usd

    assert cost == pytest.approx((100 * 2 + 11 * 1 + 7 * 4 + 42 * 10) / 1_000_000)


def test_an_answer_without_usage_has_no_cost() -> None:
    priced = exchange_at(Price(input=2, output=10))

    assert whole(Answer("Hi.", usage=False), priced).usage == Usage(cost_usd=None)


def test_the_answer_says_which_model_gave_it_and_which_exchange_it_was() -> None:
    response = whole(Answer("Hi."))

    assert (response.model, response.request_id) == ("test-model", "req_1")


def test_a_server_that_names_no_model_used_the_one_it_was_asked_for() -> None:
    bare = {"choices": [{"message": {"content": "Hi."}}]}

    response = read_completion(json.dumps(bare).encode(), EXCHANGE)

    assert (response.content, response.model) == ("Hi.", "asked-model")


@pytest.mark.parametrize("numbering", ["always_first", "none"])
def test_parallel_calls_are_told_apart_however_the_server_counts_them(numbering: Any) -> None:
    calls = [call("call_1", "add", a=1), call("call_2", "add", b=2)]
    _, stream = fed(stream_bytes(Answer("", calls, "tool_calls", numbering=numbering)))

    assert stream.response is not None
    assert stream.response.tool_calls == (
        ToolCall("call_1", "add", {"a": 1}),
        ToolCall("call_2", "add", {"b": 2}),
    )


def test_pieces_of_parallel_calls_may_alternate() -> None:
    def piece(index: int, arguments: str, **begun: str) -> bytes:
        named = {"name": "add"} if begun else {}
        delta = {"tool_calls": [{"index": index, **begun, "function": {"arguments": arguments, **named}}]}
        return sse({"choices": [{"delta": delta}]})

    end = sse({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    _, stream = fed(
        piece(0, '{"a"', id="x"), piece(1, '{"b"', id="y"), piece(0, ":1}"), piece(1, ":2}"), end, DONE
    )

    assert stream.response is not None
    assert [made.arguments for made in stream.response.tool_calls] == [{"a": 1}, {"b": 2}]


def test_a_second_choice_is_ignored() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "No."}, "finish_reason": "stop"}]}

    assert fed(sse(other), stream_bytes(Answer("Yes.")))[1].response == whole(Answer("Yes."))


def test_a_stream_may_end_without_saying_so_once_it_gave_a_reason() -> None:
    _, stream = fed(stream_bytes(Answer("Yes.")).removesuffix(DONE))
    assert stream.response is None

    stream.end()

    assert stream.response == whole(Answer("Yes."))


@pytest.mark.requirement("P8")
def test_done_without_a_reason_to_stop_is_not_the_end_of_an_answer() -> None:
    first_words = sse(next(chunk for chunk in Answer("Once upon").chunks("m") if "Once" in json.dumps(chunk)))

    with pytest.raises(StreamingError, match="before it was complete") as caught:
        fed(first_words, DONE)

    assert caught.value.retryable
    assert [message.content for message in caught.value.partial_messages] == ["Once upon"]


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_a_server_that_gives_up_has_failed(reason: str) -> None:
    with pytest.raises(ServerError, match="gave up") as caught:
        whole(Answer("Well,", finish_reason=reason))

    assert caught.value.retryable
    assert caught.value.request_id == "req_1"


@pytest.mark.requirement("P8")
def test_a_piece_of_a_call_that_had_not_begun_is_malformed() -> None:
    orphan = {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}}]}

    with pytest.raises(MalformedResponseError, match="had not begun") as caught:
        fed(sse(orphan))

    assert "arguments" in caught.value.raw_response


def test_an_exchange_does_not_show_the_key_it_guards() -> None:
    assert "sk-secret" not in repr(Exchange("The server", "an API", "m", {}, NO_PRICES, "sk-secret"))


@pytest.mark.parametrize("streamed", [False, True])
def test_what_gemini_signs_a_call_with_goes_back_to_it(streamed: bool) -> None:
    signed = {"google": {"thought_signature": "c2lnbmVk"}}
    call_ = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "add", "arguments": '{"a": 1}'},
        "extra_content": signed,
    }
    if streamed:
        chunk = {
            "choices": [{"delta": {"tool_calls": [{"index": 0, **call_}]}, "finish_reason": "tool_calls"}]
        }
        response = fed(sse(chunk), DONE)[1].response
    else:
        whole_ = {"choices": [{"message": {"tool_calls": [call_]}, "finish_reason": "tool_calls"}]}
        response = read_completion(json.dumps(whole_).encode(), EXCHANGE)

    assert response is not None
    history = (Message.user("hi"), response.message, Message.tool_result("call_1", "2"))
    encoded = ChatEncoder().encode(Request(history), model="gemini", stream=False)
    assert json.loads(b"".join(encoded))["messages"][1]["tool_calls"] == [call_]
