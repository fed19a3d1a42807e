"""A request as the bytes of the Claude Messages API. No I/O here.

A turn adds a few messages to a conversation and sends all of it again. So the JSON of a message is made once: it is
kept with the :class:`~maverick.model.History` it belongs to, and a request joins what is there with what is new.

What the API wants, and this module sees to:

* Turns alternate, so neighbouring messages of one side become one, and tool results count as the user's.
* Tool results come before anything else the user says.
* No block and no message is empty, and thoughts go back only with the signature they came with.
* A cache marker says "remember everything up to here". Markers sit on the end of the instructions, on the newest
  message and on the one that was newest a turn ago: the API finds an earlier entry only within twenty blocks of a
  marker, and a turn with many parallel tools is longer than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct

from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.model import History, Message, OutputSchema, Request, Role, Text, Thinking, Tool, ToolCall
from maverick.model.message import Part
from maverick.providers.claude_schema import strict_schema
from maverick.providers.wire_json import encode

_CACHE_MARKER = b',"cache_control":{"type":"ephemeral"}'

_ANSWER_IN_JSON = "Give your final answer as JSON and nothing else. It has to fit this JSON Schema:"
"""For a schema that the API cannot hold the model to."""

_COUNTED_EXTRAS = frozenset({"thinking", "tool_choice", "output_config"})
"""The optional fields that count towards a prompt; the endpoint that counts takes no others."""


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
    """Encodes requests, and remembers the JSON of the tools and output schemas it has seen.

    Args:
        cache_prompts: Whether to ask the API to cache the prompt where it pays.
        extra: Fields to add to every request, as the API names them.
    """

    def __init__(self, *, cache_prompts: bool = True, extra: Mapping[str, Any] | None = None) -> None:
        self._cache_prompts = cache_prompts
        self._extra = dict(extra or {})
        self._memory = _Memory()

    def message_request(self, request: Request, *, model: str, max_tokens: int, stream: bool) -> bytes:
        """The body that asks for an answer."""
        fields: dict[str, Any] = {"model": model, "max_tokens": request.config.max_tokens or max_tokens}
        if request.config.temperature >= 0:
            fields["temperature"] = request.config.temperature
        if stream:
            fields["stream"] = True
        return self._body(request, fields | self._extra)

    def count_request(self, request: Request, *, model: str) -> bytes:
        """The body that asks how many tokens the request would have."""
        extra = {name: value for name, value in self._extra.items() if name in _COUNTED_EXTRAS}
        return self._body(request, {"model": model, **extra})

    def _body(self, request: Request, fields: dict[str, Any]) -> bytes:
        # A single question without tools is not asked again, and writing the cache costs more than not having one.
        cached = self._cache_prompts and (bool(request.tools) or len(request.messages) > 1)
        system = request.system
        if request.output is not None:
            schema = self._schema(request.output)
            if schema == b"null":
                system = f"{system}\n\n{_ANSWER_IN_JSON} {encode(request.output.schema).decode()}".strip()
            else:
                answer_format = {"type": "json_schema", "schema": Raw(schema)}
                fields["output_config"] = {**fields.get("output_config", {}), "format": answer_format}
        if request.tools:
            tools = self._tools(request.tools)
            fields["tools"] = Raw(tools[:-2] + _CACHE_MARKER + b"}]" if cached and not system else tools)
        if system:
            block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
            fields["system"] = [block] if cached else system
        messages = _conversation(request.messages).pieces(cached=cached)
        return b"".join((encode(fields)[:-1], b',"messages":[', *messages, b"]}"))

    def _tools(self, tools: Sequence[Tool]) -> bytes:
        """The tools as JSON; made once for a tuple, which cannot change, and each time for a list, which can."""
        if type(tools) is tuple:
            return self._memory.recall(tools, lambda: _encode_tools(tools))
        return _encode_tools(tools)

    def _schema(self, output: OutputSchema) -> bytes:
        """The schema in Claude's dialect as JSON; ``null`` when the dialect cannot say it."""
        return self._memory.recall(output, lambda: encode(strict_schema(output.schema)))


class _Memory:
    """The JSON made for objects, by their identity; the oldest is forgotten when there are too many."""

    _CAPACITY = 128

    def __init__(self) -> None:
        self._made: dict[int, tuple[object, bytes]] = {}

    def recall(self, source: object, make: Callable[[], bytes]) -> bytes:
        """The JSON of the source; ``make`` is called the first time."""
        entry = self._made.get(id(source))
        if entry is None:
            if len(self._made) >= self._CAPACITY:
                del self._made[next(iter(self._made))]
            # Keeping the source alive keeps its id from being given to another object.
            entry = self._made[id(source)] = (source, make())
        return entry[1]


