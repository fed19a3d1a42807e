"""What a stream can make a client keep is bounded, however many times its size parsed JSON takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from random import Random

import pytest

from maverick.exceptions import MalformedResponseError
from maverick.providers import Client
from maverick.providers.claude.client import ClaudeClient
from maverick.providers.http import exchange
from maverick.providers.openai.client import OpenAIResponsesClient
from strict.claude_rules import Body
from strict.claude_server import claude_events
from strict.claude_server import sse as claude_sse
from strict.openai_items import response_events
from strict.openai_items import sse as responses_sse
from strict.reading import RecordingTransport, read

COUNT = 40
LIMIT = 100_000
GROWTH = 30
"""Lists in a list take about 24 times their JSON."""


def claude_stream(block: Body) -> Iterator[bytes]:
    """An answer with many such blocks."""
    message = {"content": [block] * COUNT, "stop_reason": "end_turn", "usage": {"input_tokens": 1}}
    return map(claude_sse, claude_events(message, Random(0)))


def responses_stream(block: Body) -> Iterator[bytes]:
    """An answer with many such items, which its last event need not repeat."""
    response = {"output": [block] * COUNT, "status": "completed", "object": "response"}
    *events, last = response_events(response, Random(0))
    return map(responses_sse, [*events, {**last, "response": {**response, "output": []}}])


def client_of(wire: str, transport: RecordingTransport) -> Client:
    if wire == "claude":
        return ClaudeClient(
            "claude-opus-5-5", api_key="key", base_url="http://localhost", transport=transport
        )
    return OpenAIResponsesClient("gpt-6-sol", api_key="key", base_url="http://localhost", transport=transport)


@pytest.mark.parametrize("wire", ["claude", "openai-responses"])
def test_blocks_that_are_kept_as_they_came_are_refused_before_they_fill_the_memory(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    block: Body = {"type": "hologram", "id": "h", "rows": [[]] * 10_000}
    stream = b"".join((claude_stream if wire == "claude" else responses_stream)(block))
    transport = RecordingTransport()
    client = client_of(wire, transport)
    whole = read(client, transport, stream, streamed=True)
    assert len(whole.parts) == COUNT

    monkeypatch.setattr(exchange, "MAX_KEPT_BYTES", LIMIT)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedResponseError, match="100,000 bytes"):
            read(client, transport, stream, streamed=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(stream) + GROWTH * LIMIT  # the stream comes in one piece, and is copied
