"""Claude through the official ``anthropic`` SDK: the client ``claude-sdk:…``.

It is for those who need what the SDK brings, such as Bedrock, Vertex and its ways to sign in. For the plain API,
``claude:…`` does the same with a fraction of the work. Both encode requests and read answers with the same code; the
SDK sends them, and decodes the event streams of the clouds.

The SDK wraps what fails before an answer begins, but lets through what fails while a stream is read: errors of httpx2,
of the JSON parser, of the cloud libraries that sign requests. None of them is chained but the operating system's own,
because the SDK's errors hold the request with its headers and repeat the words of the other side.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import anthropic
import httpx2
import msgspec
from anthropic.resources.messages import AsyncMessages
from anthropic.types import RawMessageStreamEvent
from msgspec.structs import replace

from maverick.exceptions import AgentError, AuthenticationError, ErrorKind, InvalidInputError, NetworkError
from maverick.misuse import refuse
from maverick.model import Price, Request, StreamItem
from maverick.providers.claude.client import ClaudeClient
from maverick.providers.claude.request import request_headers
from maverick.providers.http.client import secret_in
from maverick.providers.http.errors import bad_characters, connect_timeout, connection_lost, not_http
from maverick.providers.http.exchange import Exchange
from maverick.providers.http.transport import (
    MAX_ANSWER_BYTES,
    WHOLE_SHARE,
    ContentTimer,
    Reply,
    Timeouts,
    too_large,
)
from maverick.providers.http.wire_json import encode
from maverick.providers.network import check_network_allowed

Events: TypeAlias = anthropic.AsyncStream[RawMessageStreamEvent]

_ARGUMENTS = ("model", "max_tokens", "messages", "stream")
"""The fields that the SDK takes as arguments; the others go into the body as they are."""

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


class ClaudeSDKClient(ClaudeClient):
    """A client of Claude on the official SDK.

    Args:
        model: The model, as the service calls it.
        api_key: The key; by default what the SDK finds by itself.
        base_url: The address of the API; by default ``ANTHROPIC_BASE_URL``, or else Anthropic's own.
        client: A client of the SDK, such as ``AsyncAnthropicBedrock()`` or ``AsyncAnthropicVertex()``, in place of one
            made from ``api_key``, ``base_url``, ``headers`` and ``tls``. Its retries are not used, and it stays open
            when this client is closed.

    The others are those of :class:`~maverick.providers.catalog.ConnectOptions`.
    """

    provider: ClassVar[str] = "claude-sdk"
    _event_streams = ("text/event-stream", "application/vnd.amazon.eventstream")

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
        super().__init__(model, headers=headers, prices=prices)
        self._timeouts = timeouts or Timeouts()
        self._owns_sdk = client is None
        self._make_sdk: Callable[[], SDKClient] = (
            partial(_make_sdk_client, api_key, base_url, headers or {}, tls)
            if client is None
            else partial(client.with_options, max_retries=0)  # retries are the caller's
        )
        self._sdk: SDKClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: list[tuple[asyncio.AbstractEventLoop, Events]] = []
        """Streams that were left and have to be closed, each in its own event loop."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        try:
            async with aclosing(super().stream(request)) as items:
                async for item in items:
                    yield item
        finally:
            loop = asyncio.get_running_loop()
            while left := next((left for left in self._ended if left[0] is loop), None):
                self._ended.remove(left)
                await left[1].close()

    async def aclose(self) -> None:
        """Close the connections, unless the SDK's client was given; this client opens them again if it is used."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None and self._owns_sdk and self._loop is asyncio.get_running_loop():
            await sdk.close()

    async def _ask(self, request: Request, *, stream: bool) -> Reply:
        _, _, body = self._encoded(request, stream=stream)
        fields: dict[str, Any] = msgspec.json.decode(b"".join(body))
        arguments = {name: fields.pop(name) for name in _ARGUMENTS if name in fields}
        sdk = self._open()
        timer = ContentTimer(sdk.base_url.netloc.decode(), self._timeouts)
        create: Callable[..., Any] = sdk.messages.create if stream else sdk.messages.with_raw_response.create
        asked = create(
            **arguments,
            extra_body=fields,
            extra_headers=request_headers(request, self._headers.get("anthropic-beta", "")) or None,
            timeout=anthropic.Timeout(self._timeouts.first_content, connect=self._timeouts.connect),
        )
        try:
            answer = await timer.wait(asked)
        except anthropic.APIStatusError as error:
            return _SDKReply(error.response, timer)
        except Exception as error:  # noqa: BLE001 - the SDK, httpx2 and the clouds' libraries may raise anything
            failure = _connection_error(error, timer) or _unusable(error, timer.host)
        else:
            if not stream:
                return _SDKReply(answer.http_response, timer)
            return _SDKReply(
                answer.response,
                timer,
                answer,
                partial(self._ended.append, (asyncio.get_running_loop(), answer)),
            )
        raise failure  # outside of the handler: the original holds the request's headers and must not be its context

    def _exchange(self, request: Request, reply: Reply) -> Exchange:
        exchange = super()._exchange(request, reply)
        # The key that was really used: a cloud's client makes tokens as it goes.
        return replace(exchange, secret=reply.secret) if isinstance(reply, _SDKReply) else exchange

    def _open(self) -> SDKClient:
        """The SDK's client. Connections belong to an event loop, so each loop gets a client of its own."""
        loop = asyncio.get_running_loop()
        if self._sdk is None or self._loop is not loop:
            self._sdk, self._loop = self._make_sdk(), loop
        check_network_allowed(self.provider, str(self._sdk.base_url))
        return self._sdk


