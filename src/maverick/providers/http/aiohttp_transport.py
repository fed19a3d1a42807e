"""The transport on aiohttp. It is loaded when the first client is used.

Errors of aiohttp can quote the headers of a request, and with them the key, so they are never chained; the operating
system's error beneath them is, where there is one.
"""

from __future__ import annotations

import asyncio
import builtins
import ssl
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from itertools import groupby
from typing import Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from maverick.exceptions import AgentError, InvalidInputError, NetworkError
from maverick.misuse import refuse
from maverick.providers.http.errors import bad_characters, connect_timeout, connection_lost, not_http
from maverick.providers.http.transport import MAX_ANSWER_BYTES, WHOLE_SHARE, ContentTimer, Timeouts, too_large
from maverick.providers.network import is_loopback

Result = TypeVar("Result")

_LARGE_REQUEST_BYTES = 512 * 1024
"""From this size on, a request is sent in pieces, without a copy of the whole; below it, one write is faster."""

_SMALL_PIECE_BYTES = 64 * 1024
"""Smaller pieces that follow each other are joined: a write of their own costs more than a copy."""

_WRITE_BYTES = 256 * 1024
"""The most that is written of a large request before other tasks get their turn."""

_KEEP_ALIVE_SECONDS = 60
"""Long enough to outlast most tools, so that the next turn finds its connection open."""

_FINISH_SECONDS = 0.25
"""The end of a body comes with its last bytes or right after; a server that holds it back is not waited for."""


class AiohttpTransport:
    """Sends requests with aiohttp.

    It opens on first use and keeps one pool of connections per event loop, without a limit on their number: how
    many requests run at once is the caller's to decide. Proxies are those of the environment (``HTTPS_PROXY``,
    ``HTTP_PROXY``, ``ALL_PROXY``, ``NO_PROXY``) at the time a pool first meets a host.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts | None = None,
        tls: ssl.SSLContext | None = None,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self._timeouts = timeouts or Timeouts()
        self._tls = tls
        self._max_answer_bytes = max_answer_bytes
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: Sequence[bytes] = ()
    ) -> AiohttpReply:
        """Send a request and wait until its answer begins."""
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool(self._timeouts.connect, self._tls)
            await anext(pool.lifetime)
            await self._forget_dead_loops()
        host, proxy = pool.route_to(url)
        size = sum(map(len, body))
        sent = pool.session.request(
            method,
            url,
            data=b"".join(body) if size < _LARGE_REQUEST_BYTES else _Pieces(body, size),
            headers=headers,
            proxy=proxy,
            allow_redirects=False,  # a redirect must not carry the key to another host
        )
        timer = ContentTimer(host, self._timeouts)
        response = await _explained(sent, timer)
        return AiohttpReply(response, timer, self._max_answer_bytes, pool.replies)

    async def aclose(self) -> None:
        """Close the connections of the running event loop; a later request opens new ones."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()
        await self._forget_dead_loops()

    async def _forget_dead_loops(self) -> None:
        """Drop the pools of loops that ended without ``aclose``, as with two calls of ``asyncio.run``."""
        for loop in [loop for loop in self._pools if loop.is_closed()]:
            await self._pools.pop(loop).session.close()


class AiohttpReply:
    """An answer that has begun."""

    __slots__ = (
        "_content",
        "_max_bytes",
        "_open_replies",
        "_read_bytes",
        "_response",
        "_timer",
        "content_arrived",
        "headers",
        "status",
    )

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        timer: ContentTimer,
        max_bytes: int,
        open_replies: set[AiohttpReply],
    ) -> None:
        open_replies.add(self)
        self._open_replies = open_replies
        self._response = response
        self._content = response.content
        self._timer = timer
        self.content_arrived = timer.content_arrived
        self._max_bytes = max_bytes
        self._read_bytes = 0
        self.status: int = response.status
        self.headers: Mapping[str, str] = response.headers

    async def read(self) -> bytes:
        """Read the whole body."""
        self._max_bytes //= WHOLE_SHARE
        pieces: list[bytes] = []
        while not self._content.at_eof():
            pieces.append(await self.read_some())
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def read_some(self) -> bytes:
        """Read what has arrived, waiting if nothing has; empty at the end of the body."""
        if self._content.is_eof() and self._content.exception() is None:
            chunk = await self._content.readany()  # all of it is here, so there is nothing to wait for
        else:
            chunk = await _explained(self._content.readany(), self._timer)
        self._read_bytes += len(chunk)
        if self._read_bytes > self._max_bytes:
            raise too_large(self._timer.host, self._max_bytes)
        return chunk

    async def finish(self) -> None:
        """Wait a moment for the body to end, so that the connection can be reused."""
        if self._content.is_eof():
            return
        try:
            async with asyncio.timeout(_FINISH_SECONDS):
                await self._content.readany()
        except (aiohttp.ClientError, builtins.TimeoutError, RuntimeError):
            # The content is complete, so it does not matter how the connection ends; it will not be reused.
            self.close()

    def close(self) -> None:
        """Release the connection; it is reused only if the body was read to its end."""
        self._open_replies.discard(self)
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()  # a TLS shutdown could wait for the other side
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Pieces(aiohttp.payload.Payload):
    """The body of a large request, written piece by piece."""

    _autoclose = True

    def __init__(self, body: Sequence[bytes], size: int) -> None:
        by_size = groupby(body, lambda piece: len(piece) < _SMALL_PIECE_BYTES)
        super().__init__([piece for small, run in by_size for piece in ([b"".join(run)] if small else run)])
        self._size = size

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        for piece in self._value:
            view = memoryview(piece)
            for start in range(0, len(view), _WRITE_BYTES):
                await writer.write(view[start : start + _WRITE_BYTES])
                await asyncio.sleep(0)


