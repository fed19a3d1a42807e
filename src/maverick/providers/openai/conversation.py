"""What the conversations of OpenAI's two APIs share: a JSON array that only grows, and the media in it."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable
from typing import Any

from msgspec import Raw

from maverick.model import Document, Image, Opaque, Part
from maverick.providers.http.wire_json import EncodedConversation, nothing_to_send
from maverick.providers.media_limits import OPENAI, MediaTally
from maverick.telemetry import logger


class JsonConversation(EncodedConversation, ABC):
    """The messages so far, each with a comma after it.

    Now and then the pieces are joined, so that a long conversation does not become a long list.
    """

    __slots__ = ("_has_left_out", "_media", "_pieces")

    _MOST_PIECES = 64

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._media = MediaTally(OPENAI)
        self._has_left_out = False

    def pieces(self) -> list[bytes]:
        """The messages as JSON, in pieces to be sent one after another."""
        if not self._pieces:
            raise nothing_to_send()
        pieces = self._pieces.copy()
        pieces[-1] = pieces[-1][:-1]  # no comma after the last one
        return self._filled(pieces)

    def _append(self, *messages: bytes) -> None:
        if len(self._pieces) >= self._MOST_PIECES:
            self._pieces = [b"".join(self._pieces)]
        self._pieces += [message + b"," for message in messages]

    def _leave_out(self, block: Opaque) -> None:
        """Say, once for each conversation, that a provider's own blocks are not sent to another."""
        if not self._has_left_out:
            self._has_left_out = True
            logger.warning(
                "blocks of a conversation are left out: another provider sent them",
                extra={"provider": block.provider, "block": block.type},
            )

    def _data_url(self, media: Image | Document) -> Raw | str:
        """Where the content of the media is: in a data URL, or at the address that it has."""
        if media.blob is None:
            return media.url
        return self._string(media.blob.base64, start=f"data:{media.media_type};base64,")


def has_media(parts: Iterable[Part]) -> bool:
    """Whether any of the parts is an image or a document."""
    return any(isinstance(part, Image | Document) for part in parts)


def file_of(document: Document, data: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON that was made before
    """The content of a document under a name, which both APIs require."""
    ending = "pdf" if document.media_type == "application/pdf" else "txt"
    return {"filename": document.name or f"document.{ending}", "file_data": data}
