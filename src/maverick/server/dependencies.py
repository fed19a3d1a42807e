"""What routes depend on: the service, the user who makes a request, and the parts of requests and responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import msgspec
from fastapi import Depends, Header, Path, Request
from fastapi.responses import Response
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlmodel import Session

from maverick.chat import Database
from maverick.chat.database import owned_session
from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.server.accounts import Accounts
from maverick.server.agents import Agents
from maverick.server.answer import AnswerBody
from maverick.server.answer_service import AnswerService
from maverick.server.authentication import Authentication, LocalSignIn
from maverick.server.errors import RefusalBody
from maverick.server.event_stream import EVENT_STREAM, StreamFormat, Updates, answer_stream
from maverick.server.events import Answer
from maverick.server.limits import ConcurrencyLimit, LoginThrottle, RateLimiter, ServerLimits
from maverick.server.middleware import ServerMetrics
from maverick.server.stream_encoders import StreamEncoder
from maverick.server.tokens import Principal, SignOuts, Verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatService:
    """The parts of the server that routes use."""

    database: Database
    agents: Agents
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

    def session(self, user: Principal, *, writes: bool = False) -> AbstractContextManager[Session]:
        """A database session that acts for a user."""
        return owned_session(self.database.session, user.user_id, writes=writes)

    def stream(
        self, user: Principal, answer: Answer, encoder: StreamEncoder, last_event_id: str | None = None
    ) -> Response:
        """An answer as a stream, within the limit of streams a user may have open."""
        self.streams.acquire(user.user_id)
        return answer_stream(
            answer,
            encoder,
            after=int(last_event_id or 0),
            on_close=lambda: self.streams.release(user.user_id),
        )

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


class RequestBody(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


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


def _respond(
    request: Request,
    user: User,
    service: Service,
    format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
    last_event_id: LastEventId = None,
) -> Callable[[Answer], Awaitable[Response]]:
    """What makes a response of an answer: a stream, if the client asks for one, and else the whole in JSON."""
    if format is None and EVENT_STREAM in request.headers.get("Accept", ""):
        format = StreamFormat.EVENTS  # noqa: A001 - the same

    async def respond(answer: Answer) -> Response:
        if format is None:
            return await whole(answer)
        return service.stream(user, answer, format.encoder(), last_event_id)

    return respond


Respond = Annotated[Callable[[Answer], Awaitable[Response]], Depends(_respond)]
"""Makes the response of an answer, for a route."""


async def whole(answer: Answer) -> Response:
    """An answer in JSON, as soon as it has ended."""
    return Response(msgspec.json.encode(await answer.body()), media_type="application/json")


Responses: TypeAlias = dict[int | str, dict[str, Any]]
STREAM: Responses = {200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}}}
"""A stream of events, in the OpenAPI document."""
ANSWER: Responses = {200: {"model": AnswerBody, **STREAM[200]}}
"""An answer: whole, or as a stream of events."""
REFUSALS: Responses = {
    status: {"model": RefusalBody, "description": about}
    for status, about in (
        (400, "The body cannot be read."),
        (401, "Not authenticated."),
        (403, "The request comes from another site, or is not allowed."),
        (404, "Not found."),
        (409, "Conflict with the current state."),
        (413, "The body is too large."),
        (421, "The host name is not allowed."),
        (422, "Invalid request."),
        (429, "A limit is reached."),
        (503, "The server is overloaded, or a service it needs cannot be reached."),
    )
}
"""The errors of all routes."""
