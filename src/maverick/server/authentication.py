"""Who makes a request, by a token or as the application around this one says; and signing in on one's own machine."""

from __future__ import annotations

import hmac
import inspect
import secrets
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit

from fastapi import Request
from starlette.exceptions import HTTPException

from maverick.chat.contract import is_storable_name
from maverick.misuse import refuse
from maverick.providers.network import is_loopback
from maverick.server.errors import RequestRefusedError, log_in_full, unauthorized, unavailable
from maverick.server.tokens import Principal, SignOuts, Verifier

_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_LONGEST_ID = 200

Authenticate: TypeAlias = Callable[[Request], str | Principal | Awaitable[str | Principal | None] | None]
"""Says which user makes a request: their id, or who they are; ``None`` if they are not signed in."""


class Authentication(Protocol):
    """Says who makes a request."""

    async def user(self, request: Request) -> Principal:
        """The user who makes a request; refused if no one is signed in, or another site made the browser send it."""

    async def is_over(self, request: Request, user: Principal) -> bool:
        """Whether a user's session has ended since their request."""


class TokenAuthentication:
    """By a token, in the header or in the cookie of a browser."""

    def __init__(self, verifier: Verifier, sign_outs: SignOuts) -> None:
        self._verifier = verifier
        self._sign_outs = sign_outs

    async def user(self, request: Request) -> Principal:
        """The user that the token was issued to."""
        token = _token(request)
        principal = await self._verifier.verify(token)
        await self._sign_outs.check(principal, token)
        return principal

    async def is_over(self, request: Request, user: Principal) -> bool:
        """Whether the user has signed out, as far as this process knows."""
        return self._sign_outs.has(user, _token(request))


class OwnAuthentication:
    """As a function of the application's says, which may look at sessions, headers or whatever it likes."""

    def __init__(self, authenticate: Authenticate) -> None:
        self._authenticate = authenticate

    async def user(self, request: Request) -> Principal:
        """The user whom the application names. A page of another site cannot act for them."""
        if request.method not in _SAFE:
            refuse_other_sites(request)
        found = await self._named(request)
        if found is None or not found.user_id:
            raise unauthorized("Not signed in.")
        if len(found.user_id) > _LONGEST_ID or not is_storable_name(found.user_id):
            raise unauthorized("This user id cannot be used: expected up to 200 characters of text.")
        return found

    async def _named(self, request: Request) -> Principal | None:
        try:
            found = self._authenticate(request)
            if inspect.isawaitable(found):
                found = await found
            return _principal(found)
        except (HTTPException, RequestRefusedError):
            raise  # how an application refuses a request
        except Exception as error:
            log_in_full("authenticate_failed", error, path=request.url.path)
            raise unavailable("Signing in does not work at the moment. Try again later.") from error

    async def is_over(self, request: Request, user: Principal) -> bool:
        """Whether the application names another user by now, or no user."""
        try:
            return (await self.user(request)).user_id != user.user_id
        except (HTTPException, RequestRefusedError):
            return True


def _principal(found: object) -> Principal | None:
    if isinstance(found, str):
        return Principal(found, found)
    if found is not None and not isinstance(found, Principal):
        kind = type(found).__name__
        refuse("authenticate", f"expected a user's id as text, a Principal or None, got {kind}.")
    return found


class LocalSignIn:
    """Signs the person in who has the token of the address: from this machine, and once for each token.

    The token is in the fragment of the address, which browsers send to no server and no log has.
    """

    def __init__(self, principal: Principal) -> None:
        self.on_used: Callable[[], None] | None = None
        """Is called when a token was used, and there is a new one."""
        self._principal = principal
        self._token = secrets.token_urlsafe(32)

    def address(self, url: str) -> str:
        """The address of the page at a URL, with a token that has not been used."""
        return f"{url}#token={self._token}"

    def use(self, request: Request, token: str) -> Principal:
        """The person whom a token is for, which is used up; refused if it is another token, or comes from elsewhere."""
        is_direct = "X-Forwarded-For" not in request.headers  # a proxy's clients are elsewhere
        is_here = is_direct and request.client is not None and is_loopback(request.client.host)
        is_right = hmac.compare_digest(token.encode(), self._token.encode())
        if not (is_here and is_right and is_loopback(_host(request)[0])):
            raise unauthorized("This address was used before, or is not of this server. Open the newest one.")
        self._token = secrets.token_urlsafe(32)
        if self.on_used is not None:
            self.on_used()
        return self._principal


def cookie_name(request: Request) -> str:
    """The cookie of a session. A browser shares cookies between ports, and one's own machine may have several servers."""
    host, port = _host(request)
    return f"maverick_session_{port}" if port and is_loopback(host) else "maverick_session"


def _host(request: Request) -> tuple[str, int | None]:
    """The host and the port that a request names."""
    try:
        found = urlsplit(f"//{request.headers.get('Host', '')}")
        return found.hostname or "", found.port
    except ValueError:
        return "", None


def bearer_of(request: Request) -> str | None:
    """The token in the request's header, if there is one."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _token(request: Request) -> str:
    """The token of a request, from its header, or from its cookie if a page of this server has sent it."""
    token = bearer_of(request)
    if token is not None:
        return token
    cookie = request.cookies.get(cookie_name(request))
    if not cookie:
        raise unauthorized("Not signed in. Sign in, or send a bearer token.")
    if request.method not in _SAFE:
        refuse_other_sites(request, known=True)
    return cookie


def refuse_other_sites(request: Request, *, known: bool = False) -> None:
    """Refuse requests from pages of other sites (CSRF), by headers that browsers set and pages cannot change.

    If it has to be ``known``, the headers must prove that a page of this server made it; programs send none.
    """
    origin = request.headers.get("Origin")
    is_from_here = origin is not None and origin.partition("://")[2] == request.headers.get("Host")
    says_so = origin is None and request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
    if not (is_from_here or (says_so and not known)):
        raise RequestRefusedError(
            403, "other_site", "This request comes from another site, which is not allowed."
        )
