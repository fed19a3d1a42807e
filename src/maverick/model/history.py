"""The messages of a conversation as an immutable sequence that is cheap to extend.

Each turn adds a few messages and hands the whole conversation to a client. Copying it each time would make a
turn cost more the longer the run; sharing one growing list would change requests that were already made. A
``History`` is a view of the first *n* items of a list that only ever grows, as a Go slice is: extending the
newest view is O(1), extending an older one copies (that is a fork), and no view ever changes.

:func:`dump_messages` writes a conversation as bytes, to be kept anywhere: in a column of a database, a file, a cache.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NoReturn, overload

import msgspec
from msgspec import Struct

from maverick.exceptions import InvalidInputError
from maverick.misuse import refuse
from maverick.model.media import Blob
from maverick.model.message import Message, Role

_VERSION = 1
"""Of the form in which :func:`dump_messages` writes a conversation."""


class _Log:
    """The list that views share, and what clients derived from it."""

    __slots__ = ("derived", "messages")

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.derived: dict[object, Any] = {}


class History(Sequence[Message]):
    """An immutable sequence of messages with O(1) ``extended``."""

    __slots__ = ("_length", "_log")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._log = _Log(list(messages))
        self._length = len(self._log.messages)

    def extended(self, *messages: Message) -> History:
        """This history with messages added at its end; this one stays as it is."""
        log, length = self._log, self._length
        if len(log.messages) != length:
            log = _Log(log.messages[:length])
        log.messages.extend(messages)
        view = object.__new__(History)
        view._log, view._length = log, length + len(messages)
        return view

    def first(self, count: int) -> History:
        """The first messages, as a view of the same log."""
        view = object.__new__(History)
        view._log, view._length = self._log, min(count, self._length)
        return view

    @property
    def derived(self) -> dict[object, Any]:
        """A scratch space shared by all views of one log, for what is derived from its messages.

        The messages of a log never change, so a client can keep the wire form of each here, under a key of
        its own, and encode only the new ones.
        """
        return self._log.derived

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            start, stop, stride = index.indices(self._length)
            return tuple(self._log.messages[start:stop:stride] if stride > 0 else list(self)[index])
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(f"there are {self._length} messages")
        return self._log.messages[index]

    def __iter__(self) -> Iterator[Message]:
        return islice(self._log.messages, self._length)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"History({list(self)!r})"


def check_conversation(messages: Sequence[Message]) -> None:
    """Refuse messages in which a tool call is not followed by its result, or a result does not follow its call."""
    if not isinstance(messages, Iterable):
        has = ", such as result.messages" if hasattr(messages, "messages") else ""
        refuse("messages", f"expected a list of Message{has}, got {type(messages).__name__}.")
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        if not isinstance(message, Message):
            raise InvalidInputError(
                f"messages[{index}] is a {type(message).__name__}, not a Message. messages_from_anthropic(…) and "
                "messages_from_openai(…) take over those of a vendor's SDK.",
                field="messages",
            )
        if message.role is Role.TOOL_RESULT:
            if message.tool_call_id not in open_calls:
                _refuse(
                    index,
                    f"answers the tool call {message.tool_call_id!r}, which was not made just before it",
                )
            open_calls.discard(message.tool_call_id)
        elif open_calls:
            _refuse(index, f"comes before the result of the tool call {min(open_calls)!r}")
        else:
            open_calls = {call.id for call in message.tool_calls}
    if open_calls:
        _refuse(len(messages) - 1, f"makes the tool call {min(open_calls)!r}, which has no result")


def _refuse(index: int, why: str) -> NoReturn:
    raise InvalidInputError(
        f"messages[{index}] {why}. No provider accepts such a conversation.", field="messages"
    )


class _Conversation(Struct, frozen=True):
    messages: list[Message]
    version: int = _VERSION


def dump_messages(messages: Sequence[Message]) -> bytes:
    """A conversation as JSON in UTF-8, with the bytes of its images and documents.

    Everything comes back from :func:`load_messages` as it was, a provider's own blocks and signatures included.

    Raises:
        InvalidInputError: It is not a conversation, or something in it has no JSON form.
    """
    check_conversation(messages)
    conversation = _Conversation(list(messages))
    try:
        try:
            return msgspec.json.encode(conversation, enc_hook=encode_blob)
        except UnicodeEncodeError:  # a lone surrogate, as a tool may return: msgspec has no escape for it
            return json.dumps(msgspec.to_builtins(conversation, enc_hook=encode_blob)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"The messages cannot be written as JSON: {error}.", field="messages"
        ) from error


def load_messages(data: bytes | str) -> list[Message]:
    """The conversation that :func:`dump_messages` has written.

    Raises:
        InvalidInputError: It is damaged, was written by a newer Maverick, or is something else.
    """
    try:
        loaded = msgspec.convert(json.loads(data), _Conversation, dec_hook=decode_blob)
    except (TypeError, ValueError, RecursionError) as error:
        refuse(
            "data",
            "expected what dump_messages() has written, whole and unchanged. Messages of a vendor's SDK are taken over "
            "with messages_from_anthropic(…) and messages_from_openai(…).",
            error,
        )
    if loaded.version > _VERSION:
        raise InvalidInputError(
            "The messages were written by a newer Maverick. Update Maverick.", field="data"
        )
    for message in loaded.messages:
        if (message.role is Role.TOOL_RESULT) != (message.tool_call_id is not None):
            raise InvalidInputError("A tool result without its call, or the reverse.", field="data")
    check_conversation(loaded.messages)
    return loaded.messages


def encode_blob(value: object) -> dict[str, Any]:
    """The bytes of an image or a document as JSON, for msgspec's encoders."""
    if isinstance(value, Blob):
        return {"base64": value.base64.decode("ascii")}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode_blob(kind: type[Any], value: Any) -> object:  # noqa: ANN401 - any JSON
    """The bytes that :func:`encode_blob` has made JSON of, for msgspec's decoders."""
    if kind is Blob and isinstance(value, dict) and isinstance(value.get("base64"), str):
        return Blob(b64decode(value["base64"], validate=True))
    raise ValueError("an image or a document without its content")
