"""What routes depend on: the service, the user who makes a request, and the parts of requests and responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

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
from maverick.server.answer_maker import LocalAnswers
from maverick.server.answer_service import AnswerService
from maverick.server.answer_store import AnswerStore
from maverick.server.authentication import (
    Authenticate,
    Authentication,
    LocalSignIn,
    OwnAuthentication,
    TokenAuthentication,
)
from maverick.server.errors import RefusalBody
from maverick.server.event_stream import EVENT_STREAM, StreamFormat, Updates, answer_stream
from maverick.server.events import Answer
from maverick.server.limits import AdmissionQueue, ConcurrencyLimit, LoginThrottle, RateLimiter, ServerLimits
from maverick.server.middleware import ServerMetrics
from maverick.server.stream_encoders import StreamEncoder
from maverick.server.tokens import Principal, SignOuts, TokenSigner, Verifier, own_secret

if TYPE_CHECKING:
    from maverick.fleet import Fleet


class ChatService:
    """The parts of the server that routes use; the arguments are those of :func:`~maverick.server.create_app`."""

    def __init__(
        self,
        database: Database,
        agents: Agents,
        authenticate: Authenticate | None,
        verifier: Verifier | None,
        limits: ServerLimits,
        fleet: Fleet | None,
        *,
        signup: bool,
        metrics_token: str | None,
    ) -> None:
        self.database = database
        self.agents = agents
        self.limits = limits
        self.metrics_token = metrics_token
        self.verifier = verifier
        """Verifies tokens; ``None`` where the application says who users are."""
        self.sign_outs = SignOuts(database.session)
        self.authentication: Authentication
        if authenticate is not None:
            self.authentication = OwnAuthentication(authenticate)
        else:
            self.verifier = verifier or TokenSigner(own_secret())
            self.authentication = TokenAuthentication(self.verifier, self.sign_outs)
        has_accounts = isinstance(self.verifier, TokenSigner)
        self.accounts = Accounts(database.session) if has_accounts else None
        """The server's own accounts; ``None`` where another service signs users in."""
        self.signup = signup and has_accounts
        self.local: LocalSignIn | None = None
        """Signs the person in whose machine it is; ``None`` on a server for others."""
        self.requests = RateLimiter(limits.requests_per_minute)
        self.logins = LoginThrottle(limits.sign_ins_per_minute)
        self.streams = ConcurrencyLimit(limits.streams, "Too many open streams. Close a tab, then try again.")
        self.updates = Updates()
        self.metrics = ServerMetrics()
        queue, store = AdmissionQueue(limits.waiting), AnswerStore(database.session, limits, agents)
        self.answers: AnswerService
        if fleet is None:
            self.answers = LocalAnswers(store, queue, self.updates, self.metrics)
        else:
            from maverick.server.fleet_answers import FleetAnswers  # here, since it needs the extra temporal

            self.answers = FleetAnswers(fleet, store, queue, self.updates, self.metrics)
        add_gauge = self.metrics.add_gauge
        add_gauge("maverick_answers_running", "Answers in progress.", lambda: self.answers.count)
        add_gauge(
            "maverick_questions_waiting", "Questions that wait for the database.", lambda: queue.waiting
        )
        add_gauge("maverick_streams_open", "Open streams.", lambda: self.streams.total)

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


async def _service(request: Request) -> ChatService:
    service: ChatService = request.app.state.service
    return service


Service = Annotated[ChatService, Depends(_service)]
"""The service, for a route."""


_bearer = HTTPBearer(
    auto_error=False, description="A token from POST /api/login, or from the OpenID Connect provider."
)


async def signed_in(request: Request, _: Annotated[object, Depends(_bearer)] = None) -> Principal:
    """The user who makes a request; refused without one, or after too many."""
    service = await _service(request)  # each further dependency would be looked up at every request
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
    str | None, Header(pattern=r"^[0-9]{1,15}$", description="The last event that the client has received.")
]


async def _respond(
    request: Request,
    user: User,
    format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
    last_event_id: LastEventId = None,
) -> Callable[[Answer], Awaitable[Response]]:
    """What makes a response of an answer: a stream, if the client asks for one, and else the whole in JSON."""
    if format is None and EVENT_STREAM in request.headers.get("Accept", ""):
        format = StreamFormat.EVENTS  # noqa: A001 - the same

    async def respond(answer: Answer) -> Response:
        if format is None:
            return await whole(answer)
        service = await _service(request)
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
