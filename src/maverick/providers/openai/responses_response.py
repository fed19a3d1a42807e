"""An answer of OpenAI's Responses API, from its bytes: whole, or event by event. No I/O here.

An answer is a list of items. Each becomes one part, which keeps the item as it came, so that it can go back that way:
reasoning becomes a ``Thought``, a message a ``Text``, a function call a ``ToolCall``, and everything else, such as what
OpenAI's own tools did, an ``Opaque``. What is there has to be valid, or a
:class:`~maverick.exceptions.MalformedResponseError` says so. The exception is what the model itself writes: tool
arguments that are not a JSON object make a ``ToolCall`` that says ``malformed``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from maverick.model.message import Opaque, Part, Text, Thought, ToolCall
from maverick.model.response import Response, StopReason, TextDelta, ThinkingDelta
from maverick.model.usage import Usage
from maverick.providers.http.errors import no_answer
from maverick.providers.http.exchange import Deltas, Exchange, StreamAccumulator, complete_response
from maverick.providers.http.wire_json import BAD_JSON, TokenCount, decode, decode_object, encode, tool_call
from maverick.providers.openai.responses_request import PROVIDER
from maverick.providers.openai.wire import CachedTokens, counts

Item = dict[str, Any]

_TEXT_DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHT_DELTAS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_LAST_EVENTS = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)
_BETWEEN_SUMMARIES = "\n\n"


class _Usage(Struct, frozen=True):
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    input_tokens_details: CachedTokens | None = None


class _Incomplete(Struct, frozen=True):
    reason: str | None = None


class _Response(Struct, frozen=True):
    """A response at some point of its life, or a conversation that was compacted."""

    object: str = ""
    status: str | None = None
    model: str | None = None
    output: list[Item] | None = None
    usage: _Usage | None = None
    incomplete_details: _Incomplete | None = None
    error: Any = None

    @property
    def counted(self) -> Usage | None:
        """What it used, if it says."""
        if (used := self.usage) is None:
            return None
        return counts(used.input_tokens, used.output_tokens, used.input_tokens_details)


class _Event(Struct, frozen=True):
    """An event of a stream; which of the fields it has depends on its type."""

    type: str
    output_index: int = 0
    summary_index: int = 0
    delta: Any = None
    item: Item | None = None
    response: _Response | None = None
    error: Any = None


_responses = msgspec.json.Decoder(_Response)
_events = msgspec.json.Decoder(_Event)


def read_response(body: bytes, exchange: Exchange) -> Response:
    """The answer in a body that came as a whole, or the items that stand for a conversation that was compacted."""
    try:
        response = decode(body, _responses)
    except BAD_JSON:
        response = _Response()
    if response.object == "response.compaction" and response.output:
        items = [Opaque(PROVIDER, item) for item in response.output]
        return complete_response(
            exchange, items, response.counted, StopReason.COMPACTION, response.model or ""
        )
    if response.object != "response" or (response.output is None and not response.error):
        raise no_answer(exchange, "something other than a response", body)
    answer = ResponseAccumulator(exchange)
    for item in response.output or ():
        answer.add(item, body)
    return answer.complete(response, body)


class ResponseAccumulator(StreamAccumulator):
    """Puts an answer together from the events of a stream.

    An item counts when it is complete: what came of it before is only handed on. The items of the last event are the
    same ones, and are used where the stream left any out.
    """

    __slots__ = ("_done", "_open", "_refused")

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._done: dict[int, Part] = {}
        self._open: dict[int, _OpenItem] = {}
        self._refused = False

    def feed(self, data: bytes) -> Deltas:
        """Add the data of the next event; return the text and thoughts in it, and items that are not interpreted."""
        try:
            event = decode(data, _events)
        except BAD_JSON:
            raise no_answer(self._exchange, "an event that is not valid", data) from None
        if event.type in _TEXT_DELTAS:
            return self._add_piece(event, data, is_thought=False)
        if event.type in _THOUGHT_DELTAS:
            return self._add_piece(event, data, is_thought=True)
        if event.type == "response.reasoning_summary_part.added" and event.summary_index:
            between = msgspec.structs.replace(event, delta=_BETWEEN_SUMMARIES)
            return self._add_piece(between, data, is_thought=True)
        if event.type == "response.function_call_arguments.delta":
            self._count_arguments(_text(event.delta), data)
            self._item_at(event.output_index, data).arguments.append(_text(event.delta))
        elif event.type == "response.output_item.added" and event.item is not None:
            self._count_kept(data)
            self._item_at(event.output_index, data).begun = event.item
        elif event.type == "response.output_item.done" and event.item is not None:
            self._count_kept(data)
            return self.add(event.item, data, event.output_index)
        elif event.type in _LAST_EVENTS:
            return self._end_with(event, data)
        elif event.type == "error":
            raise no_answer(self._exchange, "an error", _error_body(event.error or decode_object(data)))
        return ()

    def add(self, item: Item, data: bytes, index: int | None = None) -> Deltas:
        """Add a complete item; return what of it was not handed on yet."""
        index = len(self._done) if index is None else index
        if index in self._done:
            raise self._exchange.malformed("an item twice", data)
        self._check_block_count(len(self._done), data)
        part = self._part(item, data)
        opened = self._open.pop(index, None) or _OpenItem()
        if opened.said and not isinstance(part, Thought if opened.is_thought else Text):
            raise self._exchange.malformed("an item that is not the one it had sent in pieces", data)
        deltas: Deltas = ()
        if isinstance(part, Opaque):
            deltas = (part,)
        elif isinstance(part, Text):
            # The item came as a whole, so the key in it is already hidden.
            said = self._exchange.clean(opened.said.encode()).decode()
            if not part.text.startswith(said):
                raise self._exchange.malformed("a text that is not the one it had sent in pieces", data)
            rest = part.text[len(said) :]
            deltas = (TextDelta(rest),) if rest else ()
        elif isinstance(part, Thought):
            if opened.said:  # what was seen; the item itself goes back as it is
                part = Thought(opened.said, block=part.block)
            elif part.text:
                deltas = (ThinkingDelta(part.text),)
        self._done[index] = part
        return deltas

    def parts(self) -> Iterable[Part]:
        """What has arrived of the answer, in order; an item that is not complete has no form to go back in."""
        complete = [part for _, part in sorted(self._done.items())]
        # A reasoning item is not taken back without the one it was for, and that one is not complete.
        waiting: list[Part] = []
        while complete and isinstance(last := complete[-1], Thought):
            waiting.insert(0, Thought(last.text))
            complete.pop()
        arriving = [part for _, opened in sorted(self._open.items()) if (part := opened.part())]
        return (*complete, *waiting, *arriving)

    def complete(self, response: _Response, data: bytes) -> Response:
        """The answer, now that all of it has arrived, unless the service reports a failure."""
        if response.error:
            raise no_answer(self._exchange, "an error", _error_body(response.error))
        stop: StopReason | None = StopReason.REFUSAL if self._refused else None
        if response.status == "incomplete":
            reason = "" if response.incomplete_details is None else response.incomplete_details.reason
            stop = StopReason.REFUSAL if reason == "content_filter" else StopReason.MAX_TOKENS
        elif response.status in ("failed", "cancelled"):
            raise self._exchange.gave_up(response.status)
        elif response.status not in ("completed", None):
            raise self._exchange.malformed(f"an answer that is not complete ({response.status})", data)
        parts = [part for _, part in sorted(self._done.items())]
        return complete_response(self._exchange, parts, response.counted, stop, response.model or "")

    def _end_with(self, event: _Event, data: bytes) -> Deltas:
        response = event.response
        if response is None:
            raise self._exchange.malformed("an end without a response", data)
        if response.status is None:
            response = msgspec.structs.replace(response, status=event.type.rpartition(".")[2])
        deltas: Deltas = ()
        for index, item in enumerate(response.output or ()):
            if len(response.output or ()) > len(self._done) and index not in self._done:
                deltas += self.add(item, data, index)
        if self._open and response.status == "completed":
            raise self._exchange.malformed("an end before all of its items were complete", data)
        self._done |= {index: part for index, opened in self._open.items() if (part := opened.part())}
        self.response = self.complete(response, data)
        return deltas

    def _add_piece(self, event: _Event, data: bytes, *, is_thought: bool) -> Deltas:
        piece = _text(event.delta)
        self._item_at(event.output_index, data).add(piece, is_thought=is_thought)
        if not piece:
            return ()
        return (ThinkingDelta(piece) if is_thought else TextDelta(piece),)

    def _item_at(self, index: int, data: bytes) -> _OpenItem:
        opened = self._open.get(index)
        if opened is None:
            if index in self._done:
                raise self._exchange.malformed("more of an item that was complete", data)
            opened = self._open[index] = _OpenItem()
            self._check_block_count(len(self._open), data)
        return opened

    def _part(self, item: Item, data: bytes) -> Part:
        kind = item.get("type")
        try:
            if kind == "message" and item.get("role") == "assistant":
                return self._message(item)
            if kind == "reasoning":
                return _thought(item)
            if kind == "function_call":
                return _call(item)
        except (KeyError, TypeError):
            raise self._exchange.malformed("an item that is not valid", data) from None
        if not isinstance(kind, str) or not kind:
            raise self._exchange.malformed("an item without a type", data)
        return self._exchange.without_key((Opaque(PROVIDER, item),))[0]

    def _message(self, item: Item) -> Text:
        texts = []
        for piece in item["content"]:
            is_refusal = piece["type"] == "refusal"
            self._refused = self._refused or is_refusal
            if is_refusal or piece["type"] == "output_text":
                texts.append(_required(piece["refusal" if is_refusal else "text"]))
        return Text("".join(texts), Opaque(PROVIDER, item))


class _OpenItem:
    """An item that is still arriving."""

    __slots__ = ("_pieces", "arguments", "begun", "is_thought")

    def __init__(self) -> None:
        self.begun: Item = {}
        self.arguments: list[str] = []
        self.is_thought = False
        self._pieces: list[str] = []

    @property
    def said(self) -> str:
        """The text or the thought so far."""
        return "".join(self._pieces)

    def add(self, piece: str, *, is_thought: bool) -> None:
        """Add a piece of the text, or of the thought."""
        self.is_thought = is_thought
        self._pieces.append(piece)

    def part(self) -> Part | None:
        """What has arrived, if it says anything."""
        name, call_id = self.begun.get("name"), self.begun.get("call_id")
        if self.begun.get("type") == "function_call" and isinstance(name, str) and isinstance(call_id, str):
            return ToolCall(call_id, name, malformed="".join(self.arguments) or "{}")
        if not self._pieces:
            return None
        return Thought(self.said) if self.is_thought else Text(self.said)


def _thought(item: Item) -> Thought:
    summary = _BETWEEN_SUMMARIES.join([_required(part["text"]) for part in item.get("summary") or ()])
    text = summary or "".join([_required(part["text"]) for part in item.get("content") or ()])
    return Thought(text, block=Opaque(PROVIDER, item))


def _call(item: Item) -> ToolCall:
    call_id, name, arguments = (_required(item[field]) for field in ("call_id", "name", "arguments"))
    return tool_call(call_id, name, arguments, Opaque(PROVIDER, item))


def _required(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _error_body(error: object) -> bytes:
    """An error of the middle of an answer in the form that one has in a body."""
    return encode({"error": error})
