"""Turns what a tool returned into what the model gets: text, or text with images and documents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterator
from typing import Any, cast

from maverick.exceptions import ToolError
from maverick.model import Document, Image, Part, Text
from maverick.model.media import MAX_BYTES
from maverick.model.message import describe_part
from maverick.model.untrusted import cut_out
from maverick.tools.threads import run_in_thread

_END = object()
_PARTS = frozenset({Text, Image, Document})
_MOST_MEDIA = 100
"""How many images and documents of one result are kept."""


async def render(value: object, limit: int) -> str:
    """The text of a value, cut to a number of characters with a note of what is missing; a ``ToolError`` if it has none.

    The pieces of an asynchronous iterator are joined; it is closed as soon as there are enough of them.
    """
    if type(value) is str or type(value) is int:  # nearly always; the questions below cost more
        return cap(text_of(value), limit)
    if hasattr(value, "__next__"):
        return await _collect(_pull(cast("Iterator[Any]", value)), limit)
    if hasattr(value, "__aiter__"):
        return await _collect(value, limit)
    return cap(text_of(value), limit)


def parts_of_result(value: object, limit: int) -> tuple[str, tuple[Part, ...]] | None:
    """The text and the parts of a value with images, documents or other parts in it; ``None`` for any other value.

    The limit is for the text, as in :func:`render`. What is more than a request can have is described, not kept.

    Raises:
        ToolError: A value beside the parts cannot be turned into text, or an image or document has no content.
    """
    if type(value) is str or type(value) is int:  # nearly always
        return None
    given = value if isinstance(value, list | tuple) else (value,)
    if _PARTS.isdisjoint(map(type, given)):
        return None
    parts: list[Part] = []
    media = size = 0
    for item in given:
        if not isinstance(item, Image | Document):
            text = cap(text_of(item), limit)
            limit = max(limit - len(text), 0)
            parts.append(Text(text))
            continue
        if item.blob is not None and not item.blob.is_loaded:
            raise ToolError(f"The tool returned {describe_part(item)} without its content.")
        media, size = media + 1, size + (0 if item.blob is None else item.blob.size)
        fits = media <= _MOST_MEDIA and size <= MAX_BYTES
        parts.append(
            item if fits else Text(f"{describe_part(item)[:-1]}: left out, the result has too many]")
        )
    text = "\n".join(describe_part(part) for part in parts)
    return text, tuple(parts) if any(isinstance(part, Image | Document) for part in parts) else ()


def with_texts(value: object) -> object:
    """The value of an untrusted tool, with text in the place of documents that are plain text: text can be marked."""
    given = value if isinstance(value, list | tuple) else (value,)
    if not any(isinstance(item, Document) for item in given):
        return value
    return [
        Text(f"{describe_part(item)}\n{item.blob.data.decode('utf-8', 'replace')}")
        if isinstance(item, Document) and item.blob is not None and item.media_type == "text/plain"
        else item
        for item in given
    ]


def cap(text: str, limit: int) -> str:
    """The text, or its beginning and a note of how much is missing."""
    if len(text) <= limit:
        return text
    note = f"\n[… the other {len(text) - limit} characters were left out]"
    return cut_out(text, limit, len(text), note)


def text_of(value: object) -> str:
    """The text of a value: a string as it is, anything else as JSON; a ``ToolError`` if it has no such form."""
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    if type(value) is Text:
        return value.text
    if value is None:
        return "Done."
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise ToolError(
                "The tool returned bytes that are not text. Return Image.from_bytes(…) or Document.from_bytes(…), or text."
            ) from error
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except (PydanticSerializationError, UnicodeError, RecursionError, ValueError) as error:
        if isinstance(value, Coroutine):
            value.close()
            raise ToolError(
                "The tool returned a coroutine that was not awaited. Write: return await …"
            ) from error
        raise ToolError(
            f"The tool returned a value of the type {type(value).__name__}, which cannot be turned into text. Return a "
            "string or JSON values; dataclasses and Pydantic models work too."
        ) from error


async def _collect(pieces: AsyncIterable[Any], limit: int) -> str:
    texts: list[str] = []
    length = 0
    try:
        async for piece in pieces:
            texts.append(text_of(piece))
            length += max(len(texts[-1]), 1)  # pieces of nothing end too
            if len(texts) % 100 == 0:
                await asyncio.sleep(0)  # a stream that never waits must not hold up the event loop
            if length > limit:
                read = "".join(texts)
                return cut_out(read, limit, len(read), "\n[… the rest was not read]")
    finally:
        if (close := getattr(pieces, "aclose", None)) is not None:
            await close()
    return "".join(texts)


async def _pull(pieces: Iterator[Any]) -> AsyncIterator[Any]:
    """The pieces of an iterator that may block, each made in a thread."""
    while (piece := await run_in_thread(next, pieces, _END)) is not _END:
        yield piece
