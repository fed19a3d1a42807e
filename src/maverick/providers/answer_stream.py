"""An answer that arrives in events: what every wire's stream has in common. No I/O here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeAlias

from maverick.exceptions import AgentError, NetworkError, StreamingError, TimeoutError
from maverick.model import Message, Part, Response, TextDelta, ThinkingDelta
from maverick.providers.exchange import Exchange, without_a_half_call

Deltas: TypeAlias = tuple[TextDelta | ThinkingDelta, ...]


class AnswerStream(ABC):
    """Puts an answer together from the events of a stream.

    Args:
        exchange: What is known of the answer.
    """

    __slots__ = ("_exchange", "response")

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
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
        parts = without_a_half_call(tuple(self.parts()))
        partial = [Message.assistant(parts)] if parts else []
        return StreamingError(f"{what}{self._exchange.about}", partial_messages=partial, cause=cause)
