"""Serves the task tools to other programs: over stdio for one user, over HTTP with bearer tokens."""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl

from maverick.chat.host_check import HostCheck
from maverick.chat.task_protocol import RequestContext, protocol_server
from maverick.chat.task_session import Caller
from maverick.chat.tool_server import MCPToolServer
from maverick.misuse import refuse

if TYPE_CHECKING:
    from starlette.applications import Starlette

KEY = "maverick/idempotency-key"
"""The key in a call's ``_meta`` with which a client can send the call again without it acting twice."""

_LONGEST_KEY = 200


async def serve_stdio(tools: MCPToolServer, user_id: str) -> None:
    """Serve a user's task tools to the program that started this process, until it closes the connection."""

    def find_caller(context: RequestContext) -> Caller:
        return Caller(user_id, _key(context))

    server = protocol_server(tools, find_caller)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def http_app(
    tools: MCPToolServer, verifier: TokenVerifier, *, allowed_hosts: list[str] | None = None
) -> Starlette:
    """The tools as an ASGI application with MCP's streamable HTTP, for requests with a bearer token only.

    A token's ``subject`` is the user. By default it may be called by the host names of this machine.
    """
    hosts = ["127.0.0.1:*", "localhost:*", "[::1]:*"] if allowed_hosts is None else allowed_hosts
    app = protocol_server(tools, _bearer).streamable_http_app(
        streamable_http_path="/mcp",
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
        ),
        auth=AuthSettings(issuer_url=AnyHttpUrl("http://localhost"), resource_server_url=None),
        token_verifier=verifier,
    )
    # Before the token is checked; the endpoint's own check of hosts and origins comes only after that.
    app.add_middleware(HostCheck, names=[host.rpartition(":")[0] or host for host in hosts])
    return app


class KnownTokens(TokenVerifier):
    """Tokens that were handed out beforehand, each with its user; only hashes of the tokens are kept in memory."""

    def __init__(self, users: Mapping[str, str]) -> None:
        if not users or not all(len(token) >= 16 and user for token, user in users.items()):
            refuse("tokens", "expected at least one, each with 16 characters or more and a user.")
        self._users = {_hash(token): user for token, user in users.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        """The user of a token, if the token is known."""
        given = _hash(token)
        for known, user in self._users.items():
            if hmac.compare_digest(known, given):
                return AccessToken(token=token, client_id="maverick", scopes=[], subject=user)
        return None


def _bearer(context: RequestContext) -> Caller:
    """The user of this request's token: a session may outlive the token it began with."""
    user = None if context.request is None else context.request.scope.get("user")
    if not isinstance(user, AuthenticatedUser) or not user.access_token.subject:
        raise PermissionError
    return Caller(user.access_token.subject, _key(context))


def _key(context: RequestContext) -> str:
    """The key the client chose, with a prefix so that it is never one of ours; or a new one."""
    given = (context.meta or {}).get(KEY)
    if isinstance(given, str) and 0 < len(given) <= _LONGEST_KEY:
        return f"client/{given}"
    return f"call/{uuid.uuid4().hex}"


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