connect = ClaudeSDKClient
"""What ``maverick.connect`` calls."""


class _SDKReply:
    """An answer that the SDK has received, as the client of every service reads it: its events as bytes again."""

    def __init__(
        self,
        response: httpx2.Response,
        timer: ContentTimer,
        events: Events | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self.secret = secret_in(response.request.headers)
        self.content_arrived = timer.content_arrived
        self.close = close
        self._response = response
        self._timer = timer
        self._events = events

    async def read(self) -> bytes:
        try:
            return await self._timer.wait(self._response.aread())
        except Exception as error:  # noqa: BLE001 - as above
            failure = _connection_error(error, self._timer) or connection_lost(self._timer.host, None)
        raise failure

    async def read_some(self) -> bytes:
        assert self._events is not None  # noqa: S101 - it is a stream
        try:
            event: object = await self._timer.wait(anext(self._events, None))
        except Exception as error:  # noqa: BLE001 - as above
            failure, data = _connection_error(error, self._timer), _unread(error)
        else:
            if event is None:
                return b""
            failure = None
            data = encode(event.to_dict(warnings=False) if isinstance(event, anthropic.BaseModel) else event)
        if failure is not None:
            raise failure
        return b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n"

    async def finish(self) -> None:
        try:
            async with asyncio.timeout(_FINISH_SECONDS):
                await self.read_some()
        except Exception:  # noqa: BLE001, S110 - the content is complete, so it does not matter how the connection ends
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        refuse("base_url", f"{base_url!r} is not an http:// or https:// address with a host.", error)
    except anthropic.AnthropicError as error:
        raise AuthenticationError(
            f"The Anthropic SDK found no usable credentials: {error} Or pass api_key."
        ) from error
    has_key = sdk.api_key or sdk.auth_token or sdk.credentials
    if not has_key and not {name.lower() for name in headers} & {"x-api-key", "authorization"}:
        raise _no_key()
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


def _no_key() -> AuthenticationError:
    return AuthenticationError(
        "There is no key for Claude. Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the environment, or pass api_key "
        "or a client that has credentials. Without a key, the 'offline:' model works."
    )


def _unread(error: Exception) -> bytes:
    """The event at which a stream broke off: one that reports a failure, or that the SDK cannot parse."""
    if isinstance(error, anthropic.APIStatusError):
        return encode(error.body)
    return error.doc.encode("utf-8", "replace") if isinstance(error, json.JSONDecodeError) else b""


def _unusable(error: Exception, host: str) -> AgentError:
    """The error for a client of the SDK that cannot work as it is installed or set up."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        message = (
            f"The Anthropic SDK needs the package {package!r} for this client, and it is not installed. "
            f"Run: pip install {package}"
        )
    else:
        message = (
            f"The Anthropic SDK failed with {host}: {type(error).__name__}: {error}. "
            "Check how its client is set up."
        )
    return AgentError(message, kind=ErrorKind.INVALID, cause=error)


def _connection_error(error: Exception, timer: ContentTimer) -> AgentError | None:
    """The error to raise for one that came out of the SDK, unless it is about what was sent."""
    for ours in (error, error.__cause__):  # the SDK wraps some
        if isinstance(ours, AgentError):
            return ours
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException | builtins.TimeoutError):
        connecting = any(isinstance(cause, httpx2.ConnectTimeout) for cause in _causes(error))
        return connect_timeout(timer.host) if connecting else timer.expired()
    if isinstance(error, anthropic.APIConnectionError | httpx2.TransportError):
        return _no_connection(error, timer.host)
    if isinstance(error, anthropic.CredentialsError | TypeError) and "authentication" in str(error):
        return _no_key()
    return None


def _no_connection(error: Exception, host: str) -> AgentError:
    """Why there is no answer: the address, the name, TLS, the proxy, the port, or what listens there."""
    causes = list(_causes(error))
    reason = next((cause for cause in reversed(causes) if isinstance(cause, OSError)), None)
    raised = next((cause for cause in causes if isinstance(cause, httpx2.TransportError)), error)
    if isinstance(raised, httpx2.UnsupportedProtocol):
        return InvalidInputError(
            "base_url is not an http:// or https:// address with a host. Write it as https://host.",
            field="base_url",
        )
    if isinstance(raised, httpx2.LocalProtocolError):
        return bad_characters(host)
    # Only the words tell whether the other side hung up or said something odd.
    if isinstance(raised, httpx2.RemoteProtocolError) and not re.search("closed|disconnected", str(raised)):
        return not_http(host)
    if isinstance(raised, httpx2.ConnectError):
        return NetworkError(
            f"{host} could not be reached: {_why(reason)}. Check base_url, the network and the proxy settings.",
            cause=reason,
            retryable=not isinstance(reason, ssl.SSLError),
        )
    return connection_lost(host, reason)


def _why(reason: OSError | None) -> str:
    if isinstance(reason, ssl.SSLError):
        detail = getattr(reason, "verify_message", "") or reason.reason or "no common protocol"
        return f"TLS failed, {detail}"
    if isinstance(reason, socket.gaierror):
        return "its name could not be resolved"
    return (reason.strerror if reason is not None else None) or "no connection"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those beneath it, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
