"""Which addresses the web tool may reach: public ones, so that no model looks around inside a network (SSRF).

This module loads aiohttp, so it is imported on use.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from maverick.exceptions import ToolError

Address: TypeAlias = IPv4Address | IPv6Address
Reachable: TypeAlias = Callable[[Address], bool]
"""Says whether an address may be reached."""

_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""IPv6 addresses behind which a translator puts IPv4 ones."""


def is_public(address: Address) -> bool:
    """Whether an address belongs to the internet, in whatever wrapping it comes."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and any(address in network for network in _TRANSLATED):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


class GuardedResolver(AbstractResolver):
    """Resolves names to addresses that may be reached. The connection is made to what was checked, and to nothing else."""

    def __init__(self, reachable: Reachable | None = None, inner: AbstractResolver | None = None) -> None:
        self._reachable = reachable or is_public
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
            self.check(result["host"], host)
        return found

    def check(self, address: str, host: str) -> None:
        """Make sure that an address of a host may be reached.

        Raises:
            ToolError: It may not, or it is not an address.
        """
        try:
            parsed = ip_address(address.partition("%")[0])
        except ValueError as error:
            raise ToolError(f"{host} has an address that cannot be read.") from error
        if not self._reachable(parsed):
            raise ToolError(f"{host} is not on the public internet, so it may not be fetched.")

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()
