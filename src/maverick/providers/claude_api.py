"""The Claude Messages API: the default client, ``claude:…``.

The codec (:mod:`~maverick.providers.claude_request`, :mod:`~maverick.providers.claude_response`,
:mod:`~maverick.providers.claude_stream`) and the :mod:`~maverick.providers.transport` do the work; this module says in
which order things happen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from maverick.exceptions import NetworkError, ProviderError, StreamingError, TimeoutError
from maverick.model import ModelInfo, Price, Request, Response, StreamItem
from maverick.providers.base import Client
from maverick.providers.claude_endpoint import PROVIDER, ClaudeEndpoint
from maverick.providers.claude_errors import SERVICE, answer_error, malformed, reported_error
from maverick.providers.claude_request import RequestEncoder
from maverick.providers.claude_response import Exchange, read_message
from maverick.providers.claude_stream import MessageStream
from maverick.providers.prices import PriceTable
from maverick.providers.sse import SSEDecoder
from maverick.providers.transport import Reply, Timeouts, Transport, default_transport
from maverick.providers.wire_json import BAD_JSON

if TYPE_CHECKING:
    import ssl

DEFAULT_MAX_TOKENS = 16_384
"""Room for a long answer, and few enough to arrive within the first-byte timeout when it is not streamed."""


class _TokenCount(msgspec.Struct, frozen=True):
    input_tokens: int


_token_counts = msgspec.json.Decoder(_TokenCount)


def connect(
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeouts: Timeouts | None = None,
    tls: ssl.SSLContext | None = None,
    transport: Transport | None = None,
    prices: Mapping[str, Price] | None = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    cache_prompts: bool = True,
    extra: Mapping[str, Any] | None = None,
) -> ClaudeClient:
    """Make a client of the Claude Messages API, or of anything that speaks it.

    Args:
        model: The model, such as ``claude-sonnet-4-5-20250929``.
        api_key: The key; by default ``MAVERICK_AGENT_API_KEY`` or ``ANTHROPIC_API_KEY`` of the environment.
        base_url: The address of the API; by default ``ANTHROPIC_BASE_URL``, or else Anthropic's own.
        headers: Headers to add to every request, such as ``anthropic-beta``.
        timeouts: How long to wait for what.
        tls: TLS settings, for a private certificate authority or client certificates.
        transport: What carries the requests, in place of one made from ``timeouts`` and ``tls``. It may be shared,
            and stays open when the client is closed.
        prices: Prices that replace, or add to, those Maverick knows.
        max_tokens: The most tokens of an answer when a request does not say.
        cache_prompts: Whether to ask the API to cache prompts where it pays.
        extra: Fields to add to every request as the API names them, such as
            ``{"thinking": {"type": "adaptive"}}``.
    """
    return ClaudeClient(
        model,
        ClaudeEndpoint(
            api_key=api_key,
            base_url=base_url,
            headers=headers,
            transport=transport,
            open_transport=partial(default_transport, timeouts=timeouts, tls=tls),
        ),
        RequestEncoder(cache_prompts=cache_prompts, extra=extra),
        PriceTable(prices),
        max_tokens=max_tokens,
    )


class ClaudeClient(Client):
    """A client of the Claude Messages API; :func:`connect` makes one."""

    def __init__(
        self,
        model: str,
        endpoint: ClaudeEndpoint,
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
        with await self._ask(request, stream=False) as reply:
            answer = await reply.read()
            if reply.status != 200:
                raise self._refusal(reply, answer)
            return read_message(answer, self._exchange(request, reply))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        with await self._ask(request, stream=True) as reply:
            if not _is_stream(reply):
                raise self._not_a_stream(reply, await reply.read())
            decoder = SSEDecoder()
            message = MessageStream(self._exchange(request, reply))
            while message.response is None:
                for event in decoder.feed(await _next_chunk(reply, message)):
                    delta = message.feed(event.data)
                    if delta is not None:
                        yield delta
                    elif message.response is not None:
                        break
            await reply.finish()
        yield message.response

    async def count_tokens(self, request: Request) -> int:
        """How many tokens the request has, as the API counts them."""
        body = self._encoder.count_request(request, model=self._model_for(request))
        with await self._endpoint.post("/v1/messages/count_tokens", body) as reply:
            answer = await reply.read()
            if reply.status != 200:
                raise self._refusal(reply, answer)
            try:
                return _token_counts.decode(answer).input_tokens
            except BAD_JSON:
                raise malformed("something other than a token count", answer, _request_id(reply)) from None

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price, and that answers can be held to a schema."""
        return msgspec.structs.replace(self._prices.find(_own_name(model)), native_output=True)

    async def aclose(self) -> None:
        """Let go of connections; the client opens them again if it is used again."""
        await self._endpoint.aclose()

    async def _ask(self, request: Request, *, stream: bool) -> Reply:
        body = self._encoder.message_request(
            request, model=self._model_for(request), max_tokens=self._max_tokens, stream=stream
        )
        return await self._endpoint.post("/v1/messages", body, sampling=request.config.temperature >= 0)

    def _model_for(self, request: Request) -> str:
        """The model the request names, if it is one of this provider; else the client's own."""
        provider, colon, _ = request.config.model.partition(":")
        if not provider or (colon and provider != PROVIDER):
            return self._model
        return _own_name(request.config.model)

    def _exchange(self, request: Request, reply: Reply) -> Exchange:
        return Exchange(self._model_for(request), reply.headers, self._prices)

    def _refusal(self, reply: Reply, answer: bytes) -> ProviderError:
        return answer_error(reply.status, answer, reply.headers, secret=self._endpoint.secret)

    def _not_a_stream(self, reply: Reply, answer: bytes) -> Exception:
        if reply.status != 200:
            return self._refusal(reply, answer)
        kind = reply.headers.get("content-type", "")
        return reported_error(answer, reply.headers) or malformed(
            f"{kind} in place of a stream of events", answer, _request_id(reply)
        )


def _own_name(model: str) -> str:
    return model.removeprefix(f"{PROVIDER}:")


def _is_stream(reply: Reply) -> bool:
    """Whether events follow; an answer that does not say what it is gets the benefit of the doubt."""
    kind = reply.headers.get("content-type", "")
    return reply.status == 200 and (not kind or kind.startswith("text/event-stream"))


async def _next_chunk(reply: Reply, message: MessageStream) -> bytes:
    """The next bytes of a stream that is not at its end; if none come, an error that has what arrived."""
    try:
        chunk = await reply.read_some()
    except TimeoutError as error:
        raise TimeoutError(f"{error}{_about(reply)}", cause=error) from error
    except NetworkError as error:
        raise StreamingError(
            f"{error}{_about(reply)}", partial_messages=message.partial_messages(), cause=error
        ) from error
    if not chunk:
        raise StreamingError(
            f"{SERVICE}'s answer ended before it was complete. Try again.{_about(reply)}",
            partial_messages=message.partial_messages(),
        )
    return chunk


def _about(reply: Reply) -> str:
    request_id = _request_id(reply)
    return f" (request {request_id})" if request_id else ""


def _request_id(reply: Reply) -> str:
    return reply.headers.get("request-id", "")
