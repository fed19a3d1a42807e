"""What all routes of the server share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from maverick.chat import AgentRunner, MCPToolServer
from maverick.chat.database import SessionFactory
from maverick.server.accounts import Accounts
from maverick.server.answer_service import AnswerService
from maverick.server.guesses import Guesses
from maverick.server.limits import Places, RateLimiter, ServerLimits
from maverick.server.metrics import ServerMetrics
from maverick.server.principal import Verifier
from maverick.server.sign_outs import SignOuts
from maverick.server.updates import Updates


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatService:
    """The parts a route works with."""

    session_factory: SessionFactory
    runner: AgentRunner
    tools: MCPToolServer
    verifier: Verifier
    accounts: Accounts | None
    """The server's own accounts; ``None`` where another service signs users in."""
    signup: bool
    """Whether anybody may make an account."""
    limits: ServerLimits
    answers: AnswerService
    updates: Updates
    metrics: ServerMetrics
    requests: RateLimiter
    guesses: Guesses
    sign_outs: SignOuts
    streams: Places
    metrics_token: str | None
    """What a collector of metrics proves itself with, besides any user."""

    async def aclose(self) -> None:
        """End all streams, and leave answers as they are: their clients come back, to this server or the next."""
        self.updates.close()
        await self.answers.aclose()
        await self.runner.aclose()


def _service(request: Request) -> ChatService:
    service: ChatService = request.app.state.service
    return service


Service = Annotated[ChatService, Depends(_service)]
"""The service, for a route."""
