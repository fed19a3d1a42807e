"""An answer of the Claude Messages API, from its bytes: whole, or event by event. No I/O here.

Every content block is kept, in order: text, thoughts and tool calls as what they are, and any other, of server tools or
of a type that is new, as an :class:`~maverick.model.Opaque`. Events of a type that is not known here are ignored: the
API adds new ones at any time. What is known has to be valid, or a
:class:`~maverick.exceptions.MalformedResponseError` says so. The exception is what the model itself writes: tool
arguments that are not a JSON object make a ``ToolCall`` that says ``malformed``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from maverick.model import Opaque, Part, Response, StopReason, Usage
from maverick.providers.claude.blocks import CONTAINER, PROVIDER, Delta, OpenBlock, open_block, part_of
from maverick.providers.http.errors import no_answer
from maverick.providers.http.exchange import Deltas, Exchange, StreamAccumulator, complete_response
from maverick.providers.http.wire_json import BAD_JSON, TokenCount, decode
from maverick.telemetry import logger

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
    "compaction": StopReason.COMPACTION,
    "model_context_window_exceeded": StopReason.CONTEXT_OVERFLOW,
}

_PIECE_TYPES = frozenset({"text_delta", "thinking_delta", "signature_delta", "input_json_delta", ""})
"""The deltas that continue a text of their block."""

_DELTA_TYPES = _PIECE_TYPES | {"citations_delta", "compaction_delta"}

_SEARCH_USD = 0.01
"""What a web search costs besides the tokens of its results; the other server tools cost nothing else."""


_EVENT_TYPES = frozenset({
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "error",
})  # fmt: skip


class _CacheCreation(Struct, frozen=True):
    ephemeral_1h_input_tokens: TokenCount | None = None


class _ServerToolUse(Struct, frozen=True):
    web_search_requests: TokenCount | None = None


class _Counts(Struct, frozen=True):
    """The tokens of an answer, or of one step of it, as far as it gives them."""

    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None
    cache_creation: _CacheCreation | None = None


class _Iteration(_Counts, frozen=True):
    type: str = ""


class _Usage(_Counts, frozen=True):
    iterations: list[_Iteration] | None = None
    """The steps of the answer; the counts above do not include those of a compaction."""
    server_tool_use: _ServerToolUse | None = None


class _Message(Struct, frozen=True):
    content: list[dict[str, Any]]
    stop_reason: str | None = None
    model: str = ""
    usage: _Usage = _Usage()
    container: dict[str, Any] | None = None
    input_transformations: list[dict[str, Any]] | None = None


class _Start(Struct, frozen=True):
    model: str = ""
    usage: _Usage = _Usage()
    input_transformations: list[dict[str, Any]] | None = None


class _Event(Struct, frozen=True):
    """An event of any type; each type uses some of the fields."""

    type: str
    index: int = 0
    delta: Delta = Delta()
    content_block: dict[str, Any] = {}
    message: _Start = _Start()
    usage: _Usage = _Usage()


class _OpenEvent(Struct, frozen=True):
    """An event whose delta is not only a piece of text."""

    type: str
    index: Any = 0
    delta: Any = None


_events = msgspec.json.Decoder(_Event)
_open_events = msgspec.json.Decoder(_OpenEvent)
_messages = msgspec.json.Decoder(_Message)


def read_message(body: bytes, exchange: Exchange) -> Response:
    """The answer in a body that came as a whole, or else the error for what it is."""
    try:
        message = decode(body, _messages)
    except BAD_JSON:
        raise no_answer(exchange, "something other than a message", body) from None
    _log_transformations(message.input_transformations)
    try:
        parts = [part for block in message.content if (part := part_of(block)) is not None]
    except BAD_JSON:
        raise exchange.malformed("a content block that is not valid", body) from None
    return _response(
        exchange, parts, message.stop_reason, message.model, message.usage, container=message.container
    )


class MessageAccumulator(StreamAccumulator):
    """Puts an answer together from its events."""

    __slots__ = ("_blocks", "_container", "_model", "_started", "_stop_reason", "_usage")

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._started = False
        self._model = ""
        self._usage = _Usage()
        self._stop_reason: str | None = None
        self._container: Any = None
        self._blocks: dict[int, OpenBlock] = {}

    def feed(self, data: bytes) -> Deltas:
        """Add the data of the next event; return the text and thoughts in it, or the block that it completes."""
        try:
            event = decode(data, _events)
        except BAD_JSON:
            event = self._read_unusual(data)
        if event.type == "content_block_delta":
            block, delta = self._blocks.get(event.index), event.delta
            if block is not None and delta.type in _PIECE_TYPES and not delta.partial_json:
                return block.add(delta)
            return self._continue(block, delta, data)
        if event.type == "content_block_start":
            return self._open(event, data)
        if event.type == "content_block_stop":
            return self._close(event.index)
        if event.type == "message_start":
            self._start(event, data)
        elif event.type == "message_delta":
            self._near_end(event, data)
        elif event.type == "message_stop":
            self._finish(data)
        elif event.type == "error":
            raise no_answer(self._exchange, "an unknown error", data)
        return ()

    def parts(self) -> Iterator[Part]:
        """What has arrived of the answer; a block that is not interpreted only if it is complete."""
        return (part for block in self._blocks.values() if (part := block.part()) is not None)

    def _start(self, event: _Event, data: bytes) -> None:
        if self._started:
            raise self._exchange.malformed("a second beginning in the same stream", data)
        self._started = True
        self._model = event.message.model
        self._usage = event.message.usage
        _log_transformations(event.message.input_transformations)

    def _open(self, event: _Event, data: bytes) -> Deltas:
        if not self._started or event.index in self._blocks:
            raise self._exchange.malformed("a content block that was not due", data)
        self._check_block_count(len(self._blocks), data)
        self._count_kept(data)
        try:
            block = self._blocks[event.index] = open_block(event.content_block)
        except BAD_JSON:
            raise self._exchange.malformed("a content block that is not valid", data) from None
        return block.begin()

    def _continue(self, block: OpenBlock | None, delta: Delta, data: bytes) -> Deltas:
        """Add a delta that is not text to its block."""
        if block is None:
            raise self._exchange.malformed("a piece of a content block that had not begun", data)
        if delta.type in _PIECE_TYPES:
            self._count_arguments(delta.partial_json, data)
            return block.add(delta)
        if delta.type == "citations_delta":
            block.add_citation(self._delta_in(data).get("citation"))
        elif delta.type == "compaction_delta":
            block.update(self._delta_in(data))
        else:
            logger.warning("Claude sent a piece of a block of a type that is not known, %r", delta.type)
        return ()

    def _near_end(self, event: _Event, data: bytes) -> None:
        self._stop_reason = event.delta.stop_reason
        # Later counts are totals, and replace earlier ones where they are given.
        counts = zip(msgspec.structs.astuple(self._usage), msgspec.structs.astuple(event.usage), strict=True)
        self._usage = _Usage(*(old if new is None else new for old, new in counts))
        if b'"container"' in data:
            self._container = self._delta_in(data).get("container")

    def _delta_in(self, data: bytes) -> dict[str, Any]:
        """The delta of an event with all its fields."""
        self._count_kept(data)
        try:
            delta = decode(data, _open_events).delta
        except BAD_JSON:
            raise self._exchange.malformed("an event that is not valid", data) from None
        return delta if isinstance(delta, dict) else {}

    def _close(self, index: int) -> Deltas:
        block = self._blocks.get(index)
        whole = None if block is None else block.close()
        if whole is None:
            return ()
        return tuple(part for part in self._exchange.without_key((whole,)) if isinstance(part, Opaque))

    def _finish(self, data: bytes) -> None:
        if not self._started:
            raise self._exchange.malformed("the end of a message that had not begun", data)
        if self._stop_reason is None:  # it may have been cut off, and then its calls must not be run
            raise self._exchange.malformed("the end of a message that does not say why it ended", data)
        for block in self._blocks.values():
            block.close()
        self.response = _response(
            self._exchange,
            self.parts(),
            self._stop_reason,
            self._model,
            self._usage,
            container=self._container,
        )

    def _read_unusual(self, data: bytes) -> _Event:
        """An event of an unknown type, or with such a delta: it is ignored, whatever is in it."""
        with suppress(*BAD_JSON):
            event = decode(data, _open_events)
            if event.type not in _EVENT_TYPES:
                return _Event("")
            kind = event.delta.get("type") if type(event.delta) is dict else None
            if event.type == "content_block_delta" and type(kind) is str and kind not in _DELTA_TYPES:
                return _Event(event.type, event.index if type(event.index) is int else -1, Delta(kind))
        raise self._exchange.malformed("an event that is not valid", data) from None


def _response(
    exchange: Exchange,
    parts: Iterable[Part],
    stop_reason: str | None,
    model: str,
    usage: _Usage,
    *,
    container: object = None,
) -> Response:
    """The answer, once all of it is known."""
    if type(container) is dict and type(container.get("id")) is str:
        parts = (Opaque(PROVIDER, {**container, "type": CONTAINER}), *parts)
    counts = _counted(usage)
    for step in usage.iterations or ():
        if step.type == "compaction":
            counts += _counted(step)
    searches = usage.server_tool_use.web_search_requests or 0 if usage.server_tool_use else 0
    return complete_response(
        exchange, parts, counts, _STOP_REASONS.get(stop_reason), model, fees_usd=searches * _SEARCH_USD
    )


def _counted(counts: _Counts) -> Usage:
    """What was used. The API counts cached tokens separately, we as part of the input."""
    cache_read = counts.cache_read_input_tokens or 0
    cache_write = counts.cache_creation_input_tokens or 0
    for_an_hour = counts.cache_creation.ephemeral_1h_input_tokens or 0 if counts.cache_creation else 0
    return Usage(
        (counts.input_tokens or 0) + cache_read + cache_write,
        counts.output_tokens or 0,
        cache_read,
        cache_write,
        None,
        min(for_an_hour, cache_write),
    )


def _log_transformations(transformations: list[dict[str, Any]] | None) -> None:
    if transformations:
        reasons = sorted({str(each.get("reason")) for each in transformations})
        logger.warning(
            "Claude left out or let pass %d thinking blocks that do not fit the conversation: %s",
            len(transformations),
            ", ".join(reasons),
        )
