"""An answer of the Claude Messages API, from its bytes: whole, or event by event. No I/O here.

Blocks and events of a type that is not known here are ignored: the API adds new ones at any time. Those that are
known have to be valid, or a :class:`~maverick.exceptions.MalformedResponseError` says so. The exception is what the
model itself writes: tool arguments that are not a JSON object make a ``ToolCall`` that says ``malformed``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from maverick.model import (
    Part,
    Response,
    StopReason,
    Text,
    TextDelta,
    ThinkingDelta,
    Thought,
    ToolCall,
    Usage,
)
from maverick.providers.http.errors import no_answer
from maverick.providers.http.exchange import Deltas, Exchange, StreamAccumulator, complete_response
from maverick.providers.http.wire_json import BAD_JSON, TokenCount, decode, decode_object, encode

SERVICE = "Claude"
"""What messages call the service."""

API = "the Messages API"
"""What messages call its API."""

_STOP_REASONS: Mapping[str | None, StopReason] = {
    "end_turn": StopReason.COMPLETE,
    "stop_sequence": StopReason.COMPLETE,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
    "model_context_window_exceeded": StopReason.CONTEXT_OVERFLOW,
}

_BLOCK_TYPES = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})

_EVENT_TYPES = frozenset(
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


class _Usage(Struct, frozen=True):
    """The counts of an answer, as far as it gives them."""

    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None


class _Block(Struct, frozen=True):
    """A content block of any type; each type uses some of the fields."""

    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    input: Any = None


class _Message(Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None
    model: str = ""
    usage: _Usage = _Usage()


class _RawMessage(Struct, frozen=True):
    content: list[Raw]
    stop_reason: str | None = None
    model: str = ""
    usage: _Usage = _Usage()


class _Typed(Struct, frozen=True):
    type: str


class _Start(Struct, frozen=True):
    model: str = ""
    usage: _Usage = _Usage()


class _Delta(Struct, frozen=True, gc=False):
    """A delta of any type; each type uses one of the fields."""

    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: str = ""
    stop_reason: str | None = None


class _Event(Struct, frozen=True):
    """An event of any type; each type uses some of the fields."""

    type: str
    index: int = 0
    delta: _Delta = _Delta()
    content_block: Raw = Raw(b"")
    message: _Start = _Start()
    usage: _Usage = _Usage()


_IGNORED_BLOCK = _Block("")
_IGNORED_EVENT = _Event("")

_events = msgspec.json.Decoder(_Event)
_messages = msgspec.json.Decoder(_Message)
_raw_messages = msgspec.json.Decoder(_RawMessage)
_blocks = msgspec.json.Decoder(_Block)
_typed = msgspec.json.Decoder(_Typed)


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
    parts = (part for block in message.content if (part := _part(block)) is not None)
    return _response(exchange, parts, message.stop_reason, message.model, message.usage)


class MessageAccumulator(StreamAccumulator):
    """Puts an answer together from its events."""

    __slots__ = ("_blocks", "_model", "_started", "_stop_reason", "_usage")

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._started = False
        self._model = ""
        self._usage = _Usage()
        self._stop_reason: str | None = None
        self._blocks: dict[int, _OpenBlock] = {}

    def feed(self, data: bytes) -> Deltas:
        """Add the data of the next event; return the text and thoughts in it."""
        try:
            event = _events.decode(data)
        except BAD_JSON:
            event = self._read_unusual(data)
        if event.type == "content_block_delta":
            block = self._blocks.get(event.index)
            if block is None:
                raise self._exchange.malformed("a piece of a content block that had not begun", data)
            if event.delta.partial_json:
                self._count_arguments(event.delta.partial_json, data)
            return block.add(event.delta)
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
            raise no_answer(self._exchange, "an unknown error", data)
        return ()

    def parts(self) -> Iterator[Part]:
        """What has arrived of the answer."""
        return (part for block in self._blocks.values() if (part := block.part()) is not None)

    def _start(self, event: _Event, data: bytes) -> None:
        if self._started:
            raise self._exchange.malformed("a second beginning in the same stream", data)
        self._started = True
        self._model = event.message.model
        self._usage = event.message.usage

    def _open(self, event: _Event, data: bytes) -> Deltas:
        if not self._started or event.index in self._blocks:
            raise self._exchange.malformed("a content block that was not due", data)
        self._check_block_count(len(self._blocks), data)
        begun = _read_block(event.content_block, self._exchange)
        block = self._blocks[event.index] = _OpenBlock(begun)
        return block.add(_Delta(text=begun.text, thinking=begun.thinking, signature=begun.signature))

    def _finish(self, data: bytes) -> None:
        if not self._started:
            raise self._exchange.malformed("the end of a message that had not begun", data)
        if self._stop_reason is None:  # it may have been cut off, and then its calls must not be run
            raise self._exchange.malformed("the end of a message that does not say why it ended", data)
        self.response = _response(self._exchange, self.parts(), self._stop_reason, self._model, self._usage)

    def _read_unusual(self, data: bytes) -> _Event:
        """Decode an unusual event: replace characters that UTF-8 cannot carry, or ignore an unknown type."""
        try:
            return decode(data, _events)
        except BAD_JSON:
            if _is_unknown_type(data, _EVENT_TYPES):
                return _IGNORED_EVENT
            raise self._exchange.malformed("an event that is not valid", data) from None


class _OpenBlock:
    """A content block that is still arriving."""

    __slots__ = ("_begun", "_kind", "_pieces", "_signature")

    def __init__(self, begun: _Block) -> None:
        self._begun = begun
        self._kind = begun.type
        self._pieces: list[str] = []
        self._signature = ""

    def add(self, delta: _Delta) -> Deltas:
        """Add a delta, and return it if it is text or a thought."""
        if self._kind == "text" and delta.text:
            self._pieces.append(delta.text)
            return (TextDelta(delta.text),)
        if self._kind == "tool_use":
            self._pieces.append(delta.partial_json)
        elif self._kind == "thinking":
            self._signature += delta.signature
            self._pieces.append(delta.thinking)
            return (ThinkingDelta(delta.thinking),) if delta.thinking else ()
        return ()

    def part(self) -> Part | None:
        """The part that the block makes, as far as it has arrived."""
        begun, added = self._begun, "".join(self._pieces)
        if self._kind != "tool_use":
            return _part(
                msgspec.structs.replace(begun, text=added, thinking=added, signature=self._signature)
            )
        if (
            not added
        ):  # a tool without arguments streams none, and they may also come with the start of the block
            return _part(begun)
        arguments = decode_object(added.encode())
        if arguments is None:
            return ToolCall(begun.id, begun.name, malformed=added)
        return ToolCall(begun.id, begun.name, arguments)


def _merged(before: _Usage, after: _Usage) -> _Usage:
    """The counts of a stream: later ones are totals, and replace earlier ones where they are given."""
    counts = zip(msgspec.structs.astuple(before), msgspec.structs.astuple(after), strict=True)
    return _Usage(*(old if new is None else new for old, new in counts))


def _response(
    exchange: Exchange, parts: Iterable[Part], stop_reason: str | None, model: str, usage: _Usage
) -> Response:
    """The answer, once all of it is known. The API counts cached tokens separately, we as part of the input."""
    cache_read = usage.cache_read_input_tokens or 0
    cache_write = usage.cache_creation_input_tokens or 0
    counts = Usage(
        (usage.input_tokens or 0) + cache_read + cache_write,
        usage.output_tokens or 0,
        cache_read,
        cache_write,
    )
    return complete_response(exchange, parts, counts, _STOP_REASONS.get(stop_reason), model)


def _read_block(raw: Raw, exchange: Exchange) -> _Block:
    """A content block.

    Raises:
        MalformedResponseError: It is of a known type, and not valid.
    """
    data = bytes(raw)
    try:
        block = decode(data, _blocks)
    except BAD_JSON:
        if _is_unknown_type(data, _BLOCK_TYPES):
            return _IGNORED_BLOCK
        raise exchange.malformed("a content block that is not valid", data) from None
    return block if block.type in _BLOCK_TYPES else _IGNORED_BLOCK


def _part(block: _Block) -> Part | None:
    """The part that a block makes; ``None`` for an empty one and for one of an unknown type."""
    kind = block.type
    if kind == "tool_use":
        arguments = block.input
        if type(arguments) is dict:
            return ToolCall(block.id, block.name, arguments)
        return ToolCall(block.id, block.name, malformed=encode(arguments).decode())
    if kind == "text":
        return Text(block.text) if block.text else None
    if kind == "thinking":
        return Thought(block.thinking, block.signature)
    return Thought("", redacted=block.data) if kind == "redacted_thinking" else None


def _is_unknown_type(data: bytes, known: frozenset[str]) -> bool:
    """Whether this is JSON with a ``type`` that is not among the known ones."""
    try:
        return decode(data, _typed).type not in known
    except BAD_JSON:
        return False


def _read_unusual_message(body: bytes, exchange: Exchange) -> _Message:
    """Decode an unusual message: replace characters that UTF-8 cannot carry, and ignore blocks of unknown types."""
    try:
        message = decode(body, _raw_messages)
    except BAD_JSON:
        raise no_answer(exchange, "something other than a message", body) from None
    blocks = [_read_block(raw, exchange) for raw in message.content]
    return _Message(blocks, message.stop_reason, message.model, message.usage)
