"""An exchange with a Chat Completions server. No I/O here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from maverick.exceptions import ProviderError
from maverick.model import Price, Response
from maverick.providers.answer_stream import AnswerStream
from maverick.providers.exchange import Exchange
from maverick.providers.openai_errors import answer_error, reported_error
from maverick.providers.openai_response import CompletionStream, read_completion


class OpenAIExchange(Exchange):
    """A request to a Chat Completions server, and an answer that has begun.

    Args:
        service: What messages call the server.
        model: The model that was asked for.
        headers: The headers of the answer.
        price: What the model costs, if that is known.
        secret: The key, which no message may repeat.
    """

    __slots__ = ("_price",)

    api: ClassVar[str] = "a Chat Completions API"

    def __init__(
        self,
        service: str,
        model: str,
        headers: Mapping[str, str],
        price: Price | None = None,
        *,
        secret: str = "",
    ) -> None:
        super().__init__(service, model, headers, secret=secret)
        self._price = price

    def read(self, body: bytes) -> Response:
        """The answer in a body that came as a whole."""
        return read_completion(body, self)

    def stream(self) -> AnswerStream:
        """What puts the answer together from the events of a stream."""
        return CompletionStream(self)

    def refused(self, status: int, body: bytes) -> ProviderError:
        """The error for an answer with an error status."""
        return answer_error(self.service, status, body, self.headers, secret=self.secret)

    def reported(self, body: bytes) -> ProviderError | None:
        """The error that an answer with a good status reports in its body or in an event, if it does."""
        return reported_error(self.service, body, self.headers, secret=self.secret)

    def price(self, answered: str) -> Price | None:  # noqa: ARG002 - a server may call its models what it likes
        """The price of the model that was asked for."""
        return self._price
