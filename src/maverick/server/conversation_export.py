"""A conversation as a file to download: JSON for programs, Markdown for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

_OF_CONVERSATION = ("id", "title", "agent", "created_at", "updated_at")
_ALWAYS = ("role", "content", "tool_calls")
_IF_ANY = ("attachments", "output", "parts", "reason")
_LONGEST_NAME = 60


def exported(conversation: Mapping[str, Any]) -> dict[str, Any]:
    """What is exported of a conversation in the form of ``GET /api/conversations/{id}``.

    What was said to the answer in progress, and not heard yet, comes last.
    """
    messages = [
        {
            **{name: message[name] for name in _ALWAYS},
            "timestamp": message["created_at"],
            **{name: message[name] for name in _IF_ANY if message[name] not in (None, "")},
            **({} if message["status"] == "complete" else {"status": message["status"]}),
        }
        for message in conversation["messages"]
    ]
    queued = [{"role": "user", "content": text, "status": "queued"} for text in conversation["queued"]]
    return {**{name: conversation[name] for name in _OF_CONVERSATION}, "messages": messages + queued}


def as_markdown(conversation: Mapping[str, Any]) -> str:
    """An exported conversation, for people."""
    blocks = [f"# {conversation['title']}"]
    for message in conversation["messages"]:
        speaker = "You" if message["role"] == "user" else conversation["agent"]
        status = message.get("status")
        blocks.append(f"## {speaker}" + (f" ({status})" if status else ""))
        blocks += _blocks(message)
    return "\n\n".join(block for block in blocks if block.strip()) + "\n"


def disposition(title: str, ending: str) -> str:
    """The header that names a download after its conversation."""
    name = re.sub(r"[^\w.,()'-]+", " ", title)[:_LONGEST_NAME].strip(" .") or "conversation"
    plain = name.encode("ascii", "ignore").decode().strip() or "conversation"
    return f"attachment; filename=\"{plain}.{ending}\"; filename*=UTF-8''{quote(f'{name}.{ending}')}"


def _blocks(message: Mapping[str, Any]) -> Iterator[str]:
    """What was said and done in a message, in order."""
    calls = message.get("tool_calls") or []
    parts = message.get("parts") or [{"type": "tool_call", "number": number} for number in range(len(calls))]
    for part in parts:
        if part["type"] == "tool_call":
            yield _call(calls[part["number"]])
        elif part["type"] == "said":
            yield f"**You, meanwhile:** {part['text']}"
        elif part["type"] == "text":
            yield part["text"]
    if "output" in message:
        yield _fenced(message["output"])
    elif not any(part.get("text") == message["content"] for part in parts):
        yield message["content"]
    for attached in message.get("attachments", ()):
        yield f"*Attached: {attached['name'] or attached['media_type']}*"
    if reason := message.get("reason"):
        yield f"*{reason}*"


def _call(call: Mapping[str, Any]) -> str:
    return f"**{call['tool_name']}**\n\n{_fenced(call['parameters'])}\n\nResult:\n\n{_fenced(call['result'])}"


def _fenced(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
