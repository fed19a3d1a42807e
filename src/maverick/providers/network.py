"""A switch that turns any call to a live service into an error, so that tests cannot go online by accident.

The switch is one flag for the whole process, not a context variable: it has to hold in threads, callbacks and tasks
that were started before it was set, and those would not see a context variable change.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import ClassVar
from urllib.parse import urlsplit

from maverick.exceptions import NetworkError


class NetworkSetting:
    """Sets the switch when it is made; as a context manager it restores the former setting."""

    forbidden: ClassVar[bool] = False
    """The flag of this process."""

    def __init__(self, *, forbidden: bool) -> None:
        self._former = NetworkSetting.forbidden
        NetworkSetting.forbidden = forbidden

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        NetworkSetting.forbidden = self._former


def forbid_network() -> NetworkSetting:
    """Make every provider that would call a live service raise :class:`NetworkError` instead.

    Call it once, or write ``with forbid_network():`` to limit it to a block. Addresses of this machine
    (``localhost``, ``127.0.0.0/8``, ``::1``) stay reachable.
    """
    return NetworkSetting(forbidden=True)


def allow_network() -> NetworkSetting:
    """Undo :func:`forbid_network`, for good or for the length of a ``with`` block."""
    return NetworkSetting(forbidden=False)


def check_network_allowed(provider: str, url: str) -> None:
    """Raise if the network is forbidden and the address that a provider would connect to is not on this machine."""
    if not NetworkSetting.forbidden:
        return
    host = _host(url)
    if not is_loopback(host):
        raise NetworkError(
            f"The provider {provider!r} would have connected to {host or 'an unknown host'}, but forbid_network() "
            "is in force. Use ScriptedClient or the 'offline:' model here, or call allow_network() first.",
            retryable=False,
        )


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # such as an unbalanced bracket: not an address of this machine
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name, not an address
        return False
