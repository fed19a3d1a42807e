"""Where the Claude API is and how it is addressed: URL, headers, key, and the connections to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from maverick.exceptions import AuthenticationError
from maverick.providers.network import check_network_allowed
from maverick.providers.transport import Reply, Transport

PROVIDER = "claude"
"""The name of the provider in ``claude:model``."""

DEFAULT_BASE_URL = "https://api.anthropic.com"
BASE_URL_VARIABLE = "ANTHROPIC_BASE_URL"

KEY_VARIABLES = ("MAVERICK_AGENT_API_KEY", "ANTHROPIC_API_KEY")
"""Where a key is looked for, in this order."""

API_VERSION = "2026-10-21"
SAMPLING_API_VERSION = "2023-06-01"
"""The last version that takes a temperature, for the models that still do."""


class ClaudeEndpoint:
    """Posts to the API. What is not given is looked up in the environment on first use.

    Args:
        api_key: The key.
        base_url: The address of the API, without ``/v1``.
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
        self._ready: _Ready | None = None

    async def post(self, path: str, body: bytes, *, sampling: bool = False) -> Reply:
        """Send a request and wait until its answer begins.

        Args:
            path: Which part of the API to ask, such as ``/v1/messages``.
            body: The request.
            sampling: Whether it sets a temperature.
        """
        ready = self._ready
        if ready is None:
            ready = self._ready = self._prepare()
        url = ready.base_url + path
        check_network_allowed(PROVIDER, url)
        if self._transport is None:
            self._transport = self._open_transport()
        headers = ready.sampling_headers if sampling else ready.headers
        return await self._transport.request("POST", url, headers=headers, body=body)

    @property
    def secret(self) -> str:
        """The key in use, so that it can be kept out of messages; empty before the first request."""
        return "" if self._ready is None else self._ready.headers.get("x-api-key", "")

    async def aclose(self) -> None:
        """Close the connections, unless they are somebody else's."""
        if self._owns_transport and self._transport is not None:
            await self._transport.aclose()

    def _prepare(self) -> _Ready:
        base_url = self._base_url or os.environ.get(BASE_URL_VARIABLE) or DEFAULT_BASE_URL
        headers = {
            "accept-encoding": "identity",  # compression would hold back the events of a stream
            "anthropic-version": API_VERSION,
            "content-type": "application/json",
            "user-agent": "maverick",
        } | self._own_headers
        if not headers.keys() & {"x-api-key", "authorization"}:
            headers["x-api-key"] = self._find_key()
        return _Ready(base_url.rstrip("/").removesuffix("/v1"), headers)

    def _find_key(self) -> str:
        candidates = (self._api_key, *map(os.environ.get, KEY_VARIABLES))
        for candidate in candidates:
            if key := (candidate or "").strip():
                return key
        raise AuthenticationError(
            f"There is no key for Claude. Set {' or '.join(KEY_VARIABLES)} in the environment, or pass api_key. "
            "Without a key, the 'offline:' model works."
        )


class _Ready:
    """What every request needs, made once."""

    __slots__ = ("base_url", "headers", "sampling_headers")

    def __init__(self, base_url: str, headers: dict[str, str]) -> None:
        self.base_url = base_url
        self.headers = headers
        self.sampling_headers = headers | {"anthropic-version": SAMPLING_API_VERSION}
