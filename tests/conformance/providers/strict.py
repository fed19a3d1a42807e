"""The services of the wired providers, which hold every request to the vendor's rules before they play a scenario.

The rules and the ledgers are those of ``tests/strict``. One request that a vendor would refuse fails the test, even if
the client got over it.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ClassVar

from aiohttp import web

from conformance.providers.failures import FAILURES
from conformance.providers.scenarios import Scenario
from conformance.providers.wired import (
    ClaudeProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    Server,
)
from strict import claude_rules, openai_rules
from strict.claude_ledger import ClaudeLedger
from strict.openai_ledger import ResponsesLedger
from wire import claude_server, responses_server
from wire.claude_server import ClaudeServer
from wire.openai_answers import error_body
from wire.openai_server import OpenAIServer, Received
from wire.responses_server import ResponsesServer

_ON_THE_FAKES: Mapping[Scenario, str] = dict.fromkeys(
    {*FAILURES["whole"], *FAILURES["streamed"], Scenario.UNFINISHED, Scenario.UNANSWERED, Scenario.TLS}
    - {Scenario.CUT},
    "what goes wrong does so whatever was asked",
)


class StrictClaudeServer(ClaudeServer):
    """The Messages API."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.refused: list[str] = []
        self.ledger = ClaudeLedger()

    async def _play(self, served: claude_server.Served, scenario: str) -> web.StreamResponse:
        body = served.body
        try:
            rules = claude_rules.check_request(served.request.headers, len(self.received[-1].raw), body)
            conversation = self.ledger.check(rules, body)
        except claude_rules.RefusedError as refusal:
            self.refused.append(refusal.message)
            return served.refuse(refusal.status, refusal.kind, refusal.message)
        if scenario in claude_server.ANSWERS:
            answer = claude_server.ANSWERS[scenario](body)
            self.ledger.issue(conversation, body, answer.content, answer.stop_reason)
        return await super()._play(served, scenario)


class StrictChatServer(OpenAIServer):
    """Chat Completions."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.refused: list[str] = []

    async def _play(self, request: web.Request, received: Received) -> web.StreamResponse:
        try:
            openai_rules.check_headers(received.headers, len(received.raw))
            self._check(received.body)
        except openai_rules.RefusedError as refusal:
            self.refused.append(refusal.message)
            refused = error_body("invalid_request_error", refusal.message, refusal.code)
            return web.json_response(refused, status=refusal.status)
        return await super()._play(request, received)

    def _check(self, body: dict[str, Any]) -> None:
        openai_rules.check_chat(body)


class StrictResponsesServer(StrictChatServer, ResponsesServer):
    """Responses."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.ledger = ResponsesLedger()

    async def _play(self, request: web.Request, received: Received) -> web.StreamResponse:
        response = await super()._play(request, received)
        scenario = request.match_info["scenario"]
        if response.status == 200 and scenario in responses_server.ANSWERS:
            self.ledger.issue(list(responses_server.ANSWERS[scenario](received.body).items))
        return response

    def _check(self, body: dict[str, Any]) -> None:
        openai_rules.check_responses(body)
        self.ledger.check(body)


@asynccontextmanager
async def _refusing_nothing(server: StrictClaudeServer | StrictChatServer) -> AsyncIterator[Server]:
    async with server:
        yield server
    assert server.received, "nothing was asked"
    assert not server.refused, server.refused


class StrictClaudeProvider(ClaudeProvider):
    """Our own client of the Messages API, and a model that binds its thinking to what came before."""

    name = "claude-strict"
    model = "claude:claude-opus-5-5"
    cannot = _ON_THE_FAKES

    def server(self, tls: ssl.SSLContext | None) -> AbstractAsyncContextManager[Server]:
        return _refusing_nothing(StrictClaudeServer(tls=tls))


class StrictClaudeSDKProvider(StrictClaudeProvider):
    """The official SDK's client of it."""

    name = "claude-sdk-strict"
    model = "claude-sdk:claude-opus-5-5"


class StrictResponsesProvider(OpenAIResponsesProvider):
    """Our client of Responses."""

    name = "openai-responses-strict"
    model = "openai-responses:gpt-6-sol"
    cannot: ClassVar[Mapping[Scenario, str]] = {**_ON_THE_FAKES, **OpenAIResponsesProvider.cannot}

    def server(self, tls: ssl.SSLContext | None) -> AbstractAsyncContextManager[Server]:
        return _refusing_nothing(StrictResponsesServer(tls=tls))


class StrictChatProvider(OpenAIProvider):
    """Our client of Chat Completions."""

    name = "openai-chat-strict"
    model = "openai-chat:gpt-4.1"
    cannot: ClassVar[Mapping[Scenario, str]] = {**_ON_THE_FAKES, **OpenAIProvider.cannot}

    def server(self, tls: ssl.SSLContext | None) -> AbstractAsyncContextManager[Server]:
        return _refusing_nothing(StrictChatServer(tls=tls))
