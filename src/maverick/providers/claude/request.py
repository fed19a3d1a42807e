"""A request as the bytes of the Claude Messages API. No I/O here.

What stays the same from turn to turn is encoded once (:mod:`~maverick.providers.http.wire_json`).

What the API requires, and this module ensures:

* Roles alternate, so adjacent messages of one role become one, and tool results count as the user's.
* Tool results come before anything else the user says.
* No block and no message is empty, and thoughts are sent back only with the signature they came with.
* A cache marker says "remember everything up to here". Markers are at the end of the instructions, on the newest
  message and on the one that was newest a turn ago: the API finds an earlier entry only within twenty blocks of a
  marker, and a turn with many parallel tools is longer than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct

from maverick.model import Image, Message, Part, Request, Role, Text, Thought, Tool, ToolCall
from maverick.providers.http.wire_json import (
    EncodedConversation,
    HeadCache,
    encode,
    encode_tools,
    encoded_conversation,
    nothing_to_send,
    result_content,
)
from maverick.providers.strict_schema import claude_schema

API_VERSION = "2026-10-21"
SAMPLING_API_VERSION = "2023-06-01"
"""The last version that takes a temperature, for the models that still do."""

DEFAULT_MAX_TOKENS = 16_384
"""Room for a long answer, and few enough to arrive within the first-byte timeout when it is not streamed."""

_CACHE_MARKER = b',"cache_control":{"type":"ephemeral"}'

_USER = b'{"role":"user","content":['
_ASSISTANT = b'{"role":"assistant","content":['

_ANSWER_IN_JSON = "Give your final answer as JSON and nothing else. It has to fit this JSON Schema:"
"""For a schema that the API cannot enforce."""


class _TextBlock(Struct, tag_field="type", tag="text"):
    text: str


class _ThinkingBlock(Struct, tag_field="type", tag="thinking"):
    thinking: str
    signature: str


class _RedactedBlock(Struct, tag_field="type", tag="redacted_thinking"):
    data: str


class _ToolUseBlock(Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any]


class _ToolResultBlock(Struct, tag_field="type", tag="tool_result", omit_defaults=True):
    tool_use_id: str
    content: str = ""
    is_error: bool = False


class RequestEncoder:
    """Encodes requests.

    Args:
        max_tokens: The most tokens of an answer when a request does not say.
        cache_prompts: Whether to ask the API to cache the prompt where it pays.
        extra: Fields to add to every request, as the API names them.
    """

    def __init__(
        self,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        cache_prompts: bool = True,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._max_tokens = max_tokens
        self._cache_prompts = cache_prompts
        self._extra = dict(extra or {})
        self._heads = HeadCache()

    def encode(self, request: Request, *, model: str, stream: bool) -> list[bytes]:
        """The request as JSON, in pieces: first all that stays the same from turn to turn, then the messages."""
        config = request.config
        fields: dict[str, Any] = {"model": model, "max_tokens": config.max_tokens or self._max_tokens}
        if config.temperature is not None:
            fields["temperature"] = config.temperature
        if stream:
            fields["stream"] = True
        # A single question without tools is not asked again, and writing the cache costs more than not having one.
        cached = self._cache_prompts and (bool(request.tools) or len(request.messages) > 1)
        head = self._heads.get(
            request, (*fields.items(), cached), lambda: self._head(request, fields, cached=cached)
        )
        conversation = encoded_conversation(request.messages, _Conversation, _Conversation)
        return [head, *conversation.pieces(cached=cached), b"]}"]

    def _head(self, request: Request, fields: dict[str, Any], *, cached: bool) -> bytes:
        fields = fields | self._extra
        system = request.system
        if request.output is not None:
            schema = claude_schema(request.output.schema)
            if schema is None:
                system = f"{system}\n\n{_ANSWER_IN_JSON} {encode(request.output.schema).decode()}".strip()
            else:
                answer_format = {"type": "json_schema", "schema": schema}
                fields["output_config"] = {**fields.get("output_config", {}), "format": answer_format}
        if request.tools:
            tools = encode_tools(request.tools, _tool_form)
            fields["tools"] = Raw(tools[:-2] + _CACHE_MARKER + b"}]" if cached and not system else tools)
        if system:
            block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
            fields["system"] = [block] if cached else system
        return encode(fields)[:-1] + b',"messages":['


class _Conversation(EncodedConversation):
    """The messages so far.

    All wire messages but the last are closed: nothing can be added to them, so they are kept as finished JSON, and
    old ones are joined so that there are never many pieces. The last one stays open, because the next message may
    belong to it.
    """

    __slots__ = ("_blocks", "_closed", "_joined", "_opening", "_results")

    _MOST_CLOSED = 64

    def __init__(self) -> None:
        super().__init__()
        self._joined: list[bytes] = []
        self._closed: list[bytes] = []
        self._opening = b""
        """How the open message begins; it goes on with its tool results and its other blocks, a comma before each."""
        self._results = b""
        self._blocks = b""

    def _add(self, message: Message) -> None:
        if message.role is Role.TOOL_RESULT:
            result = _encode_result(message)
            self._open(_USER)
            self._results += result
        elif blocks := b"".join(map(self._encode_part, message.parts)):
            self._open(_ASSISTANT if message.role is Role.ASSISTANT else _USER)
            self._blocks += blocks

    def _encode_part(self, part: Part) -> bytes:
        """The block of a part with a comma before it, or nothing for a part that the API would not take back."""
        if isinstance(part, ToolCall):
            return b"," + encode(_ToolUseBlock(part.id, part.tool_name, part.arguments))
        if isinstance(part, Text):
            return b"," + encode(_TextBlock(part.text)) if part.text.strip() else b""
        if isinstance(part, Image) and part.blob is not None:
            data = self._string(part.blob.base64)
            source = {"type": "base64", "media_type": part.media_type, "data": data}
            return b"," + encode({"type": "image", "source": source})
        return _encode_thought(part) if isinstance(part, Thought) else b""

    def pieces(self, *, cached: bool) -> list[bytes]:
        """The messages as JSON, in pieces to be joined; with cache markers if they are wanted."""
        if not self._opening:
            raise nothing_to_send()
        pieces = [*self._closed, self._open_message()]
        if cached:
            # The sides alternate, so the user's messages are every other one, from the end.
            newest = len(pieces) - (1 if self._opening is _USER else 2)
            for index in range(newest, max(newest - 3, -1), -2):
                pieces[index] = _marked(pieces[index])
        return self._filled(self._joined + pieces)

    def _open(self, opening: bytes) -> None:
        """Make sure that the open message begins like this; if it does not, close it and open one that does."""
        if opening is self._opening:
            return
        if self._opening:
            self._closed.append(self._open_message() + b",")
            if len(self._closed) > self._MOST_CLOSED:
                self._joined.append(b"".join(self._closed[:-4]))
                del self._closed[:-4]
        self._opening, self._results, self._blocks = opening, b"", b""

    def _open_message(self) -> bytes:
        return self._opening + (self._results + self._blocks)[1:] + b"]}"


def _marked(message: bytes) -> bytes:
    """The message with a cache marker in its last block."""
    end = message.rindex(b"}]}")
    return message[:end] + _CACHE_MARKER + message[end:]


def _encode_thought(thought: Thought) -> bytes:
    if thought.redacted:
        return b"," + encode(_RedactedBlock(thought.redacted))
    if thought.signature:
        return b"," + encode(_ThinkingBlock(thought.text, thought.signature))
    return b""  # another provider's thought, or one that was cut off


def _encode_result(message: Message) -> bytes:
    block = _ToolResultBlock(message.tool_call_id or "", result_content(message), message.is_error)
    return b"," + encode(block)


def _tool_form(tool: Tool, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": parameters}
