"""Chat Completions: the client ``openai:…``, for OpenAI and for every server that speaks its protocol.

That is Ollama, vLLM, llama.cpp, LM Studio and many more; ``base_url`` says which. The codec
(:mod:`~maverick.providers.openai_request`, :mod:`~maverick.providers.openai_response`) and the
:mod:`~maverick.providers.transport` do the work; this module says in which order things happen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from maverick.exceptions import AgentError, NetworkError, TimeoutError
from maverick.model import ModelInfo, Price, Request, Response, StreamItem
from maverick.providers.base import Client
from maverick.providers.openai_endpoint import PROVIDER, OpenAIEndpoint
from maverick.providers.openai_errors import answer_error
from maverick.providers.openai_request import RequestEncoder
from maverick.providers.openai_response import CompletionStream, Exchange, read_completion
from maverick.providers.prices import PriceTable
from maverick.providers.sse import SSEDecoder
from maverick.providers.transport import Reply, Timeouts, Transport, default_transport

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
    prices: Mapping[str, Price] | None = None,
    max_tokens: int = 0,
    thoughts_field: str = "",
    extra: Mapping[str, Any] | None = None,
) -> OpenAIClient:
    """Make a client of OpenAI, or of any server with a Chat Completions API.

    Args:
        model: The model, as the server calls it.
        api_key: The key; by default ``MAVERICK_AGENT_API_KEY`` or ``OPENAI_API_KEY`` of the environment. Only OpenAI
            itself always wants one.
        base_url: The address of the API, such as ``http://localhost:11434``; by default ``OPENAI_BASE_URL``, or else
            OpenAI's own. An address without a path gets ``/v1``.
        headers: Headers to add to every request, such as ``OpenAI-Organization``, or ``api-key`` for Azure.
        timeouts: How long to wait for what.
        tls: TLS settings, for a private certificate authority or client certificates.
        transport: What carries the requests, in place of one made from ``timeouts`` and ``tls``. It may be shared,
            and stays open when the client is closed.
        prices: What models cost, for those that Maverick does not know and for servers that are not OpenAI's.
        max_tokens: The most tokens of an answer when a request does not say; 0 leaves it to the server.
        thoughts_field: The field in which a model's thoughts are sent back to it, such as ``reasoning_content`` for
            models that go on thinking between tool calls; by default they are not.
        extra: Fields to add to every request as the API names them, such as ``{"reasoning_effort": "low"}``.
    """
    return OpenAIClient(
        model,
        OpenAIEndpoint(
            api_key=api_key,
            base_url=base_url,
            headers=headers,
            transport=transport,
            open_transport=partial(default_transport, timeouts=timeouts, tls=tls),
        ),
        RequestEncoder(thoughts_field=thoughts_field, extra=extra),
        prices or {},
        max_tokens=max_tokens,
    )


class OpenAIClient(Client):
    """A client of a Chat Completions API; :func:`connect` makes one."""

    def __init__(
        self,
        model: str,
        endpoint: OpenAIEndpoint,
        encoder: RequestEncoder,
        prices: Mapping[str, Price],
        *,
        max_tokens: int = 0,
    ) -> None:
        self._model = _own_name(model)
        self._endpoint = endpoint
        self._encoder = encoder
        self._prices = prices
        self._openai_prices = PriceTable(prices)
        self._max_tokens = max_tokens

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        with await self._ask(request, stream=False) as reply:
            exchange = self._exchange(request, reply)
            answer = await reply.read()
            if reply.status != 200:
                raise _refusal(reply, answer, exchange)
            return read_completion(answer, exchange)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        with await self._ask(request, stream=True) as reply:
            exchange = self._exchange(request, reply)
            if not _is_stream(reply):
                raise _not_a_stream(reply, await reply.read(), exchange)
            decoder = SSEDecoder()
            completion = CompletionStream(exchange)
            while completion.response is None:
                chunk = await _next_chunk(reply, completion, exchange)
                if not chunk:
                    completion.end()
                for event in decoder.feed(chunk):
                    for delta in completion.feed(event.data):
                        yield delta
                    if completion.response is not None:
                        break
            await reply.finish()
        yield completion.response

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model. Answers can be held to a schema; of other people's servers no more is known."""
        name = _own_name(model)
        if not self._endpoint.address.is_openai:
            return ModelInfo(price=self._prices.get(name), native_output=True)
        known = self._openai_prices.find(name)
        return ModelInfo(known.context_window, known.price, native_output=True)

    async def aclose(self) -> None:
        """Let go of connections; the client opens them again if it is used again."""
        await self._endpoint.aclose()

    async def _ask(self, request: Request, *, stream: bool) -> Reply:
        body = self._encoder.completion_request(
            request,
            model=self._model_for(request),
            max_tokens=self._max_tokens,
            token_limit=self._endpoint.address.token_limit,
            stream=stream,
        )
        return await self._endpoint.post(body, stream=stream)

    def _model_for(self, request: Request) -> str:
        """The model the request names, if it is one of this provider; else the client's own."""
        provider, colon, _ = request.config.model.partition(":")
        if not provider or (colon and provider != PROVIDER):
            return self._model
        return _own_name(request.config.model)

    def _exchange(self, request: Request, reply: Reply) -> Exchange:
        model = self._model_for(request)
        return Exchange(
            self._endpoint.address.service,
            model,
            reply.headers,
            self.model_info(model).price,
            self._endpoint.secret,
        )


def _own_name(model: str) -> str:
    return model.removeprefix(f"{PROVIDER}:")


def _is_stream(reply: Reply) -> bool:
    """Whether events follow; an answer that does not say what it is gets the benefit of the doubt."""
    kind = reply.headers.get("content-type", "")
    return reply.status == 200 and (not kind or kind.startswith("text/event-stream"))


def _not_a_stream(reply: Reply, answer: bytes, exchange: Exchange) -> AgentError:
    if reply.status != 200:
        return _refusal(reply, answer, exchange)
    kind = reply.headers.get("content-type", "")
    return exchange.not_a_completion(f"{kind} in place of a stream of events", answer)


def _refusal(reply: Reply, answer: bytes, exchange: Exchange) -> AgentError:
    return answer_error(exchange.service, reply.status, answer, exchange.headers, secret=exchange.secret)


async def _next_chunk(reply: Reply, completion: CompletionStream, exchange: Exchange) -> bytes:
    """The next bytes of a stream; empty at its end. If the connection breaks, the error has what arrived."""
    try:
        return await reply.read_some()
    except TimeoutError as error:
        raise TimeoutError(f"{error}{exchange.about}", cause=error) from error
    except NetworkError as error:
        raise completion.broken(str(error), error) from error
