"""Server-sent events, decoded as the bytes arrive. No I/O here.

A stream can be cut anywhere: within a line, between the two newlines that end an event, within a character. The
decoder takes the pieces as they come and returns the events that are complete::

    decoder = SSEDecoder()
    while chunk := await reply.read_some():
        for event in decoder.feed(chunk):
            ...  # event.name, event.data

It follows the standard, except that it ignores ``id`` and ``retry``: a model's answer cannot be resumed where it broke
off, so there is nothing to reconnect to.
"""

from __future__ import annotations

from msgspec import Struct

from maverick.exceptions import MalformedResponseError

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""The most a decoder keeps while it waits for the end of an event; a document that a server tool fetched is one."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerSentEvent(Struct, frozen=True, gc=False):
    """One complete event."""

    data: bytes
    """Its data lines, joined by newlines."""
    name: bytes = b""
    """What its ``event`` line says; empty when it has none."""


class SSEDecoder:
    """Decodes the bytes of one stream into events, however they are split.

    No more than ``max_event_bytes`` are kept of an event that has not ended yet.
    """

    __slots__ = ("_after_cr", "_held", "_held_bytes", "_max_event_bytes", "_started")

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Add the next bytes of the stream and return the events they complete; an error if one is too long."""
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_plain_newlines(chunk)
        if not self._ends_an_event(chunk):
            self._hold(chunk)
            return []
        if self._held:
            chunk = b"".join((*self._held, chunk))
        if not self._started:
            self._started = True
            chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
        *blocks, rest = chunk.split(b"\n\n")
        self._held, self._held_bytes = [], 0
        self._hold(rest)
        return [event for block in blocks if block and (event := _event(block)) is not None]

    def _ends_an_event(self, chunk: bytes) -> bool:
        """Whether there is an empty line, so that pieces of a long event are joined once, not at each piece."""
        if b"\n\n" in chunk:
            return True
        return chunk.startswith(b"\n") and bool(self._held) and self._held[-1].endswith(b"\n")

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        self._held.append(piece)
        self._held_bytes += len(piece)
        if self._held_bytes > self._max_event_bytes:
            raise MalformedResponseError(
                f"The stream sent more than {self._max_event_bytes:,} bytes without ending an event. "
                "Check that base_url points to a model's API.",
                raw_response=self._held[0][:200].decode("utf-8", "replace"),
            )

    def _with_plain_newlines(self, chunk: bytes) -> bytes:
        """The chunk with each CRLF and CR as LF; the LF of a CRLF may come at the start of the next chunk."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if chunk.endswith(b"\r"):
            self._after_cr = True
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _event(block: bytes) -> ServerSentEvent | None:
    """The event in a block of lines, or ``None`` when it has no data.

    Nearly every event is one ``event`` line and one ``data`` line, or a ``data`` line alone; those take no loop.
    """
    head, separator, data = block.partition(b"\ndata: ")
    if b"\n" not in head and b"\n" not in data:
        if separator and head.startswith(b"event: "):
            return ServerSentEvent(data, head[7:])
        if not separator and head.startswith(b"data: "):
            return ServerSentEvent(head[6:])
    return _event_of_lines(block.split(b"\n"))


def _event_of_lines(lines: list[bytes]) -> ServerSentEvent | None:
    name = b""
    data: list[bytes] = []
    for line in lines:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return ServerSentEvent(b"\n".join(data), name) if data else None
