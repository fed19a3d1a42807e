"""Where the Claude API is and how it is addressed."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from maverick.exceptions import AuthenticationError
from maverick.providers.http_endpoint import HttpEndpoint
from maverick.providers.transport import Reply

PROVIDER = "claude"
"""The name of the provider in ``claude:model``."""

KEY_VARIABLES = ("ANTHROPIC_API_KEY",)
"""Where a key is looked for when none is given. What is set for Maverick is given, if it is for this provider."""

API_VERSION = "2026-10-21"
SAMPLING_API_VERSION = "2023-06-01"
"""The last version that takes a temperature, for the models that still do."""


class ClaudeEndpoint(HttpEndpoint):
    """Posts to the Claude API; its address is given without ``/v1``."""

    provider: ClassVar[str] = PROVIDER
    default_base_url: ClassVar[str] = "https://api.anthropic.com"
    base_url_variable: ClassVar[str] = "ANTHROPIC_BASE_URL"
    key_variables: ClassVar[tuple[str, ...]] = KEY_VARIABLES

    async def post(self, path: str, body: bytes, *, sampling: bool = False) -> Reply:
        """Send a request and wait until its answer begins.

        Args:
            path: Which part of the API to ask, such as ``/v1/messages``.
            body: The request.
            sampling: Whether it sets a temperature.
        """
        headers = self._headers
        if sampling:
            headers = {**headers, "anthropic-version": SAMPLING_API_VERSION}
        return await self._post(self._root + path, headers, body)

    @cached_property
    def _root(self) -> str:
        return self._base_url.rstrip("/").removesuffix("/v1")

    def _usual_headers(self) -> dict[str, str]:
        return {"anthropic-version": API_VERSION}

    def _key_header(self, key: str) -> dict[str, str]:
        if not key:
            raise AuthenticationError(
                f"There is no key for Claude. Set {' or '.join(KEY_VARIABLES)} in the environment, or pass api_key. "
                "Without a key, the 'offline:' model works."
            )
        return {"x-api-key": key}
