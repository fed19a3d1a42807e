"""Entries as compact JSON, and back.

Each stored entry names the version of this format it was written in. Text that is not valid Unicode (a lone surrogate,
as a careless tool may return) and NUL characters come back as they were.
"""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec

from maverick import exceptions
from maverick.exceptions import AgentError, ErrorKind, JournalError
from maverick.loop.entries import Entry

VERSION = 1
"""The version entries are written in."""

_OWN_FIELDS = frozenset({"message", "kind", "retryable"})


def encode_entry(entry: Entry) -> bytes:
    """The entry as JSON.

    Raises:
        JournalError: Something in it has no JSON form.
    """
    try:
        return _encoder.encode(entry)
    except UnicodeEncodeError:  # a lone surrogate: msgspec writes UTF-8 only, the standard library escapes
        return json.dumps(msgspec.to_builtins(entry, enc_hook=_encode_error), separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise JournalError(
            f"A {type(entry).__name__} can not be written down: {error}. Tool arguments and results are JSON values.",
            cause=error,
        ) from error


def decode_entry(payload: bytes, version: int) -> Entry:
    """The entry a payload holds.

    Raises:
        JournalError: It was written by a newer Maverick, or is damaged.
    """
    if version != VERSION:
        raise JournalError(
            f"The journal holds entries of format {version}; this Maverick reads {VERSION}. Use the version that wrote it."
        )
    try:
        return cast("Entry", _decoder.decode(payload))
    except msgspec.DecodeError as error:
        return _decode_leniently(payload, error)


def _decode_leniently(payload: bytes, first_error: msgspec.DecodeError) -> Entry:
    try:
        plain = json.loads(payload)
        return cast("Entry", msgspec.convert(plain, Entry, dec_hook=_decode_error))
    except (ValueError, msgspec.ValidationError) as error:
        raise JournalError(f"A journal entry is damaged: {first_error}.", cause=error) from error


def _encode_error(value: object) -> object:
    if not isinstance(value, AgentError):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    details = {
        name: item for name, item in vars(value).items() if name not in _OWN_FIELDS and _is_plain(item)
    }
    return {
        "type": type(value).__name__,
        "message": value.message,
        "kind": value.kind.value,
        "retryable": value.retryable,
        "details": details,
    }


def _decode_error(kind: type[Any], value: Any) -> object:  # noqa: ANN401 - JSON of any shape
    if kind is not AgentError:
        raise TypeError(f"no {kind.__name__} is ever written")
    known = getattr(exceptions, value["type"], AgentError)
    cls = known if isinstance(known, type) and issubclass(known, AgentError) else AgentError
    error = cls.__new__(cls)
    AgentError.__init__(error, value["message"], kind=ErrorKind(value["kind"]), retryable=value["retryable"])
    vars(error).update(value["details"])
    return error


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, str | int | float | bool)


_encoder = msgspec.json.Encoder(enc_hook=_encode_error)
_decoder = msgspec.json.Decoder(Entry, dec_hook=_decode_error)
