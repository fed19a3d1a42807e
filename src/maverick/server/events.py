"""The events of an answer's stream, and the log that any number of readers follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from maverick.loop.events import (
    AgentActivityEvent,
    ContentChunk,
    ServerToolUsed,
    SourcesCited,
    ToolCallEnd,
    ToolCallStart,
)


class EventName(StrEnum):
    """The events of a stream, and the data of each."""

    START = "start"
    """It begins, or begins again: ``run_id``, ``conversation_id``. Discard what was received of it before."""
    TEXT = "text"
    """More of its words, which stay: ``text``."""
    TOOL_START = "tool_start"
    """A tool is called: ``id``, ``name``, ``arguments``."""
    TOOL_END = "tool_end"
    """A tool has answered: ``id``, ``outcome``, ``result``, ``duration_ms``."""
    SERVER_TOOL = "server_tool"
    """The provider used a tool of its own: ``name``, ``text``, which is a line that says so."""
    SOURCES = "sources"
    """What the answer cites: ``sources``, each with ``title`` and ``url``, which is empty for a file."""
    APPROVAL = "approval"
    """The user is asked to confirm: ``id``, ``conversation_id``, ``tool_name``, ``question``, ``phrase``, ``expires_at``."""
    DONE = "done"
    """It is over: ``status``, ``response`` and all else of the answer as it is kept. The last event."""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream."""

    id: int
    """Its number: larger than those of all events before it in the same answer."""
    name: EventName
    data: Mapping[str, Any]


class EventLog:
    """The events of one answer, written by one task and read by many."""

    def __init__(self) -> None:
        self.last_id = 0
        """The number of the newest event; the writer may skip some before the first."""
        self.is_closed = False
        """Whether there will be no more events."""
        self._events: list[StreamEvent] = []
        self._changed = asyncio.Event()

    @property
    def newest(self) -> StreamEvent | None:
        """The newest event, if there is one."""
        return self._events[-1] if self._events else None

    def append(self, name: EventName, data: Mapping[str, Any]) -> None:
        """Add an event."""
        self.last_id += 1
        self._events.append(StreamEvent(self.last_id, name, data))
        self._wake()

    def close(self) -> None:
        """End the log: there will be no more events."""
        self.is_closed = True
        self._wake()

    async def closed(self) -> None:
        """Wait until the log is closed."""
        while not self.is_closed:
            await self._changed.wait()

    async def read(self, *, pause: float) -> AsyncGenerator[StreamEvent | None, None]:
        """Yield all events, and new ones as they come; ``None`` after each pause without any."""
        position = 0
        while True:
            while position < len(self._events):
                yield self._events[position]
                position += 1
            if self.is_closed:
                return
            try:
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                yield None

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def stream_event(event: AgentActivityEvent) -> tuple[EventName, Mapping[str, Any]] | None:
    """The name and data of an event of the loop in the stream; ``None`` if it is not streamed."""
    # A subagent's words are for its caller.
    return _streamed(event) if len(event.agent) == 1 else None


def _streamed(event: AgentActivityEvent) -> tuple[EventName, Mapping[str, Any]] | None:
    match event:
        case ContentChunk(content=content):
            return EventName.TEXT, {"text": content}
        case ToolCallStart(tool_call=call):
            return EventName.TOOL_START, {"id": call.id, "name": call.tool_name, "arguments": call.arguments}
        case ToolCallEnd():
            return EventName.TOOL_END, {
                "id": event.tool_call_id,
                "outcome": event.outcome.value,
                "result": _value(event.result) if event.data is None else event.data,
                "duration_ms": event.duration_ms,
            }
        case ServerToolUsed(use=use):
            return EventName.SERVER_TOOL, {"name": use.name, "text": str(use)}
        case SourcesCited(citations=citations):
            sources = [{"title": cited.title, "url": cited.url} for cited in citations]
            return EventName.SOURCES, {"sources": sources}
    return None


def _value(result: str) -> Any:  # noqa: ANN401 - whatever a tool answers
    try:
        return msgspec.json.decode(result)
    except msgspec.DecodeError:
        return result
