"""The SDK's client: how it is set up, asked and closed, and that nothing raw comes out of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar

import anthropic
import httpx2
import msgspec
from anthropic.resources.messages import AsyncMessages
from anthropic.types import RawMessageStreamEvent

from maverick.exceptions import AuthenticationError, InvalidInputError
from maverick.providers.claude_endpoint import SAMPLING_API_VERSION
from maverick.providers.claude_sdk_errors import Situation, no_key, sdk_error
from maverick.providers.http_endpoint import secret_in
from maverick.providers.http_errors import request_id_of
from maverick.providers.network import check_network_allowed
from maverick.providers.transport import MAX_ANSWER_BYTES, WHOLE_SHARE, Timeouts, too_large
from maverick.providers.wire_json import encode

if TYPE_CHECKING:
    import ssl

Result = TypeVar("Result")
Events: TypeAlias = anthropic.AsyncStream[RawMessageStreamEvent]

PROVIDER = "claude-sdk"
"""The name of the provider in ``claude-sdk:model``."""

_ARGUMENTS = ("model", "max_tokens", "messages", "stream")
"""The fields that the SDK takes apart from the others; those go into the body as they are."""

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


class SDKEndpoint:
    """Asks the API through the SDK. What is not given is looked up in the environment on first use.

    Args:
        client: A client of the SDK, in place of one made from the rest; it stays open when this is closed.
        api_key: The key.
        base_url: The address of the API.
        headers: Headers to add to every request.
        timeouts: How long to wait for what.
        tls: TLS settings.
    """

    def __init__(
        self,
        *,
        client: SDKClient | None,
        api_key: str | None,
        base_url: str | None,
        headers: Mapping[str, str] | None,
        timeouts: Timeouts | None,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._given = client
        self._api_key = api_key
        self._base_url = base_url
        self._headers = dict(headers or {})
        self._timeouts = timeouts or Timeouts()
        self._tls = tls
        self._sdk: SDKClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def message(self, body: bytes, *, sampling: bool) -> httpx2.Response:
        """Ask for a whole answer.

        Args:
            body: The request.
            sampling: Whether it sets a temperature.
        """
        sdk = self._open()
        asked = sdk.messages.with_raw_response.create(**self._arguments(body, sampling=sampling))
        answer: httpx2.Response = (await self._explained(sdk, asked)).http_response
        return answer

    async def token_count(self, body: bytes) -> httpx2.Response:
        """Ask how many tokens a request has."""
        sdk = self._open()
        asked = sdk.messages.with_raw_response.count_tokens(**self._arguments(body, sampling=False))
        return (await self._explained(sdk, asked)).http_response

    async def events(self, body: bytes, *, sampling: bool) -> Events:
        """Ask for an answer that is streamed, and wait until it begins."""
        sdk = self._open()
        asked: Awaitable[Any] = sdk.messages.create(**self._arguments(body, sampling=sampling))
        events: Events = await self._explained(sdk, asked)
        return events

    async def next_event(self, events: Events) -> bytes | None:
        """The next event of a stream as JSON, or ``None`` at its end."""
        event: object = await self._explained(self._open(), anext(events, None), events)
        if event is None:
            return None
        return encode(event.to_dict(warnings=False) if isinstance(event, anthropic.BaseModel) else event)

    async def body_of(self, events: Events) -> bytes:
        """The body of an answer that should have been a stream of events."""
        return await self._explained(self._open(), events.response.aread(), events)

    async def finish(self, events: Events) -> None:
        """Wait a moment for a stream to end when its content is complete, so that the connection can be reused."""
        try:
            async with asyncio.timeout(_FINISH_SECONDS):
                await anext(events, None)
        except Exception:  # noqa: BLE001, S110 - the content is complete, so how its connection ends concerns nobody
            pass

    async def aclose(self) -> None:
        """Close the connections, unless they are somebody else's."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None and self._given is None and self._loop is asyncio.get_running_loop():
            await sdk.close()

    def _open(self) -> SDKClient:
        """The SDK's client. Connections belong to an event loop, so each loop gets a client of its own."""
        loop = asyncio.get_running_loop()
        if self._sdk is None or self._loop is not loop:
            self._sdk = self._make() if self._given is None else self._given.with_options(max_retries=0)
            self._loop = loop
        check_network_allowed(PROVIDER, str(self._sdk.base_url))
        return self._sdk

    def _make(self) -> anthropic.AsyncAnthropic:
        key = self._api_key
        tls: dict[str, Any] = {} if self._tls is None else {"verify": self._tls}
        try:
            sdk = anthropic.AsyncAnthropic(
                api_key=key.strip() if key else None,
                base_url=self._base_url and self._base_url.rstrip("/").removesuffix("/v1"),
                default_headers={"accept-encoding": "identity", **self._headers},
                max_retries=0,  # retries are the caller's
                # A redirect must not carry the key to another host.
                http_client=anthropic.DefaultAsyncHttpxClient(
                    follow_redirects=False, event_hooks={"response": [_bound]}, **tls
                ),
            )
        except httpx2.InvalidURL as error:
            raise InvalidInputError(
                f"base_url: {self._base_url!r} is not an http:// or https:// address with a host.",
                field="base_url",
            ) from error
        except anthropic.AnthropicError as error:
            raise AuthenticationError(
                f"The Anthropic SDK found no usable credentials: {error} Or pass api_key.", cause=error
            ) from error
        has_key = sdk.api_key or sdk.auth_token or sdk.credentials
        if not has_key and not {name.lower() for name in self._headers} & {"x-api-key", "authorization"}:
            raise no_key()
        return sdk

    def _arguments(self, body: bytes, *, sampling: bool) -> dict[str, Any]:
        """The request as the arguments of a call."""
        fields: dict[str, Any] = msgspec.json.decode(body)
        arguments = {name: fields.pop(name) for name in _ARGUMENTS if name in fields}
        return arguments | {
            "extra_body": fields,
            "extra_headers": {"anthropic-version": SAMPLING_API_VERSION} if sampling else None,
            "timeout": anthropic.Timeout(self._timeouts.first_byte, connect=self._timeouts.connect),
        }

    async def _explained(
        self, sdk: SDKClient, work: Awaitable[Result], events: Events | None = None
    ) -> Result:
        """Do the work within its time and turn whatever goes wrong on the way into an ``AgentError``."""
        seconds = self._timeouts.first_byte if events is None else self._timeouts.idle
        try:
            async with asyncio.timeout(seconds):
                return await work
        except Exception as error:  # noqa: BLE001 - the SDK, httpx2 and the clouds' libraries raise what they like
            host = sdk.base_url.netloc.decode()
            lateness = "did not begin to answer" if events is None else "stopped in mid-answer"
            failure = sdk_error(
                error,
                Situation(
                    host=host,
                    lateness=f"{host} {lateness} within {seconds:g} s.",
                    secret=secret_in(_sent_headers(error, events)),
                    request_id="" if events is None else request_id_of(events.response.headers),
                    begun=events is not None,
                ),
            )
        raise failure  # outside of the handler: the original holds the request's headers and must not be its context


async def _bound(response: httpx2.Response) -> None:
    """Have no more read of an answer than one may have, whoever reads it."""
    if response.headers.get("content-encoding", "identity") != "identity":  # a bomb would be counted packed
        raise too_large(response.url.host, 0)
    response.stream = _BoundedStream(response)


class _BoundedStream(httpx2.AsyncByteStream):
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


def _sent_headers(error: Exception, events: Events | None) -> Mapping[str, str]:
    """The headers of the request, which have the key that was really used: a cloud's client makes tokens as it goes."""
    if events is not None:
        return events.response.request.headers
    return error.request.headers if isinstance(error, anthropic.APIStatusError) else {}
