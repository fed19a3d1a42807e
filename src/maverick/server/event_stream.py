"""Streams of server-sent events: answers, and updates for pages. A stream ends with its client; the answer does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from maverick.server.events import Answer, StreamEvent
from maverick.server.stream_encoders import AgUiEncoder, AiSdkEncoder, Frame, PageEncoder, StreamEncoder
from maverick.tools.threads import run_in_thread

T = TypeVar("T")

EVENT_STREAM = "text/event-stream"
_PAUSE = 15.0
"""Seconds of silence after which a comment is sent, so that no proxy closes the connection."""
_STILL_HERE = b": still here\n\n"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class StreamFormat(StrEnum):
    """The formats in which an answer is streamed."""

    EVENTS = "events"
    """Our own few events."""
    AG_UI = "ag-ui"
    """The AG-UI protocol."""
    AI_SDK = "ai-sdk"
    """The UI message stream of Vercel's AI SDK."""
    PAGE = "page"
    """The events for the web page, with HTML in place of Markdown."""

    def encoder(self) -> StreamEncoder:
        """A new encoder for an answer in this format."""
        return _ENCODERS[self]()


_ENCODERS: Mapping[StreamFormat, Callable[[], StreamEncoder]] = {
    StreamFormat.EVENTS: StreamEncoder,
    StreamFormat.AG_UI: AgUiEncoder,
    StreamFormat.AI_SDK: AiSdkEncoder,
    StreamFormat.PAGE: PageEncoder,
}


class EventStream(StreamingResponse):
    """A stream of server-sent events. At its end, however it ends, ``on_close`` is called once."""

    media_type = EVENT_STREAM

    def __init__(
        self,
        content: AsyncIterator[bytes],
        on_close: Callable[[], None],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(content, headers={**_HEADERS, **(headers or {})})
        self._on_close = on_close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_close()


def answer_stream(
    answer: Answer, encoder: StreamEncoder, *, after: int, on_close: Callable[[], None]
) -> Response:
    """An answer as a stream, for a client that has its events up to a number; 0 for none."""
    if answer.log.is_closed and after >= answer.log.last_id:
        on_close()
        return Response(status_code=204)  # tells a browser not to come back
    headers = {"X-Run-Id": answer.run_id, **encoder.headers}
    return EventStream(_encoded_answer(answer, encoder, after), on_close, headers)


def encoded(frame: Frame, event_id: int | None = None) -> bytes:
    """A message as it is sent."""
    data = frame.data.encode() if isinstance(frame.data, str) else msgspec.json.encode(frame.data)
    head = f"event: {frame.event}\n" if frame.event else ""
    if event_id is not None:
        head += f"id: {event_id}\n"
    return head.encode() + b"data: " + data + b"\n\n"


async def _encoded_answer(answer: Answer, encoder: StreamEncoder, after: int) -> AsyncGenerator[bytes, Any]:
    async for event in answer.log.read(pause=_PAUSE):
        if event is None:
            yield _STILL_HERE
            continue
        seen, unseen = event.after(after)
        if seen is not None:
            await _maybe_in_thread(encoder, encoder.skip, seen)
        if unseen is not None and (frames := await _maybe_in_thread(encoder, encoder.encode, unseen)):
            # The number goes with the last message: a client that has it has all of the event.
            yield b"".join((*map(encoded, frames[:-1]), encoded(frames[-1], event.id)))


async def _maybe_in_thread(encoder: StreamEncoder, act: Callable[[StreamEvent], T], event: StreamEvent) -> T:
    return await run_in_thread(act, event) if encoder.takes_long(event) else act(event)


async def encoded_updates(
    updates: AsyncIterator[str | None], is_over: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[bytes, Any]:
    """What changes for a user, until their session is over."""
    yield encoded(Frame({}, "ready"))
    async for what in updates:
        if await is_over():
            return
        if what != SESSION:  # else it is another one of the user's
            yield _STILL_HERE if what is None else encoded(Frame({}, what))


TASKS = "tasks"
CONVERSATIONS = "conversations"
SESSION = "session"
"""One of the user's sessions has ended."""


class Updates:
    """The listeners of each user. They are told what changed, not how: a page asks for what it shows."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[_Listener]] = {}

    def close(self) -> None:
        """End all streams of updates."""
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.is_closed = True
                listener.changed.set()

    def publish(self, user_id: str, what: str) -> None:
        """Something of a user has changed."""
        for listener in self._listeners.get(user_id, ()):
            listener.pending.add(what)
            listener.changed.set()

    async def listen(self, user_id: str) -> AsyncGenerator[str | None, None]:
        """Yield what changes for a user; ``None`` after each pause in which nothing did."""
        listener = _Listener()
        listeners = self._listeners.setdefault(user_id, set())
        listeners.add(listener)
        try:
            while not listener.is_closed:
                try:
                    async with asyncio.timeout(_PAUSE):
                        await listener.changed.wait()
                except TimeoutError:
                    yield None
                    continue
                pending, listener.pending = sorted(listener.pending), set()
                listener.changed.clear()
                for what in pending:
                    yield what
        finally:
            listeners.discard(listener)
            if not listeners and self._listeners.get(user_id) is listeners:
                del self._listeners[user_id]


class _Listener:
    """One open stream of updates. The same change twice before it is sent is one update."""

    def __init__(self) -> None:
        self.is_closed = False
        self.pending: set[str] = set()
        self.changed = asyncio.Event()
