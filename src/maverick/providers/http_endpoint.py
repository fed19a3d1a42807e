"""Where a service is and how it is addressed: headers, key, and the connections to it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import ClassVar

from maverick.providers.network import check_network_allowed
from maverick.providers.transport import Reply, Transport

_KEY_HEADERS = ("x-api-key", "api-key", "authorization")


class HttpEndpoint(ABC):
    """Posts to a service. What is not given is looked up in the environment on first use.

    Args:
        api_key: The key.
        base_url: The address of the API.
        headers: Headers to add to every request, or to send in place of the usual ones.
        transport: What carries the requests; it stays open when this is closed.
        open_transport: Makes a transport of its own when none is given.
    """

    provider: ClassVar[str]
    """The name of the provider in ``provider:model``."""
    default_base_url: ClassVar[str]
    base_url_variable: ClassVar[str]
    key_variables: ClassVar[tuple[str, ...]]
    """Where a key is looked for, in this order."""

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
        self._given_base_url = base_url
        self._own_headers = {name.lower(): value for name, value in (headers or {}).items()}
        self._transport = transport
        self._owns_transport = transport is None
        self._open_transport = open_transport
        self.secret = ""
        """The key in use, so that it can be kept out of messages; empty before the first request."""

    async def aclose(self) -> None:
        """Close the connections, unless they are somebody else's."""
        if self._owns_transport and self._transport is not None:
            await self._transport.aclose()

    @abstractmethod
    def _key_header(self, key: str) -> dict[str, str]:
        """How the service is told the key, which is empty when there is none.

        Raises:
            AuthenticationError: There is none, and the service wants one.
        """

    def _usual_headers(self) -> dict[str, str]:
        """What the service is told besides, unless the user says otherwise."""
        return {}

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send a request and wait until its answer begins."""
        check_network_allowed(self.provider, url)
        if self._transport is None:
            self._transport = self._open_transport()
        return await self._transport.request("POST", url, headers=headers, body=body)

    @cached_property
    def _base_url(self) -> str:
        """The address of the API, looked up on first use."""
        return self._given_base_url or os.environ.get(self.base_url_variable) or self.default_base_url

    @cached_property
    def _headers(self) -> dict[str, str]:
        """The headers of every request, made on first use."""
        headers = {
            "accept-encoding": "identity",  # compression would hold back the events of a stream
            "content-type": "application/json",
            "user-agent": "maverick",
            **self._usual_headers(),
            **self._own_headers,
        }
        if headers.keys().isdisjoint(_KEY_HEADERS):
            headers |= self._key_header(self._find_key())
        self.secret = secret_in(headers)
        return headers

    def _find_key(self) -> str:
        candidates = (self._api_key, *map(os.environ.get, self.key_variables))
        return next((key for candidate in candidates if (key := (candidate or "").strip())), "")


def secret_in(headers: Mapping[str, str]) -> str:
    """The key that a request has in its headers, so that it can be kept out of messages; empty when it has none."""
    told = (value for name in _KEY_HEADERS if (value := headers.get(name)))
    return next(told, "").removeprefix("Bearer ")
