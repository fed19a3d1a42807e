"""Where a Chat Completions server is and how it is addressed."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar
from urllib.parse import urlsplit

from maverick.exceptions import AuthenticationError, InvalidInputError
from maverick.providers.http_endpoint import HttpEndpoint
from maverick.providers.openai_request import TokenLimit
from maverick.providers.transport import Reply

PROVIDER = "openai"
"""The name of the provider in ``openai:model``."""

KEY_VARIABLES = ("OPENAI_API_KEY",)
"""Where a key is looked for when none is given. What is set for Maverick is given, if it is for this provider."""


class OpenAIEndpoint(HttpEndpoint):
    """Posts to the server; an address without a path gets ``/v1``."""

    provider: ClassVar[str] = PROVIDER
    default_base_url: ClassVar[str] = "https://api.openai.com/v1"
    base_url_variable: ClassVar[str] = "OPENAI_BASE_URL"
    key_variables: ClassVar[tuple[str, ...]] = KEY_VARIABLES

    async def post(self, body: bytes, *, stream: bool) -> Reply:
        """Ask for a completion and wait until the answer begins.

        Args:
            body: The request.
            stream: Whether it asks for a stream.
        """
        headers = self._headers
        if stream and not self.address.is_encrypted:
            # llama.cpp promises to keep connections and closes them after a stream, when the next request may be on
            # its way already. Servers that are reached without TLS are near: a connection each costs next to nothing.
            headers = {**headers, "connection": "close"}
        return await self._post(self.address.url, headers, body)

    @cached_property
    def address(self) -> Address:
        """Where requests go."""
        return Address(self._base_url)

    def _key_header(self, key: str) -> dict[str, str]:
        """None is fine for a server that is not OpenAI's, which may not want one."""
        if not key and self.address.is_openai:
            raise AuthenticationError(
                f"There is no key for OpenAI. Set {' or '.join(KEY_VARIABLES)} in the environment, or pass api_key. "
                "For another server, pass its base_url; without any, the 'offline:' model works."
            )
        return {"authorization": f"Bearer {key}"} if key else {}


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
