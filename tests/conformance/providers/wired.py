"""The providers that speak over a wire, each against a real server on this machine."""

from __future__ import annotations

import socket
import ssl
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache
from typing import ClassVar, TypeAlias
from unittest.mock import patch

import trustme

from conformance.providers.provider import KEY, Provider, Stage, in_turn
from conformance.providers.scenarios import LOOP_TURNS, Scenario
from maverick import connect
from maverick.providers import Client
from maverick.providers.http.transport import Timeouts
from maverick.providers.network import allow_network
from wire import claude_server, openai_server, responses_server

Server: TypeAlias = claude_server.ClaudeServer | openai_server.OpenAIServer

_PLAYED_AS = {
    Scenario.CACHED: "text",
    Scenario.PARTIAL: "cut",
    Scenario.UNFINISHED: "stall",
    Scenario.UNANSWERED: "hang",
    Scenario.TLS: "text",
    Scenario.WRONG_CERTIFICATE: "text",
}
_OVER_TLS = frozenset({Scenario.TLS, Scenario.WRONG_CERTIFICATE})

_PATIENT = Timeouts(connect=30, first_content=60, between_content=60)
_IMPATIENT = {
    Scenario.HANG: Timeouts(connect=30, first_content=0.1),
    Scenario.STALL: Timeouts(connect=30, first_content=1, between_content=0.1),
}


class WiredProvider(Provider):
    """A provider with an HTTP service."""

    model: ClassVar[str]
    """``provider:model`` as ``connect`` takes it."""

    @abstractmethod
    def server(self, tls: ssl.SSLContext | None) -> AbstractAsyncContextManager[Server]:
        """The service."""

    @asynccontextmanager
    async def stage(self, *scenarios: Scenario) -> AsyncIterator[Stage]:
        async with AsyncExitStack() as stack:
            over_tls = not _OVER_TLS.isdisjoint(scenarios)
            server = await stack.enter_async_context(self.server(_certificate() if over_tls else None))
            for module in (claude_server, openai_server):
                stack.enter_context(patch.object(module, "LOOP_TURNS", LOOP_TURNS))
            clients: dict[Scenario, Client] = {}
            for scenario in dict.fromkeys(scenarios):
                made = self._client(scenario, _address(scenario, server, stack))
                clients[scenario] = await stack.enter_async_context(made)
            client = in_turn([clients[scenario] for scenario in scenarios])
            yield Stage(client, server.asked.wait, server.dropped.wait)

    def _client(self, scenario: Scenario, base_url: str) -> Client:
        return connect(
            self.model,
            api_key=KEY,
            base_url=base_url,
            timeouts=_IMPATIENT.get(scenario, _PATIENT),
            tls=_trust() if scenario is Scenario.TLS else _no_trust(),
        )


class ClaudeProvider(WiredProvider):
    """Our own client of the Messages API."""

    name = "claude"
    model = "claude:claude-test"

    def server(self, tls: ssl.SSLContext | None) -> AbstractAsyncContextManager[Server]:
        return claude_server.ClaudeServer(tls=tls)


class ClaudeSDKProvider(ClaudeProvider):
    """The official SDK's client of the Messages API."""

    name = "claude-sdk"
    model = "claude-sdk:claude-test"
    cannot: ClassVar[Mapping[Scenario, str]] = {
        Scenario.ENDLESS_EVENT: "the SDK reads an event to its end, however long that takes"
    }


class OpenAIProvider(WiredProvider):
    """Our client of Chat Completions."""

    name = "openai"
    model = "openai:test-model"
    cannot: ClassVar[Mapping[Scenario, str]] = {Scenario.PAUSE: "Chat Completions has no such reason to stop"}

    def server(self, tls: ssl.SSLContext | None) -> AbstractAsyncContextManager[Server]:
        return openai_server.OpenAIServer(tls=tls)


class OpenAIChatProvider(OpenAIProvider):
    """The same client by the name that always means Chat Completions."""

    name = "openai-chat"
    model = "openai-chat:test-model"
    passes_on = True


class OpenAIResponsesProvider(WiredProvider):
    """Our client of Responses."""

    name = "openai-responses"
    model = "openai-responses:test-model"
    cannot: ClassVar[Mapping[Scenario, str]] = {Scenario.PAUSE: "Responses has no such reason to stop"}

    def server(self, tls: ssl.SSLContext | None) -> AbstractAsyncContextManager[Server]:
        return responses_server.ResponsesServer(tls=tls)


def _address(scenario: Scenario, server: Server, stack: AsyncExitStack) -> str:
    """Where a client has to go to meet the scenario."""
    if scenario is Scenario.NO_SUCH_HOST:
        stack.enter_context(allow_network())
        return "https://no-such-host.invalid"
    if scenario is Scenario.NO_SERVER:
        held = stack.enter_context(socket.socket())
        held.bind(("127.0.0.1", 0))  # taken, so that nothing else listens there
        return f"http://127.0.0.1:{held.getsockname()[1]}"
    return server.at(_PLAYED_AS.get(scenario, scenario.value))


@cache
def _authority() -> trustme.CA:
    return trustme.CA()


@cache
def _certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _authority().issue_cert("localhost").configure_cert(context)
    return context


@cache
def _trust() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _authority().configure_trust(context)
    return context


@cache
def _no_trust() -> ssl.SSLContext:
    """Trusts no authority. The default one takes long to make, and the SDK would make one for each client."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
