"""A conversation as bytes, to be kept anywhere: in a column of your database, a file, a cache."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from maverick.exceptions import InvalidInputError
from maverick.model.history import check_conversation
from maverick.model.media import Blob
from maverick.model.message import Message, Role

_VERSION = 1


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
            f"The messages cannot be written as JSON: {error}.", field="messages", cause=error
        ) from error


def load_messages(data: bytes | str) -> list[Message]:
    """The conversation that :func:`dump_messages` has written.

    Raises:
        InvalidInputError: It is damaged, was written by a newer Maverick, or is something else.
    """
    try:
        loaded = msgspec.convert(json.loads(data), _Conversation, dec_hook=decode_blob)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            "data: expected what dump_messages() has written, whole and unchanged. Messages of a vendor's SDK are taken over "
            "with messages_from_anthropic(…) and messages_from_openai(…).",
            field="data",
            cause=error,
        ) from error
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
