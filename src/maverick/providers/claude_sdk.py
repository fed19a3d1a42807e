"""Claude through the official ``anthropic`` SDK: the client ``claude-sdk:…``.

It is for those who need what the SDK brings, such as Bedrock, Vertex and its ways to sign in. For the plain API,
``claude:…`` does the same with a fraction of the work. Both share one codec, so they send the same requests and make
the same of the answers; the SDK carries them, and opens the event streams of the clouds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import httpx2

from maverick.exceptions import NetworkError, TimeoutError
from maverick.model import ModelInfo, Price, Request, Response, StreamItem
from maverick.providers.claude_codec import DEFAULT_MAX_TOKENS, ClaudeCodec, read_token_count, samples
from maverick.providers.claude_sdk_endpoint import PROVIDER, SDKClient, SDKEndpoint
from maverick.providers.client import Client
from maverick.providers.exchange import Exchange
from maverick.providers.http_endpoint import secret_in
from maverick.providers.transport import Timeouts

if TYPE_CHECKING:
    import ssl

_EVENT_STREAMS = ("text/event-stream", "application/vnd.amazon.eventstream")


def connect(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    client: SDKClient | None = None,
    headers: Mapping[str, str] | None = None,
    timeouts: Timeouts | None = None,
    tls: ssl.SSLContext | None = None,
    prices: Mapping[str, Price] | None = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    cache_prompts: bool = True,
    extra: Mapping[str, Any] | None = None,
) -> ClaudeSDKClient:
    """Make a client of Claude on the official SDK.

    Args:
        model: The model, as the service calls it.
        api_key: The key; by default what the SDK finds by itself.
        base_url: The address of the API; by default ``ANTHROPIC_BASE_URL``, or else Anthropic's own.
        client: A client of the SDK, such as ``AsyncAnthropicBedrock()`` or ``AsyncAnthropicVertex()``, in place of one
            made from ``api_key``, ``base_url``, ``headers`` and ``tls``. Its retries are not used, and it stays open
            when this client is closed.
        headers: Headers to add to every request.
        timeouts: How long to wait for what.
        tls: TLS settings, for a private certificate authority or client certificates.
        prices: Prices that replace, or add to, those Maverick knows.
        max_tokens: The most tokens of an answer when a request does not say.
        cache_prompts: Whether to ask the API to cache prompts where it pays.
        extra: Fields to add to every request as the API names them.
    """
    return ClaudeSDKClient(
        ClaudeCodec(
            PROVIDER,
            model,
            prices=prices,
            max_tokens=max_tokens,
            cache_prompts=cache_prompts,
            extra=extra,
        ),
        SDKEndpoint(
            client=client, api_key=api_key, base_url=base_url, headers=headers, timeouts=timeouts, tls=tls
        ),
    )


class ClaudeSDKClient(Client):
    """A client of Claude on the official SDK; :func:`connect` makes one."""

    def __init__(self, codec: ClaudeCodec, endpoint: SDKEndpoint) -> None:
        self.model = codec.model
        self._codec = codec
        self._endpoint = endpoint

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        request = self.defaults.applied_to(request)
        body = self._codec.message_request(request, stream=False)
        answer = await self._endpoint.message(body, sampling=samples(request))
        exchange = self._exchange(request, answer)
        return exchange.read(exchange.clean(answer.content))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        request = self.defaults.applied_to(request)
        body = self._codec.message_request(request, stream=True)
        events = await self._endpoint.events(body, sampling=samples(request))
        try:
            exchange = self._exchange(request, events.response)
            kind = exchange.headers.get("content-type", "")
            if kind and not kind.startswith(_EVENT_STREAMS):
                page = await self._endpoint.body_of(events)
                raise exchange.no_answer(f"{kind} in place of a stream of events", page)
            answer = exchange.stream()
            while answer.response is None:
                try:
                    event = await self._endpoint.next_event(events)
                except (TimeoutError, NetworkError) as error:
                    raise answer.interrupted(error) from error
                if event is None:
                    answer.end()
                else:
                    for delta in answer.feed(exchange.clean(event)):
                        yield delta
            await self._endpoint.finish(events)
        finally:
            await events.close()
        yield answer.response

    async def count_tokens(self, request: Request) -> int:
        """How many tokens the request has, as the API counts them."""
        answer = await self._endpoint.token_count(self._codec.count_request(request))
        return read_token_count(answer.content, self._exchange(request, answer))

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price, and that answers can be held to a schema."""
        return self._codec.model_info(model)

    async def aclose(self) -> None:
        """Let go of connections; the client opens them again if it is used again."""
        await self._endpoint.aclose()

    def _exchange(self, request: Request, answer: httpx2.Response) -> Exchange:
        return self._codec.exchange(request, answer.headers, secret=secret_in(answer.request.headers))
