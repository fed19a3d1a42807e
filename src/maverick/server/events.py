"""An answer and the events of its stream, in a log that any number of readers follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from maverick.chat import phrases
from maverick.loop.events import (
    AgentActivityEvent,
    ApprovalRequested,
    ContentChunk,
    MessageAdded,
    PrefixChanged,
    ServerToolUsed,
    SourcesCited,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
)
from maverick.model.untrusted import unmarked, unmarked_message
from maverick.runtime import AbortSignal
from maverick.server.answer import AnswerBody, AnswerRecord, AnswerStatus
from maverick.server.errors import unavailable


class EventName(StrEnum):
    """The events of a stream, and the data of each."""

    START = "start"
    """It begins, or begins again: ``run_id``, ``conversation_id``. Discard what was received of it before, unless it
    ``goes_on`` after a decision."""
    TEXT = "text"
    """More of its words, which stay: ``text``."""
    THINKING = "thinking"
    """More of what the model thinks before it answers: ``text``."""
    TOOL_START = "tool_start"
    """A tool is called, or is to be once a person agrees: ``id``, ``name``, ``arguments``."""
    TOOL_END = "tool_end"
    """A tool has answered: ``id``, ``outcome``, ``result``, ``duration_ms``."""
    SERVER_TOOL = "server_tool"
    """The provider used a tool of its own: ``name``, ``text``, which is a line that says so."""
    SOURCES = "sources"
    """What the answer cites: ``sources``, each with ``title`` and ``url``, which is empty for a file."""
    NOTE = "note"
    """A line about the answer, such as that its prompt is no longer cached: ``text``."""
    APPROVAL = "approval"
    """A person is asked: ``id``, ``tool_name``, ``question``, ``arguments``, ``phrase``, ``expires_at`` and more."""
    DONE = "done"
    """It is over: ``status``, ``response`` and all else of the answer as it is kept. The last event."""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream."""

    id: int
    """Its number: larger than those of all events before it in the same answer."""
    name: EventName
    data: Mapping[str, Any]
    width: int = 1
    """How many numbers it takes up: where a text has one for each character, any part of it can be sent."""

    def after(self, number: int) -> tuple[StreamEvent | None, StreamEvent | None]:
        """What a client has of it that has received all up to a number, and what it has not."""
        seen = number - self.id + self.width
        if seen <= 0:
            return None, self
        if self.id <= number:
            return self, None
        text = self.data["text"]
        begun = StreamEvent(number, self.name, {"text": text[:seen]}, seen)
        return begun, StreamEvent(self.id, self.name, {"text": text[seen:]}, self.width - seen)


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

    def append(self, name: EventName, data: Mapping[str, Any], *, width: int = 1) -> None:
        """Add an event, which takes up so many numbers."""
        self.last_id += width
        self._events.append(StreamEvent(self.last_id, name, data, width))
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


@dataclass(slots=True)
class Answer:
    """An answer, in progress or ended, and its events."""

    user_id: str
    run_id: str
    conversation_id: str
    log: EventLog = field(default_factory=EventLog)
    """Its events so far. The last one has the whole answer."""
    signal: AbortSignal = field(default_factory=AbortSignal)
    """Stops it, if this process makes it."""

    @classmethod
    def of(cls, user_id: str, record: AnswerRecord) -> Answer:
        """An answer that is saved, with no events yet."""
        return cls(user_id, record.run_id, record.conversation_id)

    @property
    def status(self) -> str:
        """How it has ended, if it has."""
        newest = self.log.newest
        return newest.data["status"] if newest is not None and newest.name == EventName.DONE else ""

    async def body(self) -> Mapping[str, Any]:
        """The :class:`AnswerBody` as JSON values, as soon as the answer has ended; refused if the server ends first."""
        await self.log.closed()
        newest = self.log.newest
        if newest is None or newest.name != EventName.DONE:
            raise unavailable("The server is restarting. Ask for the answer again.")
        return newest.data

    def begin(self, *, goes_on: bool = False) -> None:
        """Say that it begins, or begins again; or that it continues after a decision."""
        data = {"run_id": self.run_id, "conversation_id": self.conversation_id}
        self.log.append(EventName.START, {**data, "goes_on": True} if goes_on else data)

    def conclude(self, body: AnswerBody, last_event: int) -> None:
        """Add its last event, which has that number."""
        self.log.last_id = last_event - 1
        self.log.append(EventName.DONE, body.model_dump(mode="json"))

    def fail(self) -> None:
        """Add its last event, though nothing can be said of it."""
        body = AnswerBody(
            run_id=self.run_id,
            conversation_id=self.conversation_id,
            status=AnswerStatus.FAILED,
            response=phrases.TROUBLE,
        )
        self.conclude(body, self.log.last_id + 1)


def stream_event(event: AgentActivityEvent) -> tuple[EventName, Mapping[str, Any]] | None:
    """The name and data of an event of the loop in the stream; ``None`` if it is not streamed."""
    made: tuple[EventName, Mapping[str, Any]] | None = None
    match event:
        case _ if len(event.agent) > 1:
            pass  # a subagent's words are for its caller
        case ContentChunk(content=content):
            made = EventName.TEXT, {"text": content}
        case Thinking(content=content):
            made = EventName.THINKING, {"text": content}
        case ToolCallStart(tool_call=call) | ApprovalRequested(tool_call=call):
            made = EventName.TOOL_START, {"id": call.id, "name": call.tool_name, "arguments": call.arguments}
        case ToolCallEnd(tool_call_id=call_id, outcome=outcome, duration_ms=duration):
            result = _value(unmarked(event.result)) if event.data is None else event.data
            ended = {"id": call_id, "outcome": outcome.value, "result": result, "duration_ms": duration}
            made = EventName.TOOL_END, ended
        case ServerToolUsed(use=use):
            made = EventName.SERVER_TOOL, {"name": use.name, "text": str(use)}
        case MessageAdded():
            content = unmarked_message(event.content)
            made = EventName.NOTE, {"text": f"You said: {content}", "said": content}
        case PrefixChanged(reason=reason, tokens=tokens) if tokens:
            made = EventName.NOTE, {"text": f"{reason}: about {tokens:,} tokens not cached"}
        case SourcesCited(citations=citations):
            made = EventName.SOURCES, {"sources": [{"title": c.title, "url": c.url} for c in citations]}
    return made


def _value(result: str) -> Any:  # noqa: ANN401 - whatever a tool answers
    try:
        return msgspec.json.decode(result)
    except msgspec.DecodeError:
        return result
