"""An MCP server on this machine that wants a sign-in, with an authorization server beside it; and a browser."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from typing import Any

import httpx2
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.responses import JSONResponse

from canary import CANARY


class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Who is registered, and which codes and tokens are valid; PKCE and the rest are checked by the ``mcp`` package."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.lifetime = 3600
        self.refreshed = 0
        self.says_no = False

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if self.says_no:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: Any, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(authorization_code.client_id)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: Any, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.refreshed += 1
        return self._tokens(refresh_token.client_id)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)

    def _tokens(self, client_id: str) -> OAuthToken:
        # The canary is in each token, so that the suite finds one that gets out.
        access, refresh = (f"{CANARY}-{secrets.token_urlsafe(16)}" for _ in range(2))
        expires = int(time.time()) + self.lifetime
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=[], expires_at=expires)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=[])
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lifetime)


class SignInServer:
    """The server; ``metadata`` is what it says of itself in place of the truth, by the path it is asked at."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen()  # so that whoever comes before the server is up waits for it
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"{self.origin}/mcp"
        self.accounts = Accounts()
        self.metadata: dict[str, dict[str, Any]] = {}
        self.redirects: dict[str, str] = {}
        server = MCPServer(
            "wiki",
            auth_server_provider=self.accounts,
            auth=AuthSettings(
                issuer_url=AnyHttpUrl(self.origin),
                resource_server_url=AnyHttpUrl(self.url),
                validate_token_resource=False,
                client_registration_options=ClientRegistrationOptions(enabled=True),
            ),
        )
        server.tool(description="Searches the wiki.")(self.search)
        self._app = server.streamable_http_app(stateless_http=True, json_response=True)
        config = uvicorn.Config(
            self._guarded, interface="asgi3", log_level="error", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def search(self, text: str) -> str:
        return f"{text}: the sea comes and goes"

    async def _guarded(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if path in self.redirects:
            moved = JSONResponse({}, status_code=307, headers={"location": self.redirects[path]})
            await moved(scope, receive, send)
        elif path in self.metadata:
            await JSONResponse(self.metadata[path])(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def forget(self) -> None:
        """Forget all accounts and lies."""
        vars(self.accounts).update(vars(Accounts()))
        self.metadata.clear()
        self.redirects.clear()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


async def browse(address: str) -> str:
    """What a browser does with a person who says yes: it goes where it is sent; returns the last page."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        return (await browser.get(address)).text
