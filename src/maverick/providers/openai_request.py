"""A request as the bytes of the Chat Completions API. No I/O here.

Everything that is the same from turn to turn is made once (:mod:`~maverick.providers.wire_conversation`,
:mod:`~maverick.providers.json_memory`), and a request joins what is there with what is new.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct

from maverick.model import Message, OutputSchema, Request, Role, Text, Thinking, Tool, ToolCall
from maverick.providers.json_memory import JsonMemory, ToolMemory
from maverick.providers.openai_schema import strict_schema
from maverick.providers.wire_conversation import (
    WireConversation,
    conversation_of,
    nothing_to_send,
    result_content,
)
from maverick.providers.wire_json import encode

TokenLimit: TypeAlias = Literal["max_tokens", "max_completion_tokens"]
"""How a server calls the most tokens an answer may have."""

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
    """Encodes requests, and remembers the JSON of the tools and output schemas it has seen.

    Args:
        thoughts_field: The field of an assistant's message in which its thoughts are sent back; empty for none.
        extra: Fields to add to every request, as the API names them.
    """

    def __init__(self, *, thoughts_field: str = "", extra: Mapping[str, Any] | None = None) -> None:
        self._thoughts_field = thoughts_field
        self._extra = dict(extra or {})
        self._tools = ToolMemory(_tool_form)
        self._formats = JsonMemory()

    def completion_request(
        self, request: Request, *, model: str, max_tokens: int, token_limit: TokenLimit, stream: bool
    ) -> bytes:
        """The body that asks for an answer.

        Args:
            request: What is asked.
            model: Which model is asked.
            max_tokens: The most tokens of an answer when the request does not say; 0 leaves it to the server.
            token_limit: How the server calls that number.
            stream: Whether the answer should come piece by piece.
        """
        config = request.config
        fields: dict[str, Any] = {"model": model}
        if limit := config.max_tokens or max_tokens:
            fields[token_limit] = limit
        if config.temperature >= 0:
            fields["temperature"] = config.temperature
        if stream:
            fields["stream"] = True
            fields["stream_options"] = {"include_usage": True}
        if request.tools:
            fields["tools"] = Raw(self._tools.encode(request.tools))
        if request.output is not None:
            fields["response_format"] = Raw(self._response_format(request.output))
        fields |= self._extra
        begin = partial(_Conversation, self._thoughts_field)
        messages = conversation_of(request.messages, (_Conversation, self._thoughts_field), begin).pieces()
        if request.system:
            messages.insert(0, encode({"role": "system", "content": request.system}) + b",")
        messages[-1] = messages[-1][:-1]  # no comma after the last one
        return b"".join((encode(fields)[:-1], b',"messages":[', *messages, b"]}"))

    def _response_format(self, output: OutputSchema) -> bytes:
        made = self._formats.get(id(output))
        if made is None:
            made = _encode_output(output)
            self._formats.keep(id(output), made, output)
        return made


class _Conversation(WireConversation):
    """The messages taken in so far, each with a comma after it.

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
        return self._pieces.copy()


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
        elif isinstance(part, Thinking):
            thoughts += part.text
        else:
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


def _encode_output(output: OutputSchema) -> bytes:
    """The format of the answer: strict where the schema allows it, and otherwise as good as the server can do it."""
    wanted: dict[str, Any] = {"name": _NOT_IN_A_NAME.sub("_", output.name)[:64] or "answer"}
    strict = strict_schema(output.schema)
    wanted |= {"schema": output.schema} if strict is None else {"schema": strict, "strict": True}
    return encode({"type": "json_schema", "json_schema": wanted})
