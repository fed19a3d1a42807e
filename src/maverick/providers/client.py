"""What the built-in clients share: a lifetime, wrapping another client, and cutting a whole answer into deltas."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Self

from maverick.config.provider_names import NEED_A_MODEL
from maverick.exceptions import MalformedResponseError
from maverick.misuse import refuse
from maverick.model.client import (
    NO_DEFAULTS,
    UNKNOWN_MODEL,
    LLMClient,
    ModelInfo,
    RequestDefaults,
    RunScope,
    check_media,
    check_request,
    check_settings,
    model_info,
    own_model,
    request_defaults,
    run_scope,
)
from maverick.model.history import History
from maverick.model.message import Text, Thought
from maverick.model.request import Request, RequestConfig
from maverick.model.response import Response, StreamItem, TextDelta, ThinkingDelta
from maverick.providers.prices import warn_of_retirement

_WORD = re.compile(r"\s*\S+\s*|\s+")  # a word and the space around it, so that the pieces add up to the text


class Client(ABC):
    """An ``LLMClient`` with a lifetime: ``async with client:``, or ``await client.aclose()`` when done."""

    model: str = ""
    """The ``provider:model`` it asks when a request names none."""
    defaults: RequestDefaults = NO_DEFAULTS
    """What applies to requests that leave it open; ``maverick.connect`` sets it from the settings."""

    asks_others: bool = False
    """Whether it passes requests on to clients of several providers, each of which has its own rate limit."""

    _accepted: RequestConfig | None = None

    @abstractmethod
    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""

    @abstractmethod
    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""

    def model_info(self, model: str) -> ModelInfo:  # noqa: ARG002 - for clients that know more
        """What this client knows of a model."""
        return UNKNOWN_MODEL

    def completed(self, request: Request) -> Request:
        """The request with the client's defaults for what it leaves open; what the model does not take is refused."""
        check_is_request(request)
        request = self.defaults.applied_to(request)
        if request.config is not self._accepted:  # the requests of a run share it
            model = requested_model(request, self.model)
            if not model.strip() and self.model.strip() in NEED_A_MODEL:
                refuse(
                    "model", f"neither {self.model!r} nor the request names a model. Name it after the colon."
                )
            info = self.model_info(model)
            warn_of_retirement(model, info)
            check_settings(request.config, info, model)
            if not isinstance(request.messages, History):  # a run has checked them
                check_media(request.messages, info, model)
            self._accepted = request.config
        return request

    def check(self, request: Request) -> None:  # noqa: B027 - most clients take any request
        """Refuse a request with settings that the service does not take, without sending it."""

    async def aclose(self) -> None:  # noqa: B027 - most clients hold nothing open
        """Close the connections; the client opens them again if it is used again."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class ClientWrapper(Client):
    """A client that wraps another one: it knows the same models, and closes the other when it is closed."""

    def __init__(self, client: LLMClient) -> None:
        self._client = client
        self.model = own_model(client)
        self.defaults = request_defaults(client)

    def model_info(self, model: str) -> ModelInfo:
        """What the wrapped client knows of a model."""
        return model_info(self._client, model)

    def check(self, request: Request) -> None:
        """Refuse a request with settings that the wrapped client does not take, without sending it."""
        check_request(self._client, request)

    def for_run(self) -> AbstractAsyncContextManager[RunScope | None]:
        """What the wrapped client keeps open for the length of a run."""
        return run_scope(self._client)

    async def aclose(self) -> None:
        """Close the wrapped client."""
        await close_client(self._client)


PROVIDER_LIMITS: dict[str, Callable[[LLMClient], LLMClient]] = {}
"""What holds the clients of a provider to its rate limit, for all executors of this process; usually nothing does."""


def limited(client: LLMClient) -> LLMClient:
    """The client, held to the limit that this process has for its provider, if it has one."""
    if not PROVIDER_LIMITS or getattr(client, "asks_others", False):
        return client
    limit = PROVIDER_LIMITS.get(own_model(client).partition(":")[0])
    return client if limit is None else limit(client)


async def close_client(client: LLMClient) -> None:
    """Close a client, if it can be closed."""
    aclose = getattr(client, "aclose", None)
    if aclose is not None:
        await aclose()


def stream_of(client: LLMClient) -> Callable[[Request], AsyncIterator[StreamItem]]:
    """What streams the client's answers. That of a client with ``run()`` alone comes as one piece."""
    return getattr(client, "stream", None) or partial(_stream_whole, client)


async def _stream_whole(client: LLMClient, request: Request) -> AsyncIterator[StreamItem]:
    response = whole(await client.run(request))
    for part in response.parts:
        if isinstance(part, Text | Thought):
            yield (TextDelta if isinstance(part, Text) else ThinkingDelta)(part.text)
    yield response


def whole(response: Response) -> Response:
    """The response, if it is one; a client from elsewhere may return anything (promise P8)."""
    if not isinstance(response, Response):
        raise MalformedResponseError(
            f"The model's client returned a {type(response).__name__} in place of a Response."
        )
    if response.usage.input_tokens < 0 or response.usage.output_tokens < 0:
        raise MalformedResponseError("The model's client reported a negative number of tokens.")
    return response


@asynccontextmanager
async def open_stream(client: LLMClient, request: Request) -> AsyncIterator[AsyncIterator[StreamItem]]:
    """The client's stream of an answer, which is closed at the end of the block however the block ends."""
    stream = stream_of(client)(request)
    try:
        yield stream
    finally:
        aclose = getattr(stream, "aclose", None)
        if aclose is not None:
            await aclose()


def deltas_of(response: Response) -> Iterator[TextDelta | ThinkingDelta]:
    """The deltas of an answer that is already whole: its thoughts and text in order, one word at a time."""
    for part in response.parts:
        if isinstance(part, Text):
            yield from map(TextDelta, _WORD.findall(part.text))
        elif isinstance(part, Thought):
            yield from map(ThinkingDelta, _WORD.findall(part.text))


def requested_model(request: Request, own: str) -> str:
    """The model to ask, without its provider: the one that the request names, or else the client's ``own``.

    One of another provider is refused: a model that was named is never replaced.
    """
    provider, _, default = own.partition(":")
    named, colon, name = request.config.model.partition(":")
    if not colon:
        return named or default
    if named != provider:
        refuse(
            "model",
            f"a client of {own!r} cannot ask {request.config.model!r}. Connect to that model, or name none: then the "
            "client's own answers. AgentExecutor() without a client connects to what each definition names.",
        )
    return name or default


def check_is_request(request: object) -> None:
    """Refuse what is not a request."""
    if not isinstance(request, Request):
        refuse(
            "request",
            f"expected a Request, got {type(request).__name__}. Write Request([Message.user('…')]).",
        )
