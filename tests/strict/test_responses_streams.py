"""Every kind of item that OpenAI's SDK knows is read as the SDK reads it, and goes back as it came."""

from __future__ import annotations

import json
import re
from random import Random
from typing import get_args

import pytest
from openai.types.responses import Response as SdkResponse
from openai.types.responses import ResponseOutputItem, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from maverick.model import Response
from maverick.providers.openai.client import OpenAIResponsesClient
from strict.examples import example_of, members_of
from strict.openai_items import response_events, sse
from strict.openai_ledger import canonical
from strict.openai_rules import Body
from strict.reading import RecordingTransport, read, said_back

KINDS = members_of(ResponseOutputItem)
EVENTS: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
TELLING = re.compile(
    r"error|response\.(completed|failed|incomplete|output_item\..*|function_call_arguments\.delta|"
    r"(output_text|refusal|reasoning_text|reasoning_summary_text)\.delta|reasoning_summary_part\.added)"
)
QUIET = [
    kind
    for kind in members_of(ResponseStreamEvent)
    if not TELLING.fullmatch(get_args(kind.model_fields["type"].annotation)[0])
]
both_ways = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])


def response_with(*output: Body) -> Body:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-6-sol",
        "status": "completed",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 11,
            "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 18,
        },
    }


def example(kind: type[BaseModel], seed: int) -> Body:
    """An item; the arguments of a call are JSON, which the type does not say."""
    item: Body = example_of(kind, Random(seed))
    if item["type"] == "function_call":
        item |= {"arguments": json.dumps({"a": [seed]}), "status": "completed", "id": f"fc_{seed}"}
    if item["type"] == "message":
        item |= {"role": "assistant", "status": "completed"}
    return item


def read_stream(events: list[Body]) -> Response:
    transport = RecordingTransport()
    client = OpenAIResponsesClient(
        "gpt-6-sol", api_key="key", base_url="http://localhost", transport=transport
    )
    return read(client, transport, b"".join(map(sse, events)), streamed=True)


def both_readings(response: Body, seed: int, *, streamed: bool) -> tuple[SdkResponse, Response, list[Body]]:
    """The SDK's reading, ours, and the items as we would send them back."""
    transport = RecordingTransport()
    client = OpenAIResponsesClient(
        "gpt-6-sol", api_key="key", base_url="http://localhost", transport=transport
    )
    whole = json.dumps(response).encode()
    if streamed:
        events = list(response_events(response, Random(seed)))
        last = [EVENTS.validate_json(json.dumps(event)) for event in events][-1]
        assert last.type == "response.completed"
        theirs, ours = (
            last.response,
            read(client, transport, b"".join(map(sse, events)), streamed=True),
        )
    else:
        theirs, ours = SdkResponse.model_validate(response), read(client, transport, whole, streamed=False)
    said = json.dumps(response_with()).encode()
    return theirs, ours, said_back(client, transport, ours, said)["input"][1:-1]


@both_ways
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_item_is_read_as_the_sdk_reads_it_and_goes_back_as_it_came(
    kind: type[BaseModel], streamed: bool
) -> None:
    words = {"type": "output_text", "text": "And so on.", "annotations": []}
    last = {"id": "msg_9", "type": "message", "role": "assistant", "status": "completed", "content": [words]}
    for seed in range(8):
        item = example(kind, seed)

        theirs, ours, returned = both_readings(response_with(item, last), seed, streamed=streamed)

        assert [canonical(sent) for sent in returned] == [
            canonical(read.to_dict(mode="json")) for read in theirs.output
        ]
        assert ours.content.endswith(theirs.output_text[-len("And so on.") :])
        calls = [(read.call_id, read.name) for read in theirs.output if read.type == "function_call"]
        assert [(call.id, call.tool_name) for call in ours.tool_calls] == calls


@pytest.mark.parametrize("kind", QUIET, ids=lambda kind: kind.__name__)
def test_an_event_that_only_tells_of_progress_changes_nothing(kind: type[BaseModel]) -> None:
    words = {"type": "output_text", "text": "Done.", "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [words]}
    for seed in range(8):
        events = list(response_events(response_with(item), Random(seed)))
        event = example_of(kind, Random(seed)) | {"output_index": 0, "item_id": "msg_1"}
        EVENTS.validate_json(json.dumps(event))

        ours = [read_stream([*events[:place], event, *events[place:]]) for place in range(1, len(events))]

        assert ours == [read_stream(events)] * len(ours)


@both_ways
def test_what_was_used_is_read_as_the_sdk_reads_it(streamed: bool) -> None:
    theirs, ours, _ = both_readings(response_with(), 0, streamed=streamed)

    assert theirs.usage is not None
    assert ours.usage.output_tokens == theirs.usage.output_tokens
    assert ours.usage.cache_read_tokens == theirs.usage.input_tokens_details.cached_tokens
