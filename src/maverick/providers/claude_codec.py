"""What is said to Claude and what comes back, whatever carries it: shared by its two clients. No I/O here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from maverick.model import ModelInfo, Price, Request
from maverick.providers.claude_exchange import ClaudeExchange
from maverick.providers.claude_request import RequestEncoder
from maverick.providers.exchange import Exchange
from maverick.providers.model_names import ModelNames
from maverick.providers.prices import PriceTable
from maverick.providers.wire_json import BAD_JSON, TokenCount

DEFAULT_MAX_TOKENS = 16_384
"""Room for a long answer, and few enough to arrive within the first-byte timeout when it is not streamed."""


class _Counted(msgspec.Struct, frozen=True):
    input_tokens: TokenCount


_counted = msgspec.json.Decoder(_Counted)


class ClaudeCodec:
    """Requests as bytes, and what their answers are read with.

    Args:
        provider: The name of the provider in ``provider:model``.
        model: The model to ask when a request names none of this provider.
        prices: Prices that replace, or add to, those Maverick knows.
        max_tokens: The most tokens of an answer when a request does not say.
        cache_prompts: Whether to ask the API to cache prompts where it pays.
        extra: Fields to add to every request as the API names them.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        prices: Mapping[str, Price] | None,
        max_tokens: int,
        cache_prompts: bool,
        extra: Mapping[str, Any] | None,
    ) -> None:
        self._names = ModelNames(provider, model)
        self.model = self._names.own
        self._encoder = RequestEncoder(cache_prompts=cache_prompts, extra=extra)
        self._prices = PriceTable(prices)
        self._max_tokens = max_tokens

    def message_request(self, request: Request, *, stream: bool) -> bytes:
        """The body that asks for an answer."""
        return self._encoder.message_request(
            request, model=self._names.of(request), max_tokens=self._max_tokens, stream=stream
        )

    def count_request(self, request: Request) -> bytes:
        """The body that asks how many tokens the request would have."""
        return self._encoder.count_request(request, model=self._names.of(request))

    def exchange(self, request: Request, headers: Mapping[str, str], *, secret: str = "") -> ClaudeExchange:
        """What the answer with these headers is read with.

        Args:
            request: What was asked.
            headers: The headers of the answer.
            secret: The key, which no message may repeat.
        """
        return ClaudeExchange(self._names.of(request), headers, self._prices, secret=secret)

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price, and that answers can be held to a schema."""
        return msgspec.structs.replace(self._prices.find(self._names.bare(model)), native_output=True)


def read_token_count(body: bytes, exchange: Exchange) -> int:
    """How many tokens a request has, in the API's answer.

    Raises:
        MalformedResponseError: The body is something else.
    """
    try:
        return _counted.decode(body).input_tokens
    except BAD_JSON:
        raise exchange.malformed("something other than a token count", body) from None


def samples(request: Request) -> bool:
    """Whether the request sets a temperature, which only an older version of the API takes."""
    return request.config.temperature >= 0
