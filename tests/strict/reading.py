"""Has a client read bytes that a service might send, and say them back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fuzz.prepared import Answer, PreparedReply, PreparedTransport, completed
from maverick.model import Message, Request, Response
from maverick.providers import Client
from maverick.providers.client import open_stream

ASKED = Message.user("Go on.")


class RecordingTransport(PreparedTransport):
    """Brings a prepared answer, and keeps what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: dict[str, Any] = {}

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Iterable[bytes] = ()
    ) -> PreparedReply:
        self.sent = json.loads(b"".join(body))
        return await super().request(method, url, headers=headers, body=())


def read(client: Client, transport: RecordingTransport, data: bytes, *, streamed: bool) -> Response:
    """What a client makes of an answer."""
    kind = "text/event-stream" if streamed else "application/json"
    transport.answer = Answer([data], headers={"content-type": kind})
    return completed(_listen(client) if streamed else client.run(Request([ASKED])))


def said_back(
    client: Client, transport: RecordingTransport, response: Response, data: bytes
) -> dict[str, Any]:
    """The request in which the answer goes back to where it came from."""
    transport.answer = Answer([data], headers={"content-type": "application/json"})
    completed(client.run(Request([ASKED, response.message, ASKED])))
    return transport.sent


async def _listen(client: Client) -> Response:
    async with open_stream(client, Request([ASKED])) as stream:
        items = [item async for item in stream]
    assert isinstance(items[-1], Response)
    return items[-1]
