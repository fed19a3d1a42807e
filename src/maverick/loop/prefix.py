"""Why a request does not extend the one before it, and a history without what can then not be sent again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from hashlib import blake2b

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from maverick.model import Document, History, Image, Message, Opaque, Part, Text, Thought, ToolCall
from maverick.model.message import describe_part

_ONLY_THOUGHTS = "[Thoughts, left out]"
"""Replaces an answer that had nothing else; no provider accepts an empty message."""


class PrefixReason(StrEnum):
    """Why a request does not extend the one before it."""

    CONDENSED = "condensed"
    """The older turns were replaced by a summary."""
    SHORTENED = "shortened"
    """Tool results were cut to make room."""
    TOOLS_CHANGED = "tools changed"
    MODEL_CHANGED = "model changed"
    SETTINGS_CHANGED = "settings changed"
    EDITED = "edited"
    """A message that was sent before was replaced."""
    THINKING_REFUSED = "thinking refused"
    """The provider did not take the thoughts of earlier turns back."""
    MEDIA_REFUSED = "media refused"
    """The provider could not read an image or a document."""


class PrefixChange(Struct, frozen=True):
    """That the next request does not extend the one before it, and what it costs."""

    reason: PrefixReason
    tokens: int
    """About how many tokens of it are billed again that a provider's cache would have held."""


def any_thought(_: Thought) -> bool:
    """Whichever it is."""
    return True


def bound_thought(thought: Thought) -> bool:
    """One that is valid only behind what it was made behind."""
    return thought.is_bound


class PrefixDigest:
    """A digest of the first messages of a conversation, which reads each of them once."""

    __slots__ = ("_count", "_hash")

    def __init__(self) -> None:
        self._count = 0
        self._hash = blake2b(digest_size=8)

    def of(self, messages: Sequence[Message], count: int) -> str:
        """The digest of this many of the messages, which it has begun to read; fewer than the last time are read again."""
        if count < self._count:
            return PrefixDigest().of(messages, count)
        for place in range(self._count, count):
            self._hash.update(_written(messages[place]))
        self._count = count
        return self._hash.hexdigest()


_ENCODER = msgspec.json.Encoder(enc_hook=lambda value: getattr(value, "sha256", None) or str(value))


def _written(message: Message) -> bytes:
    try:
        return _ENCODER.encode(message)
    except (TypeError, ValueError, RecursionError):  # a lone surrogate, or what JSON has no form for
        return message.content.encode(errors="backslashreplace")


def made_behind(history: History, message: Message) -> Message:
    """The message with the mark, in its bound thoughts, of the history that it was made behind."""
    for part in message.parts:
        if type(part) is Thought and part.is_bound:
            break
    else:
        return message
    digest = history.derived.setdefault(PrefixDigest, PrefixDigest()).of(history, len(history))
    parts = (
        replace(part, behind=digest) if type(part) is Thought and part.is_bound else part
        for part in message.parts
    )
    return Message.of_parts(message.role, tuple(parts))


def bound_anew(messages: Iterable[Message]) -> History:
    """The messages, of which the provider accepts the thoughts where they now are."""
    history = History()
    for message in messages:
        history = history.extended(made_behind(history, message))
    return history


def without_misplaced(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages without bound thoughts from the first one on that was made behind other messages than it is now."""
    digest = PrefixDigest()
    for place, message in enumerate(messages):
        for part in message.parts:
            if type(part) is Thought and part.behind and part.behind != digest.of(messages, place):
                return without_thoughts(messages, place, bound_thought)
    return messages


def without_thoughts(
    messages: Iterable[Message], since: int = 0, leave_out: Callable[[Thought], bool] = any_thought
) -> History:
    """The messages without the thoughts from one of them on: a provider accepts a signed one only where it was made."""
    return History(
        Message.assistant(other_parts(message.parts, leave_out) or _ONLY_THOUGHTS)
        if place >= since and any(isinstance(part, Thought) and leave_out(part) for part in message.parts)
        else message
        for place, message in enumerate(messages)
    )


def other_parts(parts: Sequence[Part], leave_out: Callable[[Thought], bool] = any_thought) -> list[Part]:
    """The parts without thoughts. A provider's own form of the rest may refer to them, where they have one, too."""
    gone = [part for part in parts if isinstance(part, Thought) and leave_out(part)]
    owners = {part.block.provider for part in gone if part.block is not None and not part.is_bound}
    kept: list[Part] = []
    for part in parts:
        own_form = part if isinstance(part, Opaque) else getattr(part, "block", None)
        if own_form is None or own_form.provider not in owners:
            kept += () if part in gone else (part,)
        elif isinstance(part, Text | ToolCall):
            kept.append(replace(part, block=None))
    return kept


def has_media(message: Message, kind: type[Image | Document]) -> bool:
    """Whether a message has an image, or a document."""
    return any(isinstance(part, kind) for part in message.parts)


def without_media(message: Message, kind: type[Image | Document]) -> Message:
    """The message with words in the place of its images, or of its documents."""
    parts: list[Part] = [
        Text(f"{describe_part(part)[:-1]}: the provider could not read it]")
        if isinstance(part, kind)
        else part
        for part in message.parts
    ]
    return Message(message.role, parts, tool_call_id=message.tool_call_id, is_error=message.is_error)
