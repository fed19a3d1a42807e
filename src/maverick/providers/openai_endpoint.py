"""Where a Chat Completions server is and how it is addressed: URL, headers, key, and the connections to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from maverick.exceptions import AuthenticationError, InvalidInputError
from maverick.providers.network import check_network_allowed
from maverick.providers.openai_request import TokenLimit
from maverick.providers.transport import Reply, Transport

PROVIDER = "openai"
"""The name of the provider in ``openai:model``."""

DEFAULT_BASE_URL = "https://api.openai.com/v1"
BASE_URL_VARIABLE = "OPENAI_BASE_URL"

KEY_VARIABLES = ("MAVERICK_AGENT_API_KEY", "OPENAI_API_KEY")
"""Where a key is looked for, in this order."""


class OpenAIEndpoint:
    """Posts to the server. What is not given is looked up in the environment on first use.

    Args:
        api_key: The key.
        base_url: The address of the API; one without a path gets ``/v1``.
        headers: Headers to add to every request, or to send in place of the usual ones.
        transport: What carries the requests; it stays open when this is closed.
        open_transport: Makes a transport of its own when none is given.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None,
        headers: Mapping[str, str] | None,
        transport: Transport | None,
        open_transport: Callable[[], Transport],
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._own_headers = {name.lower(): value for name, value in (headers or {}).items()}
        self._transport = transport
        self._owns_transport = transport is None
        self._open_transport = open_transport
        self._address: Address | None = None
        self._headers: dict[str, str] | None = None

    async def post(self, body: bytes, *, stream: bool) -> Reply:
        """Ask for a completion and wait until the answer begins.

        Args:
            body: The request.
            stream: Whether it asks for a stream.
        """
        url = self.address.url
        check_network_allowed(PROVIDER, url)
        headers = self._headers
        if headers is None:
            headers = self._headers = self._make_headers()
        if stream and not self.address.is_encrypted:
            # llama.cpp promises to keep connections and closes them after a stream, when the next request may be on
            # its way already. Servers that are reached without TLS are near: a connection each costs next to nothing.
            headers = {**headers, "connection": "close"}
        if self._transport is None:
            self._transport = self._open_transport()
        return await self._transport.request("POST", url, headers=headers, body=body)

    @property
    def address(self) -> Address:
        """Where requests go."""
        if self._address is None:
            given = self._base_url or os.environ.get(BASE_URL_VARIABLE) or DEFAULT_BASE_URL
            self._address = Address(given)
        return self._address

    @property
    def secret(self) -> str:
        """The key in use, so that it can be kept out of messages; empty before the first request."""
        return (self._headers or {}).get("authorization", "").removeprefix("Bearer ")

    async def aclose(self) -> None:
        """Close the connections, unless they are somebody else's."""
        if self._owns_transport and self._transport is not None:
            await self._transport.aclose()

    def _make_headers(self) -> dict[str, str]:
        headers = {
            "accept-encoding": "identity",  # compression would hold back the events of a stream
            "content-type": "application/json",
            "user-agent": "maverick",
        } | self._own_headers
        if not headers.keys() & {"authorization", "api-key"} and (key := self._find_key()):
            headers["authorization"] = f"Bearer {key}"
        return headers

    def _find_key(self) -> str:
        """The key; none is fine for a server that is not OpenAI's, which may not want one."""
        candidates = (self._api_key, *map(os.environ.get, KEY_VARIABLES))
        for candidate in candidates:
            if key := (candidate or "").strip():
                return key
        if self.address.is_openai:
            raise AuthenticationError(
                f"There is no key for OpenAI. Set {' or '.join(KEY_VARIABLES)} in the environment, or pass api_key. "
                "For another server, pass its base_url; without any, the 'offline:' model works."
            )
        return ""


class Address:
    """Where completions are asked for, and what follows from whose server it is."""

    __slots__ = ("is_encrypted", "is_openai", "service", "token_limit", "url")

    def __init__(self, base_url: str) -> None:
        try:
            parts = urlsplit(base_url.strip())
            host = parts.hostname or ""
        except ValueError:  # such as a bracket that is not closed
            parts, host = urlsplit(""), ""
        if parts.scheme not in {"http", "https"} or not host:
            raise InvalidInputError(
                f"base_url: {base_url!r} is not an http:// or https:// address with a host.", field="base_url"
            )
        path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
        self.url = parts._replace(path=f"{path}/chat/completions").geturl()
        self.is_encrypted = parts.scheme == "https"
        self.is_openai = _belongs_to(host, "api.openai.com")
        self.service = "OpenAI" if self.is_openai else parts.netloc.rpartition("@")[2]
        # OpenAI's reasoning models refuse the old name, and most other servers know no other.
        new_name = self.is_openai or _belongs_to(host, "openai.azure.com")
        self.token_limit: TokenLimit = "max_completion_tokens" if new_name else "max_tokens"


def _belongs_to(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