class _Pool:
    """The connections of one event loop, the replies that are being read, and the routes to known hosts."""

    __slots__ = ("_routes", "lifetime", "replies", "session")

    def __init__(self, connect_timeout: float, tls: ssl.SSLContext | None) -> None:
        self._routes: dict[str, tuple[str, str | None]] = {}
        self.replies: set[AiohttpReply] = set()
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS, ssl=True if tls is None else tls
            ),
            timeout=aiohttp.ClientTimeout(total=None, connect=connect_timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=256 * 1024,
        )
        self.lifetime = _lifetime(self.session)

    def route_to(self, url: str) -> tuple[str, str | None]:
        """The host of a URL, and the proxy to it."""
        route = self._routes.get(url)
        if route is None:
            route = self._routes[url] = _find_route(url)
        return route

    async def close(self) -> None:
        for reply in tuple(self.replies):
            reply.close()  # the reader gets an error; closing the session alone would leave it waiting
        await self.lifetime.aclose()


async def _lifetime(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    """Closes a session that is left open: an event loop ends its generators before it closes, and those no one holds."""
    try:
        yield
    finally:
        await session.close()


def _find_route(url: str) -> tuple[str, str | None]:
    """The host of a URL and the proxy to it.

    aiohttp can find the proxy itself, but does so in a thread, for every request.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # such as a port that is not a number
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in {"http", "https"} or not host:
        refuse(
            "base_url",
            "expected an address such as https://api.example.com, with http:// or https:// and a host.",
        )
    name = host if port is None else f"{host}:{port}"
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or is_loopback(host) or proxy_bypass(host):
        return name, None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise InvalidInputError(
            f"The environment names a proxy for {host} that is not http:// or https://. "
            f"Set {parts.scheme.upper()}_PROXY to an HTTP proxy, or add the host to NO_PROXY."
        )
    return name, proxy


async def _explained(work: Awaitable[Result], timer: ContentTimer) -> Result:
    """Do the work within the time limit, and turn any failure into an ``AgentError``."""
    try:
        return await timer.wait(work)
    except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:
        # ValueError is a header with a line break in it, RuntimeError a connection closed under the reader.
        failure = _connection_error(error, timer)
    raise failure  # outside of the handler: the original may quote request headers and must not be its context


def _connection_error(error: Exception, timer: ContentTimer) -> AgentError:
    """The error to raise for one that aiohttp raised."""
    host = timer.host
    if isinstance(error, aiohttp.ClientConnectorError):
        return _no_connection(error, host)
    if isinstance(error, aiohttp.ClientResponseError):
        return _no_http(error, host)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return connect_timeout(host)
    if isinstance(error, builtins.TimeoutError):
        return timer.expired()
    if isinstance(error, ValueError):
        return bad_characters(host)
    return connection_lost(host, error if isinstance(error, OSError) else None)


def _no_connection(error: aiohttp.ClientConnectorError, host: str) -> AgentError:
    """Why there is no connection: the name, TLS, the proxy, or the port."""
    reason = error.os_error
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return NetworkError(
            f"The name {host} could not be resolved. Check base_url, the network and the proxy settings.",
            cause=reason,
        )
    if isinstance(error, aiohttp.ClientSSLError):
        detail = (
            getattr(reason, "verify_message", "") or getattr(reason, "reason", None) or "no common protocol"
        )
        return NetworkError(
            f"TLS with {host} failed: {detail}. If its certificate comes from a private authority, set "
            "SSL_CERT_FILE to the authority's file, or pass a TLS context.",
            cause=reason,
            retryable=False,
        )
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return NetworkError(
            f"The proxy for {host} could not be reached. Check the proxy variables of the environment, "
            "or add the host to NO_PROXY.",
            cause=reason,
        )
    return NetworkError(
        f"{host} could not be reached: {reason.strerror or 'no connection'}. "
        "Check that base_url is right and that the server is running.",
        cause=reason,
    )


def _no_http(error: aiohttp.ClientResponseError, host: str) -> AgentError:
    """Why there is a connection but no answer: the proxy refuses, or it is not an HTTP server."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return NetworkError(
            f"The proxy for {host} answered with status {error.status}. Check the proxy variables of "
            "the environment, and the name and password in them.",
            retryable=error.status >= 500,
        )
    return not_http(host)
