"""JSON for other programs to read, safe to show in any terminal."""

from __future__ import annotations

import re
from typing import Any

from msgspec import structs

from maverick.journal.codec import encode_json
from maverick.loop import AgentResult
from maverick.loop.events import AgentActivityEvent, RunEnd

_NOT_PLAIN = r"[^\x20-\x7e]"


def json_text(value: object) -> str:
    """A value as JSON on one line.

    It has only printable ASCII characters, the others as escapes: so it is the same in every encoding, and nothing in
    it reaches a terminal as a control character.
    """
    return plain_json(encode_json(value))


def plain_json(encoded: bytes) -> str:
    """The same JSON with only printable ASCII characters; of bytes that are damaged, what can be read."""
    return re.sub(_NOT_PLAIN, _escaped, encoded.decode(errors="replace").rstrip("\n"))


def event_fields(event: AgentActivityEvent) -> dict[str, Any]:
    """An event with its type."""
    fields = {"type": event.type, **structs.asdict(event)}
    return fields | {"result": result_fields(event.result)} if isinstance(event, RunEnd) else fields


def result_fields(result: AgentResult[Any]) -> dict[str, Any]:
    """What can be said of a result in JSON, whatever the type of its output."""
    return {
        "success": result.success,
        "content": result.raw_content,
        "terminate_reason": result.terminate_reason,
        "errors": [str(error) for error in result.errors],
        "turn_count": result.turn_count,
        "tool_calls": result.tool_calls,
        "usage": result.usage,
    }


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
