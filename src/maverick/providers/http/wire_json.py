"""JSON on the wire: requests whose parts are encoded once, and answers that are not always clean. No I/O here.

A turn adds a few messages to a conversation and sends all of it again, with the same instructions and tools. So the
JSON of a message is made once and kept with the :class:`~maverick.model.History` it belongs to
(:class:`EncodedConversation`), everything before the messages is made once too (:class:`HeadCache`), and a request
joins what is there with what is new. The base64 of an image is not even joined: it is a piece of the request's body of
its own, the same object in each turn.

A Python string can hold half of a surrogate pair, and so can a JSON escape, but UTF-8 can carry neither. In both
directions such a half becomes U+FFFD, the replacement character: one odd character must not cost a whole conversation.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.loop.prefix import without_thoughts
from maverick.misuse import refuse
from maverick.model import History, Message, Opaque, Part, Request, RequestConfig, Thought, Tool, ToolCall
from maverick.model.message import describe_part
from maverick.telemetry import logger

Value = TypeVar("Value")
Form = TypeVar("Form", bound="EncodedConversation")

BAD_JSON = (ValueError, RecursionError)
"""What decoding raises for bytes that are not the expected JSON; ``RecursionError`` when it is nested too deeply."""

TokenCount: TypeAlias = Annotated[int, Meta(ge=0, lt=2**53)]
"""A number of tokens; a negative or astronomical one is refused, because budgets are charged with it."""

_WRITTEN_LAST = frozenset({"messages", "input", "stream"})
"""The fields of a request that no setting may replace."""

_encoder = msgspec.json.Encoder()
_objects = msgspec.json.Decoder(dict[str, Any])


def encode(value: object) -> bytes:
    """The value as JSON; one that cannot be written as JSON is refused."""
    try:
        return _encode(value)
    except (TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"A value of the request cannot be sent as JSON: {error}. Use text, numbers, lists and dictionaries."
        ) from error


def encode_tools(tools: Sequence[Tool], form: Callable[[Tool, dict[str, Any]], dict[str, Any]]) -> bytes:
    """The tools as a JSON array; ``form`` says a tool, with the schema of its parameters, in the words of the API."""
    encoded = []
    for tool in tools:
        try:
            encoded.append(encode(form(tool, {"type": "object", **tool.parameters})))
        except (InvalidInputError, TypeError) as error:
            problem = f"The parameters of the tool {tool.name!r} are not a JSON Schema: {error}"
            raise InvalidToolError(problem, tool_name=tool.name) from error
    return b"[" + b",".join(encoded) + b"]"


def decode(raw: bytes, decoder: msgspec.json.Decoder[Value]) -> Value:
    """Decode JSON, replacing characters that UTF-8 cannot carry; bytes that are something else raise ``BAD_JSON``."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        raise
    except ValueError:
        return decoder.decode(
            _whole(json.dumps(json.loads(raw.decode("utf-8", "replace")), ensure_ascii=False))
        )


def decode_object(raw: bytes) -> dict[str, Any] | None:
    """The JSON object in a model's tool arguments, or ``None`` when they are something else."""
    try:
        return decode(raw, _objects)
    except BAD_JSON:
        return None


def tool_call(call_id: str, name: str, written: str, block: Opaque | None = None) -> ToolCall:
    """A call, whatever the model wrote as its arguments; none at all are an empty object."""
    arguments = decode_object(written.encode("utf-8", "replace") or b"{}")
    if arguments is None:
        return ToolCall(call_id, name, malformed=written, block=block)
    return ToolCall(call_id, name, arguments, block=block)


class HeadCache:
    """The JSON of requests up to their messages, made once for requests that differ only in those.

    Tools and output schemas are compared by identity, and kept alive so that no other object gets their id. A list of
    tools can change and still be the same object, so it is encoded anew each time.
    """

    CAPACITY = 256
    """The oldest is forgotten when there are more."""

    __slots__ = ("_config", "_heads", "_settings")

    def __init__(self) -> None:
        self._heads: dict[Hashable, tuple[bytes, object]] = {}
        self._config: RequestConfig | None = None
        self._settings = b""

    def get(self, request: Request, options: Hashable, make: Callable[[], bytes]) -> bytes:
        """The head of the request: a kept one, or what ``make`` returns.

        Besides the settings of the request, it depends on the ``options``.
        """
        config = request.config
        if config is not self._config:  # most turns have the settings of the one before
            self._config, self._settings = config, encode(config)
        key = (
            options,
            request.compact,
            self._settings,
            request.system,
            id(request.tools),
            id(request.output),
        )
        kept = self._heads.get(key)
        if kept is not None:
            return kept[0]
        head = make()
        if isinstance(request.tools, tuple):
            if len(self._heads) >= self.CAPACITY:
                del self._heads[next(iter(self._heads))]
            self._heads[key] = (head, (request.tools, request.output))
        return head


