"""Answers of OpenAI's Responses API from their bytes: the items as they came, however they are sliced, and the SDK's view."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response as TheirResponse
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from maverick.exceptions import (
    AgentError,
    MalformedResponseError,
    ProviderError,
    RateLimitError,
    ServerError,
    StreamingError,
    ThinkingRejectedError,
)
from maverick.model import (
    Message,
    Opaque,
    Request,
    Response,
    StopReason,
    Text,
    TextDelta,
    ThinkingDelta,
    Thought,
    ToolCall,
    Usage,
    model_info,
)
from maverick.providers.http.exchange import Exchange
from maverick.providers.http.sse import SSEDecoder
from maverick.providers.openai.client import OpenAIResponsesClient
from maverick.providers.openai.responses_response import ResponseAccumulator, read_response
from maverick.providers.prices import PriceTable
from wire.asking import answered, both_ways
from wire.openai_answers import Call
from wire.responses_answers import Items, function_call, message, reasoning, sse
from wire.responses_server import ANSWERS, CITATION, COMPACTION, SEARCH, ResponsesServer

EXCHANGE = Exchange("OpenAI", "an API", "gpt", {"x-request-id": "req_1"}, PriceTable(vendor=""))
QUESTION: dict[str, Any] = {
    "input": [{"role": "user", "content": "hi"}],
    "messages": [{"role": "user", "content": "hi"}],
    "text": {"format": {"schema": {"properties": {"city": {"type": "string"}}}}},
    "response_format": {"json_schema": {"schema": {"properties": {}}}},
}
SCENARIOS = sorted(ANSWERS)
TWO_CALLS = ANSWERS["thinking_and_tools"](QUESTION)
ODD_ITEMS: list[dict[str, Any]] = [
    {
        "id": "ci_1",
        "type": "code_interpreter_call",
        "code": "1+1",
        "container_id": "c",
        "outputs": None,
        "status": "completed",
    },
    {"id": "ig_1", "type": "image_generation_call", "result": "aGk=", "status": "completed"},
    {"id": "mcp_1", "type": "mcp_call", "name": "n", "arguments": "{}", "server_label": "s", "output": "x"},
    {"id": "fs_1", "type": "file_search_call", "queries": ["q"], "status": "completed", "results": None},
    {"id": "ct_1", "type": "custom_tool_call", "call_id": "c9", "name": "n", "input": "free text"},
    COMPACTION,
]


def whole(items: Items) -> Response:
    return read_response(json.dumps(items.response("gpt")).encode(), EXCHANGE)


def fed(*pieces: bytes) -> tuple[list[Any], ResponseAccumulator]:
    decoder, stream = SSEDecoder(), ResponseAccumulator(EXCHANGE)
    deltas: list[Any] = []
    for piece in pieces:
        for event in decoder.feed(piece):
            if stream.response is None:
                deltas += stream.feed(event.data)
    return deltas, stream


def test_every_item_becomes_a_part_that_keeps_it() -> None:
    response = whole(ANSWERS["search"](QUESTION))

    first, search, second, third, said = response.parts
    assert isinstance(first, Thought)
    assert first.text == "I should look it up.\n\nThen answer."
    assert first.block == Opaque("openai", reasoning("I should look it up.", "Then answer."))
    assert search == Opaque("openai", SEARCH)
    assert [second, third] == [
        Thought("", block=Opaque("openai", reasoning(number=n)), model="gpt") for n in (2, 3)
    ]
    cited = message("Shelf facts.", annotations=[CITATION], phase="final_answer")
    assert said == Text("Shelf facts.", Opaque("openai", cited))
    assert response.usage == Usage(118, 42, 11, 7)
    assert response.stop_reason is StopReason.COMPLETE


@pytest.mark.parametrize("item", ODD_ITEMS, ids=lambda item: item["type"])
def test_what_is_not_interpreted_is_kept_and_handed_on_as_it_completes(item: dict[str, Any]) -> None:
    deltas, stream = fed(*Items([item, message("Done.")]).stream("gpt"))

    assert deltas[0] == Opaque("openai", item)
    assert stream.response is not None
    assert stream.response.parts[0] == deltas[0]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_streamed_answer_is_the_answer_that_comes_whole_and_what_the_sdk_makes_of_it(scenario: str) -> None:
    answer = ANSWERS[scenario](QUESTION)
    deltas, stream = fed(*answer.stream("gpt"))

    response = stream.response
    assert response is not None
    assert response == whole(answer)
    said = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    thought = "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta))
    assert (said, thought) == (response.content, response.message.thinking)
    if scenario != "half_a_character":
        assert [item.to_dict() for item in _sdk_output(answer)] == [
            (part if isinstance(part, Opaque) else part.block).data  # type: ignore[union-attr]
            for part in response.parts
        ]


def _sdk_output(answer: Items) -> list[Any]:
    """The items that the official SDK puts together from the same stream."""
    state: Any = ResponseStreamState(input_tools=[], text_format=openai.omit)
    event_type: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    last: Any = None
    for piece in b"".join(answer.stream("gpt")).split(b"\n\n")[:-1]:
        last = event_type.validate_json(piece.partition(b"data: ")[2])
        state.handle_event(last)
    theirs: TheirResponse = last.response
    return list(theirs.output)


@given(st.lists(st.integers(min_value=0, max_value=len(b"".join(TWO_CALLS.stream("gpt"))))))
def test_it_does_not_matter_where_a_stream_is_sliced(cuts: list[int]) -> None:
    sent = b"".join(TWO_CALLS.stream("gpt"))
    places = [0, *sorted(cuts), len(sent)]

    assert fed(*[sent[start:end] for start, end in pairwise(places)])[1].response == whole(TWO_CALLS)


@given(
    st.integers(min_value=0, max_value=b"".join(TWO_CALLS.stream("gpt")).index(b"event: response.completed"))
)
@pytest.mark.requirement("P8")
def test_a_stream_that_is_cut_anywhere_has_no_call_that_could_run_and_no_reasoning_without_its_item(
    length: int,
) -> None:
    _, stream = fed(b"".join(TWO_CALLS.stream("gpt"))[:length])

    with pytest.raises(StreamingError) as caught:
        stream.end()

    for partial in caught.value.partial_messages:
        assert all(made.malformed for made in partial.tool_calls[-1:] if made is partial.parts[-1])
        last = partial.parts[-1]
        assert not isinstance(last, Thought) or last.block is None


@given(
    st.lists(
        st.sampled_from(
            [
                *TWO_CALLS.stream("m"),
                b"data: {\n\n",
                b"\n\n",
                b"data: 1\n\n",
                b'data: {"type":"new.event"}\n\n',
            ]
        )
    )
)
@pytest.mark.requirement("P8")
def test_events_in_any_order_make_an_answer_or_a_typed_error(pieces: list[bytes]) -> None:
    try:
        deltas, stream = fed(*pieces)
    except AgentError:
        return
    if stream.response is not None:
        assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == stream.response.content


@given(st.binary(max_size=200))
@pytest.mark.requirement("P8")
def test_garbage_is_a_typed_error(garbage: bytes) -> None:
    with pytest.raises(AgentError):
        read_response(garbage, EXCHANGE)
    with pytest.raises(AgentError):
        ResponseAccumulator(EXCHANGE).feed(b"\x00" + garbage)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "message", "role": "assistant", "content": 5},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": None}]},
        {"type": "message", "role": "assistant", "content": ["text"]},
        {"type": "reasoning", "summary": [{"text": 1}]},
        {"type": "function_call", "call_id": "c", "name": "add"},
        {"type": "function_call", "call_id": "c", "name": "", "arguments": "{}"},
        {"type": None},
        {},
    ],
    ids=str,
)
@pytest.mark.requirement("P8")
def test_an_item_of_another_shape_is_malformed(item: dict[str, Any]) -> None:
    with pytest.raises(MalformedResponseError):
        whole(Items([item]))


def test_text_that_comes_without_deltas_is_handed_on_when_it_is_complete() -> None:
    done = {"type": "response.output_item.done", "output_index": 0, "item": message("Hello.")}
    ended = {"type": "response.completed", "response": {"status": "completed"}}
    deltas, stream = fed(sse(done), sse(ended))

    assert deltas == [TextDelta("Hello.")]
    assert stream.response is not None
    assert stream.response.content == "Hello."


def test_an_item_that_only_the_last_event_has_is_not_lost() -> None:
    answer = Items([message("Hello.")])
    deltas, stream = fed(sse({"type": "response.completed", "response": answer.response("gpt")}))

    assert deltas == [TextDelta("Hello.")]
    assert stream.response == whole(answer)


@pytest.mark.parametrize(
    ("items", "stop_reason"),
    [
        (Items([message("It was a dark")], "max_output_tokens"), StopReason.MAX_TOKENS),
        (Items([message("Once upon")], "content_filter"), StopReason.REFUSAL),
        (Items([message(refusal="I can't.")]), StopReason.REFUSAL),
        (Items([function_call(Call("c", "add"))]), StopReason.TOOL_USE),
        (Items([]), StopReason.COMPLETE),
    ],
)
def test_the_reason_to_stop_is_translated(items: Items, stop_reason: StopReason) -> None:
    assert whole(items).stop_reason is stop_reason


def test_a_call_that_was_cut_off_cannot_run_and_goes_back_as_it_came() -> None:
    item = function_call(Call("call_1", "pay", '{"euros": 1}'), status="incomplete")
    (made,) = whole(Items([item], "max_output_tokens")).tool_calls

    assert made.malformed
    assert made.block == Opaque("openai", item)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "server_error", "message": "Sorry"}, ServerError),
        ({"code": "rate_limit_exceeded", "message": "Slow down"}, RateLimitError),
        ({"code": "something_new", "message": "Hm"}, ServerError),
    ],
)
def test_a_failure_in_the_middle_of_an_answer_is_typed(error: dict[str, Any], kind: type[AgentError]) -> None:
    failed = {"status": "failed", "error": error, "output": []}
    for event in (
        {"type": "response.failed", "response": failed},
        {"type": "error", **error},
        {"type": "error", "error": error},
    ):
        with pytest.raises(kind):
            fed(sse(event))
    with pytest.raises(kind):
        read_response(json.dumps({"object": "response", **failed}).encode(), EXCHANGE)


@pytest.mark.parametrize("code", ["invalid_prompt", "invalid_image", "image_too_large"])
def test_a_failure_that_is_the_requests_is_not_tried_again(code: str) -> None:
    failed = {"object": "response", "status": "failed", "error": {"code": code, "message": "No"}}

    with pytest.raises(ProviderError) as caught:
        read_response(json.dumps(failed).encode(), EXCHANGE)

    assert not caught.value.retryable


@pytest.mark.parametrize("status", ["cancelled", "failed"])
def test_an_answer_that_was_given_up_is_tried_again(status: str) -> None:
    with pytest.raises(ServerError, match=status):
        read_response(json.dumps({"object": "response", "status": status, "output": []}).encode(), EXCHANGE)


@pytest.mark.parametrize(
    "message_",
    [
        "The encrypted content gAAA...DQ== could not be verified.",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ],
)
def test_a_refusal_of_earlier_reasoning_is_told_from_other_errors(message_: str) -> None:
    from maverick.providers.http.errors import refused

    body = {"error": {"message": message_, "type": "invalid_request_error", "param": None, "code": None}}
    assert isinstance(refused(EXCHANGE, 400, json.dumps(body).encode()), ThinkingRejectedError)


@pytest.fixture
async def server() -> AsyncIterator[ResponsesServer]:
    async with ResponsesServer() as server:
        yield server


@both_ways
async def test_a_conversation_is_condensed_to_items_that_stand_for_it(
    server: ResponsesServer, stream: bool
) -> None:
    client = OpenAIResponsesClient("gpt-5.6", base_url=server.at("text"))
    assert model_info(client, "gpt-5.6").native_compaction
    asked = [Message.user("Remember 7."), Message.assistant("I will."), Message.user("And 8.")]

    condensed = await answered(client, Request(asked, system="Be brief.", compact=True), stream=stream)

    assert server.received[0].path.endswith("/v1/responses/compact")
    assert condensed.stop_reason is StopReason.COMPACTION
    *kept, last = condensed.parts
    assert last == Opaque("openai", COMPACTION)
    following = (condensed.message, Message.user("Which numbers?"))
    await answered(client, Request(following), stream=stream)
    items = [part.data for part in condensed.parts if isinstance(part, Opaque)]
    assert server.received[1].body["input"] == [*items, {"role": "user", "content": "Which numbers?"}]
    assert len(kept) == 2


@both_ways
async def test_the_official_sdk_sends_and_reads_the_same(server: ResponsesServer, stream: bool) -> None:
    client = OpenAIResponsesClient("gpt-5.6", base_url=server.at("search"))
    ours = await answered(client, stream=stream)
    request = server.received[0].body
    async with openai.AsyncOpenAI(base_url=server.at("search"), api_key="none", max_retries=0) as theirs:
        if stream:
            request.pop("stream")
            async with theirs.responses.stream(**request) as events:
                answer: TheirResponse = await events.get_final_response()
        else:
            answer = await theirs.responses.create(**request)

    assert server.received[1].body == server.received[0].body
    assert answer.output_text == ours.content
    assert len(answer.output) == len(ours.parts)
    assert isinstance(ours.parts[0], Thought)
    assert not any(isinstance(part, ToolCall) for part in ours.parts)


@pytest.mark.parametrize("kind", ["response.completed", "response.incomplete"])
def test_words_whose_item_never_completed_are_an_error_or_part_of_an_answer_that_was_cut_off(
    kind: str,
) -> None:
    said = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"}
    ended = {"type": kind, "response": {"output": []}}

    if kind == "response.completed":
        with pytest.raises(MalformedResponseError):
            fed(sse(said), sse(ended))
    else:
        response = fed(sse(said), sse(ended))[1].response
        assert response == Response("Hel", stop_reason=StopReason.MAX_TOKENS, model="gpt", request_id="req_1")


@pytest.mark.parametrize(
    "item", [message("Bye."), reasoning("Hello."), SEARCH], ids=lambda item: item["type"]
)
def test_an_item_that_is_not_what_was_handed_on_is_malformed(item: dict[str, Any]) -> None:
    said = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}

    with pytest.raises(MalformedResponseError):
        fed(sse(said), sse(done))


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("message", [b"\\ud800 broken", b"\xff"])
def test_an_error_in_characters_that_utf8_cannot_carry_is_typed(message: bytes) -> None:
    with pytest.raises(AgentError):
        ResponseAccumulator(EXCHANGE).feed(b'{"type":"error","message":"' + message + b'"}')
