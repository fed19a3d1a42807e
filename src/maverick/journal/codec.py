"""Entries as compact JSON, and back.

Each stored entry names the version of this format it was written in. Text that is not valid Unicode (a lone surrogate,
as a tool may return) and NUL characters are restored exactly. The bytes of images and documents are not in the entries: an
entry has their hash and size, and a journal keeps the bytes beside the entries, once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from math import isfinite
from operator import attrgetter
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from maverick import exceptions
from maverick.exceptions import AgentError, ErrorKind, InvalidInputError, JournalDamagedError, JournalError
from maverick.journal.records import Approval
from maverick.loop.entries import (
    CallsReviewed,
    Edited,
    Entry,
    ModelReplied,
    RequestReviewed,
    RunStarted,
    Said,
    ToolFinished,
)
from maverick.model import Blob, Document, Image, Part, ToolCall

VERSION = 1
"""The version of the format that entries are written in. Every version before it can be read, always: a change that old
entries do not fit gets the next number, and a step here that turns what is older into it."""

R = TypeVar("R")


class _StoredError(Struct, frozen=True):
    """An error as it is written down; ``details`` are the fields its class adds."""

    type: str
    message: str
    kind: ErrorKind
    retryable: bool
    details: dict[str, Any] = {}


class _StoredBlob(Struct, frozen=True):
    """What an entry has of a blob."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Meta(ge=0)]


_UNWRITABLE = (TypeError, ValueError, RecursionError, OverflowError)
_UNREADABLE = (*_UNWRITABLE, AttributeError, InvalidInputError)
_PAIR = "[\ud800-\udbff][\udc00-\udfff]"
_MEDIA = frozenset({Image, Document})
_PARTS: dict[type[Any], Callable[[Any], Iterable[Part]]] = {
    RunStarted: lambda entry: [part for message in entry.messages for part in message.parts],
    ModelReplied: attrgetter("response.parts"),
    ToolFinished: attrgetter("parts"),
    Said: attrgetter("parts"),
    Edited: attrgetter("parts"),
    RequestReviewed: lambda entry: [part for m in (*entry.messages, *entry.added) for part in m.parts],
    CallsReviewed: lambda entry: [review.call for review in entry.calls if review.call is not None],
}
"""Where the parts of an entry are. Looked up by type: asking a struct what it is an instance of takes a microsecond."""
_OWN_FIELDS = frozenset(_StoredError.__struct_fields__)


def encode_entry(entry: Entry) -> bytes:
    """The entry as JSON; raises JournalError if something in it has no JSON form."""
    try:
        for part in _parts_in(entry):
            if type(part) is ToolCall:
                _check_numbers(part.arguments)
        return encode_json(entry)
    except _UNWRITABLE as error:
        raise JournalError(
            f"A {type(entry).__name__} cannot be stored: {error}. Tool arguments and results must be JSON values."
        ) from error


def decode_entry(payload: bytes, version: int) -> Entry:
    """The entry a payload holds; an error if it is damaged, or was written by a newer Maverick."""
    # SQLite keeps what damage makes of a column.
    if not isinstance(version, int) or not isinstance(payload, bytes):
        raise JournalDamagedError("A journal entry is damaged: it is not an entry.")
    if version > VERSION:
        raise JournalError(
            f"The journal holds entries of format {version}, and this Maverick reads formats up to {VERSION}. "
            "Update Maverick."
        )
    return _decode(payload, _entry_decoder())


def blobs_in(entry: Entry) -> list[Blob]:
    """The blobs that an entry names; those of an entry that was decoded have no bytes yet.

    One that has no bytes and is from no journal is refused: its hash may be that of another user's.
    """
    blobs = [part.blob for part in _parts_in(entry) if type(part) in _MEDIA and part.blob is not None]
    for blob in blobs:
        if not blob.is_loaded and not blob.is_recorded:
            raise InvalidInputError(
                f"The content with the hash {blob.sha256[:12]}… is not here. Give its bytes with from_bytes or from_path.",
                field="content",
            )
    return blobs


def encode_approval(approval: Approval) -> bytes:
    """The request for approval as JSON; raises JournalError if something in it has no JSON form."""
    try:
        return encode_json(approval)
    except _UNWRITABLE as error:
        raise JournalError(
            f"The approval request {approval.approval_id!r} cannot be stored: {error}."
        ) from error


