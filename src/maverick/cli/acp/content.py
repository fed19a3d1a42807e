"""What an editor sends as a prompt, as the parts of a message; and the other way round."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from acp import schema
from acp.helpers import update_agent_message_text, update_user_message_text

from maverick.exceptions import InvalidInputError
from maverick.model import Document, Image, Message, Role
from maverick.model.media import media_from_bytes
from maverick.model.message import describe_part
from maverick.model.untrusted import mark_untrusted, unmarked_message
from maverick.runtime.consent import visible

Block: TypeAlias = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)
Said: TypeAlias = str | list[str | Image | Document]

_PLAIN_NAME = re.compile(r"[\w.,:;/?#@&=%+~!$*()-]+")
_QUOTE, _ESCAPED_QUOTE = '"', '\\"'


def said_in(blocks: Sequence[Block], folder: Path) -> Said:
    """What a prompt says: its text if there is nothing else, or its images and documents before its text.

    Models read images best before the question.
    """
    parts = [_part(block, folder) for block in blocks]
    media = [part for part in parts if not isinstance(part, str)]
    text = "".join(part for part in parts if isinstance(part, str)).strip()
    if not text and not media:
        raise InvalidInputError("The prompt is empty. Write what is to be done.", field="prompt")
    return [*media, *([text] if text else [])] if media else text


def title_of(said: Said, limit: int = 80) -> str:
    """A line that tells a conversation from others."""
    text = said if isinstance(said, str) else next((part for part in said if isinstance(part, str)), "")
    line = " ".join(unmarked_message(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def history_of(messages: Sequence[Message]) -> Iterator[schema.UserMessageChunk | schema.AgentMessageChunk]:
    """Who said what, for people: tools and thoughts are left out."""
    for message in messages:
        if message.role is Role.USER:
            if text := unmarked_message("\n".join(map(describe_part, message.parts))):
                yield update_user_message_text(text)
        elif message.role is Role.ASSISTANT and message.content:
            yield update_agent_message_text(message.content)


def _part(block: Block, folder: Path) -> str | Image | Document:
    match block:
        case schema.TextContentBlock():
            return block.text
        case schema.ImageContentBlock():
            return media_from_bytes(_decoded(block.data), name=_name(block.uri or ""))
        case schema.ResourceContentBlock():
            return f" {place_of(block.uri, folder)} "
        case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as resource):
            # The text of a file that the user points at is data, as it is when a tool reads the file.
            return f"\n\n{mark_untrusted(place_of(resource.uri, folder), resource.text)}\n\n"
        case schema.EmbeddedResourceContentBlock(resource=resource):
            return media_from_bytes(_decoded(getattr(resource, "blob", "")), name=_name(resource.uri))
    raise InvalidInputError("This agent does not take audio. Send text, images or files.", field="prompt")


def place_of(uri: str, folder: Path) -> str:
    """What a URI points at: a file of the folder by its path in it, which is how tools name it."""
    address = _split(uri)
    if address.scheme != "file":
        return _quoted(uri)
    path = Path(unquote(address.path))
    shown = str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
    return _quoted(f"{shown}#{address.fragment}" if address.fragment else shown)


def _quoted(name: str) -> str:
    """A name that cannot be taken for words of the user: others may have chosen it."""
    return name if _PLAIN_NAME.fullmatch(name) else f'"{visible(name).replace(_QUOTE, _ESCAPED_QUOTE)}"'


def _split(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError as error:
        raise InvalidInputError(f"{uri[:200]!r} is not a valid URI.", field="uri") from error


def _name(uri: str) -> str:
    return unquote(_split(uri).path).rpartition("/")[2]


def _decoded(data: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInputError(
            "The content of an attachment is not valid base64.", field="prompt"
        ) from error
