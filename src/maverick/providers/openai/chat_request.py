"""A request as the bytes of the Chat Completions API. No I/O here.

What stays the same from turn to turn is encoded once (:mod:`~maverick.providers.http.wire_json`).

A tool's result can only be text here. So what a tool shows comes after the results of its turn, as the user's: the model
sees the image, and the result says that it follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from maverick.exceptions import InvalidInputError
from maverick.misuse import refuse
from maverick.model.media import Blob, Document, Image
from maverick.model.message import (
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thought,
    ToolCall,
    describe_part,
    text_of,
)
from maverick.model.request import Request, RequestConfig
from maverick.model.tool import Tool
from maverick.providers.http.wire_json import add_extra, encode, encoded_conversation, result_content
from maverick.providers.openai.wire import (
    JsonConversation,
    RequestEncoder,
    answer_format,
    cache_fields,
    file_of,
    has_media,
    reasoning_effort,
    tool_fields,
)

PROVIDER = "openai-chat"
"""Whose the blocks are that servers of this API send and take back."""


class _Function(Struct):
    name: str
    arguments: str


class _Call(Struct, tag_field="type", tag="function"):
    id: str
    function: _Function


class _UserMessage(Struct, tag_field="role", tag="user"):
    content: str | list[Any]


class _AssistantMessage(Struct, tag_field="role", tag="assistant", omit_defaults=True):
    content: str | None = None
    tool_calls: list[Any] | None = None


class _ToolMessage(Struct, tag_field="role", tag="tool"):
    tool_call_id: str
    content: str


class ChatEncoder(RequestEncoder):
    """Encodes requests.

    Args:
        max_tokens: The most tokens of an answer when a request does not say; 0 leaves it to the server.
        extra: Fields to add to every request, as the API names them.
        thoughts_field: The field of an assistant's message in which its thoughts are sent back; empty for none.
        is_openai: Whether the server is OpenAI's own, with the settings and names that only it has.
    """

    def __init__(
        self,
        *,
        max_tokens: int = 0,
        extra: Mapping[str, Any] | None = None,
        thoughts_field: str = "",
        is_openai: bool = False,
    ) -> None:
        super().__init__(max_tokens=max_tokens, extra=extra)
        self._thoughts_field = thoughts_field
        self._is_openai = is_openai
        # OpenAI's reasoning models refuse the old name, and most other servers know no other.
        self._limit_field = "max_completion_tokens" if is_openai else "max_tokens"

    def _conversation(self, messages: Sequence[Message], model: str) -> JsonConversation:
        begin = partial(_Conversation, self._thoughts_field)
        return encoded_conversation(messages, model, (_Conversation, self._thoughts_field), begin)

    def _head(self, request: Request, model: str, *, stream: bool) -> bytes:
        config = request.config
        fields = {"model": model} | self._common_settings(config, self._limit_field)
        if config.stop_sequences:
            fields["stop"] = config.stop_sequences
        if effort := reasoning_effort(config, model, most="max" if self._is_openai else "high"):
            fields["reasoning_effort"] = effort
        fields |= self._cache_fields(request, model)
        if stream:
            fields["stream"] = True
            fields["stream_options"] = {"include_usage": True}
        fields |= tool_fields(request, _server_tools(config), _tool_form, _choice)
        if request.output is not None:
            answer = answer_format(request.output)
            fields["response_format"] = {"type": "json_schema", "json_schema": answer}
        add_extra(fields, self._extra)
        add_extra(fields, config.extra)
        system = encode({"role": "system", "content": request.system}) + b"," if request.system else b""
        return encode(fields)[:-1] + b',"messages":[' + system

    def _cache_fields(self, request: Request, model: str) -> dict[str, Any]:
        wanted = request.config.cache
        if not self._is_openai and wanted not in (None, "5m"):
            refuse("cache", f"Chat Completions has no way to ask for {wanted!r}. Leave the setting out.")
        return cache_fields(request.config, model)


class _Conversation(JsonConversation):
    """The messages so far."""

    __slots__ = ("_shown", "_thoughts_field")

    def __init__(self, thoughts_field: str) -> None:
        super().__init__()
        self._thoughts_field = thoughts_field
        self._shown: list[object] = []
        """What the tools of this turn show, which comes after their results."""

    def pieces(self) -> list[bytes]:
        """The messages as JSON, in pieces to be sent one after another."""
        if not self._shown:
            return super().pieces()
        last = encode(_UserMessage(self._shown))
        return [*super().pieces(), *self._filled([b"," + last])]

    def _add(self, message: Message) -> None:
        parts = self._media.admit(message)
        if message.role is Role.TOOL_RESULT:
            self._add_result(message, parts)
            return
        is_answer = message.role is Role.ASSISTANT
        encoded = self._answer(parts) if is_answer else self._question(parts)
        if self._shown:
            shown, self._shown = self._shown, []
            self._append(encode(_UserMessage(shown)))
        if encoded is not None:
            self._append(encoded)

    def _add_result(self, message: Message, parts: tuple[Part, ...]) -> None:
        shown = self._content(tuple([part for part in parts if isinstance(part, Image | Document)]))
        text = text_of(parts) or result_content(message)
        if shown:
            text = "\n".join([describe_part(part) for part in parts if not isinstance(part, Opaque)])
            text += "\n(What is in brackets follows after the results.)"
        self._append(encode(_ToolMessage(message.tool_call_id or "", text)))
        self._shown += shown

    def _question(self, parts: tuple[Part, ...]) -> bytes | None:
        text = text_of(parts)
        if len(parts) > 1 or not text:
            for part in parts:
                if isinstance(part, Opaque):
                    self._leave_out(part)
            if has_media(parts):
                return encode(_UserMessage(self._content(parts)))
        return encode(_UserMessage(text)) if text else None

    def _answer(self, parts: tuple[Part, ...]) -> bytes | None:
        """The JSON of an answer, or ``None`` for one without anything that the API would take."""
        text, thoughts = "", ""
        calls: list[Any] = []
        for part in parts:
            if isinstance(part, Text):
                text += part.text
            elif isinstance(part, Thought):
                thoughts += part.text
            elif isinstance(part, ToolCall):
                calls.append(_encode_call(part))
            elif isinstance(part, Opaque):
                self._leave_out(part)
        if not text and not calls:
            return None
        encoded = encode(_AssistantMessage(text or None, calls or None))
        if thoughts and self._thoughts_field:
            return encoded[:-1] + b"," + encode({self._thoughts_field: thoughts})[1:]
        return encoded

    def _block(self, part: Part) -> object:
        """A PDF is a file; a text is text, since no other file is taken."""
        match part:
            case Text(text=text) if text:
                return {"type": "text", "text": text}
            case Image(file_id=file_id):
                if file_id:
                    raise _not_taken("an image by its file id", "Send the image itself, or its URL.")
                return {"type": "image_url", "image_url": {"url": self._data_url(part)}}
            case Document(blob=None, file_id=file_id):
                if not file_id:
                    raise _not_taken("a document by its URL", "Send the document itself.")
                return {"type": "file", "file": {"file_id": file_id}}
            case Document(blob=Blob(data=data), media_type="text/plain", name=name):
                text = data.decode("utf-8", "replace")
                return {"type": "text", "text": f"{name}:\n\n{text}" if name else text}
            case Document():
                return {"type": "file", "file": file_of(part, self._data_url(part))}
        return None


def _not_taken(what: str, advice: str) -> InvalidInputError:
    return InvalidInputError(f"Chat Completions does not take {what}. {advice}", field="messages")


def _encode_call(call: ToolCall) -> object:
    """The call as it goes back. Arguments that were malformed go back empty: many servers parse them again."""
    if call.block is not None and call.block.provider == PROVIDER and not call.malformed:
        return call.block.data
    return _Call(call.id, _Function(call.tool_name, encode(call.arguments).decode()))


def _server_tools(config: RequestConfig) -> list[Any]:
    for tool in config.server_tools:
        if isinstance(tool, str):
            refuse(
                "server_tools",
                f"Chat Completions has no {tool!r}. Use a provider with server tools, such as "
                "openai-responses:, or a dictionary as the server documents it.",
            )
    return list(config.server_tools)


def _choice(name: str, request: Request) -> dict[str, Any] | None:
    if any(tool.name == name for tool in request.tools):
        return {"type": "function", "function": {"name": name}}
    return None


def _tool_form(tool: Tool, parameters: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}
