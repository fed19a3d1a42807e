"""A scripted Claude API on this machine, in a process of its own so that its work is not counted.

What it answers is in the prompt: ``loop-50`` asks for a tool in each of fifty turns and then says ``done``, and
``stream-2000`` says two thousand words, each in an event of its own. It reads no more of a request than it has to.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_SCRIPT = re.compile(rb'"(loop|stream)-(\d+)"')
_USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}
_WRITE_BYTES = 32 * 1024


@contextmanager
def model_server() -> Iterator[str]:
    """The base URL of a server that runs for the length of the block."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


def _serve(port: Connection) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(_Conversation, "127.0.0.1", 0, backlog=1024)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


class _Conversation(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head_end = self._received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        length = _LENGTH.search(self._received, 0, head_end + 2)
        assert length is not None
        end = head_end + 4 + int(length[1])
        if len(self._received) < end:
            return
        body = bytes(self._received[head_end + 4 : end])
        del self._received[:end]
        assert self._transport is not None
        for piece in _answer(body):
            self._transport.write(piece)


def _answer(body: bytes) -> list[bytes]:
    script = _SCRIPT.search(body)
    assert script is not None
    count = int(script[2])
    if script[1] == b"stream":
        return _streamed(count)
    turn = body.count(b'"tool_result"')
    if turn == count:
        return [_whole({"type": "text", "text": "done"}, "end_turn")]
    wish = {"type": "tool_use", "id": f"toolu_{turn}", "name": "add", "input": {"a": turn, "b": 1}}
    return [_whole(wish, "tool_use")]


def _whole(block: Mapping[str, object], stop_reason: str) -> bytes:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-bench",
        "content": [block],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": _USAGE,
    }
    body = json.dumps(message, separators=(",", ":")).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _streamed(words: int) -> list[bytes]:
    """The events of a long answer, each in an HTTP chunk of its own, and many of them in one write."""
    said = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": f" word{n % 100}"},
        }
        for n in range(words)
    ]
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-bench"}
    events: list[Mapping[str, object]] = [
        {"type": "message_start", "message": {**begun, "stop_reason": None, "usage": _USAGE}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *said,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": words}},
        {"type": "message_stop"},
    ]
    chunks = b"".join(map(_chunk, events)) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [
        head,
        *(chunks[start : start + _WRITE_BYTES] for start in range(0, len(chunks), _WRITE_BYTES)),
    ]


def _chunk(event: Mapping[str, object]) -> bytes:
    data = f"event: {event['type']}\ndata: {json.dumps(event, separators=(',', ':'))}\n\n".encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
