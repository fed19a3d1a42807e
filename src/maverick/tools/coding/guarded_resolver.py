"""Resolves names for the web tool; apart, because it brings aiohttp with it."""

from __future__ import annotations

import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from maverick.tools.coding.addresses import Reachable, check_reachable


class GuardedResolver(AbstractResolver):
    """Resolves names to addresses that may be reached. The connection is made to what was checked, and to nothing else.

    Args:
        reachable: Says which addresses may be.
        inner: What really resolves.
    """

    def __init__(self, reachable: Reachable, inner: AbstractResolver | None = None) -> None:
        self._reachable = reachable
        self._inner = ThreadedResolver() if inner is None else inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a host.

        Raises:
            ToolError: One of them may not be reached; a host that mixes them is not to be trusted.
        """
        found = await self._inner.resolve(host, port, family)
        for result in found:
            check_reachable(result["host"], host, self._reachable)
        return found

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()
