"""Which addresses the web tool may reach: public ones, so that no model looks around inside a network."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

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


def check_reachable(address: str, host: str, reachable: Reachable) -> None:
    """Make sure that an address may be reached.

    Raises:
        ToolError: It may not, or it is no address.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError as error:
        raise ToolError(f"{host} has an address that can not be read.") from error
    if not reachable(parsed):
        raise ToolError(f"{host} is not on the public internet, so it may not be fetched.")
