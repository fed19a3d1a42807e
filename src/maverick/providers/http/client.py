"""A client of a service that is asked over HTTP and answers with one body or with a stream of events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from maverick.exceptions import AuthenticationError, NetworkError, TimeoutError
from maverick.model import Request, Response, StreamItem
from maverick.model.secret_names import secrets_in
from maverick.providers.client import Client, requested_model
from maverick.providers.http.errors import no_answer, refused
from maverick.providers.http.exchange import Exchange, KeyFilter, StreamAccumulator
from maverick.providers.http.sse import SSEDecoder
from maverick.providers.http.transport import MAX_ANSWER_BYTES, Reply, Timeouts, Transport
from maverick.providers.network import NetworkSetting, check_network_allowed
from maverick.providers.prices import PriceTable
from maverick.telemetry import logger

if TYPE_CHECKING:
    import ssl

_KEY_HEADERS = ("x-api-key", "api-key", "authorization")

_HEADERS = {
    "accept-encoding": "identity",  # compression would hold back the events of a stream
    "content-type": "application/json",
    "user-agent": "maverick",
}


class Connection(Struct, frozen=True):
    """How a client connects: over a transport that it is given, or over one of its own with these settings."""

    transport: Transport | None = None
    """It may be shared, and stays open when the client is closed."""
    timeouts: Timeouts | None = None
    tls: ssl.SSLContext | None = None
    max_answer_bytes: int = MAX_ANSWER_BYTES

    def open(self) -> Transport:
        """The transport. This is what loads aiohttp, so clients call it when they are first used."""
        if self.transport is not None:
            return self.transport
        from maverick.providers.http.aiohttp_transport import AiohttpTransport

        return AiohttpTransport(timeouts=self.timeouts, tls=self.tls, max_answer_bytes=self.max_answer_bytes)


class HttpClient(Client):
    """Asks, and reads the answer as it comes. A wire adds how to ask, and how to read the answer.

    Args:
        model: The ``provider:model`` to ask when a request names none.
        service: What messages call the service.
        api: What messages call the API that is expected behind ``base_url``.
        read: Reads the answer in a body that came as a whole, or raises what it is instead.
        accumulator: Puts the answer together from the events of a stream.
        prices: What models cost.
        headers: The headers of every request: the service's own, with the key.
        own_headers: The user's headers, which come in addition to those or replace them.
        connection: How to connect.
        missing_key: What to say when there is no key; empty if the service needs none.
    """

    _event_streams: tuple[str, ...] = ("text/event-stream",)
    """The content types of a stream of events."""

    def __init__(
        self,
        model: str,
        *,
        service: str,
        api: str,
        read: Callable[[bytes, Exchange], Response],
        accumulator: Callable[[Exchange], StreamAccumulator],
        prices: PriceTable,
        headers: Mapping[str, str],
        own_headers: Mapping[str, str] | None,
        connection: Connection,
        missing_key: str = "",
    ) -> None:
        self.model = model
        self._service = service
        self._api = api
        self._read = read
        self._accumulator = accumulator
        self._prices = prices
        own = {name.lower(): value for name, value in (own_headers or {}).items()}
        if not own.keys().isdisjoint(_KEY_HEADERS):  # the user's way to send a key replaces ours
            headers = {name: value for name, value in headers.items() if name not in _KEY_HEADERS}
        self._headers = {**_HEADERS, **headers, **own}
        self._secret = secret_in(self._headers)
        self._other_secrets = tuple(secrets_in(own))
        self._missing_key = "" if self._secret else missing_key
        self._connection = connection
        self._transport: Transport | None = None
        name = model.partition(":")[2]
        if name and (nearest := prices.nearest(name)) not in ("", name):
            logger.warning(
                "The model %r is not known. Did you mean %r? If it is newer than this version of Maverick, it works, but its "
                "price is not known.",
                name,
                nearest,
            )

    @abstractmethod
    def _encoded(self, request: Request, *, stream: bool) -> tuple[str, Mapping[str, str], Sequence[bytes]]:
        """The address, the headers and the body of a request; settings that the service does not take are refused."""

    def check(self, request: Request) -> None:
        """Refuse a request with settings that the service does not take, without sending it."""
        self._encoded(self.completed(request), stream=False)

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        request = self.completed(request)
        with await self._ask(request, stream=False) as reply:
            exchange = self._exchange(request, reply)
            return self._read(await _whole_body(reply, exchange), exchange)

    async def stream(self, request: Request) -> AsyncGenerator[StreamItem, None]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        request = self.completed(request)
        with await self._ask(request, stream=True) as reply:
            exchange = self._exchange(request, reply)
            kind = reply.headers.get("content-type", "")
            # An answer without a content type gets the benefit of the doubt.
            if reply.status != 200 or (kind and not kind.startswith(self._event_streams)):
                body = await _whole_body(reply, exchange)
                raise no_answer(exchange, f"{kind} in place of a stream of events", body)
            answer, key = self._accumulator(exchange), KeyFilter(exchange)
            decoder = SSEDecoder()
            arguments = 0
            while answer.response is None:
                try:
                    chunk = exchange.clean(await reply.read_some())
                except (TimeoutError, NetworkError) as error:
                    raise answer.interrupted(error) from error
                if not chunk:
                    answer.end()
                for event in decoder.feed(chunk):
                    deltas = answer.feed(event.data)
                    if deltas or answer.argument_bytes > arguments:
                        arguments = answer.argument_bytes
                        reply.content_arrived()
                    for delta in key.passed(deltas):
                        yield delta
                    if answer.response is not None:
                        break
            await reply.finish()
        for delta in key.rest():
            yield delta
        yield answer.response

    async def aclose(self) -> None:
        """Close the connections; the client opens them again if it is used again."""
        if self._connection.transport is None and self._transport is not None:
            await self._transport.aclose()

    async def _ask(self, request: Request, *, stream: bool) -> Reply:
        """Send a request and wait until its answer begins."""
        url, headers, body = self._encoded(request, stream=stream)
        if self._missing_key:
            raise AuthenticationError(self._missing_key)
        if NetworkSetting.forbidden:
            check_network_allowed(self.model.partition(":")[0], url)
        if self._transport is None:
            self._transport = self._connection.open()
        return await self._transport.request("POST", url, headers=headers, body=body)

    def _exchange(self, request: Request, reply: Reply) -> Exchange:
        model = requested_model(request, self.model)
        others = (*self._other_secrets, *request_secrets(request))
        return Exchange(self._service, self._api, model, reply.headers, self._prices, self._secret, others)


async def _whole_body(reply: Reply, exchange: Exchange) -> bytes:
    """The body of an answer with a good status; another one is an error."""
    body = exchange.clean(await reply.read())
    if reply.status != 200:
        raise refused(exchange, reply.status, body)
    return body


def request_secrets(request: Request) -> tuple[str, ...]:
    """The secrets in the settings of a request, such as the token of an MCP server that the provider is to use."""
    config = request.config
    return (
        tuple(secrets_in((config.extra, config.server_tools))) if config.extra or config.server_tools else ()
    )


def secret_in(headers: Mapping[str, str]) -> str:
    """The key that a request has in its headers, so that it can be kept out of messages; empty when it has none."""
    found = (value for name in _KEY_HEADERS if (value := headers.get(name)))
    return next(found, "").removeprefix("Bearer ")
