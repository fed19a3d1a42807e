"""What the official SDK and the libraries beneath it raise, in our errors.

The SDK wraps what fails before an answer begins, but lets through what fails while a stream is read: errors of httpx2,
of the JSON parser, of the cloud libraries that sign requests. None of them is chained but the operating system's own,
because the SDK's errors hold the request with its headers and repeat the words of the other side.
"""

from __future__ import annotations

import builtins
import json
import socket
import ssl
from collections.abc import Iterator

import anthropic
import httpx2

from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ErrorKind,
    InvalidInputError,
    NetworkError,
)
from maverick.providers.http.errors import (
    bad_characters,
    connect_timeout,
    connection_lost,
    no_answer,
    not_http,
    refused,
)
from maverick.providers.http.exchange import Exchange
from maverick.providers.http.transport import ContentTimer
from maverick.providers.http.wire_json import encode


def sdk_error(error: Exception, exchange: Exchange, timer: ContentTimer, *, begun: bool) -> AgentError:
    """The error to raise for one that came out of the SDK.

    Args:
        error: What was raised.
        exchange: What is known of the answer.
        timer: What limited the wait for the answer.
        begun: Whether the answer has begun, so that what cannot be read is the fault of what was sent.
    """
    host = timer.host
    for ours in (error, error.__cause__):  # the SDK wraps some
        if isinstance(ours, AgentError):
            return ours
    if isinstance(error, anthropic.APIStatusError):
        return _status_error(error, exchange)
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException | builtins.TimeoutError):
        connecting = any(isinstance(cause, httpx2.ConnectTimeout) for cause in _causes(error))
        return connect_timeout(host) if connecting else timer.expired()
    if isinstance(error, anthropic.APIConnectionError | httpx2.TransportError):
        return _no_connection(error, host)
    if isinstance(error, anthropic.CredentialsError | TypeError) and "authentication" in str(error):
        return no_key()
    return _unreadable(error, exchange) if begun else _unusable(error, host)


def no_key() -> AuthenticationError:
    """The error for a client that has no credentials."""
    return AuthenticationError(
        "There is no key for Claude. Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the environment, or pass api_key "
        "or a client that has credentials. Without a key, the 'offline:' model works."
    )


def _status_error(error: anthropic.APIStatusError, exchange: Exchange) -> AgentError:
    if error.response.is_success:  # an event of a stream that began well
        return no_answer(exchange, "an unknown error", encode(error.body))
    return refused(exchange, error.status_code, error.response.content)


def _unreadable(error: Exception, exchange: Exchange) -> AgentError:
    """The error for a stream whose events the SDK cannot parse."""
    event = error.doc.encode("utf-8", "replace") if isinstance(error, json.JSONDecodeError) else b""
    return exchange.malformed("an event that is not valid", event)


def _unusable(error: Exception, host: str) -> AgentError:
    """The error for a client of the SDK that cannot work as it is installed or set up."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        message = (
            f"The Anthropic SDK needs the package {package!r} for this client, and it is not installed. "
            f"Run: pip install {package}"
        )
    else:
        message = (
            f"The Anthropic SDK failed with {host}: {type(error).__name__}: {error}. "
            "Check how its client is set up."
        )
    return AgentError(message, kind=ErrorKind.INVALID, cause=error)


def _no_connection(error: Exception, host: str) -> AgentError:
    """Why there is no answer: the address, the name, TLS, the proxy, the port, or what listens there."""
    causes = list(_causes(error))
    reason = next((cause for cause in reversed(causes) if isinstance(cause, OSError)), None)
    raised = next((cause for cause in causes if isinstance(cause, httpx2.TransportError)), error)
    if isinstance(raised, httpx2.UnsupportedProtocol):
        return InvalidInputError(
            "base_url is not an http:// or https:// address with a host. Write it as https://host.",
            field="base_url",
        )
    if isinstance(raised, httpx2.LocalProtocolError):
        return bad_characters(host)
    if isinstance(raised, httpx2.RemoteProtocolError) and not _broke_off(raised):
        return not_http(host)
    if isinstance(raised, httpx2.ConnectError):
        return NetworkError(
            f"{host} could not be reached: {_why(reason)}. Check base_url, the network and the proxy settings.",
            cause=reason,
            retryable=not isinstance(reason, ssl.SSLError),
        )
    return connection_lost(host, reason)


def _broke_off(error: httpx2.RemoteProtocolError) -> bool:
    """Whether the other side hung up, as opposed to having said something odd; only the words tell."""
    return any(word in str(error) for word in ("closed", "disconnected"))


def _why(reason: OSError | None) -> str:
    if isinstance(reason, ssl.SSLError):
        detail = getattr(reason, "verify_message", "") or reason.reason or "no common protocol"
        return f"TLS failed, {detail}"
    if isinstance(reason, socket.gaierror):
        return "its name could not be resolved"
    return (reason.strerror if reason is not None else None) or "no connection"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those beneath it, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
