"""A request as the bytes of OpenAI's Responses API. No I/O here.

What stays the same from turn to turn is encoded once (:mod:`~maverick.providers.http.wire_json`).

The API is used without its memory (``store: false``), so every item that it sent goes back exactly as it came and in
order: a message with its citations, encrypted reasoning, a function call, and whatever its own tools did. What another
provider said goes back as plain text and calls. A reasoning item is refused without the item that came after it, so
one at the end of an answer that was cut off is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from maverick.misuse import refuse
from maverick.model.media import Document, Image
from maverick.model.message import Message, Opaque, Part, Role, Text, Thought, ToolCall, text_of
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
    reasons,
    server_tools,
    tool_fields,
)
from maverick.providers.strict_schema import openai_tool_schema

PROVIDER = "openai"
"""Whose the blocks are that this API sends and takes back."""

LEAST_OUTPUT = 16
"""The fewest tokens that an answer may be limited to."""

_ENCRYPTED = "reasoning.encrypted_content"


class _EasyMessage(Struct):
    role: str
    content: str


class _FunctionCall(Struct, tag_field="type", tag="function_call"):
    call_id: str
    name: str
    arguments: str


class _FunctionOutput(Struct, tag_field="type", tag="function_call_output"):
    call_id: str
    output: str | list[object]


class ResponsesEncoder(RequestEncoder):
    """Encodes requests."""

    def _conversation(self, messages: Sequence[Message], model: str) -> JsonConversation:
        return encoded_conversation(messages, model, _Conversation, _Conversation)

    def _head(self, request: Request, model: str, *, stream: bool) -> bytes:
        fields: dict[str, Any] = {"model": model}
        if request.system:
            fields["instructions"] = request.system
        if not request.compact:  # which takes nothing else
            fields |= self._settings(request, model)
            if stream:
                fields["stream"] = True
        return encode(fields)[:-1] + b',"input":['

    def _settings(self, request: Request, model: str) -> dict[str, Any]:
        config = request.config
        if config.stop_sequences:
            refuse(
                "stop_sequences",
                "OpenAI's Responses API has none. Leave them out, or use openai-chat: with a model that "
                "takes them.",
            )
        fields = {"store": False} | cache_fields(config, model)
        fields |= self._common_settings(config, "max_output_tokens")
        if (limit := fields.get("max_output_tokens", LEAST_OUTPUT)) < LEAST_OUTPUT:
            refuse("max_tokens", f"OpenAI's Responses API takes {LEAST_OUTPUT} or more, got {limit}.")
        if reasoning := _reasoning(request, model):
            fields["reasoning"] = reasoning
        if request.output is not None:
            fields["text"] = {"format": {"type": "json_schema", **answer_format(request.output)}}
        fields |= tool_fields(request, server_tools(config), _tool_form, _choice)
        extra = dict(self._extra)
        add_extra(extra, config.extra)
        include = extra.pop("include", [])  # which only adds to what is sent
        if reasons(model) and _ENCRYPTED not in include:
            include = [_ENCRYPTED, *include]
        if include:
            fields["include"] = include
        add_extra(fields, extra)
        return fields


class _Conversation(JsonConversation):
    """The items so far."""

    __slots__ = ()

    def _add(self, message: Message) -> None:
        parts = self._media.admit(message)
        if message.role is Role.TOOL_RESULT:
            call_id, output = message.tool_call_id or "", text_of(parts) or result_content(message)
            shown = self._content(parts) if has_media(parts) else output
            self._append(encode(_FunctionOutput(call_id, shown)))
            return
        for item in self._answer(parts) if message.role is Role.ASSISTANT else self._question(parts):
            self._append(item)

    def _answer(self, parts: tuple[Part, ...]) -> list[bytes]:
        """What a model said, as the items that it came in where they are this API's."""
        count = len(parts)
        while count and isinstance(parts[count - 1], Thought):
            count -= 1
        items: list[bytes] = []
        for part in parts[:count]:
            block = part if isinstance(part, Opaque) else getattr(part, "block", None)
            if block is not None and block.provider == PROVIDER:
                items.append(encode(block.data))
            elif isinstance(part, Opaque):
                self._leave_out(part)
            elif isinstance(part, Text) and part.text:
                items.append(encode(_EasyMessage("assistant", part.text)))
            elif isinstance(part, ToolCall):
                arguments = encode(part.arguments).decode()
                items.append(encode(_FunctionCall(part.id, part.tool_name, arguments)))
        return items

    def _question(self, parts: tuple[Part, ...]) -> list[bytes]:
        """What a user said; between it may be items of this API, where a conversation was compacted."""
        if len(parts) == 1 and type(parts[0]) is Text:  # nearly always
            return [encode(_EasyMessage("user", parts[0].text))] if parts[0].text else []
        items: list[bytes] = []
        for is_item, group in groupby(parts, lambda part: isinstance(part, Opaque)):
            said = tuple(group)
            if is_item:
                items += self._answer(said)
            elif has_media(said):
                items.append(encode({"role": "user", "content": self._content(said)}))
            elif text := text_of(said):
                items.append(encode(_EasyMessage("user", text)))
        return items

    def _block(self, part: Part) -> object:
        match part:
            case Text(text=text) if text:
                return {"type": "input_text", "text": text}
            case Image(file_id=file_id):
                where = {"file_id": file_id} if file_id else {"image_url": self._data_url(part)}
                return {"type": "input_image", "detail": "auto", **where}
            case Document(blob=None, file_id=file_id, url=url):
                return {"type": "input_file", **({"file_id": file_id} if file_id else {"file_url": url})}
            case Document():
                return {"type": "input_file", **file_of(part, self._data_url(part))}
        return None


def _reasoning(request: Request, model: str) -> dict[str, Any]:
    config = request.config
    effort = reasoning_effort(config, model)
    fields = {} if effort is None else {"effort": effort}
    # They think by themselves; what is asked for is to see it.
    if config.thinking in ("adaptive", "between_tools"):
        fields["summary"] = "auto"
    return fields


def _choice(name: str, request: Request) -> dict[str, Any] | None:
    if any(tool.name == name for tool in request.tools):
        return {"type": "function", "name": name}
    if name in request.config.server_tools:
        (tool,) = server_tools(RequestConfig(server_tools=(name,)))
        return {"type": "allowed_tools", "mode": "required", "tools": [{"type": tool["type"]}]}
    return None


def _tool_form(tool: Tool, parameters: dict[str, Any]) -> dict[str, Any]:
    """The tool, strict where no call is lost by it."""
    strict = openai_tool_schema(parameters)
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters if strict is None else strict,
        "strict": strict is not None,
    }
