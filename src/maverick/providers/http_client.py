"""A client of a service that is asked over HTTP and answers with one body or with a stream of events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator

from maverick.exceptions import NetworkError, TimeoutError
from maverick.model import Request, Response, StreamItem
from maverick.providers.client import Client
from maverick.providers.exchange import Exchange
from maverick.providers.sse import SSEDecoder
from maverick.providers.transport import Reply


class HttpClient(Client):
    """Asks, and reads the answer as it comes. A wire adds how to ask, and what to read the answer with."""

    @abstractmethod
    async def _ask(self, request: Request, *, stream: bool) -> Reply:
        """Send a request and wait until its answer begins."""

    @abstractmethod
    def _exchange(self, request: Request, reply: Reply) -> Exchange:
        """What the answer is read with."""

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        request = self.defaults.applied_to(request)
        with await self._ask(request, stream=False) as reply:
            exchange = self._exchange(request, reply)
            return exchange.read(await whole_body(reply, exchange))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        request = self.defaults.applied_to(request)
        with await self._ask(request, stream=True) as reply:
            exchange = self._exchange(request, reply)
            kind = reply.headers.get("content-type", "")
            # An answer that does not say what it is gets the benefit of the doubt.
            if reply.status != 200 or (kind and not kind.startswith("text/event-stream")):
                body = await whole_body(reply, exchange)
                raise exchange.no_answer(f"{kind} in place of a stream of events", body)
            decoder = SSEDecoder()
            answer = exchange.stream()
            while answer.response is None:
                try:
                    chunk = exchange.clean(await reply.read_some())
                except (TimeoutError, NetworkError) as error:
                    raise answer.interrupted(error) from error
                if not chunk:
                    answer.end()
                for event in decoder.feed(chunk):
                    for delta in answer.feed(event.data):
                        yield delta
                    if answer.response is not None:
                        break
            await reply.finish()
        yield answer.response


async def whole_body(reply: Reply, exchange: Exchange) -> bytes:
    """The body of an answer with a good status.

    Raises:
        ProviderError: The status is another one.
    """
    body = exchange.clean(await reply.read())
    if reply.status != 200:
        raise exchange.refused(reply.status, body)
    return body
