"""What went wrong on the way to a host, in our errors: said so that a reader knows what to do next.

aiohttp's own errors can quote the request's headers, and with them the key, so they are never chained; the
operating system's error beneath them is, where there is one.
"""

from __future__ import annotations

import builtins

import aiohttp

from maverick.exceptions import (
    AgentError,
    InvalidInputError,
    MalformedResponseError,
    NetworkError,
    TimeoutError,
)


def connection_error(error: Exception, host: str, lateness: str) -> AgentError:
    """The error to raise for one that aiohttp raised.

    Args:
        error: What was raised.
        host: The host that was asked, with its port where one was given.
        lateness: What to say when the time for an answer ran out.
    """
    if isinstance(error, aiohttp.ClientConnectorError):
        return _no_connection(error, host)
    if isinstance(error, aiohttp.ClientResponseError):
        return _no_http(error, host)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return TimeoutError(
            f"No connection to {host} came about in time. Check the network, the proxy and base_url, "
            "or raise the connect timeout."
        )
    if isinstance(error, builtins.TimeoutError):
        return TimeoutError(f"{lateness} Try again, or raise the timeout.")
    if isinstance(error, ValueError):
        return InvalidInputError(
            f"The request to {host} could not be sent: base_url, or a header such as the key, has a character "
            "in it that does not belong there."
        )
    return NetworkError(
        f"The connection to {host} broke before the answer was complete. Try again; if it keeps happening, "
        "check the network and the proxy.",
        cause=error if isinstance(error, OSError) else None,
    )


def _no_connection(error: aiohttp.ClientConnectorError, host: str) -> AgentError:
    """Why no connection came about: the name, TLS, the proxy, or the port."""
    reason = error.os_error
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return NetworkError(
            f"The name {host} could not be resolved. Check base_url, the network and the proxy settings.",
            cause=reason,
        )
    if isinstance(error, aiohttp.ClientSSLError):
        detail = (
            getattr(reason, "verify_message", "") or getattr(reason, "reason", None) or "no common protocol"
        )
        return NetworkError(
            f"TLS with {host} failed: {detail}. If its certificate comes from a private authority, name the "
            "authority's file in SSL_CERT_FILE or pass a TLS context.",
            cause=reason,
            retryable=False,
        )
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return NetworkError(
            f"The proxy on the way to {host} could not be reached. Check the proxy variables of the environment, "
            "or add the host to NO_PROXY.",
            cause=reason,
        )
    return NetworkError(
        f"{host} could not be reached: {reason.strerror or 'no connection'}. "
        "Check that base_url is right and that the server is running.",
        cause=reason,
    )


def _no_http(error: aiohttp.ClientResponseError, host: str) -> AgentError:
    """Why there is a connection but no answer: a proxy that refuses, or something that is no HTTP server."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return NetworkError(
            f"The proxy on the way to {host} answered with status {error.status}. Check the proxy variables of "
            "the environment, and the name and password in them.",
            retryable=error.status >= 500,
        )
    return MalformedResponseError(
        f"{host} answered with something that is not HTTP. Check the scheme, host and port of base_url."
    )
