"""An answer of the Claude Messages API, put together from its events as they come. No I/O here.

Events of a kind this module does not know are passed over, as :mod:`~maverick.providers.claude_response` does with
blocks. An event that is known and not as it should be, or not due, is a
:class:`~maverick.exceptions.MalformedResponseError`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from maverick.model import Part, TextDelta, ThinkingDelta, ToolCall
from maverick.providers.answer_stream import AnswerStream, Deltas
from maverick.providers.claude_response import (
    WireBlock,
    WireUsage,
    is_of_a_new_kind,
    part_of,
    read_block,
    response_of,
)
from maverick.providers.exchange import Exchange
from maverick.providers.wire_json import BAD_JSON, decode, decode_object

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


class _Start(Struct, frozen=True):
    model: str = ""
    usage: WireUsage = WireUsage()


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
    usage: WireUsage = WireUsage()


_PASSED_OVER = _Event("")

_events = msgspec.json.Decoder(_Event)


class MessageStream(AnswerStream):
    """Puts an answer together from its events."""

    __slots__ = ("_blocks", "_model", "_started", "_stop_reason", "_usage")

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._started = False
        self._model = ""
        self._usage = WireUsage()
        self._stop_reason: str | None = None
        self._blocks: dict[int, _OpenBlock] = {}

    def feed(self, data: bytes) -> Deltas:
        """Take the data of the next event; return the words it adds."""
        try:
            event = _events.decode(data)
        except BAD_JSON:
            event = self._read_unusual(data)
        if event.type == "content_block_delta":
            block = self._blocks.get(event.index)
            if block is None:
                raise self._exchange.malformed("a piece of a content block that had not begun", data)
            if event.delta.partial_json:
                self._take_arguments(event.delta.partial_json, data)
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
            raise self._exchange.no_answer("an unknown error", data)
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
        self._check_count(len(self._blocks), data)
        begun = read_block(event.content_block, self._exchange)
        block = self._blocks[event.index] = _OpenBlock(begun)
        return block.add(_Delta(text=begun.text, thinking=begun.thinking, signature=begun.signature))

    def _finish(self, data: bytes) -> None:
        if not self._started:
            raise self._exchange.malformed("the end of a message that had not begun", data)
        if self._stop_reason is None:  # it may have been cut off, and then its calls must not be run
            raise self._exchange.malformed("the end of a message that does not say why it ended", data)
        self.response = response_of(self._exchange, self.parts(), self._stop_reason, self._model, self._usage)

    def _read_unusual(self, data: bytes) -> _Event:
        """Read an event that is not of the usual form: mend its text, or pass it over if it is of a new kind."""
        try:
            return decode(data, _events)
        except BAD_JSON:
            if is_of_a_new_kind(data, _KNOWN_EVENTS):
                return _PASSED_OVER
            raise self._exchange.malformed("an event that is not valid", data) from None


class _OpenBlock:
    """A content block that is still arriving."""

    __slots__ = ("_begun", "_kind", "_pieces", "_signature")

    def __init__(self, begun: WireBlock) -> None:
        self._begun = begun
        self._kind = begun.type
        self._pieces: list[str] = []
        self._signature = ""

    def add(self, delta: _Delta) -> Deltas:
        """Add what a delta brings, and return it if it is words."""
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
            return part_of(
                msgspec.structs.replace(begun, text=added, thinking=added, signature=self._signature)
            )
        if not added:  # a tool without arguments streams none, and they may also come with the beginning
            return part_of(begun)
        arguments = decode_object(added.encode())
        if arguments is None:
            return ToolCall(begun.id, begun.name, malformed=added)
        return ToolCall(begun.id, begun.name, arguments)


def _merged(before: WireUsage, after: WireUsage) -> WireUsage:
    """The counts of a stream: later ones are totals, and replace earlier ones where they are given."""
    given = {name: count for name, count in msgspec.structs.asdict(after).items() if count is not None}
    return msgspec.structs.replace(before, **given)
