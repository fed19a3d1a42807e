"""An answer of the Claude Messages API, from its bytes. No I/O here.

Blocks of a kind this module does not know are passed over: the API adds new ones at any time. What it knows has to be
right, or a :class:`~maverick.exceptions.MalformedResponseError` says so. The one exception is what the model itself
writes: tool arguments that are not a JSON object make a ``ToolCall`` that says ``malformed``.

:mod:`~maverick.providers.claude_stream` puts the same answer together from events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct

from maverick.model import Part, Price, Response, StopReason, Text, Thinking, ToolCall, Usage
from maverick.providers.claude_errors import malformed, reported_error
from maverick.providers.prices import PriceTable
from maverick.providers.wire_json import BAD_JSON, decode, encode

_STOP_REASONS: Mapping[str | None, StopReason] = {
    "end_turn": StopReason.COMPLETE,
    "stop_sequence": StopReason.COMPLETE,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
    "model_context_window_exceeded": StopReason.CONTEXT_OVERFLOW,
}

_CUT_SHORT = frozenset({StopReason.MAX_TOKENS, StopReason.CONTEXT_OVERFLOW})

_KNOWN_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


_Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**53)]
"""A number of tokens; what is negative or astronomical is no count, and budgets must not be charged with it."""


class WireUsage(Struct, frozen=True):
    """The counts of an answer, as far as it gives them."""

    input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    cache_read_input_tokens: _Count | None = None
    cache_creation_input_tokens: _Count | None = None


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


class Exchange(Struct, frozen=True):
    """What is known of an answer before its first byte of content."""

    model: str
    """The model that was asked for."""
    headers: Mapping[str, str]
    """The headers of the answer."""
    prices: PriceTable
    """What models cost."""

    @property
    def request_id(self) -> str:
        """The API's id of the exchange."""
        return self.headers.get("request-id", "")

    def response(
        self, parts: Iterable[Part], stop_reason: str | None, model: str, usage: WireUsage
    ) -> Response:
        """The answer, once all of it is known.

        Raises:
            MalformedResponseError: It calls a tool without a name, which the API would not take back.
        """
        parts = tuple(parts)
        if any(type(part) is ToolCall and not part.tool_name for part in parts):
            raise malformed("a call of a tool that has no name", b"", self.request_id)
        stop = _STOP_REASONS.get(stop_reason)
        if stop in _CUT_SHORT:
            parts = without_a_half_call(parts)
        price = self.prices.find(self.model).price or self.prices.find(model).price
        return Response(
            parts, usage=_used(usage, price), stop_reason=stop, model=model, request_id=self.request_id
        )


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
    parts = [part for block in message.content if (part := part_of(block)) is not None]
    return exchange.response(parts, message.stop_reason, message.model or exchange.model, message.usage)


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
        raise malformed("a content block that is not valid", data, exchange.request_id) from None
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


def without_a_half_call(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of an answer that was cut short: a call at its end may lack arguments even if its JSON is valid."""
    whole = list(parts)
    last = whole[-1] if whole else None
    if isinstance(last, ToolCall) and not last.malformed:
        whole[-1] = ToolCall(last.id, last.tool_name, malformed=encode(last.arguments).decode())
    return tuple(whole)


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
        reported = reported_error(body, exchange.headers)
        raise reported or malformed("something other than a message", body, exchange.request_id) from None
    blocks = [read_block(raw, exchange) for raw in message.content]
    return _Message(blocks, message.stop_reason, message.model, message.usage)


def _used(wire: WireUsage, price: Price | None) -> Usage:
    """The counts in our sense: the API counts cached tokens apart from the input, we count them as part of it."""
    cache_read = wire.cache_read_input_tokens or 0
    cache_write = wire.cache_creation_input_tokens or 0
    counts = (
        (wire.input_tokens or 0) + cache_read + cache_write,
        wire.output_tokens or 0,
        cache_read,
        cache_write,
    )
    return Usage(*counts, cost_usd=None if price is None else price.cost(Usage(*counts)))
