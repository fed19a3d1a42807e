"""Writes a conversation as a transcript that the CLI can resume."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from maverick.model import Message, Part, Role, Text, Thought, ToolCall

GO_ON = "Continue from where you left off."
"""The CLI's own prompt for a turn that had stopped after its tools."""

_BEGINNING_OF_TIME = "1970-01-01T00:00:00.000Z"

OnTheWire = Callable[[ToolCall], ToolCall]
"""A call as the CLI knows it."""


def divide(messages: Sequence[Message]) -> tuple[Sequence[Message], str]:
    """The messages of the transcript, and the prompt: the user's last words, if the user spoke last."""
    end = len(messages)
    while end and messages[end - 1].role is Role.USER:
        end -= 1
    said = "\n\n".join(message.content for message in messages[end:])
    return messages[:end], said or GO_ON


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
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case ToolCall():
            call = on_the_wire(part)
            return {"type": "tool_use", "id": call.id, "name": call.tool_name, "input": call.arguments}
        case Thought() if part.redacted:
            return {"type": "redacted_thinking", "data": part.redacted}
        case Thought() if part.signature:
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return None


def _result(message: Message) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "content": message.content,
        "is_error": message.is_error,
    }
