"""Chat Completions: the client ``openai:…``, for OpenAI and for every server that speaks its protocol.

That is Ollama, vLLM, llama.cpp, LM Studio and many more; ``base_url`` says which. The codec
(:mod:`~maverick.providers.openai_request`, :mod:`~maverick.providers.openai_response`) and the
:mod:`~maverick.providers.transport` do the work, :mod:`~maverick.providers.http_client` says in which order.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from maverick.model import ModelInfo, Price, Request
from maverick.providers.exchange import Exchange
from maverick.providers.http_client import HttpClient
from maverick.providers.model_names import ModelNames
from maverick.providers.openai_endpoint import PROVIDER, OpenAIEndpoint
from maverick.providers.openai_exchange import OpenAIExchange
from maverick.providers.openai_request import RequestEncoder
from maverick.providers.prices import PriceTable
from maverick.providers.transport import MAX_ANSWER_BYTES, Reply, Timeouts, Transport, default_transport

if TYPE_CHECKING:
    import ssl


def connect(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeouts: Timeouts | None = None,
    tls: ssl.SSLContext | None = None,
    transport: Transport | None = None,
    max_answer_bytes: int = MAX_ANSWER_BYTES,
    prices: Mapping[str, Price] | None = None,
    max_tokens: int = 0,
    thoughts_field: str = "",
    extra: Mapping[str, Any] | None = None,
) -> OpenAIClient:
    """Make a client of OpenAI, or of any server with a Chat Completions API.

    Args:
        model: The model, as the server calls it.
        api_key: The key; by default ``OPENAI_API_KEY`` of the environment. Only OpenAI
            itself always wants one.
        base_url: The address of the API, such as ``http://localhost:11434``; by default ``OPENAI_BASE_URL``, or else
            OpenAI's own. An address without a path gets ``/v1``.
        headers: Headers to add to every request, such as ``OpenAI-Organization``, or ``api-key`` for Azure.
        timeouts: How long to wait for what.
        tls: TLS settings, for a private certificate authority or client certificates.
        transport: What carries the requests, in place of one made from ``timeouts``, ``tls`` and ``max_answer_bytes``.
            It may be shared, and stays open when the client is closed.
        max_answer_bytes: The most that is read of one streamed answer; of one that comes whole, a sixteenth.
        prices: What models cost, for those that Maverick does not know and for servers that are not OpenAI's.
        max_tokens: The most tokens of an answer when a request does not say; 0 leaves it to the server.
        thoughts_field: The field in which a model's thoughts are sent back to it, such as ``reasoning_content`` for
            models that go on thinking between tool calls; by default they are not.
        extra: Fields to add to every request as the API names them, such as ``{"reasoning_effort": "low"}``.
    """
    return OpenAIClient(
        model,
        OpenAIEndpoint(
            api_key=api_key,
            base_url=base_url,
            headers=headers,
            transport=transport,
            open_transport=partial(
                default_transport, timeouts=timeouts, tls=tls, max_answer_bytes=max_answer_bytes
            ),
        ),
        RequestEncoder(thoughts_field=thoughts_field, extra=extra),
        prices or {},
        max_tokens=max_tokens,
    )


class OpenAIClient(HttpClient):
    """A client of a Chat Completions API; :func:`connect` makes one."""

    def __init__(
        self,
        model: str,
        endpoint: OpenAIEndpoint,
        encoder: RequestEncoder,
        prices: Mapping[str, Price],
        *,
        max_tokens: int = 0,
    ) -> None:
        self._names = ModelNames(PROVIDER, model)
        self.model = self._names.own
        self._endpoint = endpoint
        self._encoder = encoder
        self._prices = prices
        self._openai_prices = PriceTable(prices)
        self._max_tokens = max_tokens

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model. Answers can be held to a schema; of other people's servers no more is known."""
        name = self._names.bare(model)
        if not self._endpoint.address.is_openai:
            return ModelInfo(price=self._prices.get(name), native_output=True)
        known = self._openai_prices.find(name)
        return ModelInfo(known.context_window, known.price, native_output=True)

    async def aclose(self) -> None:
        """Let go of connections; the client opens them again if it is used again."""
        await self._endpoint.aclose()

    async def _ask(self, request: Request, *, stream: bool) -> Reply:
        body = self._encoder.completion_request(
            request,
            model=self._names.of(request),
            max_tokens=self._max_tokens,
            token_limit=self._endpoint.address.token_limit,
            stream=stream,
        )
        return await self._endpoint.post(body, stream=stream)

    def _exchange(self, request: Request, reply: Reply) -> Exchange:
        model = self._names.of(request)
        return OpenAIExchange(
            self._endpoint.address.service,
            model,
            reply.headers,
            self.model_info(model).price,
            secret=self._endpoint.secret,
        )
