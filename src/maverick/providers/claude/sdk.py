"""Claude through the official ``anthropic`` SDK: the client ``claude-sdk:…``.

It is for those who need what the SDK brings, such as Bedrock, Vertex and its ways to sign in. For the plain API,
``claude:…`` does the same with a fraction of the work. Both encode requests and read answers with the same code; the
SDK sends them, and decodes the event streams of the clouds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar

import anthropic
import httpx2
import msgspec
from anthropic.resources.messages import AsyncMessages
from anthropic.types import RawMessageStreamEvent
from msgspec.structs import replace

from maverick.exceptions import AuthenticationError, InvalidInputError, NetworkError, TimeoutError
from maverick.model import ModelInfo, Price, Request, Response, StreamItem
from maverick.providers.claude.request import RequestEncoder, condenses, request_headers
from maverick.providers.claude.response import API, SERVICE, MessageAccumulator, read_message
from maverick.providers.claude.sdk_errors import no_key, sdk_error
from maverick.providers.client import Client, requested_model
from maverick.providers.http.client import request_secrets, secret_in
from maverick.providers.http.errors import no_answer
from maverick.providers.http.exchange import Exchange
from maverick.providers.http.transport import MAX_ANSWER_BYTES, WHOLE_SHARE, ContentTimer, Timeouts, too_large
from maverick.providers.http.wire_json import encode
from maverick.providers.network import check_network_allowed
from maverick.providers.prices import PriceTable

if TYPE_CHECKING:
    import ssl

Result = TypeVar("Result")
Events: TypeAlias = anthropic.AsyncStream[RawMessageStreamEvent]

_PROVIDER = "claude-sdk"

_ARGUMENTS = ("model", "max_tokens", "messages", "stream")
"""The fields that the SDK takes as arguments; the others go into the body as they are."""

_EVENT_STREAMS = ("text/event-stream", "application/vnd.amazon.eventstream")

_FINISH_SECONDS = 0.25
"""The end of a stream comes with its last event or right after; a server that holds it back is not waited for."""


class SDKClient(Protocol):
    """What is used of a client of the SDK; those of Anthropic, Bedrock, Vertex and Foundry all have it."""

    @property
    def messages(self) -> AsyncMessages:
        """The Messages API."""
        ...

    @property
    def base_url(self) -> httpx2.URL:
        """Where the service is."""
        ...

    def with_options(self, *, max_retries: int) -> Self:
        """The same client with other settings."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class ClaudeSDKClient(Client):
    """A client of Claude on the official SDK.

    Args:
        model: The model, as the service calls it.
        api_key: The key; by default what the SDK finds by itself.
        base_url: The address of the API; by default ``ANTHROPIC_BASE_URL``, or else Anthropic's own.
        client: A client of the SDK, such as ``AsyncAnthropicBedrock()`` or ``AsyncAnthropicVertex()``, in place of one
            made from ``api_key``, ``base_url``, ``headers`` and ``tls``. Its retries are not used, and it stays open
            when this client is closed.
        headers: Headers to add to every request.
        timeouts: How long to wait.
        tls: TLS settings, for a private certificate authority or client certificates.
        prices: Prices that replace, or add to, those Maverick knows.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: SDKClient | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        tls: ssl.SSLContext | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        self.model = f"{_PROVIDER}:{model.removeprefix(f'{_PROVIDER}:')}"
        self._encoder = RequestEncoder()
        own = {name.lower(): value for name, value in (headers or {}).items()}
        self._betas = own.get("anthropic-beta", "")
        self._prices = PriceTable(prices)
        self._timeouts = timeouts or Timeouts()
        self._owns_sdk = client is None
        self._make_sdk: Callable[[], SDKClient] = (
            partial(_make_sdk_client, api_key, base_url, headers or {}, tls)
            if client is None
            else partial(client.with_options, max_retries=0)  # retries are the caller's
        )
        self._sdk: SDKClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        request = self.completed(request)
        sdk = self._open()
        create = sdk.messages.with_raw_response.create
        asked = create(**self._arguments(request, stream=False))
        answer: httpx2.Response = (await self._explained(request, self._timer(sdk), asked)).http_response
        exchange = self._exchange(request, answer)
        return read_message(exchange.clean(answer.content), exchange)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        request = self.completed(request)
        sdk = self._open()
        asked: Awaitable[Any] = sdk.messages.create(**self._arguments(request, stream=True))
        timer = self._timer(sdk)
        events: Events = await self._explained(request, timer, asked)
        try:
            exchange = self._exchange(request, events.response)
            kind = exchange.headers.get("content-type", "")
            if kind and not kind.startswith(_EVENT_STREAMS):
                page = await self._explained(request, timer, events.response.aread(), events)
                raise no_answer(exchange, f"{kind} in place of a stream of events", page)
            answer = MessageAccumulator(exchange)
            arguments = 0
            while answer.response is None:
                try:
                    event: object = await self._explained(request, timer, anext(events, None), events)
                except (TimeoutError, NetworkError) as error:
                    raise answer.interrupted(error) from error
                if event is None:
                    answer.end()
                    continue
                deltas = answer.feed(exchange.clean(_event_json(event)))
                if deltas or answer.argument_bytes > arguments:
                    arguments = answer.argument_bytes
                    timer.content_arrived()
                for delta in deltas:
                    yield delta
            await _finish(events)
        finally:
            await events.close()
        yield answer.response

    def check(self, request: Request) -> None:
        """Refuse a request with settings that the API does not take, without sending it."""
        self._arguments(self.completed(request), stream=False)

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model: its context window and price, and what the API does for it."""
        name = model.removeprefix(f"{_PROVIDER}:")
        return replace(self._prices.find(name), native_output=True, native_compaction=condenses(name))

    async def aclose(self) -> None:
        """Close the connections, unless the SDK's client was given; this client opens them again if it is used."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None and self._owns_sdk and self._loop is asyncio.get_running_loop():
            await sdk.close()

    def _open(self) -> SDKClient:
        """The SDK's client. Connections belong to an event loop, so each loop gets a client of its own."""
        loop = asyncio.get_running_loop()
        if self._sdk is None or self._loop is not loop:
            self._sdk, self._loop = self._make_sdk(), loop
        check_network_allowed(_PROVIDER, str(self._sdk.base_url))
        return self._sdk

    def _arguments(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """The request as the arguments of a call."""
        body = self._encoder.encode(request, model=requested_model(request, self.model), stream=stream)
        fields: dict[str, Any] = msgspec.json.decode(b"".join(body))
        arguments = {name: fields.pop(name) for name in _ARGUMENTS if name in fields}
        return arguments | {
            "extra_body": fields,
            "extra_headers": request_headers(request, self._betas) or None,
            "timeout": anthropic.Timeout(self._timeouts.first_content, connect=self._timeouts.connect),
        }

    def _exchange(self, request: Request, answer: httpx2.Response | None) -> Exchange:
        return Exchange(
            SERVICE,
            API,
            requested_model(request, self.model),
            {} if answer is None else answer.headers,
            self._prices,
            # The key that was really used: a cloud's client makes tokens as it goes.
            "" if answer is None else secret_in(answer.request.headers),
            request_secrets(request),
        )

    def _timer(self, sdk: SDKClient) -> ContentTimer:
        return ContentTimer(sdk.base_url.netloc.decode(), self._timeouts)

    async def _explained(
        self, request: Request, timer: ContentTimer, work: Awaitable[Result], events: Events | None = None
    ) -> Result:
        """Do the work within its time limit, and turn any failure into an ``AgentError``."""
        try:
            return await timer.wait(work)
        except Exception as error:  # noqa: BLE001 - the SDK, httpx2 and the clouds' libraries may raise anything
            answer = error.response if isinstance(error, anthropic.APIStatusError) else None
            failure = sdk_error(
                error,
                self._exchange(request, events.response if events is not None else answer),
                timer,
                begun=events is not None,
            )
        raise failure  # outside of the handler: the original holds the request's headers and must not be its context


connect = ClaudeSDKClient
"""What ``maverick.connect`` calls."""


def _make_sdk_client(
    api_key: str | None, base_url: str | None, headers: Mapping[str, str], tls: ssl.SSLContext | None
) -> SDKClient:
    verify: dict[str, Any] = {} if tls is None else {"verify": tls}
    try:
        sdk = anthropic.AsyncAnthropic(
            api_key=api_key.strip() if api_key else None,
            base_url=base_url and base_url.rstrip("/").removesuffix("/v1"),
            default_headers={"accept-encoding": "identity", **headers},
            max_retries=0,  # retries are the caller's
            # A redirect must not carry the key to another host.
            http_client=anthropic.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={"response": [_limit_size]}, **verify
            ),
        )
    except httpx2.InvalidURL as error:
        raise InvalidInputError(
            f"base_url: {base_url!r} is not an http:// or https:// address with a host.", field="base_url"
        ) from error
    except anthropic.AnthropicError as error:
        raise AuthenticationError(
            f"The Anthropic SDK found no usable credentials: {error} Or pass api_key.", cause=error
        ) from error
    has_key = sdk.api_key or sdk.auth_token or sdk.credentials
    if not has_key and not {name.lower() for name in headers} & {"x-api-key", "authorization"}:
        raise no_key()
    return sdk


async def _limit_size(response: httpx2.Response) -> None:
    """Read no more of an answer than the limit."""
    if response.headers.get("content-encoding", "identity") != "identity":  # a bomb would be counted packed
        raise too_large(response.url.host, 0)
    response.stream = _LimitedStream(response)


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - it is an async client's
        self._stream = response.stream
        self._host = response.url.host
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        self._max_bytes = MAX_ANSWER_BYTES // (1 if streamed else WHOLE_SHARE)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._stream:
            read += len(chunk)
            if read > self._max_bytes:
                raise too_large(self._host, self._max_bytes)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _event_json(event: object) -> bytes:
    return encode(event.to_dict(warnings=False) if isinstance(event, anthropic.BaseModel) else event)


async def _finish(events: Events) -> None:
    """Wait briefly for a stream to end once its content is complete, so that the connection can be reused."""
    try:
        async with asyncio.timeout(_FINISH_SECONDS):
            await anext(events, None)
    except Exception:  # noqa: BLE001, S110 - the content is complete, so it does not matter how the connection ends
        pass
