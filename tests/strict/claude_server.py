"""A Claude Messages API on this machine that refuses what Anthropic's refuses.

It speaks from an :class:`Author`: a function of the request that says what the model answers. What it answers it signs
and notes, so that the next request is held to it::

    async with StrictClaude(author) as service:
        client = connect("claude:claude-opus-5-5", base_url=service.url, api_key="key")
    assert service.refused == []
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from types import TracebackType
from typing import Self, TypeAlias

from aiohttp import web

from strict.claude_ledger import ClaudeLedger
from strict.claude_rules import BINDING_BETA, Body, RefusedError, check_request


@dataclass(frozen=True)
class Said:
    """What a model answers: blocks as the API has them, but for what only the service can fill in."""

    content: list[Body]
    stop_reason: str = "end_turn"
    usage: Body = field(default_factory=dict)


Author: TypeAlias = Callable[[Body], Said]


class StrictClaude:
    """The service, on a free port of this machine, for the length of an ``async with`` block.

    Args:
        author: What the model answers.
        seed: Decides where a stream is cut into pieces, and where pings come.
        failing: How often it is overloaded, from 0 to 1.
    """

    def __init__(self, author: Author, *, seed: int = 0, failing: float = 0) -> None:
        self._author = author
        self._failing = failing
        self._rng = Random(seed)
        self._ids = count(1)
        self._runner: web.AppRunner | None = None
        self.url = ""
        """Where it is."""
        self.ledger = ClaudeLedger()
        """What it issued."""
        self.accepted: list[Body] = []
        """The requests that it took."""
        self.refused: list[str] = []
        """Why it refused others."""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _count(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"input_tokens": len(await request.read()) // 4})

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        if self._rng.random() < self._failing:
            error = {"type": "overloaded_error", "message": "Overloaded"}
            return web.json_response({"type": "error", "error": error}, status=529)
        try:
            message = self._answer(request, raw)
        except RefusedError as refusal:
            self.refused.append(refusal.message)
            error = {"type": refusal.kind, "message": refusal.message}
            return web.json_response({"type": "error", "error": error}, status=refusal.status)
        if not json.loads(raw).get("stream"):
            return web.json_response(message)
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": "req_1"})
        await response.prepare(request)
        for piece in self._pieces(b"".join(map(sse, claude_events(message, self._rng)))):
            await response.write(piece)
        return response

    def _answer(self, request: web.Request, raw: bytes) -> Body:
        try:
            body: Body = json.loads(raw)
        except ValueError as error:
            raise RefusedError("The request body is not valid JSON") from error
        rules = check_request(request.headers, len(raw), body)
        conversation = self.ledger.check(rules, body)
        self.accepted.append(body)
        said = Said([_COMPACTED], "compaction") if body.get("compaction") else self._author(body)
        content = [self._signed(block) for block in said.content]
        self.ledger.issue(conversation, body, content, said.stop_reason)
        message = {
            "id": f"msg_{next(self._ids)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": said.stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": len(raw) // 4, "output_tokens": 9, **said.usage},
        }
        if BINDING_BETA in request.headers.get("anthropic-beta", ""):
            message["input_transformations"] = [
                {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
                for path in conversation.dropped
            ]
        return message

    def _signed(self, block: Body) -> Body:
        """The block with the signature that only the service can make."""
        number = next(self._ids)
        match block["type"]:
            case "thinking":
                return {**block, "signature": f"sig-{number:06d}-{'x' * 40}"}
            case "redacted_thinking":
                return {**block, "data": f"redacted-{number:06d}"}
            case "compaction":
                return {**block, "content": f"Summary {number}.", "signature": f"compaction-{number:06d}"}
        return block

    def _pieces(self, whole: bytes) -> Iterator[bytes]:
        place = 0
        while place < len(whole):
            size = self._rng.choice((7, 100, 1_000, 100_000))
            yield whole[place : place + size]
            place += size


def claude_events(message: Body, rng: Random) -> Iterator[Body]:
    """A message as the events of a stream."""
    usage = {**message["usage"], "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": usage},
    }
    for index, block in enumerate(message["content"]):
        start, deltas = _split(block, rng)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            if rng.random() < 0.1:
                yield {"type": "ping"}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    yield {"type": "message_stop"}


_COMPACTED: Body = {"type": "compaction", "content": "", "encrypted_content": None, "tool_changes": []}


def _split(block: Body, rng: Random) -> tuple[Body, list[Body]]:
    """The block as a stream brings it: how it begins, and what is added to it."""
    match block["type"]:
        case "text":
            cited = [{"type": "citations_delta", "citation": one} for one in block.get("citations") or []]
            start = {**block, "text": ""} | ({"citations": []} if cited else {})
            return start, cited + [{"type": "text_delta", "text": bit} for bit in _bits(block["text"], rng)]
        case "thinking":
            thoughts = [{"type": "thinking_delta", "thinking": bit} for bit in _bits(block["thinking"], rng)]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            whole = json.dumps(block["input"]) if block["input"] else ""
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": bit} for bit in ["", *_bits(whole, rng)]
            ]
        case "compaction":
            brought = {name: block.get(name) for name in ("content", "encrypted_content")}
            return {**block, "content": None}, [{"type": "compaction_delta", **brought}]
    return block, []


def _bits(text: str, rng: Random) -> list[str]:
    size = rng.choice((3, 11, 1_000))
    return [text[place : place + size] for place in range(0, len(text), size)]


def sse(event: Body) -> bytes:
    """An event as it is sent."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
