"""What routes depend on: the service, the user who makes a request, and the parts of requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Response
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, Field

from maverick.chat import AgentRunner, MCPToolServer
from maverick.chat.database import SessionFactory
from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.server.accounts import Accounts
from maverick.server.answer_service import AnswerService
from maverick.server.errors import RefusalBody, RequestRefusedError, unauthorized
from maverick.server.event_stream import EVENT_STREAM, StreamFormat
from maverick.server.limits import ConcurrencyLimit, LoginThrottle, RateLimiter, ServerLimits
from maverick.server.metrics import ServerMetrics
from maverick.server.tokens import Principal, SignOuts, TokenSigner, Verifier
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
    guesses: LoginThrottle
    sign_outs: SignOuts
    streams: ConcurrencyLimit
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


COOKIE = "maverick_session"
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))

_bearer = HTTPBearer(auto_error=False, description="A token from POST /api/login, or of the sign-in service.")


async def signed_in(
    request: Request, service: Service, _: Annotated[object, Depends(_bearer)] = None
) -> Principal:
    """The user who makes a request.

    Raises:
        RequestRefusedError: Nobody has proved who they are; or they ask for too much.
    """
    token = token_of(request)
    principal = await service.verifier.verify(token)
    await service.sign_outs.check(principal, token)
    service.requests.take(principal.user_id)
    return principal


User = Annotated[Principal, Depends(signed_in)]
"""The user who makes a request, for a route."""


def remember(response: Response, request: Request, signer: TokenSigner, token: str) -> None:
    """Give a browser the token, in a cookie that no script can read."""
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(signer.lifetime),
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def bearer_of(request: Request) -> str | None:
    """The token in the request's header, if there is one."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def token_of(request: Request) -> str:
    """The token a request is made with.

    Raises:
        RequestRefusedError: It has none; or another site has a browser send it.
    """
    token = bearer_of(request)
    if token is not None:
        return token
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        raise unauthorized("Sign in first: send a bearer token.")
    if request.method not in _SAFE:
        refuse_other_sites(request, known=True)
    return cookie


def refuse_other_sites(request: Request, *, known: bool = False) -> None:
    """Refuse what a page of another site has a browser send: browsers say so, and pages can not change what they say.

    Args:
        request: The request.
        known: Whether it has to be known that a page of this server made it; programs do not say where they are from.

    Raises:
        RequestRefusedError: Another site made it.
    """
    origin = request.headers.get("Origin")
    is_from_here = origin is not None and origin.partition("://")[2] == request.headers.get("Host")
    says_so = origin is None and request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
    if not (is_from_here or (says_so and not known)):
        raise RequestRefusedError(
            403, "other_site", "This request comes from another site and is not accepted."
        )


_ID = r"^[A-Za-z0-9_.:-]{1,100}$"
_LARGEST = 2**53 - 1
"""The largest whole number that every JSON reader, and either database, can hold."""


def _is_writing(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without NUL characters")
    if not text.strip():
        raise ValueError("expected some text")
    return text


Words = Annotated[str, Field(min_length=1, max_length=MESSAGE_LENGTH), AfterValidator(_is_writing)]
"""What a user says."""
Id = Annotated[str, Field(pattern=_ID)]
"""The id of a conversation, an answer or an approval."""
PathId = Annotated[str, Path(pattern=_ID)]
"""The same, in an address."""
Number = Annotated[int, Field(ge=1, le=_LARGEST)]
"""The number of a message."""
PathNumber = Annotated[int, Path(ge=1, le=_LARGEST)]
"""The number of a task, in an address."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=r"^[\x21-\x7e]{1,200}$",
        description="Makes a request safe to send again: with the same key it acts once, and is answered the same.",
    ),
]
LastEventId = Annotated[
    str | None,
    Header(pattern=r"^[0-9]{1,15}$", description="The last event of the stream the client has seen."),
]

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": RefusalBody, "description": about}
    for status, about in (
        (400, "The body can not be read."),
        (401, "Nobody has proved who they are."),
        (403, "The request comes from another site."),
        (413, "The body is too large."),
        (421, "The server is not known by the name it was called by."),
        (422, "The request is not as it should be."),
        (429, "A limit is reached for now."),
        (503, "Something the server needs can not be reached."),
    )
}
"""What any route may answer."""
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": RefusalBody, "description": "The user has no such thing."}
}
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": RefusalBody, "description": "It does not fit the state things are in."}
}


def stream_format(request: Request, asked_for: StreamFormat | None) -> StreamFormat | None:
    """The form of the stream a client wants, or ``None`` for the whole answer in JSON."""
    if asked_for is not None:
        return asked_for
    return StreamFormat.EVENTS if EVENT_STREAM in request.headers.get("Accept", "") else None
