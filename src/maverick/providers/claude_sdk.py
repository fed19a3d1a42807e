"""Claude through the official ``anthropic`` SDK: the client ``claude-sdk:…``.

It is for those who need what the SDK brings, such as Bedrock, Vertex and its ways to sign in. For the plain API,
``claude:…`` does the same with a fraction of the work. Both share one codec, so they send the same requests and make
the same of the answers; the SDK carries them, and opens the event streams of the clouds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec

from maverick.exceptions import AgentError, NetworkError, StreamingError, TimeoutError
from maverick.model import ModelInfo, Price, Request, Response, StreamItem
from maverick.providers.base import Client
from maverick.providers.claude_api import DEFAULT_MAX_TOKENS
from maverick.providers.claude_errors import SERVICE, malformed, reported_error
from maverick.providers.claude_request import RequestEncoder
from maverick.providers.claude_response import Exchange, read_message
from maverick.providers.claude_sdk_endpoint import PROVIDER, Events, SDKClient, SDKEndpoint
from maverick.providers.claude_stream import MessageStream
from maverick.providers.prices import PriceTable
from maverick.providers.transport import Timeouts
from maverick.providers.wire_json import BAD_JSON, encode

if TYPE_CHECKING:
    import ssl

_EVENT_STREAMS = ("text/event-stream", "application/vnd.amazon.eventstream")


class _TokenCount(msgspec.Struct, frozen=True):
    input_tokens: int


_token_counts = msgspec.json.Decoder(_TokenCount)


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
        api_key: The key; by default ``MAVERICK_AGENT_API_KEY``, or else what the SDK finds by itself.
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
        model,
        SDKEndpoint(
            client=client, api_key=api_key, base_url=base_url, headers=headers, timeouts=timeouts, tls=tls
        ),
        RequestEncoder(cache_prompts=cache_prompts, extra=extra),
        PriceTable(prices),
        max_tokens=max_tokens,
    )


class ClaudeSDKClient(Client):
    """A client of Claude on the official SDK; :func:`connect` makes one."""

    def __init__(
        self,
        model: str,
        endpoint: SDKEndpoint,
        encoder: RequestEncoder,
        prices: PriceTable,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
    ) -> None:
        self._model = _own_name(model)
        self._endpoint = endpoint
        self._encoder = encoder
        self._prices = prices
        self._max_tokens = max_tokens

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        answer = await self._endpoint.message(self._body(request, stream=False), sampling=_samples(request))
        return read_message(answer.content, self._exchange(request, answer))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        events = await self._endpoint.events(self._body(request, stream=True), sampling=_samples(request))
        try:
            if not _is_stream(events.response):
                raise _not_a_stream(events.response, await self._endpoint.body_of(events))
            message = MessageStream(self._exchange(request, events.response))
            while message.response is None:
                delta = message.feed(await self._next_event(events, message))
                if delta is not None:
                    yield delta
            await self._endpoint.finish(events)
        finally:
            await events.close()
        yield message.response

    async def count_tokens(self, request: Request) -> int:
        """How many tokens the request has, as the API counts them."""
        body = self._encoder.count_request(request, model=self._model_for(request))
        answer = await self._endpoint.token_count(body)
        try:
            return _token_counts.decode(answer.content).input_tokens
        except BAD_JSON:
            raise malformed(
                "something other than a token count", answer.content, _request_id(answer)
            ) from None

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price, and that answers can be held to a schema."""
        return msgspec.structs.replace(self._prices.find(_own_name(model)), native_output=True)

    async def aclose(self) -> None:
        """Let go of connections; the client opens them again if it is used again."""
        await self._endpoint.aclose()

    def _body(self, request: Request, *, stream: bool) -> bytes:
        return self._encoder.message_request(
            request, model=self._model_for(request), max_tokens=self._max_tokens, stream=stream
        )

    def _model_for(self, request: Request) -> str:
        """The model the request names, if it is one of this provider; else the client's own."""
        provider, colon, _ = request.config.model.partition(":")
        if not provider or (colon and provider != PROVIDER):
            return self._model
        return _own_name(request.config.model)

    def _exchange(self, request: Request, answer: httpx2.Response) -> Exchange:
        return Exchange(self._model_for(request), answer.headers, self._prices)

    async def _next_event(self, events: Events, message: MessageStream) -> bytes:
        """The next event of a stream that is not at its end; if none comes, an error that has what arrived."""
        request_id = _request_id(events.response)
        about = f" (request {request_id})" if request_id else ""
        try:
            event = await self._endpoint.next_event(events)
        except TimeoutError as error:
            raise TimeoutError(f"{error}{about}", cause=error) from error
        except NetworkError as error:
            raise StreamingError(
                f"{error}{about}", partial_messages=message.partial_messages(), cause=error
            ) from error
        if event is None:
            raise StreamingError(
                f"{SERVICE}'s answer ended before it was complete. Try again.{about}",
                partial_messages=message.partial_messages(),
            )
        return encode(event)


def _own_name(model: str) -> str:
    return model.removeprefix(f"{PROVIDER}:")


def _samples(request: Request) -> bool:
    return request.config.temperature >= 0


def _request_id(answer: httpx2.Response) -> str:
    return str(answer.headers.get("request-id", ""))


def _is_stream(answer: httpx2.Response) -> bool:
    """Whether events follow; an answer that does not say what it is gets the benefit of the doubt."""
    kind = answer.headers.get("content-type", "")
    return not kind or kind.startswith(_EVENT_STREAMS)


def _not_a_stream(answer: httpx2.Response, body: bytes) -> AgentError:
    kind = answer.headers.get("content-type", "")
    return reported_error(body, answer.headers) or malformed(
        f"{kind} in place of a stream of events", body, _request_id(answer)
    )
