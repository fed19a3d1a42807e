"""Signing in on one's own machine: by an address that the server has printed, which works once."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Callable
from urllib.parse import urlsplit

from fastapi import Request

from maverick.server.errors import unauthorized
from maverick.server.tokens import Principal


class LocalSignIn:
    """Signs the person in who has the token of the address: from this machine, and once for each token.

    The token is in the fragment of the address, which browsers send to no server and no log has.

    Args:
        principal: The person whose machine it is.
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
        """The person whom a token is for, which is used up.

        Raises:
            RequestRefusedError: It is not the token, or the request comes from elsewhere.
        """
        is_direct = "X-Forwarded-For" not in request.headers  # a proxy's clients are elsewhere
        is_here = is_direct and request.client is not None and is_loopback(request.client.host)
        is_right = hmac.compare_digest(token.encode(), self._token.encode())
        if not (is_here and is_right and is_loopback(_host_of(request))):
            raise unauthorized("This address was used before, or is not of this server. Open the newest one.")
        self._token = secrets.token_urlsafe(32)
        if self.on_used is not None:
            self.on_used()
        return self._principal


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as only it can say."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_of(request: Request) -> str:
    try:
        return urlsplit(f"//{request.headers.get('Host', '')}").hostname or ""
    except ValueError:
        return ""
