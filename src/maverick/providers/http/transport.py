"""How bytes get to a model's service and back: a protocol small enough to implement on any HTTP library.

A client hands over a URL, headers and the pieces of a body, and gets a :class:`Reply` to read from::

    with await transport.request("POST", url, headers=headers, body=[b'{"model":', name, b"}"]) as reply:
        reply.status, reply.headers
        body = await reply.read()  # the whole body, or, piece by piece:
        while chunk := await reply.read_some(): ...

Leaving the ``with`` block returns the connection to the pool if the body was read to its end, and otherwise closes it
at once: that is what stops the provider when a task is cancelled in the middle of a stream.

A transport knows nothing of any provider. It raises only :class:`~maverick.exceptions.AgentError`, and its messages
name the host, never a header. The default is :class:`~maverick.providers.http.aiohttp_transport.AiohttpTransport`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeVar

from msgspec import Struct

from maverick.exceptions import InvalidInputError, MalformedResponseError, TimeoutError

Result = TypeVar("Result")


TIMES = ("connect", "first_content", "between_content")
"""The times that are limited, as :class:`Timeouts` names them."""


class Timeouts(Struct, frozen=True):
    """How long to wait, in seconds.

    What counts is content: text, thoughts, tool calls. Pings, comments and empty pieces say that a service is there, not
    that an answer will ever come.
    """

    connect: float = 10
    """For a connection: name lookup, TCP and TLS together."""
    first_content: float = 600
    """For the first content, from when the request is sent, or for the whole of an answer that is not streamed. A model
    may think for minutes without showing its thoughts."""
    between_content: float = 300
    """For more content of a streamed answer. A model may think again, or wait for a tool of its provider."""
    from_request_timeout: tuple[str, ...] = ()
    """Which of these times are that of the setting ``request_timeout``, for the errors to name it."""

    def __post_init__(self) -> None:
        for name in TIMES:
            if not (seconds := getattr(self, name)) > 0:
                raise InvalidInputError(
                    f"timeouts.{name}: expected seconds above 0, got {seconds!r}.", field=f"timeouts.{name}"
                )


class ContentTimer:
    """The time until there has to be content of an answer. It counts while something is waited for, and only then."""

    __slots__ = ("_has_content", "_left", "_timeouts", "host")

    def __init__(self, host: str, timeouts: Timeouts) -> None:
        self.host = host
        self._timeouts = timeouts
        self._left = timeouts.first_content
        self._has_content = False

    def content_arrived(self) -> None:
        """Begin the time for more content."""
        self._has_content = True
        self._left = self._timeouts.between_content

    async def wait(self, work: Awaitable[Result]) -> Result:
        """Do the work in the time that is left, or raise Python's own ``TimeoutError``."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(self._left):
                return await work
        finally:
            self._left -= clock() - began

    def expired(self) -> TimeoutError:
        """The error to raise when the time is up."""
        if self._has_content:
            what, name = "sent no more of its answer", "between_content"
        else:
            what, name = "sent nothing of an answer", "first_content"
        seconds: float = getattr(self._timeouts, name)
        setting = "request_timeout" if name in self._timeouts.from_request_timeout else name
        return TimeoutError(
            f"{self.host} {what} within {seconds:g} s. Try again, or raise the timeout ({setting})."
        )


MAX_ANSWER_BYTES = 128 * 1024 * 1024
"""The most that is read of one answer. The longest streams of today's models stay well below it."""

WHOLE_SHARE = 16
"""A body that is read as a whole may have this fraction of the limit: parsed JSON takes many times its size, and such
a body carries the answer without an event around each piece."""


class Reply(Protocol):
    """An answer that has begun. Its body is read once, as a whole or piece by piece."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names are case-insensitive."""
        ...

    async def read(self) -> bytes:
        """Read the whole body, if it is not too large and complete in the time for the first content."""
        ...

    async def read_some(self) -> bytes:
        """Read what has arrived, waiting if nothing has; empty at the end of the body.

        The wait for content, and the size of the body, are limited.
        """
        ...

    def content_arrived(self) -> None:
        """Say that there was content in what was read, so that the time for more of it begins."""
        ...

    async def finish(self) -> None:
        """Wait briefly for the body to end once its content is complete, so that the connection can be reused."""
        ...

    def close(self) -> None:
        """Release the connection; it is reused only if the body was read to its end."""
        ...

    def __enter__(self) -> Self:
        """Begin reading."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close the reply."""
        ...


class Transport(Protocol):
    """Sends HTTP requests. It opens on first use, never retries and never follows a redirect."""

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Sequence[bytes] = ()
    ) -> Reply:
        """Send a request and wait until its answer begins.

        The pieces of the body are sent one after another. Large ones, such as the images of a conversation, are the
        same objects in each turn's request, and are not to be copied.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections; a later request opens new ones."""
        ...


def too_large(host: str, max_bytes: int) -> MalformedResponseError:
    """The error for an answer that is longer than the limit."""
    return MalformedResponseError(
        f"{host} sent more than {max_bytes:,} bytes in one answer. Check that base_url points to a model's API; if the "
        "answer is meant to be that long, raise max_answer_bytes.",
        retryable=False,
    )
