"""Checks the host name of requests, against DNS rebinding."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from maverick.providers.network import is_loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

ANY = "*"
"""Allows every name, for a server behind a proxy that checks it."""
_REFUSAL = msgspec.json.encode(
    {
        "error": {
            "code": "unknown_host",
            "message": "This server does not answer to this host name. To allow it, start the server with "
            "--allowed-host NAME, or give create_app(allowed_hosts=[…]).",
            "fields": ["Host"],
        }
    }
)


class HostCheck:
    """Refuses a request for an unknown host name before anything else sees it.

    A website can point its own name at any address (DNS rebinding), a server on this machine included, and a browser
    then takes the server for that website. So only known names are served, besides addresses and ``localhost``, which
    no one else can point anywhere.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str] = ()) -> None:
        self._app = app
        self._names = frozenset(name.lower().rstrip(".") for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or self._is_known(_name(scope)):
            return await self._app(scope, receive, send)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(_REFUSAL)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": 421, "headers": headers})
        return await send({"type": "http.response.body", "body": _REFUSAL})

    def _is_known(self, name: str) -> bool:
        if name in self._names or ANY in self._names:
            return True
        return is_loopback(name) or _is_address(name)


def _name(scope: Scope) -> str:
    host = next((value for header, value in scope["headers"] if header == b"host"), b"").decode("latin-1")
    name = host.partition(":")[0]
    if host.startswith("["):
        name = host[1 : host.find("]")] if "]" in host else ""
    return name.lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
