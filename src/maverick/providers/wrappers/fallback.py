"""A client that asks the next client when one fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec.structs import replace

from maverick.config.provider_names import BUILT_IN
from maverick.exceptions import AgentError, ErrorKind, InvalidInputError
from maverick.loop.prefix import other_parts, without_thoughts
from maverick.misuse import refuse
from maverick.model.client import (
    LLMClient,
    ModelInfo,
    RunScope,
    check_request,
    common_info,
    model_info,
    own_model,
    run_scope,
)
from maverick.model.message import Thought
from maverick.model.request import Request, RequestConfig
from maverick.model.response import Response, StreamItem
from maverick.providers.client import Client, close_client, limited, open_stream

ANOTHER_MAY_SUCCEED = frozenset({ErrorKind.RATE_LIMIT, ErrorKind.NETWORK, ErrorKind.TIMEOUT, ErrorKind.AGENT})
"""The kinds that are about the service, not about the request: every kind but ``tool`` and ``invalid``."""


class FallbackClient(Client):
    """Asks its clients in order until one answers.

    It tries the next client only for the chosen kinds of error, and never after a stream has yielded something: the
    caller would see two beginnings. When no client is left, the last error is raised, with the earlier ones in its
    notes. Each request starts with the first client again.

    What a model thought goes back to a model that may read it: Claude's API ignores the rest by itself, and OpenAI's
    refuses it, so of several OpenAI clients only the first one's reasoning is kept. A conversation is compacted by a
    summary that every client can read.

    Args:
        clients: The clients in order of preference, each with its own model. A model that a request names is asked first, of
            the first client of its provider; the other clients ask their own. If it has no client of that provider,
            the request is refused.
        on: The kinds of error after which the next client is asked.
    """

    asks_others = True
    """It asks other clients, which have limits of their own."""

    def __init__(
        self, clients: Sequence[LLMClient], *, on: Collection[ErrorKind | str] = ANOTHER_MAY_SUCCEED
    ) -> None:
        if not clients:
            raise InvalidInputError("A FallbackClient needs at least one client.", field="clients")
        self._clients = tuple(clients)
        self.model = own_model(clients[0])
        self._on = frozenset(_kind(value) for value in on)
        openai = [client for client in self._clients if own_model(client).startswith("openai")]
        self._thoughtless = {id(client) for client in openai[1:]}
        """The clients whose model cannot read what the models of others thought, nor they what it thinks."""

    async def run(self, request: Request) -> Response:
        """Send a request to the first client that can answer it."""
        failures: list[AgentError] = []
        for client, asked in self._requests(request):
            try:
                return self._kept(client, await limited(client).run(asked))
            except AgentError as error:
                _add_notes(error, failures)
                if error.kind not in self._on:
                    raise
                failures.append(error)
        raise failures[-1]

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Yield the answer of the first client that begins one."""
        failures: list[AgentError] = []
        for client, asked in self._requests(request):
            begun = False
            try:
                async with open_stream(limited(client), asked) as items:
                    async for item in items:
                        begun = True
                        yield self._kept(client, item) if isinstance(item, Response) else item
            except AgentError as error:
                _add_notes(error, failures)
                if begun or error.kind not in self._on:
                    raise
                failures.append(error)
            else:
                return
        raise failures[-1]

    def check(self, request: Request) -> None:
        """Refuse a request with settings that one of the clients does not take, without sending it."""
        for client, asked in self._requests(request):
            check_request(client, asked)

    def model_info(self, model: str) -> ModelInfo:
        """What holds for whichever client answers; the price is the first one's, if all have one."""
        wanted = Request((), config=RequestConfig(model=model))
        known = [
            model_info(client, asked.config.model or own_model(client))
            for client, asked in self._requests(wanted)
        ]
        return common_info(known)

    def _kept(self, client: LLMClient, response: Response) -> Response:
        """The response, with the thoughts that may be sent back."""
        if id(client) not in self._thoughtless:
            return response
        return response.with_parts(other_parts(response.parts, _is_free))

    def _requests(self, request: Request) -> Iterator[tuple[LLMClient, Request]]:
        """The clients in order, with those that have the model it names before the others, each with what it is asked."""
        provider = request.config.model.partition(":")[0]
        named, unnamed = request, request
        # Without a client of that provider, each gets to see the name, and to refuse it.
        if any(own_model(client).partition(":")[0] in ("", provider) for client in self._clients):
            unnamed = replace(request, config=replace(request.config, model=""))

        def is_other(client: LLMClient) -> bool:
            own = own_model(client).partition(":")[0]
            # A double, a recording or a client from elsewhere answers whatever is named.
            return bool(provider) and own in BUILT_IN and own not in (provider, "cassette")

        for client in sorted(self._clients, key=is_other):
            own, asked = own_model(client).partition(":")[0], unnamed
            if own in ("", provider):
                asked, named = named, unnamed
            if id(client) in self._thoughtless:
                asked = replace(asked, messages=without_thoughts(asked.messages, leave_out=_is_free))
            yield client, asked

    @asynccontextmanager
    async def for_run(self) -> AsyncIterator[RunScope]:
        """What its clients keep open for the length of a run."""
        async with AsyncExitStack() as stack:
            # The first client last: of two that keep something for the same context, the preferred one has it.
            entered = [
                await stack.enter_async_context(run_scope(client)) for client in reversed(self._clients)
            ]
            yield _RunScopes([scope for scope in entered if scope is not None])

    async def aclose(self) -> None:
        """Close every client, also when closing one of them fails."""
        async with AsyncExitStack() as stack:
            for client in self._clients:
                stack.push_async_callback(close_client, client)


class _RunScopes:
    """The scopes of several clients: any of them may have answered, and be waiting for the result of a call."""

    __slots__ = ("_scopes",)

    def __init__(self, scopes: Sequence[RunScope]) -> None:
        self._scopes = scopes

    def tool_finished(self, call_id: str, content: str, *, failed: bool) -> None:
        for scope in self._scopes:
            scope.tool_finished(call_id, content, failed=failed)


def _is_free(thought: Thought) -> bool:
    return not thought.is_bound


def _add_notes(error: AgentError, earlier: Sequence[AgentError]) -> None:
    for position, failure in enumerate(earlier, start=1):
        error.add_note(f"Client {position} failed before: {type(failure).__name__}: {failure}")


def _kind(value: ErrorKind | str) -> ErrorKind:
    try:
        return ErrorKind(value)
    except ValueError as error:
        choices = ", ".join(repr(kind.value) for kind in ErrorKind)
        refuse("on", f"expected kinds of error ({choices}), got {value!r}.", error)
