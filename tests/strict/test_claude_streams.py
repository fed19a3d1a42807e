"""Every kind of block that Anthropic's SDK knows is read as the SDK reads it, and goes back as it came."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random
from typing import Any

import httpx2
import pytest
from anthropic.lib.streaming._beta_messages import accumulate_event
from anthropic.types.beta import BetaContentBlock, BetaMessage, BetaUsage
from pydantic import BaseModel

from maverick.model import Response, Text, Thought, ToolCall
from maverick.providers.claude import client as claude
from strict.claude_ledger import canonical
from strict.claude_rules import Body
from strict.claude_server import claude_events, sse
from strict.examples import example_of, members_of
from strict.reading import RecordingTransport, read, said_back

KINDS = members_of(BetaContentBlock)
both_ways = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])


def message_with(*content: Body, usage: Body | None = None) -> Body:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 5, **(usage or {})},
    }


def as_the_sdk_reads(events: Iterable[Body]) -> BetaMessage:
    """What the official SDK makes of a stream."""
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        if event["type"] != "ping":
            snapshot = accumulate_event(
                event=event,  # type: ignore[arg-type]  # it takes JSON, too, and says so in its code
                current_snapshot=snapshot,
                json_bufs=buffers,
                request_headers=httpx2.Headers(),
            )
    assert isinstance(snapshot, BetaMessage)
    return snapshot


def both_readings(message: Body, seed: int, *, streamed: bool) -> tuple[BetaMessage, Response, list[Body]]:
    """The SDK's reading, ours, and the blocks as we would send them back."""
    transport = RecordingTransport()
    client = claude.connect(
        "claude-opus-5-5", api_key="key", base_url="http://localhost", transport=transport
    )
    whole = json.dumps(message).encode()
    if not streamed:
        theirs = BetaMessage.model_validate(message)
        ours = read(client, transport, whole, streamed=False)
    else:
        events = list(claude_events(message, Random(seed)))
        theirs = as_the_sdk_reads(events)
        ours = read(client, transport, b"".join(map(sse, events)), streamed=True)
    sent = said_back(client, transport, ours, whole)
    return theirs, ours, sent["messages"][1]["content"]


@both_ways
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_block_is_read_as_the_sdk_reads_it_and_goes_back_as_it_came(
    kind: type[BaseModel], streamed: bool
) -> None:
    for seed in range(12):
        blocks = [example_of(kind, Random(seed)), {"type": "text", "text": "And so on."}]

        theirs, ours, returned = both_readings(message_with(*blocks), seed, streamed=streamed)

        expected = [block.to_dict() for block in theirs.content]
        assert [canonical(block) for block in returned] == [canonical(block) for block in expected]
        assert ours.content == "".join(block.text for block in theirs.content if block.type == "text")
        assert ours.message.thinking == "".join(
            block.thinking for block in theirs.content if block.type == "thinking"
        )
        calls = [(b.id, b.name, b.input) for b in theirs.content if b.type == "tool_use"]
        assert [(call.id, call.tool_name, call.arguments) for call in ours.tool_calls] == calls


@both_ways
def test_blocks_of_all_kinds_stay_in_order(streamed: bool) -> None:
    for seed in range(20):
        rng = Random(seed)
        blocks = [example_of(kind, rng) for kind in rng.sample(KINDS, k=len(KINDS))]

        theirs, _, returned = both_readings(message_with(*blocks), seed, streamed=streamed)

        assert [canonical(block) for block in returned] == [
            canonical(block.to_dict()) for block in theirs.content
        ]


@both_ways
def test_what_was_used_is_read_as_the_sdk_reads_it(streamed: bool) -> None:
    for seed in range(40):
        usage = example_of(BetaUsage, Random(seed)) | {"iterations": None}
        said = {"type": "text", "text": "Hello."}

        theirs, ours, _ = both_readings(message_with(said, usage=usage), seed, streamed=streamed)

        assert ours.usage.output_tokens == theirs.usage.output_tokens
        assert ours.usage.cache_read_tokens == (theirs.usage.cache_read_input_tokens or 0)
        assert ours.usage.cache_write_tokens == (theirs.usage.cache_creation_input_tokens or 0)


def test_a_block_of_a_kind_that_is_not_known_yet_is_kept() -> None:
    novel: Body = {"type": "hologram", "id": "h1", "rows": [[1, 2], {"deep": None}]}

    _, ours, returned = both_readings(message_with(novel, {"type": "text", "text": "x"}), 0, streamed=True)

    assert returned[0] == novel
    assert not any(isinstance(part, Text | Thought | ToolCall) for part in ours.parts[:1])
