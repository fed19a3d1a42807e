"""An answer of the Chat Completions API, from its bytes: whole, or chunk by chunk. No I/O here.

Servers differ in what they leave out, so nearly every field may be missing or null. What is there has to be valid, or
a :class:`~maverick.exceptions.MalformedResponseError` says so. The exception is what the model itself writes: tool
arguments that are not a JSON object make a ``ToolCall`` that says ``malformed``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from maverick.model.message import Opaque, Part, Text, Thought, ToolCall
from maverick.model.response import Response, StopReason, TextDelta, ThinkingDelta
from maverick.model.usage import Usage
from maverick.providers.http.errors import no_answer
from maverick.providers.http.exchange import Deltas, Exchange, StreamAccumulator, complete_response
from maverick.providers.http.wire_json import BAD_JSON, TokenCount, decode, tool_call
from maverick.providers.openai.chat_request import PROVIDER
from maverick.providers.openai.wire import CachedTokens, counts

_STOP_REASONS: Mapping[str, StopReason] = {
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.REFUSAL,
}
"""The reasons that say more than the answer itself does. With any other it asks for tools, or it is complete: some
servers say ``stop`` where they call tools."""

_GAVE_UP = frozenset({"error", "abort", "insufficient_system_resource"})
"""What OpenRouter, vLLM and DeepSeek say when an answer ended because the server failed."""

_DONE = b"[DONE]"


class _Function(Struct, frozen=True, gc=False):
    name: str | None = None
    arguments: str | None = None


class _Call(Struct, frozen=True):
    """A tool call, or a piece of one."""

    index: int | None = None
    id: str | None = None
    function: _Function = _Function()
    extra_content: Any = None
    """What Gemini signs its calls with; it refuses to continue without."""


class _Content(Struct, frozen=True):
    """A message, or what a chunk adds to it."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(Struct, frozen=True):
    """One of the answers that were asked for, or a piece of it."""

    index: int = 0
    message: _Content | None = None
    delta: _Content | None = None
    finish_reason: str | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: TokenCount | None = None
    completion_tokens: TokenCount | None = None
    prompt_tokens_details: CachedTokens | None = None

    def counted(self) -> Usage:
        return counts(self.prompt_tokens, self.completion_tokens, self.prompt_tokens_details)


class _Completion(Struct, frozen=True):
    """A whole completion, or a chunk of one."""

    choices: list[_Choice] | None = None
    model: str | None = None
    usage: _Usage | None = None
    error: Any = None


_completions = msgspec.json.Decoder(_Completion)


def read_completion(body: bytes, exchange: Exchange) -> Response:
    """The answer in a body that came as a whole, or else the error for what it is."""
    try:
        completion = decode(body, _completions)
    except BAD_JSON:
        completion = _Completion()
    choice = completion.choices[0] if completion.choices else _Choice()
    if choice.message is None:
        raise no_answer(exchange, "something other than a completion", body)
    answer = CompletionAccumulator(exchange)
    answer.add(choice.message, body)
    return answer.complete(choice.finish_reason or "", completion.model, completion.usage)