class _Conversation:
    """The wire form of the messages taken in so far.

    All wire messages but the last are closed: nothing can be added to them, so they are kept as finished JSON. The
    last one stays open as a list of blocks, because the next message may belong to it.
    """

    __slots__ = ("_blocks", "_closed", "_last_user", "_results", "_role", "length")

    def __init__(self) -> None:
        self.length = 0
        """How many messages were taken in."""
        self._closed: list[bytes] = []
        self._last_user: int | None = None
        """Which of the closed messages is the user's last one."""
        self._role = b""
        self._results: list[bytes] = []
        self._blocks: list[bytes] = []

    def extend(self, messages: Iterable[Message]) -> None:
        """Take in more messages."""
        for message in messages:
            if message.role is Role.TOOL_RESULT:
                result = _encode_result(message)
                self._open(b"user")
                self._results.append(result)
            elif blocks := [block for part in message.parts if (block := _encode_part(part)) is not None]:
                self._open(b"assistant" if message.role is Role.ASSISTANT else b"user")
                self._blocks += blocks
            self.length += 1

    def pieces(self, *, cached: bool) -> list[bytes]:
        """The messages as JSON, in pieces to be joined; with cache markers if they are wanted."""
        if not self._role:
            raise InvalidInputError(
                "There is nothing to send: the conversation has no message with any text in it.",
                field="messages",
            )
        pieces = [*self._closed, self._open_message()]
        if cached:
            if self._last_user is not None:
                pieces[self._last_user] = _marked(pieces[self._last_user], b"}]},")
            if self._role == b"user":
                pieces[-1] = _marked(pieces[-1], b"}]}")
        return pieces

    def _open(self, role: bytes) -> None:
        """Make sure that the open message is of this role; if it is not, close it and open one that is."""
        if role == self._role:
            return
        if self._role:
            if self._role == b"user":
                self._last_user = len(self._closed)
            self._closed.append(self._open_message() + b",")
        self._role, self._results, self._blocks = role, [], []

    def _open_message(self) -> bytes:
        blocks = b",".join(self._results + self._blocks)
        return b"".join((b'{"role":"', self._role, b'","content":[', blocks, b"]}"))


def _marked(message: bytes, ending: bytes) -> bytes:
    """The message with a cache marker in its last block."""
    return message[: -len(ending)] + _CACHE_MARKER + ending


def _conversation(messages: Sequence[Message]) -> _Conversation:
    """The wire form of the messages, taking up what was made for an earlier request of the same history."""
    conversation = _Conversation()
    if isinstance(messages, History):
        kept: _Conversation = messages.derived.setdefault(_Conversation, conversation)
        # One that has taken in more belongs to a later view of the history: it cannot serve this one.
        if kept.length <= len(messages):
            conversation = kept
    conversation.extend(messages[conversation.length :])
    return conversation


def _encode_part(part: Part) -> bytes | None:
    """The block of a part, or ``None`` for a part that the API would not take back."""
    if isinstance(part, Text):
        return encode(_TextBlock(part.text)) if part.text.strip() else None
    if isinstance(part, ToolCall):
        return encode(_ToolUseBlock(part.id, part.tool_name, part.arguments))
    return _encode_thinking(part)


def _encode_thinking(thought: Thinking) -> bytes | None:
    if thought.redacted:
        return encode(_RedactedBlock(thought.redacted))
    if thought.signature:
        return encode(_ThinkingBlock(thought.text, thought.signature))
    return None  # another provider's thought, or one that was cut off


def _encode_result(message: Message) -> bytes:
    content = message.content
    if message.is_error and not content:
        content = "The tool failed and did not say why."  # the API refuses an error without words
    return encode(_ToolResultBlock(message.tool_call_id or "", content, message.is_error))


def _encode_tools(tools: Sequence[Tool]) -> bytes:
    return b"[" + b",".join(map(_encode_tool, tools)) + b"]"


def _encode_tool(tool: Tool) -> bytes:
    try:
        schema = {"type": "object", **tool.parameters}
        return encode({"name": tool.name, "description": tool.description, "input_schema": schema})
    except (InvalidInputError, TypeError) as error:
        raise InvalidToolError(
            f"The parameters of the tool {tool.name!r} are not a JSON Schema: {error}", tool_name=tool.name
        ) from error
