"""By which names a server may be called, so that no other site can have a browser call it by its own."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

ANY = "*"
"""Stands for every name, where something in front of the server has looked at it already."""
_REFUSAL = msgspec.json.encode(
    {
        "error": {
            "code": "unknown_host",
            "message": "This server is not known by the name it was called by. Whoever runs it can allow the name: "
            "--allowed-host NAME, or allowed_hosts in a program.",
            "fields": ["Host"],
        }
    }
)


class HostCheck:
    """Refuses a request for another name before anything else looks at it.

    A site can have its own name lead to any address (DNS rebinding), a server on this machine included, and the browser
    then takes the server for that site. So only names that are known are served. An address is no name, and neither is
    ``localhost``: nobody can have either lead elsewhere.

    Args:
        app: What it surrounds.
        names: The names, without ports.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str] = ()) -> None:
        self._app = app
        self._names = frozenset(name.lower().rstrip(".") for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
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
        return name == "localhost" or name.endswith(".localhost") or _is_address(name)


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
