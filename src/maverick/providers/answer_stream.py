"""An answer that arrives in events: what every wire's stream has in common. No I/O here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeAlias

from maverick.exceptions import AgentError, NetworkError, StreamingError, TimeoutError
from maverick.model import Message, Part, Response, TextDelta, ThinkingDelta
from maverick.providers.exchange import Exchange, without_a_half_call

MAX_ARGUMENT_BYTES = 2 * 1024 * 1024
"""The most that all tool calls of an answer may have as arguments: read JSON takes many times its size."""

MAX_BLOCKS = 10_000
"""The most content blocks, or tool calls, of a streamed answer."""

Deltas: TypeAlias = tuple[TextDelta | ThinkingDelta, ...]


class AnswerStream(ABC):
    """Puts an answer together from the events of a stream.

    Args:
        exchange: What is known of the answer.
    """

    __slots__ = ("_argument_bytes", "_exchange", "response")

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._argument_bytes = 0
        self.response: Response | None = None
        """The whole answer, once it is complete."""

    @abstractmethod
    def feed(self, data: bytes) -> Deltas:
        """Take the data of the next event; return the words it adds.

        Raises:
            MalformedResponseError: The event is not as it should be, or does not fit those before it.
            ProviderError: The event reports a failure.
            StreamingError: The event says that the answer is over, but it is not complete.
        """

    @abstractmethod
    def parts(self) -> Iterable[Part]:
        """What has arrived of the answer."""

    def _take_arguments(self, piece: str, data: bytes) -> None:
        """Count a piece of a tool's arguments.

        Raises:
            MalformedResponseError: There are more than any model writes.
        """
        self._argument_bytes += len(piece)
        if self._argument_bytes > MAX_ARGUMENT_BYTES:
            raise self._exchange.malformed(
                f"tool arguments of more than {MAX_ARGUMENT_BYTES:,} characters", data
            )

    def _check_count(self, count: int, data: bytes) -> None:
        """See that an answer does not consist of ever more blocks or calls.

        Raises:
            MalformedResponseError: There are more than any model sends.
        """
        if count > MAX_BLOCKS:
            raise self._exchange.malformed(f"more than {MAX_BLOCKS:,} content blocks", data)

    def end(self) -> None:
        """Take the end of the stream.

        Raises:
            StreamingError: More should have come.
        """
        raise self.broken(f"{self._exchange.service} ended its answer before it was complete. Try again.")

    def interrupted(self, error: TimeoutError | NetworkError) -> AgentError:
        """The error to raise for one of the transport that came in the middle of the stream."""
        if isinstance(error, TimeoutError):
            return TimeoutError(f"{error}{self._exchange.about}", cause=error)
        return self.broken(str(error), error)

    def broken(self, what: str, cause: Exception | None = None) -> StreamingError:
        """The error for a stream that broke off. It has what arrived; a call that may be cut is marked as such."""
        parts = without_a_half_call(self._exchange.without_secret(self.parts()))
        partial = [Message.assistant(parts)] if parts else []
        return StreamingError(f"{what}{self._exchange.about}", partial_messages=partial, cause=cause)