def add_extra(fields: dict[str, Any], extra: Mapping[str, Any]) -> None:
    """Add fields as the API names them; one that says something else than another setting is refused."""
    for name, value in extra.items():
        present = fields.get(name)
        if isinstance(present, dict) and isinstance(value, Mapping) and present.keys().isdisjoint(value):
            fields[name] = {**present, **value}
        elif name in fields or name in _WRITTEN_LAST:
            refuse("extra", f"{name!r} is set by another setting. Set it in one place only.")
        else:
            fields[name] = value


class EncodedConversation(ABC):
    """The JSON of the messages so far, which grows with the conversation: each message is encoded once.

    What is large and needs no escaping (base64) stays outside of that JSON, which has its number between two zero
    bytes in its place: no JSON has such bytes, so no content can be taken for one.
    """

    __slots__ = ("_has_left_out", "_large", "length", "model")

    def __init__(self) -> None:
        self._has_left_out = False
        self._large: list[bytes] = []
        self.length = 0
        """How many messages were added."""
        self.model = ""
        """The model that is asked, which takes back its own thoughts and no others; empty if that is not known."""

    @abstractmethod
    def _add(self, message: Message) -> None:
        """Add a message; if it cannot be written as JSON, this raises and changes nothing."""

    def extend_to(self, messages: Sequence[Message]) -> None:
        """Add those of the messages that are new."""
        if self.length < len(messages):
            for message in messages[self.length :]:
                self._add(self._readable(message))
                self.length += 1

    def _readable(self, message: Message) -> Message:
        """The message without the thoughts of another model than the one that is asked."""
        if not any(type(part) is Thought and self._is_foreign(part) for part in message.parts):
            return message
        return without_thoughts([message], leave_out=self._is_foreign)[0]

    def _is_foreign(self, thought: Thought) -> bool:
        return bool(self.model) and thought.model not in ("", self.model)

    def _leave_out(self, part: Part) -> None:
        """Say, once for each conversation, that what only another provider takes back is not sent."""
        if not self._has_left_out:
            self._has_left_out = True
            logger.warning(
                "what another provider's model said is left out: %s",
                describe_part(part) if isinstance(part, Opaque) else f"[{type(part).__name__.lower()}]",
            )

    def _string(self, data: bytes, *, start: str = "") -> msgspec.Raw:
        """A JSON string for a value that is encoded: base64 that is never copied, behind a start such as ``data:``."""
        self._large.append(data)
        return msgspec.Raw(encode(start)[:-1] + b'\0%d\0"' % (len(self._large) - 1))

    def _filled(self, pieces: list[bytes]) -> list[bytes]:
        """The pieces with the large strings in their places, as pieces of their own."""
        if not self._large:
            return pieces
        filled: list[bytes] = []
        for piece in pieces:
            first, *others = piece.split(b"\0")
            filled.append(first)
            for number, text in zip(others[::2], others[1::2], strict=True):
                filled += (self._large[int(number)], text)
        return filled


def encoded_conversation(
    messages: Sequence[Message], model: str, key: Hashable, begin: Callable[[], Form]
) -> Form:
    """The JSON of the messages for a model, extending what was made for an earlier request of the same history.

    The ``key`` tells this form from others of the same history; ``begin`` makes one without messages.
    """
    key, form = (model, key), None
    if isinstance(messages, History):
        form = messages.derived.get(key)
        if form is None:
            form = messages.derived[key] = begin()
            form.model = model
    # One that has more messages than this was made for a later view of the history, and cannot serve this one.
    if form is None or form.length > len(messages):
        form = begin()
        form.model = model
    form.extend_to(messages)
    return form


def nothing_to_send() -> InvalidInputError:
    """The error for a conversation that is empty on the wire."""
    return InvalidInputError(
        "There is nothing to send: no message of the conversation has any text.", field="messages"
    )


def result_content(message: Message) -> str:
    """What a tool's result says; an error always says something, because services refuse one without text."""
    content = message.content
    return "The tool failed without a message." if message.is_error and not content else content


def _encode(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_repaired(value))


def _repaired(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value with each text as UTF-8 can carry it; pieces of JSON that were made before stay as they are."""
    if isinstance(value, str):
        return _whole(value).decode()
    if isinstance(value, dict):
        return {_repaired(name): _repaired(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_repaired(item) for item in value]
    if isinstance(value, msgspec.Struct):
        fields = {name: _repaired(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


def _whole(text: str) -> bytes:
    """The text in UTF-8, with matching halves of surrogate pairs joined and lone ones replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
