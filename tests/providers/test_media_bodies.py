"""A large image in a conversation: it goes out with every turn, and is encoded and copied in none but the first."""

from __future__ import annotations

import asyncio
import json
import os
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from maverick.model import Blob, History, Image, Message, Request, ToolCall
from maverick.providers.claude.request import RequestEncoder
from maverick.providers.http.aiohttp_transport import AiohttpTransport

TURNS = 5
MOST_BYTES = 2 * 1024 * 1024
"""What a turn may allocate while it sends an image of more than five times that size."""


@dataclass
class Sink:
    """Counts the bytes of requests and keeps none, so that what is allocated is the sender's."""

    url: str = ""
    received: int = 0


@asynccontextmanager
async def sink() -> AsyncIterator[Sink]:
    sink = Sink()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await head_of(reader):
            (length,) = (
                int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"
            )
            while length:
                chunk = await reader.read(min(length, 65536))
                length -= len(chunk)
                sink.received += len(chunk)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()

    tasks: set[asyncio.Task[None]] = set()
    server = await asyncio.start_server(
        lambda r, w: tasks.add(asyncio.ensure_future(serve(r, w))), "127.0.0.1", 0, limit=65536
    )
    async with server:
        sink.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield sink
        await asyncio.gather(*tasks, return_exceptions=False)


async def head_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def conversation(image: Image, turns: int) -> list[History]:
    history = History([Message.user(["What is on the shelf?", image, "Be brief."])])
    views = [history]
    for turn in range(turns - 1):
        call = ToolCall(f"call_{turn}", "look", {"closer": True})
        result = Message.tool_result(call.id, "a \0 book, \\u0000 and a \ud83d vase")
        history = history.extended(Message.assistant([call]), result)
        views.append(history)
    return views


async def test_each_turn_sends_the_same_bytes_of_an_image_and_copies_none() -> None:
    image = Image(media_type="image/png", blob=Blob(os.urandom(7_500_000)))
    assert image.blob is not None
    encoded = image.blob.base64
    encoder = RequestEncoder()
    allocated = []

    transport = AiohttpTransport()
    async with sink() as server:
        for messages in conversation(image, TURNS):
            tracemalloc.start()
            body = encoder.encode(Request(messages), model="m", stream=False)
            with await transport.request("POST", server.url, headers={}, body=body) as reply:
                assert await reply.read() == b"{}"
            allocated.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert any(piece is encoded for piece in body)
        await transport.aclose()

    assert server.received > TURNS * len(encoded)
    assert max(allocated) < MOST_BYTES


@pytest.mark.parametrize("turns", [1, 3, 80])
def test_a_body_with_images_is_the_json_that_it_stands_for(turns: int) -> None:
    image = Image(media_type="image/png", blob=Blob(b"tiny"))
    messages = conversation(image, turns)[-1]
    if turns > 1:
        messages = messages.extended(Message.user([image, "And this one?"]))
    encoder = RequestEncoder()

    body: dict[str, Any] = json.loads(b"".join(encoder.encode(Request(messages), model="m", stream=True)))

    assert image.blob is not None
    (first,) = (block for block in body["messages"][0]["content"] if block["type"] == "image")
    assert first["source"]["data"] == image.blob.base64.decode()
    if turns > 1:
        result, again, _ = body["messages"][-1]["content"]
        assert result["content"] == "a \0 book, \\u0000 and a \ufffd vase"
        assert again["source"] == first["source"]
