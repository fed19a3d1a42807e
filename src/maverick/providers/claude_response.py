"""An answer of the Claude Messages API, from its bytes: whole, or event by event. No I/O here.

Blocks and events of a kind this module does not know are passed over: the API adds new ones at any time. What it
knows has to be right, or a :class:`~maverick.exceptions.MalformedResponseError` says so. The one exception is what
the model itself writes: tool arguments that are not a JSON object make a ``ToolCall`` that says ``malformed``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw, Struct

from maverick.model import (
    Message,
    Part,
    Response,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from maverick.providers.claude_errors import malformed, reported_error
from maverick.providers.prices import PriceTable
from maverick.providers.wire_json import BAD_JSON, decode, decode_object, encode

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


class _Usage(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Block(Struct, frozen=True):
    """A content block of any kind; each kind uses some of the fields."""

    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"")


class _Message(Struct, frozen=True):
    content: list[Raw]
    stop_reason: str | None = None
    model: str = ""
    usage: _Usage = _Usage()


class _Start(Struct, frozen=True):
    model: str = ""
    usage: _Usage = _Usage()


class _Delta(Struct, frozen=True, gc=False):
    """What a delta adds, of any kind; each kind uses one of the fields."""

    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: str = ""
    stop_reason: str | None = None


class _Event(Struct, frozen=True):
    """An event of any kind; each kind uses some of the fields."""

    type: str
    index: int = 0
    delta: _Delta = _Delta()
    content_block: Raw = Raw(b"")
    message: _Start = _Start()
    usage: _Usage = _Usage()


class _Kind(Struct, frozen=True):
    type: str


_messages = msgspec.json.Decoder(_Message)
_blocks = msgspec.json.Decoder(_Block)
_events = msgspec.json.Decoder(_Event)
_kinds = msgspec.json.Decoder(_Kind)

_KNOWN_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_KNOWN_EVENTS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
    }
)
_PASSED_OVER = "something this module does not know"


@dataclass(frozen=True, slots=True)
class Exchange:
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

    def response(self, parts: Iterable[Part], stop_reason: str | None, model: str, usage: _Usage) -> Response:
        """The answer, once all of it is known."""
        stop = _STOP_REASONS.get(stop_reason)
        parts = tuple(parts)
        if stop in _CUT_SHORT:
            parts = _without_a_half_call(parts)
        price = self.prices.find(self.model).price or self.prices.find(model).price
        used = _usage(usage)
        if price is not None:
            used = msgspec.structs.replace(used, cost_usd=price.cost(used))
        return Response(parts, usage=used, stop_reason=stop, model=model, request_id=self.request_id)


def read_message(body: bytes, exchange: Exchange) -> Response:
    """The answer in a body that came as a whole.

    Raises:
        MalformedResponseError: The body is something else.
        ProviderError: The body reports a failure.
    """
    try:
        message = decode(body, _messages)
    except BAD_JSON:
        reported = reported_error(body, exchange.headers)
        raise reported or malformed("something other than a message", body, exchange.request_id) from None
    blocks = [_read_block(raw, exchange) for raw in message.content]
    parts = [part for block in blocks if (part := _part(block, bytes(block.input))) is not None]
    return exchange.response(parts, message.stop_reason, message.model or exchange.model, message.usage)


class MessageStream:
    """Puts an answer together from its events.

    Args:
        exchange: What is known of the answer.
    """

    __slots__ = ("_blocks", "_exchange", "_model", "_started", "_stop_reason", "_usage", "response")

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._started = False
        self._model = exchange.model
        self._usage = _Usage()
        self._stop_reason: str | None = None
        self._blocks: dict[int, _OpenBlock] = {}
        self.response: Response | None = None
        """The whole answer, once its last event has come."""

    def feed(self, data: bytes) -> TextDelta | ThinkingDelta | None:
        """Take the data of the next event; return the words it adds, if any.

        Raises:
            MalformedResponseError: The event is not one of the API's, or is not due now.
            ProviderError: The event reports a failure.
        """
        try:
            event = _events.decode(data)
        except BAD_JSON:
            event = self._read_unusual(data)
        if event.type == "content_block_delta":
            return self._add(event, data)
        if event.type == "content_block_start":
            return self._open(event, data)
        if event.type == "message_start":
            self._start(event, data)
        elif event.type == "message_delta":
            self._stop_reason = event.delta.stop_reason
            self._usage = _merged(self._usage, event.usage)
        elif event.type == "message_stop":
            self._finish(data)
        elif event.type == "error":
            raise reported_error(data, self._exchange.headers) or self._malformed("an unknown error", data)
        return None

    def partial_messages(self) -> list[Message]:
        """What has arrived of the answer, for an error to carry; a call that may be incomplete is marked as such."""
        parts = _without_a_half_call(tuple(self._parts()))
        return [Message.assistant(parts)] if parts else []

    def _start(self, event: _Event, data: bytes) -> None:
        if self._started:
            raise self._malformed("a second beginning in the same stream", data)
        self._started = True
        self._model = event.message.model or self._model
        self._usage = event.message.usage

    def _open(self, event: _Event, data: bytes) -> TextDelta | ThinkingDelta | None:
        if not self._started or event.index in self._blocks:
            raise self._malformed("a content block that was not due", data)
        block = _read_block(event.content_block, self._exchange)
        self._blocks[event.index] = _OpenBlock(block)
        if block.text:
            return TextDelta(block.text)
        return ThinkingDelta(block.thinking) if block.thinking else None

    def _add(self, event: _Event, data: bytes) -> TextDelta | ThinkingDelta | None:
        block = self._blocks.get(event.index)
        if block is None:
            raise self._malformed("a piece of a content block that had not begun", data)
        delta = event.delta
        if delta.text:
            block.pieces.append(delta.text)
            return TextDelta(delta.text)
        if delta.partial_json:
            block.pieces.append(delta.partial_json)
        elif delta.thinking:
            block.pieces.append(delta.thinking)
            return ThinkingDelta(delta.thinking)
        elif delta.signature:
            block.signature += delta.signature
        return None

    def _finish(self, data: bytes) -> None:
        if not self._started:
            raise self._malformed("the end of a message that had not begun", data)
        self.response = self._exchange.response(self._parts(), self._stop_reason, self._model, self._usage)

    def _parts(self) -> Iterable[Part]:
        return (part for block in self._blocks.values() if (part := block.part()) is not None)

    def _read_unusual(self, data: bytes) -> _Event:
        """Read an event that is not of the usual form: mend its text, or pass it over if it is of a new kind."""
        try:
            return decode(data, _events)
        except BAD_JSON:
            if _is_of_a_new_kind(data, _KNOWN_EVENTS):
                return _Event(_PASSED_OVER)
            raise self._malformed("an event that is not valid", data) from None

    def _malformed(self, what: str, data: bytes) -> Exception:
        return malformed(what, data, self._exchange.request_id)


@dataclass(slots=True)
class _OpenBlock:
    """A content block that is still arriving."""

    begun: _Block
    pieces: list[str] = field(default_factory=list)
    signature: str = ""

    def part(self) -> Part | None:
        """The part that the block makes, as far as it has arrived."""
        begun, added = self.begun, "".join(self.pieces)
        whole = msgspec.structs.replace(
            begun,
            text=begun.text + added,
            thinking=begun.thinking + added,
            signature=begun.signature + self.signature,
        )
        return _part(whole, added.encode() or bytes(begun.input))


def _part(block: _Block, arguments: bytes) -> Part | None:
    """The part that a block makes; ``None`` for an empty one and for one of a kind that is passed over."""
    if block.type == "text":
        return Text(block.text) if block.text else None
    if block.type == "tool_use":
        return _tool_call(block, arguments)
    if block.type == "thinking":
        return Thinking(block.thinking, block.signature)
    if block.type == "redacted_thinking":
        return Thinking("", redacted=block.data)
    return None


def _tool_call(block: _Block, arguments: bytes) -> ToolCall:
    """The call, whatever the model wrote as its arguments; none at all are an empty object."""
    parsed = decode_object(arguments or b"{}")
    if parsed is None:
        return ToolCall(block.id, block.name, malformed=arguments.decode("utf-8", "replace"))
    return ToolCall(block.id, block.name, parsed)


def _without_a_half_call(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of an answer that was cut short: a call at its end may lack arguments even if its JSON is valid."""
    last = parts[-1] if parts else None
    if not isinstance(last, ToolCall) or last.malformed:
        return parts
    return (*parts[:-1], ToolCall(last.id, last.tool_name, malformed=encode(last.arguments).decode()))


def _read_block(raw: Raw, exchange: Exchange) -> _Block:
    data = bytes(raw)
    try:
        return decode(data, _blocks)
    except BAD_JSON:
        if _is_of_a_new_kind(data, _KNOWN_BLOCKS):
            return _Block(_PASSED_OVER)
        raise malformed("a content block that is not valid", data, exchange.request_id) from None


def _is_of_a_new_kind(data: bytes, known: frozenset[str]) -> bool:
    try:
        return _kinds.decode(data).type not in known
    except BAD_JSON:
        return False


def _merged(before: _Usage, after: _Usage) -> _Usage:
    """The counts of a stream: later ones are totals, and replace earlier ones where they are given."""
    given = {name: count for name, count in msgspec.structs.asdict(after).items() if count is not None}
    return msgspec.structs.replace(before, **given)


def _usage(wire: _Usage) -> Usage:
    """The counts in our sense: the API counts cached tokens apart from the input, we count them as part of it."""
    cache_read = wire.cache_read_input_tokens or 0
    cache_write = wire.cache_creation_input_tokens or 0
    return Usage(
        (wire.input_tokens or 0) + cache_read + cache_write, wire.output_tokens or 0, cache_read, cache_write
    )