class CompletionAccumulator(StreamAccumulator):
    """Puts an answer together from its chunks.

    The answer is complete when a chunk has given a reason to stop and the stream has ended. Most servers announce the
    end with ``[DONE]``, after a chunk with the usage; some just end.
    """

    __slots__ = (
        "_calls",
        "_calls_by_index",
        "_finish_reason",
        "_model",
        "_refused",
        "_text",
        "_thoughts",
        "_usage",
    )

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._thoughts: list[str] = []
        self._text: list[str] = []
        self._calls: list[_OpenCall] = []
        self._calls_by_index: dict[int, _OpenCall] = {}
        self._refused = False
        self._finish_reason = ""
        self._model: str | None = None
        self._usage: _Usage | None = None

    def feed(self, data: bytes) -> Deltas:
        """Add the data of the next event; return the text and thoughts in it."""
        if data == _DONE:
            self.end()
            return ()
        try:
            chunk = decode(data, _completions)
        except BAD_JSON:
            raise no_answer(self._exchange, "an event that is not valid", data) from None
        if chunk.error:
            raise no_answer(self._exchange, "an error", data)
        self._model = chunk.model or self._model
        self._usage = chunk.usage or self._usage
        choice = chunk.choices[0] if chunk.choices else _Choice()
        if choice.index != 0:  # a second answer to the same question, which was not asked for
            return ()
        self._finish_reason = choice.finish_reason or self._finish_reason
        if choice.delta is None:
            return ()
        deltas = self.add(choice.delta, data)
        for call in _call_pieces(choice.delta):
            self._count_arguments(call.function.arguments or "", data)
        self._check_block_count(len(self._calls), data)
        return deltas

    def add(self, content: _Content, data: bytes) -> Deltas:
        """Add a message or a piece of one, which came in this data; return the text and thoughts in it."""
        deltas: Deltas = ()
        if thought := content.reasoning_content or content.reasoning:
            self._thoughts.append(thought)
            deltas = (ThinkingDelta(thought),)
        if text := content.content or content.refusal:
            self._text.append(text)
            deltas = (*deltas, TextDelta(text))
            self._refused = self._refused or bool(content.refusal)
        for piece in _call_pieces(content):
            self._call_of(piece, data).add(piece)
        return deltas

    def parts(self) -> tuple[Part, ...]:
        """What has arrived of the answer: thoughts, then text, then tool calls."""
        parts: list[Part] = []
        if self._thoughts:
            parts.append(Thought("".join(self._thoughts)))
        if self._text:
            parts.append(Text("".join(self._text)))
        return (*parts, *(call.tool_call() for call in self._calls))

    def end(self) -> None:
        """Make the response, now that the stream has ended, unless the server gave up or more should have come."""
        if not self._finish_reason:
            super().end()
        self.response = self.complete(self._finish_reason, self._model, self._usage)

    def complete(self, finish_reason: str, model: str | None, usage: _Usage | None) -> Response:
        """The answer, now that all of it has arrived."""
        if finish_reason in _GAVE_UP:
            raise self._exchange.gave_up(finish_reason)
        stop = StopReason.REFUSAL if self._refused else _STOP_REASONS.get(finish_reason)
        used = None if usage is None else usage.counted()
        return complete_response(self._exchange, self.parts(), used, stop, model or "")

    def _call_of(self, piece: _Call, data: bytes) -> _OpenCall:
        """The call that the piece is part of: an open one, or a new one that it begins."""
        if piece.index is None:  # pieces come one after another, and the first has the name
            call = self._calls[-1] if self._calls and not piece.function.name else None
        else:
            call = self._calls_by_index.get(piece.index)
            if call is not None and piece.id and call.id and piece.id != call.id:
                call = None  # a server that counts every call as the first one
        if call is None:
            if not piece.id and not piece.function.name:
                raise no_answer(self._exchange, "a piece of a tool call that had not begun", data)
            call = _OpenCall()
            self._calls.append(call)
            if piece.index is not None:
                self._calls_by_index[piece.index] = call
        return call


class _OpenCall:
    """A tool call that is still arriving."""

    __slots__ = ("_arguments", "_extra_content", "_name", "id")

    def __init__(self) -> None:
        self.id = ""
        self._name = ""
        self._arguments: list[str] = []
        self._extra_content: Any = None

    def add(self, piece: _Call) -> None:
        """Add a piece of the call."""
        self.id = piece.id or self.id
        self._name = piece.function.name or self._name
        self._extra_content = piece.extra_content or self._extra_content
        if piece.function.arguments:
            self._arguments.append(piece.function.arguments)

    def tool_call(self) -> ToolCall:
        """The call as far as it has arrived."""
        arguments, block = "".join(self._arguments), None
        if self._extra_content is not None:
            function = {"name": self._name, "arguments": arguments}
            signed = {"extra_content": self._extra_content}
            block = Opaque(PROVIDER, {"id": self.id, "type": "function", "function": function} | signed)
        return tool_call(self.id, self._name, arguments, block)


def _call_pieces(content: _Content) -> Sequence[_Call]:
    if content.tool_calls:
        return content.tool_calls
    # How tools were called at first; some servers still do.
    return () if content.function_call is None else (_Call(function=content.function_call),)
