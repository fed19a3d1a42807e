"""Signing in and out, and who is signed in."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from maverick.server.authentication import bearer_of, cookie_name, refuse_other_sites
from maverick.server.dependencies import REFUSALS, ChatService, RequestBody, Service, User
from maverick.server.errors import RequestRefusedError
from maverick.server.event_stream import SESSION
from maverick.server.tokens import Principal, TokenSigner
from maverick.tools.threads import run_in_thread

router = APIRouter(prefix="/api", tags=["signing in"], responses=REFUSALS)


class Credentials(RequestBody):
    """A name and a password."""

    name: Annotated[str, Field(pattern=r"^[\w.@+-]{1,64}$")]
    password: Annotated[str, Field(min_length=8, max_length=200)]


class LocalToken(RequestBody):
    """The token of an address that the server has printed."""

    token: Annotated[str, Field(pattern=r"^[\w-]{1,100}$")]


class Session(BaseModel):
    """A session of a user."""

    name: str
    token: str
    """The bearer token for programs; browsers get it in a cookie."""
    expires_in: int
    """Seconds until it expires."""


class Me(BaseModel):
    """The user who is signed in."""

    name: str


class About(BaseModel):
    """How users sign in."""

    accounts: bool
    """Whether they sign in here, with a name and a password."""
    signup: bool
    """Whether anyone may create an account."""
    sign_out: bool
    """Whether they sign out here, too."""
    local: bool
    """Whether the address that the server has printed signs the person in whose machine it is."""
    tasks: bool
    """Whether the server keeps tasks."""


@router.get("/about")
async def about(service: Service) -> About:
    """How to sign in."""
    return About(
        accounts=service.accounts is not None,
        signup=service.signup,
        sign_out=service.verifier is not None,
        local=service.local is not None,
        tasks=service.agents.task_chat is not None,
    )


@router.post("/signup", status_code=201)
async def sign_up(
    credentials: Credentials, request: Request, response: Response, service: Service
) -> Session:
    """Create an account and sign in."""
    if service.accounts is None or not service.signup:
        raise _not_here("This server does not let users create accounts. Ask its administrator.")
    _count(service, request)
    async with service.logins.hashing:
        principal = await run_in_thread(service.accounts.create, credentials.name, credentials.password)
    return _session(service, request, response, principal)


@router.post("/login")
async def log_in(credentials: Credentials, request: Request, response: Response, service: Service) -> Session:
    """Sign in with a name and a password."""
    if service.accounts is None:
        raise _not_here("This server has no accounts. Send a token of the sign-in service.")
    _count(service, request)
    async with service.logins.attempt(credentials.name):
        principal = await run_in_thread(service.accounts.check, credentials.name, credentials.password)
    return _session(service, request, response, principal)


@router.post("/local-session")
async def sign_in_locally(
    body: LocalToken, request: Request, response: Response, service: Service
) -> Session:
    """Sign in with the address that the server has printed: on the machine it runs on, once for each address."""
    if service.local is None:
        raise _not_here("This server prints no address to sign in with.")
    _count(service, request)
    return _session(service, request, response, service.local.use(request, body.token))


@router.post("/logout", status_code=204)
async def log_out(request: Request, response: Response, service: Service) -> None:
    """Sign out: the token is no longer valid, and a browser forgets it."""
    refuse_other_sites(request)
    verifier, cookie = service.verifier, cookie_name(request)
    if verifier is None:
        raise _not_here("This server does not sign users out. Sign out where you signed in.")
    for token in filter(None, (bearer_of(request), request.cookies.get(cookie))):
        try:
            principal = await verifier.verify(token)
        except RequestRefusedError as error:
            if error.status != 401:
                raise
            continue  # it was not valid before
        service.requests.take(principal.user_id)
        await service.sign_outs.add(token)
        service.updates.publish(principal.user_id, SESSION)
    response.delete_cookie(
        cookie, path=request.scope.get("root_path") or "/", httponly=True, samesite="strict"
    )


@router.get("/me")
async def me(user: User) -> Me:
    """The user who is signed in."""
    return Me(name=user.name)


def _not_here(message: str) -> RequestRefusedError:
    return RequestRefusedError(404, "not_found", message)


def _count(service: ChatService, request: Request) -> None:
    """Count an attempt to sign in, which has to come from a page of this server, or from a program."""
    refuse_other_sites(request)
    service.logins.count(None if request.client is None else request.client.host)


def _session(service: ChatService, request: Request, response: Response, principal: Principal) -> Session:
    signer = service.verifier
    if not isinstance(signer, TokenSigner):
        raise _not_here("This server issues no tokens.")
    token = signer.issue(principal)
    response.set_cookie(  # which scripts cannot read
        cookie_name(request),
        token,
        max_age=int(signer.lifetime),
        path=request.scope.get("root_path") or "/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return Session(name=principal.name, token=token, expires_in=int(signer.lifetime))
