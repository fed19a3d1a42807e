"""How Vertex and Bedrock carry the Messages API: the model is in the path, and Bedrock frames events in its own way."""

from __future__ import annotations

import base64
import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar
from zlib import crc32

from aiohttp import web

from wire.claude_answers import sse

VERTEX_PATH = "/projects/{project}/locations/{location}/publishers/anthropic/models/{model}:{method}"
BEDROCK_PATH = "/model/{model}/{method}"

_BEDROCKS_STREAM = "invoke-with-response-stream"


def body_of(request: web.Request, raw: bytes) -> dict[str, Any]:
    """The request as the Messages API itself would have got it."""
    body: dict[str, Any] = json.loads(raw)
    path = request.match_info
    if "model" in path:
        body["model"] = path["model"]
        body.setdefault("stream", path["method"] == _BEDROCKS_STREAM)
    return body


class Framing(ABC):
    """How the events of a stream are sent."""

    content_type: ClassVar[str]

    @abstractmethod
    def event(self, event: dict[str, Any]) -> bytes:
        """An event."""

    @abstractmethod
    def delta(self, data: bytes) -> bytes:
        """A delta with this data, whatever it is."""

    @abstractmethod
    def error(self, body: dict[str, Any]) -> bytes:
        """The news that something went wrong."""


class ServerSentEvents(Framing):
    """As the API and Vertex send them."""

    content_type = "text/event-stream; charset=utf-8"

    def event(self, event: dict[str, Any]) -> bytes:
        return sse(event)

    def delta(self, data: bytes) -> bytes:
        return b"event: content_block_delta\ndata: " + data + b"\n\n"

    def error(self, body: dict[str, Any]) -> bytes:
        return sse(body)


class AmazonEventStream(Framing):
    """As Bedrock sends them."""

    content_type = "application/vnd.amazon.eventstream"

    def event(self, event: dict[str, Any]) -> bytes:
        return self.delta(json.dumps(event).encode())

    def delta(self, data: bytes) -> bytes:
        payload = json.dumps({"bytes": base64.b64encode(data).decode(), "p": "abcdefghijkl"}).encode()
        return _frame({":event-type": "chunk", ":message-type": "event"}, payload)

    def error(self, body: dict[str, Any]) -> bytes:
        payload = json.dumps({"message": body["error"]["message"]}).encode()
        return _frame({":exception-type": "throttlingException", ":message-type": "exception"}, payload)


def framing_of(request: web.Request) -> Framing:
    """How the answer to a request is framed, if it is streamed."""
    method = request.match_info.get("method")
    return AmazonEventStream() if method == _BEDROCKS_STREAM else ServerSentEvents()


def _frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """A message of Amazon's event stream encoding: lengths, headers and payload, with their checksums."""
    encoded = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for name, value in {**headers, ":content-type": "application/json"}.items()
    )
    prelude = struct.pack("!II", 16 + len(encoded) + len(payload), len(encoded))
    message = prelude + struct.pack("!I", crc32(prelude)) + encoded + payload
    return message + struct.pack("!I", crc32(message))
