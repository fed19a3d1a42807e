"""An agent with nothing to it: aiohttp, msgspec, and a history that is encoded once. What ours is measured against."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from maverick.tools.function import FunctionTool


class _Text(Struct, tag_field="type", tag="text"):
    text: str


class _Wish(Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any]


class _Message(Struct):
    content: list[_Text | _Wish]
    stop_reason: str


class _Result(Struct, tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: str


class _Delta(Struct):
    text: str = ""


class _Event(Struct):
    delta: _Delta


_encoder = msgspec.json.Encoder()
_messages = msgspec.json.Decoder(_Message)
_events = msgspec.json.Decoder(_Event)

_DELTA = b"event: content_block_delta\ndata: "


class BareAgent:
    """Calls a model and a tool in turns, without limits, errors, events or anything else.

    Args:
        base_url: Where the model is.
        tool: The one tool.
    """

    def __init__(self, base_url: str, tool: FunctionTool[Any, Any]) -> None:
        self._function = tool.function
        self._session = aiohttp.ClientSession(
            base_url,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(600),
            read_bufsize=256 * 1024,
            headers={
                "x-api-key": "any",
                "anthropic-version": "2023-06-01",
                "content-type": "application/json",
            },
        )
        schema = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        request = {"model": "claude-bench", "max_tokens": 1024, "system": "Be brief.", "tools": [schema]}
        self._head = msgspec.json.encode(request)[:-1] + b',"messages":['

    async def run(self, prompt: str) -> str:
        request = bytearray(self._head + b'{"role":"user","content":' + _encoder.encode(prompt) + b"}")
        while True:
            async with self._session.post("/v1/messages", data=bytes(request) + b"]}") as reply:
                reply.raise_for_status()
                message = _messages.decode(await reply.read())
            _append(request, b"assistant", message.content)
            if message.stop_reason != "tool_use":
                return "".join(block.text for block in message.content if isinstance(block, _Text))
            wishes = [block for block in message.content if isinstance(block, _Wish)]
            _append(request, b"user", list(await asyncio.gather(*map(self._call, wishes))))

    async def count_words(self, prompt: str) -> int:
        body = self._head + b'{"role":"user","content":' + _encoder.encode(prompt) + b'}],"stream":true}'
        words: list[str] = []
        rest = b""
        async with self._session.post("/v1/messages", data=body) as reply:
            async for chunk in reply.content.iter_any():
                *events, rest = (rest + chunk).split(b"\n\n")
                words += [
                    _events.decode(event[len(_DELTA) :]).delta.text
                    for event in events
                    if event.startswith(_DELTA)
                ]
        return len(words)

    async def aclose(self) -> None:
        await self._session.close()

    async def _call(self, wish: _Wish) -> _Result:
        return _Result(wish.id, str(await self._function(**wish.input)))


def _append(request: bytearray, role: bytes, content: object) -> None:
    request += b',{"role":"' + role + b'","content":'
    _encoder.encode_into(content, request, len(request))
    request += b"}"
