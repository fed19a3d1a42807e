"""An exchange with the Claude Messages API. No I/O here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from maverick.exceptions import ProviderError
from maverick.model import Price, Response
from maverick.providers.answer_stream import AnswerStream
from maverick.providers.claude_errors import API, SERVICE, answer_error, reported_error
from maverick.providers.claude_response import read_message
from maverick.providers.claude_stream import MessageStream
from maverick.providers.exchange import Exchange
from maverick.providers.prices import PriceTable


class ClaudeExchange(Exchange):
    """A request to Claude, and an answer that has begun.

    Args:
        model: The model that was asked for.
        headers: The headers of the answer.
        prices: What models cost.
        secret: The key, which no message may repeat.
    """

    __slots__ = ("_prices",)

    api: ClassVar[str] = API

    def __init__(
        self, model: str, headers: Mapping[str, str], prices: PriceTable, *, secret: str = ""
    ) -> None:
        super().__init__(SERVICE, model, headers, secret=secret)
        self._prices = prices

    def read(self, body: bytes) -> Response:
        """The answer in a body that came as a whole."""
        return read_message(body, self)

    def stream(self) -> AnswerStream:
        """What puts the answer together from the events of a stream."""
        return MessageStream(self)

    def refused(self, status: int, body: bytes) -> ProviderError:
        """The error for an answer with an error status."""
        return answer_error(status, body, self.headers, secret=self.secret)

    def reported(self, body: bytes) -> ProviderError | None:
        """The error that an answer with a good status reports in its body or in an event, if it does."""
        return reported_error(body, self.headers, secret=self.secret)

    def price(self, answered: str) -> Price | None:
        """The price of the model that was asked for, or else of the one that answered."""
        return self._prices.find(self.model).price or self._prices.find(answered).price
