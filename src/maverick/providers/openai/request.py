"""A request as the bytes of the Chat Completions API. No I/O here.

What stays the same from turn to turn is encoded once (:mod:`~maverick.providers.http.wire_json`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Raw, Struct

from maverick.model import Message, OutputSchema, Request, Role, Text, Thought, Tool, ToolCall
from maverick.providers.http.wire_json import (
    EncodedConversation,
    HeadCache,
    encode,
    encode_tools,
    encoded_conversation,
    nothing_to_send,
    result_content,
)
from maverick.providers.strict_schema import openai_schema

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class _Function(Struct):
    name: str
    arguments: str


class _Call(Struct, tag_field="type", tag="function"):
    id: str
    function: _Function


class _UserMessage(Struct, tag_field="role", tag="user"):
    content: str


class _AssistantMessage(Struct, tag_field="role", tag="assistant", omit_defaults=True):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _ToolMessage(Struct, tag_field="role", tag="tool"):
    tool_call_id: str
    content: str


class RequestEncoder:
    """Encodes requests.

    Args:
        limit_field: The server's name for the most tokens an answer may have.
        max_tokens: That number when a request does not say; 0 leaves it to the server.
        thoughts_field: The field of an assistant's message in which its thoughts are sent back; empty for none.
        extra: Fields to add to every request, as the API names them.
    """

    def __init__(
        self,
        *,
        limit_field: str,
        max_tokens: int = 0,
        thoughts_field: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._limit_field = limit_field
        self._max_tokens = max_tokens
        self._thoughts_field = thoughts_field
        self._extra = dict(extra or {})
        self._heads = HeadCache()

    def encode(self, request: Request, *, model: str, stream: bool) -> list[bytes]:
        """The request as JSON, in pieces: first all that stays the same from turn to turn, then the messages."""
        config = request.config
        options = (model, config.max_tokens, config.temperature, stream)
        head = self._heads.get(request, options, lambda: self._head(request, model, stream=stream))
        begin = partial(_Conversation, self._thoughts_field)
        key = (_Conversation, self._thoughts_field)
        messages = encoded_conversation(request.messages, key, begin).pieces()
        messages[-1] = messages[-1][:-1]  # no comma after the last one
        return [head, *messages, b"]}"]

    def _head(self, request: Request, model: str, *, stream: bool) -> bytes:
        config = request.config
        fields: dict[str, Any] = {"model": model}
        if limit := config.max_tokens or self._max_tokens:
            fields[self._limit_field] = limit
        if config.temperature is not None:
            fields["temperature"] = config.temperature
        if stream:
            fields["stream"] = True
            fields["stream_options"] = {"include_usage": True}
        if request.tools:
            fields["tools"] = Raw(encode_tools(request.tools, _tool_form))
        if request.output is not None:
            fields["response_format"] = _response_format(request.output)
        fields |= self._extra
        system = encode({"role": "system", "content": request.system}) + b"," if request.system else b""
        return encode(fields)[:-1] + b',"messages":[' + system


class _Conversation(EncodedConversation):
    """The messages so far, each with a comma after it.

    Now and then the pieces are joined, so that a long conversation does not become a long list.
    """

    __slots__ = ("_pieces", "_thoughts_field")

    _MOST_PIECES = 64

    def __init__(self, thoughts_field: str) -> None:
        super().__init__()
        self._thoughts_field = thoughts_field
        self._pieces: list[bytes] = []

    def _add(self, message: Message) -> None:
        encoded = _encode_message(message, self._thoughts_field)
        if encoded is not None:
            if len(self._pieces) >= self._MOST_PIECES:
                self._pieces = [b"".join(self._pieces)]
            self._pieces.append(encoded + b",")

    def pieces(self) -> list[bytes]:
        """The messages as JSON, in pieces to be joined."""
        if not self._pieces:
            raise nothing_to_send()
        return self._filled(self._pieces.copy())


def _encode_message(message: Message, thoughts_field: str) -> bytes | None:
    """The JSON of a message, or ``None`` for one without anything that the API would take."""
    if message.role is Role.TOOL_RESULT:
        return encode(_ToolMessage(message.tool_call_id or "", result_content(message)))
    if message.role is Role.ASSISTANT:
        return _encode_assistant(message, thoughts_field)
    return encode(_UserMessage(message.content)) if message.content else None


def _encode_assistant(message: Message, thoughts_field: str) -> bytes | None:
    text, thoughts = "", ""
    calls: list[_Call] = []
    for part in message.parts:
        if isinstance(part, Text):
            text += part.text
        elif isinstance(part, Thought):
            thoughts += part.text
        elif isinstance(part, ToolCall):
            calls.append(_encode_call(part))
    if not text and not calls:
        return None
    encoded = encode(_AssistantMessage(text or None, calls or None))
    if thoughts and thoughts_field:
        return encoded[:-1] + b"," + encode({thoughts_field: thoughts})[1:]
    return encoded


def _encode_call(call: ToolCall) -> _Call:
    """The call as it goes back. Arguments that were malformed go back empty: many servers parse them again."""
    return _Call(call.id, _Function(call.tool_name, encode(call.arguments).decode()))


def _tool_form(tool: Tool, parameters: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _response_format(output: OutputSchema) -> dict[str, Any]:
    """The format of the answer: strict where the schema allows it, and otherwise as good as the server can do it."""
    wanted: dict[str, Any] = {"name": _NOT_IN_A_NAME.sub("_", output.name)[:64] or "answer"}
    strict = openai_schema(output.schema)
    wanted |= {"schema": output.schema} if strict is None else {"schema": strict, "strict": True}
    return {"type": "json_schema", "json_schema": wanted}
