"""Writes a conversation as a transcript that the CLI can resume."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import msgspec

from maverick.exceptions import InvalidInputError
from maverick.model import Document, Image, Message, Opaque, Part, Role, Text, Thought, ToolCall
from maverick.providers.media_limits import CLAUDE, MediaTally

GO_ON = "Continue from where you left off."
"""The CLI's own prompt for a turn that had stopped after its tools."""

_BEGINNING_OF_TIME = "1970-01-01T00:00:00.000Z"

OnTheWire = Callable[[ToolCall], ToolCall]
"""A call as the CLI knows it."""
Prompt: TypeAlias = str | list[dict[str, Any]]
"""Text, or the blocks of a message that has images or documents in it."""


def divide(messages: Sequence[Message]) -> tuple[Sequence[Message], Prompt]:
    """The messages of the transcript, and the prompt: the user's last words, if the user spoke last.

    Raises:
        InvalidInputError: There are images or documents in the messages that the model does not take.
    """
    tally = MediaTally(CLAUDE)
    messages = [
        message
        if (parts := tally.admit(message)) is message.parts
        else Message(message.role, parts, tool_call_id=message.tool_call_id, is_error=message.is_error)
        for message in messages
    ]
    end = len(messages)
    while end and messages[end - 1].role is Role.USER:
        end -= 1
    return messages[:end], prompt_of(messages[end:]) or GO_ON


def prompt_of(messages: Iterable[Message]) -> Prompt:
    """What the user says in these messages."""
    parts = [part for message in messages for part in message.parts]
    if all(isinstance(part, Text) for part in parts):
        return "\n\n".join(message.content for message in messages)
    return [block for part in parts if (block := _block(part, lambda call: call)) is not None]


def write_transcript(messages: Iterable[Message], model: str, on_the_wire: OnTheWire) -> bytes:
    """The conversation as the lines of a transcript."""
    lines = _Lines()
    for role, group in groupby(messages, key=lambda message: message.role):
        if role is Role.TOOL_RESULT:
            lines.add("user", {"role": "user", "content": [_result(message) for message in group]})
            continue
        for message in group:
            blocks = [block for part in message.parts if (block := _block(part, on_the_wire)) is not None]
            if blocks and role is Role.USER:
                lines.add("user", {"role": "user", "content": blocks})
            elif blocks:
                lines.add("assistant", _answer(blocks, model))
    return lines.encoded()


def write_pending_call(call: ToolCall, model: str) -> bytes:
    """A transcript that ends in a pending call, which the CLI runs as soon as it has read it."""
    lines = _Lines()
    lines.add("user", {"role": "user", "content": f"Run {call.tool_name}."})
    block = {"type": "tool_use", "id": call.id, "name": call.tool_name, "input": call.arguments}
    lines.add("assistant", _answer([block], model))
    lines.mark(
        {
            "type": "hook_deferred_tool",
            "toolUseID": call.id,
            "toolName": call.tool_name,
            "toolInput": call.arguments,
            "hookName": "maverick",
            "hookEvent": "PreToolUse",
            "permissionMode": "default",
        }
    )
    return lines.encoded()


@contextmanager
def transcript_file(transcript: bytes) -> Iterator[Path]:
    """A transcript as a temporary file that only this user can read."""
    with tempfile.NamedTemporaryFile(prefix="maverick-", suffix=".jsonl") as file:
        file.write(transcript)
        file.flush()
        yield Path(file.name)


class _Lines:
    """The lines of a transcript, each of which refers to the one before it."""

    def __init__(self) -> None:
        self._session = str(uuid4())
        self._last: str | None = None
        self._lines: list[dict[str, Any]] = []

    def add(self, kind: str, message: dict[str, Any]) -> None:
        self._append({"type": kind, "message": message})

    def mark(self, attachment: dict[str, Any]) -> None:
        self._append({"type": "attachment", "attachment": attachment})

    def _append(self, line: dict[str, Any]) -> None:
        own = str(uuid4())
        self._lines.append(
            {
                "uuid": own,
                "parentUuid": self._last,
                "isSidechain": False,
                "sessionId": self._session,
                "timestamp": _BEGINNING_OF_TIME,
                **line,
            }
        )
        self._last = own

    def encoded(self) -> bytes:
        return b"".join(msgspec.json.encode(line) + b"\n" for line in self._lines)


def _answer(blocks: list[dict[str, Any]], model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _block(part: Part, on_the_wire: OnTheWire) -> dict[str, Any] | None:
    block: dict[str, Any] | None = None
    match part:
        case Opaque(provider="claude", data=data) | Text(block=Opaque(provider="claude", data=data)):
            block = data
        case Text():
            block = {"type": "text", "text": part.text}
        case Image() | Document():
            block = {"type": "image" if isinstance(part, Image) else "document", "source": _source(part)}
        case ToolCall():
            call = on_the_wire(part)
            block = {"type": "tool_use", "id": call.id, "name": call.tool_name, "input": call.arguments}
        case Thought() if part.redacted:
            block = {"type": "redacted_thinking", "data": part.redacted}
        case Thought() if part.signature:
            block = {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return block


def _source(part: Image | Document) -> dict[str, str]:
    if part.url:
        return {"type": "url", "url": part.url}
    if part.blob is None:
        raise InvalidInputError(
            "The Claude CLI takes no file ids. Send the file itself, with from_path or from_bytes.",
            field="messages",
        )
    if part.media_type == "text/plain":
        return {"type": "text", "media_type": part.media_type, "data": part.blob.data.decode()}
    return {"type": "base64", "media_type": part.media_type, "data": part.blob.base64.decode()}


def _result(message: Message) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "content": prompt_of([message]),
        "is_error": message.is_error,
    }
