"""The Claude Messages API: the default client, ``claude:…``.

The codec (:mod:`~maverick.providers.claude_codec` and the modules it names) and the
:mod:`~maverick.providers.transport` do the work, :mod:`~maverick.providers.http_client` says in which order.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from maverick.model import ModelInfo, Price, Request
from maverick.providers.claude_codec import DEFAULT_MAX_TOKENS, ClaudeCodec, read_token_count, samples
from maverick.providers.claude_endpoint import PROVIDER, ClaudeEndpoint
from maverick.providers.exchange import Exchange
from maverick.providers.http_client import HttpClient, whole_body
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
    max_tokens: int = DEFAULT_MAX_TOKENS,
    cache_prompts: bool = True,
    extra: Mapping[str, Any] | None = None,
) -> ClaudeClient:
    """Make a client of the Claude Messages API, or of anything that speaks it.

    Args:
        model: The model, such as ``claude-sonnet-5-5``.
        api_key: The key; by default ``ANTHROPIC_API_KEY`` of the environment.
        base_url: The address of the API; by default ``ANTHROPIC_BASE_URL``, or else Anthropic's own.
        headers: Headers to add to every request, such as ``anthropic-beta``.
        timeouts: How long to wait for what.
        tls: TLS settings, for a private certificate authority or client certificates.
        transport: What carries the requests, in place of one made from ``timeouts``, ``tls`` and ``max_answer_bytes``.
            It may be shared, and stays open when the client is closed.
        max_answer_bytes: The most that is read of one streamed answer; of one that comes whole, a sixteenth.
        prices: Prices that replace, or add to, those Maverick knows.
        max_tokens: The most tokens of an answer when a request does not say.
        cache_prompts: Whether to ask the API to cache prompts where it pays.
        extra: Fields to add to every request as the API names them, such as
            ``{"thinking": {"type": "adaptive"}}``.
    """
    return ClaudeClient(
        ClaudeCodec(
            PROVIDER,
            model,
            prices=prices,
            max_tokens=max_tokens,
            cache_prompts=cache_prompts,
            extra=extra,
        ),
        ClaudeEndpoint(
            api_key=api_key,
            base_url=base_url,
            headers=headers,
            transport=transport,
            open_transport=partial(
                default_transport, timeouts=timeouts, tls=tls, max_answer_bytes=max_answer_bytes
            ),
        ),
    )


class ClaudeClient(HttpClient):
    """A client of the Claude Messages API; :func:`connect` makes one."""

    def __init__(self, codec: ClaudeCodec, endpoint: ClaudeEndpoint) -> None:
        self.model = codec.model
        self._codec = codec
        self._endpoint = endpoint

    async def count_tokens(self, request: Request) -> int:
        """How many tokens the request has, as the API counts them."""
        body = self._codec.count_request(request)
        with await self._endpoint.post("/v1/messages/count_tokens", body) as reply:
            exchange = self._exchange(request, reply)
            return read_token_count(await whole_body(reply, exchange), exchange)

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price, and that answers can be held to a schema."""
        return self._codec.model_info(model)

    async def aclose(self) -> None:
        """Let go of connections; the client opens them again if it is used again."""
        await self._endpoint.aclose()

    async def _ask(self, request: Request, *, stream: bool) -> Reply:
        body = self._codec.message_request(request, stream=stream)
        return await self._endpoint.post("/v1/messages", body, sampling=samples(request))

    def _exchange(self, request: Request, reply: Reply) -> Exchange:
        return self._codec.exchange(request, reply.headers, secret=self._endpoint.secret)
