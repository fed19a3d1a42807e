"""JSON on a wire that is not always clean.

A Python string can hold half of a surrogate pair, and so can a JSON escape, but UTF-8 can carry neither. Both ways
such a half becomes U+FFFD, the replacement character: one odd character must not cost a whole conversation.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from maverick.exceptions import InvalidInputError

Value = TypeVar("Value")

BAD_JSON = (ValueError, RecursionError)
"""What decoding raises for bytes that are not the expected JSON; ``RecursionError`` when it is nested too deeply."""

TokenCount: TypeAlias = Annotated[int, Meta(ge=0, lt=2**53)]
"""A number of tokens; what is negative or astronomical is no count, and budgets must not be charged with it."""

_encoder = msgspec.json.Encoder()
_objects = msgspec.json.Decoder(dict[str, Any])


def encode(value: object) -> bytes:
    """The value as JSON.

    Raises:
        InvalidInputError: There is no JSON for it.
    """
    try:
        return _encode(value)
    except (TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"A value of the request cannot be sent as JSON: {error}. Use text, numbers, lists and dictionaries.",
            cause=error,
        ) from error


def decode(raw: bytes, decoder: msgspec.json.Decoder[Value]) -> Value:
    """Decode JSON, mending characters that no text can have.

    Raises:
        ValueError: It is not JSON, or not of the decoder's type.
        RecursionError: It is nested too deeply.
    """
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


def _encode(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _whole(json.dumps(msgspec.to_builtins(value, enc_hook=_unpacked), ensure_ascii=False))


def _unpacked(value: object) -> object:
    """What is in a piece of JSON that was made before."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def _whole(text: str) -> bytes:
    """The text in UTF-8, with matching halves of surrogate pairs joined and lone ones replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
