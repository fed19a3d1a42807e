"""What routes depend on: the service, the user who makes a request, and the parts of requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Response
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, Field

from maverick.chat import Database, MCPToolServer
from maverick.chat.database import SessionFactory
from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.server.accounts import Accounts
from maverick.server.agents import Agents
from maverick.server.answer_service import AnswerService
from maverick.server.authentication import COOKIE, Authentication
from maverick.server.errors import RefusalBody
from maverick.server.event_stream import EVENT_STREAM, StreamFormat
from maverick.server.limits import ConcurrencyLimit, LoginThrottle, RateLimiter, ServerLimits
from maverick.server.local_sign_in import LocalSignIn
from maverick.server.metrics import ServerMetrics
from maverick.server.tokens import Principal, SignOuts, TokenSigner, Verifier
from maverick.server.updates import Updates


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatService:
    """The parts of the server that routes use."""

    database: Database
    agents: Agents
    tools: MCPToolServer
    authentication: Authentication
    verifier: Verifier | None
    """Verifies tokens; ``None`` where the application says who users are."""
    accounts: Accounts | None
    """The server's own accounts; ``None`` where another service signs users in."""
    signup: bool
    """Whether anyone may create an account."""
    limits: ServerLimits
    answers: AnswerService
    updates: Updates
    metrics: ServerMetrics
    requests: RateLimiter
    logins: LoginThrottle
    sign_outs: SignOuts
    streams: ConcurrencyLimit
    metrics_token: str | None
    """A token for collectors of metrics; users can read them too."""
    local: LocalSignIn | None = None
    """Signs the person in whose machine it is; ``None`` on a server for others."""

    @property
    def session_factory(self) -> SessionFactory:
        """Makes sessions with the database."""
        return self.database.session

    async def aclose(self) -> None:
        """End all streams. Answers in progress are left to this server's next start, or to another server."""
        self.updates.close()
        await self.answers.aclose()
        await self.agents.aclose()


def _service(request: Request) -> ChatService:
    service: ChatService = request.app.state.service
    return service


Service = Annotated[ChatService, Depends(_service)]
"""The service, for a route."""


_bearer = HTTPBearer(
    auto_error=False, description="A token from POST /api/login, or from the OpenID Connect provider."
)


async def signed_in(
    request: Request, service: Service, _: Annotated[object, Depends(_bearer)] = None
) -> Principal:
    """The user who makes a request.

    Raises:
        RequestRefusedError: The request is not authenticated, or there were too many.
    """
    principal = await service.authentication.user(request)
    service.requests.take(principal.user_id)
    return principal


User = Annotated[Principal, Depends(signed_in)]
"""The user who makes a request, for a route."""


def remember(response: Response, request: Request, signer: TokenSigner, token: str) -> None:
    """Set the browser's cookie, which scripts cannot read."""
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(signer.lifetime),
        path=request.scope.get("root_path") or "/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


_ID = r"^[A-Za-z0-9_.:-]{1,100}$"
_APPROVAL_ID = r"^[A-Za-z0-9_.:/-]{1,500}$"
_LARGEST = 2**53 - 1
"""The largest whole number that every JSON reader, and either database, can hold."""


def _is_writing(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without NUL characters")
    if not text.strip():
        raise ValueError("expected some text")
    return text


Words = Annotated[str, Field(min_length=1, max_length=MESSAGE_LENGTH), AfterValidator(_is_writing)]
"""A message of a user."""
Id = Annotated[str, Field(pattern=_ID)]
"""The id of a conversation or an answer."""
PathId = Annotated[str, Path(pattern=_ID)]
"""The same, in an address."""
ApprovalId = Annotated[str, Field(pattern=_APPROVAL_ID)]
"""The id of an approval; that of a subagent's has a slash for each agent above it."""
ApprovalPathId = Annotated[str, Path(pattern=_APPROVAL_ID)]
"""The same, in an address."""
Number = Annotated[int, Field(ge=1, le=_LARGEST)]
"""The number of a message."""
PathNumber = Annotated[int, Path(ge=1, le=_LARGEST)]
"""The number of a task, in an address."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=r"^[\x21-\x7e]{1,200}$",
        description="Makes a request safe to retry: requests with the same key act once, and get the same answer.",
    ),
]
LastEventId = Annotated[
    str | None,
    Header(pattern=r"^[0-9]{1,15}$", description="The last event that the client has received."),
]

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": RefusalBody, "description": about}
    for status, about in (
        (400, "The body cannot be read."),
        (401, "Not authenticated."),
        (403, "The request comes from another site."),
        (413, "The body is too large."),
        (421, "The host name is not allowed."),
        (422, "Invalid request."),
        (429, "A limit is reached."),
        (503, "The server is overloaded, or a service it needs cannot be reached."),
    )
}
"""The errors of every route."""
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": RefusalBody, "description": "Not found."}}
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": RefusalBody, "description": "Conflict with the current state."}
}


def stream_format(request: Request, asked_for: StreamFormat | None) -> StreamFormat | None:
    """The format of the stream a client wants, or ``None`` for the whole answer in JSON."""
    if asked_for is not None:
        return asked_for
    return StreamFormat.EVENTS if EVENT_STREAM in request.headers.get("Accept", "") else None
