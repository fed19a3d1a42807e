"""Streams of server-sent events. A stream ends with its client; the answer it follows does not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from enum import StrEnum
from typing import Any

import msgspec
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from maverick.server.events import Answer
from maverick.server.stream_encoders import AgUiEncoder, AiSdkEncoder, Frame, PageEncoder, StreamEncoder

EVENT_STREAM = "text/event-stream"
PAUSE = 15.0
"""Seconds of silence after which a comment is sent, so that no proxy closes the connection."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
STILL_HERE = b": still here\n\n"


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
        match self:
            case StreamFormat.AG_UI:
                return AgUiEncoder()
            case StreamFormat.AI_SDK:
                return AiSdkEncoder()
            case StreamFormat.PAGE:
                return PageEncoder()
        return StreamEncoder()


class EventStream(StreamingResponse):
    """A stream of server-sent events.

    Args:
        content: What is sent.
        on_close: Called once at its end, however it ends.
        headers: Headers beside the usual ones.
    """

    media_type = EVENT_STREAM

    def __init__(
        self,
        content: AsyncIterator[bytes],
        on_close: Callable[[], None],
        headers: dict[str, str] | None = None,
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
    answer: Answer,
    encoder: StreamEncoder,
    *,
    after: int,
    on_close: Callable[[], None],
) -> Response:
    """An answer as a stream, for a client that has its events up to a number.

    Args:
        answer: The answer.
        encoder: Encodes it in the format that is wanted.
        after: The number of the last event the client has; 0 for none.
        on_close: Called at the end of the stream.
    """
    if answer.log.is_closed and after >= answer.log.last_id:
        on_close()
        return Response(status_code=204)  # tells a browser not to come back
    headers = {"X-Run-Id": answer.run_id, **encoder.headers}
    return EventStream(_encoded(answer, encoder, after), on_close, headers)


def encoded(frame: Frame, event_id: int | None = None) -> bytes:
    """A message as it is sent."""
    data = frame.data.encode() if isinstance(frame.data, str) else msgspec.json.encode(frame.data)
    head = f"event: {frame.event}\n" if frame.event else ""
    if event_id is not None:
        head += f"id: {event_id}\n"
    return head.encode() + b"data: " + data + b"\n\n"


async def _encoded(answer: Answer, encoder: StreamEncoder, after: int) -> AsyncGenerator[bytes, Any]:
    async for event in answer.log.read(pause=PAUSE):
        if event is None:
            yield STILL_HERE
            continue
        seen, unseen = event.after(after)
        if seen is not None:
            encoder.skip(seen)
        if unseen is not None and (frames := encoder.encode(unseen)):
            # The number goes with the last message: a client that has it has all of the event.
            yield b"".join((*map(encoded, frames[:-1]), encoded(frames[-1], event.id)))
