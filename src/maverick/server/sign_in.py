"""How a request proves who makes it: with a bearer token, or with the page's cookie that holds one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Response
from fastapi.security import HTTPBearer

from maverick.server.principal import Principal
from maverick.server.refusal import RequestRefusedError, unauthorized
from maverick.server.service import Service
from maverick.server.tokens import TokenSigner

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
