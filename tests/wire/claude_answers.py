"""Answers of the Claude Messages API as the API sends them: one JSON body, or a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

REQUEST_ID = "req_test_1"
USAGE = {
    "input_tokens": 100,
    "output_tokens": 42,
    "cache_read_input_tokens": 11,
    "cache_creation_input_tokens": 7,
}
"""What every answer says it used: 118 tokens of input altogether."""

_EMPTY: Mapping[str, dict[str, Any]] = {
    "text": {"text": "", "citations": None},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
    "mcp_tool_use": {"input": {}},
}


@dataclass(frozen=True)
class Answer:
    """What the model says, for either form."""

    content: list[dict[str, Any]]
    stop_reason: str = "end_turn"
    arguments: Mapping[int, str] = field(default_factory=dict)
    """The JSON to stream as the arguments of the tool call at an index, when it is not that of its input."""
    piece: int = 12
    """How many characters a delta has."""

    def message(self, model: str) -> dict[str, Any]:
        """The answer as one body."""
        return {
            "id": "msg_test_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": self.content,
            "stop_reason": self.stop_reason,
            "stop_sequence": None,
            "usage": USAGE,
        }

    def events(self, model: str) -> Iterator[dict[str, Any]]:
        """The answer as events, with a ping among them as the API sends it."""
        beginning: dict[str, Any] = {
            "content": [],
            "stop_reason": None,
            "usage": {**USAGE, "output_tokens": 1},
        }
        yield {"type": "message_start", "message": self.message(model) | beginning}
        yield {"type": "ping"}
        for index, block in enumerate(self.content):
            begun = block | _EMPTY.get(block["type"], {})
            yield {"type": "content_block_start", "index": index, "content_block": begun}
            for delta in self._deltas(index, block):
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": self.stop_reason, "stop_sequence": None},
            "usage": {"output_tokens": USAGE["output_tokens"]},
        }
        yield {"type": "message_stop"}

    def _deltas(self, index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if block["type"] == "text":
            yield from ({"type": "text_delta", "text": piece} for piece in self._pieces(block["text"]))
            for citation in block.get("citations") or ():
                yield {"type": "citations_delta", "citation": citation}
        elif block["type"] == "thinking":
            for piece in self._pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        elif block["type"].endswith("tool_use"):
            arguments = self.arguments.get(index, json.dumps(block["input"]))
            for piece in self._pieces(arguments):
                yield {"type": "input_json_delta", "partial_json": piece}

    def _pieces(self, text: str) -> Iterator[str]:
        return (text[start : start + self.piece] for start in range(0, len(text), self.piece))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "citations": None}


def thinking(words: str, signature: str = "c2lnbmVk") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def redacted(data: str) -> dict[str, Any]:
    return {"type": "redacted_thinking", "data": data}


def tool_use(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments, "caller": {"type": "direct"}}


def sse(event: dict[str, Any]) -> bytes:
    """An event as it is on the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def error_body(kind: str, message: str) -> dict[str, Any]:
    """What the API says when something is wrong."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": REQUEST_ID}
