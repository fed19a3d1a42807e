"""The parts that requests are made of: ids, keys and words, each with what it may be."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Path, Request
from pydantic import AfterValidator, Field

from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.server.event_stream import EVENT_STREAM, StreamFormat
from maverick.server.refusal import RefusalBody

_ID = r"^[A-Za-z0-9_.:-]{1,100}$"
_LARGEST = 2**53 - 1
"""The largest whole number that every JSON reader, and either database, can hold."""


def _is_writing(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without NUL characters")
    if not text.strip():
        raise ValueError("expected some text")
    return text


Words = Annotated[str, Field(min_length=1, max_length=MESSAGE_LENGTH), AfterValidator(_is_writing)]
"""What a user says."""
Id = Annotated[str, Field(pattern=_ID)]
"""The id of a conversation, an answer or an approval."""
PathId = Annotated[str, Path(pattern=_ID)]
"""The same, in an address."""
Number = Annotated[int, Field(ge=1, le=_LARGEST)]
"""The number of a message."""
PathNumber = Annotated[int, Path(ge=1, le=_LARGEST)]
"""The number of a task, in an address."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=r"^[\x21-\x7e]{1,200}$",
        description="Makes a request safe to send again: with the same key it acts once, and is answered the same.",
    ),
]
LastEventId = Annotated[
    str | None,
    Header(pattern=r"^[0-9]{1,15}$", description="The last event of the stream the client has seen."),
]

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": RefusalBody, "description": about}
    for status, about in (
        (400, "The body can not be read."),
        (401, "Nobody has proved who they are."),
        (403, "The request comes from another site."),
        (413, "The body is too large."),
        (421, "The server is not known by the name it was called by."),
        (422, "The request is not as it should be."),
        (429, "A limit is reached for now."),
        (503, "Something the server needs can not be reached."),
    )
}
"""What any route may answer."""
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": RefusalBody, "description": "The user has no such thing."}
}
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": RefusalBody, "description": "It does not fit the state things are in."}
}


def stream_format(request: Request, asked_for: StreamFormat | None) -> StreamFormat | None:
    """The form of the stream a client wants, or ``None`` for the whole answer in JSON."""
    if asked_for is not None:
        return asked_for
    return StreamFormat.EVENTS if EVENT_STREAM in request.headers.get("Accept", "") else None
