"""Signing in to MCP servers at a URL, with OAuth: in a browser once, and with the tokens that this gave from then on.

The protocol (discovery, registration, PKCE, state, issuer, resource, refresh) is the ``mcp`` package's. Here is what it
leaves to a program: the loopback address that a browser comes back to, and which addresses a server may send us to.
``stored_tokens.py`` keeps the tokens.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import httpx2
from aiohttp import web
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
)
from pydantic import ValidationError

from maverick.exceptions import NetworkError
from maverick.tools.mcp.stored_tokens import CALLBACK_PATH, StoredTokens

_LONGEST_LINE = 16 * 1024
"""Of a browser's request: other servers of this machine may have set long cookies."""
_SILENT = logging.Logger("silent", logging.CRITICAL + 1)  # noqa: LOG001 - outside of the hierarchy, for no handler
"""Errors of the server of sign-ins quote what came, and so the code."""
_HELLO: Mapping[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "maverick", "version": "1"},
    },
}
"""What a server that wants a sign-in answers with 401."""
_HELLO_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


async def sign_in(
    url: str,
    show: Callable[[str], Awaitable[None]],
    *,
    headers: Mapping[str, str] | None = None,
    client_id: str = "",
    port: int = 0,
    patience: float = 300,
) -> bool:
    """Sign in to a server with a browser, and keep the tokens; returns whether the server wanted that.

    ``show`` shows a person the address to sign in at. They have ``patience`` seconds, and their browser comes back to
    ``port``, by default any. ``client_id`` is a program that was registered by hand, for servers that register none by
    themselves.

    Raises:
        NetworkError: The server cannot be reached, the sign-in was refused or took too long, or the server wants us to
            go where it must not send us.
    """
    async with _Callback(port) as callback:

        async def redirect(address: str) -> None:
            check_address(url, address)
            callback.expect(address)
            await show(address)

        auth = StoredTokens(url, redirect, callback.wait, callback.address, client_id)

        async def check(request: httpx2.Request) -> None:
            check_address(url, str(request.url))

        try:
            async with (
                asyncio.timeout(patience),
                create_mcp_http_client(dict(headers or {}), auth=auth) as http,
            ):
                http.event_hooks["request"].append(check)
                async with http.stream("POST", url, json=_HELLO, headers=_HELLO_HEADERS) as response:
                    status = response.status_code
        except TimeoutError as error:
            raise NetworkError(f"No one signed in within {patience:g} s. Try again.") from error
        except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
            raise NetworkError(_why_not(error)) from error
    if status in (401, 403):
        raise NetworkError(f"The server answers HTTP {status} although the sign-in worked. Check its url.")
    return callback.is_expected


def _why_not(error: Exception) -> str:
    match error:
        case OAuthRegistrationError():
            return (
                "The sign-in failed: its authorization server does not register programs by itself. Register one there, "
                "and give its id with --client-id, and the port of its redirect URI with --port."
            )
        case OAuthTokenError():
            return "The sign-in failed: its authorization server gave no token. Try again."
        case OAuthFlowError() | ValidationError():
            return (
                "The sign-in was refused: what the server says of its authorization server does not fit. "
                "Check the server's url."
            )
    return "The server, or its authorization server, cannot be reached. Check the server's url."


def check_address(server: str, address: str) -> None:
    """Refuse to be sent to an address that is not protected, or to one that is nearer to us than the server is.

    A server of the internet has no business in a private network, and none at all but this machine's own on this machine.
    """
    home, there = urlsplit(server), urlsplit(address)
    same = (home.scheme, home.netloc) == (there.scheme, there.netloc)
    reach, servers_reach = _reach(there.hostname or ""), _reach(home.hostname or "")
    is_protected = there.scheme == "https" or reach == _HERE
    if same or (is_protected and reach >= servers_reach):
        return
    raise NetworkError(
        f"The sign-in was refused: the server wants to continue at {there.scheme}://{there.netloc}, which is not protected, or "
        "is this machine or a private network. Check the server's url."
    )


_HERE, _NEAR, _FAR = 0, 1, 2


def _reach(host: str) -> int:
    """Whether a host is this machine, in a private network, or anywhere, as far as its name tells."""
    host = host.rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return _HERE
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:  # 127.1 and 2130706433 are addresses to the system
            address = ipaddress.ip_address(socket.inet_aton(host))
        except (OSError, ValueError):
            return _FAR
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_loopback or address.is_link_local or address.is_unspecified:
        return _HERE
    return _FAR if address.is_global else _NEAR


class _Callback:
    """The loopback address that a browser comes back to after a sign-in."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._state = ""
        self._answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        server = web.Server(
            self._serve,
            access_log=None,
            logger=_SILENT,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}{CALLBACK_PATH}"

    @property
    def is_expected(self) -> bool:
        """Whether a person was shown where to sign in."""
        return bool(self._state)

    def expect(self, address: str) -> None:
        """Accept the answer to this request only: any page in the browser can send us one."""
        states = parse_qs(urlsplit(address).query).get("state", [])
        if len(states) != 1:  # it has a fragment, or a state of its own
            raise NetworkError(_why_not(OAuthFlowError()))
        self._state = states[0]

    async def wait(self) -> AuthorizationCodeResult:
        return await self._answer

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        except OSError as error:
            await self.__aexit__()
            raise NetworkError(f"Port {self._port} is in use. Choose another.") from error
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._answer.cancel()
        await self._runner.cleanup()

    async def _serve(self, request: web.BaseRequest) -> web.Response:
        status, text = self._received(request)
        page = f"<!doctype html><title>Maverick</title><p>{text}</p><p>You can close this page.</p>"
        return web.Response(
            text=page, status=status, content_type="text/html", headers={"Cache-Control": "no-store"}
        )

    def _received(self, request: web.BaseRequest) -> tuple[int, str]:
        said = {name: values[0] for name, values in parse_qs(request.rel_url.raw_query_string).items()}
        mine = secrets.compare_digest(said.get("state", "").encode(), self._state.encode())
        asked = request.method == "GET" and request.path == CALLBACK_PATH
        if not (asked and self._state and mine) or self._answer.done():
            return 400, "This is not an answer to the sign-in that Maverick waits for."
        if "code" not in said:
            why = "".join(sign for sign in said.get("error", "")[:100] if sign.isalnum() or sign in "_-. ")
            self._answer.set_exception(
                NetworkError(f"The sign-in was refused: {why or 'no code came back'}.")
            )
            return 200, "The sign-in was refused."
        self._answer.set_result(
            AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said.get("iss"))
        )
        return 200, "You are signed in."
