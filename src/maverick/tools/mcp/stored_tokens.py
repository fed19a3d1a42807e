"""The tokens of a sign-in to an MCP server: where they are kept, and how they are sent and refreshed.

They are kept in the system's keyring if the package ``keyring`` is installed and finds one, else in a file that only the
user can read. They belong to the server's URL, and are sent to no other.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from msgspec import Struct
from pydantic import AnyUrl, ValidationError

from maverick.config.own_files import own_folder, replace_file
from maverick.tools.mcp.server_address import NOT_SIGNED_IN, NotAllowedError

CALLBACK_PATH = "/callback"
"""Where a browser comes back to, on this machine."""
_FOLDER = "mcp-sign-ins"
_SERVICE = "maverick-mcp"


class _SignIn(Struct, omit_defaults=True):
    """What a sign-in gave, as it is kept."""

    tokens: dict[str, Any] = {}
    client: dict[str, Any] = {}
    expires_at: float | None = None
    server: dict[str, Any] | None = None
    """The authorization server's metadata, without which a token would be refreshed at the wrong address."""
    resource: dict[str, Any] | None = None
    issuer: str | None = None
    in_keyring: bool = False
    """Whether all the rest is in the keyring, and the file only says so."""


class TokenStore:
    """Where the sign-in to the server at a URL is kept."""

    def __init__(self, url: str) -> None:
        self._key = hashlib.sha256(url.encode()).hexdigest()[:32]

    @property
    def _file(self) -> Path:
        return own_folder() / _FOLDER / f"{self._key}.json"

    def load(self) -> _SignIn | None:
        """What is kept, if anything is."""
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=_SignIn)
            if not found.in_keyring:
                return found
            kept = None if (keyring := _keyring()) is None else keyring.get_password(_SERVICE, self._key)
            return None if kept is None else msgspec.json.decode(kept, type=_SignIn)
        except Exception:  # noqa: BLE001 - a keyring may raise anything; whatever it is, a new sign-in mends it
            return None

    def save(self, kept: _SignIn) -> None:
        """Keep a sign-in, in place of the one before."""
        text = msgspec.json.encode(kept)
        if (keyring := _keyring()) is not None:
            # Whatever is wrong with it, such as a size it does not take, the file is there.
            with suppress(Exception):
                keyring.set_password(_SERVICE, self._key, text.decode())
                text = msgspec.json.encode(_SignIn(in_keyring=True))
        replace_file(self._file, text)

    def remove(self) -> bool:
        """Forget the sign-in; returns whether there was one."""
        if (keyring := _keyring()) is not None:
            with suppress(Exception):  # it is not in there, or cannot be had; without the file it is not used
                keyring.delete_password(_SERVICE, self._key)
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        return True


def _keyring() -> Any:  # noqa: ANN401 - an optional module
    """The system's keyring, if there is one that keeps secrets."""
    try:
        keyring = import_module("keyring")  # an extra, which type checkers need not find
        return keyring if keyring.get_keyring().priority > 0 else None
    except Exception:  # noqa: BLE001 - the package is not installed, or its backends fail in their own ways
        return None


class StoredTokens(OAuthClientProvider):
    """Sends the tokens of a sign-in to a server, and refreshes them; without one, it sends nothing.

    For a new sign-in, ``redirect`` shows the address to sign in at, and ``callback`` waits for the browser to come back to
    ``redirect_uri``; ``client_id`` is that of a program that was registered by hand.
    """

    def __init__(
        self,
        url: str,
        redirect: Callable[[str], Awaitable[None]] | None = None,
        callback: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
        redirect_uri: str = f"http://127.0.0.1{CALLBACK_PATH}",
        client_id: str = "",
    ) -> None:
        metadata = OAuthClientMetadata(
            client_name="Maverick",
            redirect_uris=[AnyUrl(redirect_uri)],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",  # noqa: S106 - there is no secret
        )
        super().__init__(url, metadata, self, redirect, callback)
        self._store = TokenStore(url)
        self._is_new = redirect is not None
        self._client_id = client_id

    async def _initialize(self) -> None:
        """Take what is kept, all of it: the package itself would forget when a token expires, and where to refresh it."""
        context, self._initialized = self.context, True
        if self._client_id:
            context.client_info = OAuthClientInformationFull(
                client_id=self._client_id, redirect_uris=context.client_metadata.redirect_uris
            )
        kept = None if self._is_new else await asyncio.to_thread(self._store.load)
        if kept is None:
            return
        with suppress(ValidationError):  # it was written by another version; a new sign-in mends it
            context.client_info = OAuthClientInformationFull.model_validate(kept.client)
            if kept.server is not None:
                context.oauth_metadata = OAuthMetadata.model_validate(kept.server)
            if kept.resource is not None:
                context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(kept.resource)
            context.auth_server_url, context.token_expiry_time = kept.issuer, kept.expires_at
            context.current_tokens = OAuthToken.model_validate(kept.tokens)

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token; one that is refused although it seems valid is refreshed, once.

        The package would begin a new sign-in, for which no one is there.
        """
        flow = super()._auth_flow(request)
        sent = await anext(flow)
        try:
            while True:
                response = yield sent
                if sent is request and response.status_code == NOT_SIGNED_IN and not self._is_new:
                    break
                sent = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()
        async with self.context.lock:
            if not await self._is_newer() and self.context.can_refresh_token():
                await self._handle_refresh_response((yield await self._refresh_token()))
            if self.context.current_tokens is not None:
                self._add_auth_header(request)
                response = yield request
        if response.status_code == NOT_SIGNED_IN:
            raise NotAllowedError(response.status_code)

    async def _is_newer(self) -> bool:
        """Take what is kept now; says whether another process has signed in or refreshed the token meanwhile."""
        refused = self.context.current_tokens
        await self._initialize()
        return self.context.current_tokens != refused

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens in use."""
        return self.context.current_tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens, with all that refreshing them needs."""
        context = self.context
        found = (tokens, context.client_info, context.oauth_metadata, context.protected_resource_metadata)
        given, client, server, resource = (
            None if one is None else one.model_dump(mode="json", exclude_none=True) for one in found
        )
        expires, issuer = context.token_expiry_time, context.auth_server_url
        await asyncio.to_thread(
            self._store.save, _SignIn(given or {}, client or {}, expires, server, resource, issuer)
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """What we are registered as."""
        return self.context.client_info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Nothing: it is kept with the tokens."""
