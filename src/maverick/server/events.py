"""What an answer's stream tells: from the events of the loop to the few that a page needs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from maverick.loop.events import (
    AgentActivityEvent,
    ContentChunk,
    ToolCallEnd,
    ToolCallStart,
)


class EventName(StrEnum):
    """What is told of an answer, and with which data."""

    START = "start"
    """It begins, or begins again: ``run_id``, ``conversation_id``. What was seen of it before is void."""
    TEXT = "text"
    """More of its words, which stay: ``text``."""
    TOOL_START = "tool_start"
    """A tool is called: ``id``, ``name``, ``arguments``."""
    TOOL_END = "tool_end"
    """A tool has answered: ``id``, ``outcome``, ``result``, ``duration_ms``."""
    APPROVAL = "approval"
    """The user is asked to confirm: ``id``, ``conversation_id``, ``tool_name``, ``question``, ``phrase``, ``expires_at``."""
    DONE = "done"
    """It is over: ``status``, ``response`` and all else of the answer as it is kept. The last event."""


TellingEvent: TypeAlias = tuple[EventName, Mapping[str, Any]]
"""An event's name and data."""


def tell(event: AgentActivityEvent) -> TellingEvent | None:
    """An event of the loop as the stream tells it, if it does."""
    if len(event.agent) > 1:  # a subagent's words are for its caller
        return None
    match event:
        case ContentChunk(content=content):
            return EventName.TEXT, {"text": content}
        case ToolCallStart(tool_call=call):
            return EventName.TOOL_START, {"id": call.id, "name": call.tool_name, "arguments": call.arguments}
        case ToolCallEnd():
            return EventName.TOOL_END, {
                "id": event.tool_call_id,
                "outcome": event.outcome.value,
                "result": _value(event.result),
                "duration_ms": event.duration_ms,
            }
    return None


def _value(result: str) -> Any:  # noqa: ANN401 - whatever a tool answers
    try:
        return msgspec.json.decode(result)
    except msgspec.DecodeError:
        return result