def decode_approval(payload: bytes) -> Approval:
    """The request for approval a payload holds; raises JournalDamagedError if it is damaged."""
    return _decode(payload, _approval_decoder())


def encode_json(value: object, *, sort: bool = False) -> bytes:
    """Any value as JSON; a lone surrogate is written as its escape, which is all that JSON has for it.

    With ``sort``, equal values have equal JSON, whatever the order of their keys.
    """
    try:
        return (_sorting_encoder if sort else _encoder).encode(value)
    except UnicodeEncodeError:  # msgspec writes UTF-8 only
        text = json.dumps(to_plain(value), ensure_ascii=False, separators=(",", ":"), sort_keys=sort)
        if re.search(_PAIR, text):
            raise ValueError("two of its surrogates would be read as one other character") from None
        return text.encode(errors="backslashreplace")


def to_plain(value: object) -> Any:  # noqa: ANN401 - JSON of any shape
    """A value as the dictionaries, lists, texts and numbers its JSON is made of."""
    return msgspec.to_builtins(value, enc_hook=_encode_foreign)


def from_plain(value: object, kind: type[R]) -> R:
    """The value of a type that was made plain, or a ValueError if it is not of that type."""
    return msgspec.convert(value, kind, dec_hook=_decode_foreign)


def _decode(payload: bytes, decoder: msgspec.json.Decoder[R]) -> R:
    try:
        return decoder.decode(payload)
    except _UNREADABLE as strict:
        try:  # the standard library reads the escape of a lone surrogate, which msgspec refuses
            return from_plain(json.loads(payload), decoder.type)
        except _UNREADABLE as error:
            raise JournalDamagedError(f"A journal entry is damaged: {strict}.") from error


def _encode_foreign(value: object) -> object:
    if isinstance(value, Blob):
        return _StoredBlob(value.sha256, value.size)
    if not isinstance(value, AgentError):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return encode_error(value)


def encode_error(value: AgentError) -> object:
    """An error as it is written, for msgspec's encoders."""
    # A class of another package is read back as its nearest base class of ours, which is all the loop decides by.
    known = next(kind for kind in type(value).__mro__ if kind.__module__ == exceptions.__name__)
    details = {name: _plain(item) for name, item in vars(value).items() if name not in _OWN_FIELDS}
    return _StoredError(known.__name__, value.message, value.kind, value.retryable, details)


def _decode_foreign(kind: type[Any], value: object) -> object:
    if kind is Blob:
        stored = msgspec.convert(value, _StoredBlob)
        return Blob(None, stored.sha256, stored.size, recorded=True)
    if kind is not AgentError:
        raise TypeError(f"no {kind.__name__} is ever written")
    return decode_error(value)


def decode_error(value: object) -> AgentError:
    """The error that was written as this JSON value; raises ValueError if it is not an error."""
    stored = msgspec.convert(value, _StoredError)
    known = getattr(exceptions, stored.type, AgentError)
    cls = known if isinstance(known, type) and issubclass(known, AgentError) else AgentError
    error = cls.__new__(cls)
    AgentError.__init__(error, stored.message, kind=stored.kind, retryable=stored.retryable)
    vars(error).update(stored.details)
    return error


def _plain(value: object) -> object:
    """A field of an error, or what can be said of it in words."""
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _parts_in(entry: Entry) -> Iterable[Any]:
    find = _PARTS.get(type(entry))
    return () if find is None else find(entry)


def _check_numbers(value: object) -> None:
    """Refuse the numbers that JSON has no form for; msgspec would write them as ``null``."""
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{value} is not a number of JSON")
    elif isinstance(value, dict):
        for item in value.values():
            _check_numbers(item)
    elif isinstance(value, list):
        for item in value:
            _check_numbers(item)


_encoder = msgspec.json.Encoder(enc_hook=_encode_foreign)
_sorting_encoder = msgspec.json.Encoder(order="sorted")


@cache
def _entry_decoder() -> msgspec.json.Decoder[Entry]:
    """Made on the first use, since it takes milliseconds, and a command that starts a run reads no entries."""
    return msgspec.json.Decoder(Entry, dec_hook=_decode_foreign)


@cache
def _approval_decoder() -> msgspec.json.Decoder[Approval]:
    return msgspec.json.Decoder(Approval)
