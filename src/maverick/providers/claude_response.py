"""An answer of the Claude Messages API, from its bytes. No I/O here.

Blocks of a kind this module does not know are passed over: the API adds new ones at any time. What it knows has to be
right, or a :class:`~maverick.exceptions.MalformedResponseError` says so. The one exception is what the model itself
writes: tool arguments that are not a JSON object make a ``ToolCall`` that says ``malformed``.

:mod:`~maverick.providers.claude_stream` puts the same answer together from events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from maverick.model import Part, Response, StopReason, Text, Thinking, ToolCall, Usage
from maverick.providers.exchange import Exchange
from maverick.providers.wire_json import BAD_JSON, TokenCount, decode, encode

_STOP_REASONS: Mapping[str | None, StopReason] = {
    "end_turn": StopReason.COMPLETE,
    "stop_sequence": StopReason.COMPLETE,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
    "model_context_window_exceeded": StopReason.CONTEXT_OVERFLOW,
}

_KNOWN_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


class WireUsage(Struct, frozen=True):
    """The counts of an answer, as far as it gives them."""

    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None


class WireBlock(Struct, frozen=True):
    """A content block of any kind; each kind uses some of the fields."""

    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    input: Any = None


PASSED_OVER = WireBlock("")
"""A block of a kind that is not known."""


class _Message(Struct, frozen=True):
    content: list[WireBlock]
    stop_reason: str | None = None
    model: str = ""
    usage: WireUsage = WireUsage()


class _RawMessage(Struct, frozen=True):
    content: list[Raw]
    stop_reason: str | None = None
    model: str = ""
    usage: WireUsage = WireUsage()


class _Kind(Struct, frozen=True):
    type: str


_messages = msgspec.json.Decoder(_Message)
_raw_messages = msgspec.json.Decoder(_RawMessage)
_blocks = msgspec.json.Decoder(WireBlock)
_kinds = msgspec.json.Decoder(_Kind)


def read_message(body: bytes, exchange: Exchange) -> Response:
    """The answer in a body that came as a whole.

    Raises:
        MalformedResponseError: The body is something else.
        ProviderError: The body reports a failure.
    """
    try:
        message = _messages.decode(body)
    except BAD_JSON:
        message = _read_unusual_message(body, exchange)
    parts = (part for block in message.content if (part := part_of(block)) is not None)
    return response_of(exchange, parts, message.stop_reason, message.model, message.usage)


def response_of(
    exchange: Exchange, parts: Iterable[Part], stop_reason: str | None, model: str, usage: WireUsage
) -> Response:
    """The answer, once all of it is known. The API counts cached tokens apart from the input, we as part of it."""
    cache_read = usage.cache_read_input_tokens or 0
    cache_write = usage.cache_creation_input_tokens or 0
    counts = Usage(
        (usage.input_tokens or 0) + cache_read + cache_write,
        usage.output_tokens or 0,
        cache_read,
        cache_write,
    )
    return exchange.response(parts, counts, _STOP_REASONS.get(stop_reason), model)


def read_block(raw: Raw, exchange: Exchange) -> WireBlock:
    """A content block.

    Raises:
        MalformedResponseError: It is of a known kind, and not as it should be.
    """
    data = bytes(raw)
    try:
        block = decode(data, _blocks)
    except BAD_JSON:
        if is_of_a_new_kind(data, _KNOWN_BLOCKS):
            return PASSED_OVER
        raise exchange.malformed("a content block that is not valid", data) from None
    return block if block.type in _KNOWN_BLOCKS else PASSED_OVER


def part_of(block: WireBlock) -> Part | None:
    """The part that a block makes; ``None`` for an empty one and for one of a kind that is not known."""
    kind = block.type
    if kind == "tool_use":
        arguments = block.input
        if type(arguments) is dict:
            return ToolCall(block.id, block.name, arguments)
        return ToolCall(block.id, block.name, malformed=encode(arguments).decode())
    if kind == "text":
        return Text(block.text) if block.text else None
    if kind == "thinking":
        return Thinking(block.thinking, block.signature)
    return Thinking("", redacted=block.data) if kind == "redacted_thinking" else None


def is_of_a_new_kind(data: bytes, known: frozenset[str]) -> bool:
    """Whether this is JSON with a ``type`` that is not among the known ones."""
    try:
        return decode(data, _kinds).type not in known
    except BAD_JSON:
        return False


def _read_unusual_message(body: bytes, exchange: Exchange) -> _Message:
    """Read a message that is not of the usual form: mend its text, and pass over blocks of a new kind."""
    try:
        message = decode(body, _raw_messages)
    except BAD_JSON:
        raise exchange.no_answer("something other than a message", body) from None
    blocks = [read_block(raw, exchange) for raw in message.content]
    return _Message(blocks, message.stop_reason, message.model, message.usage)
