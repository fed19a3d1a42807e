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
from msgspec import Struct

from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ErrorKind,
    InvalidInputError,
    MalformedResponseError,
    NetworkError,
    TimeoutError,
)
from maverick.providers.claude_endpoint import KEY_VARIABLES
from maverick.providers.claude_errors import API, SERVICE, answer_error, reported_error
from maverick.providers.http_errors import malformed_answer
from maverick.providers.wire_json import encode


class Situation(Struct, frozen=True):
    """Where something went wrong."""

    host: str
    """The host that was asked."""
    lateness: str
    """What to say when the time for an answer ran out."""
    secret: str
    """The key, which no message may repeat."""
    request_id: str
    """The API's id of the exchange; empty before the answer has begun."""
    begun: bool
    """Whether the answer has begun, so that what cannot be read is the fault of what was sent."""


def sdk_error(error: Exception, situation: Situation) -> AgentError:
    """The error to raise for one that came out of the SDK."""
    for ours in (error, error.__cause__):  # the SDK wraps some
        if isinstance(ours, AgentError):
            return ours
    if isinstance(error, anthropic.APIStatusError):
        return _status_error(error, situation)
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException | builtins.TimeoutError):
        return _late(error, situation)
    if isinstance(error, anthropic.APIConnectionError | httpx2.TransportError):
        return _no_connection(error, situation)
    if isinstance(error, anthropic.CredentialsError | TypeError) and "authentication" in str(error):
        return no_key()
    return _unreadable(error, situation) if situation.begun else _unusable(error, situation)


def no_key() -> AuthenticationError:
    """The error for a client that has no credentials."""
    variables = ", ".join((*KEY_VARIABLES, "ANTHROPIC_AUTH_TOKEN"))
    return AuthenticationError(
        f"There is no key for Claude. Set one of {variables} in the environment, or pass api_key or a client that has "
        "credentials. Without a key, the 'offline:' model works."
    )


def _unreadable(error: Exception, situation: Situation) -> MalformedResponseError:
    """The error for a stream whose events the SDK cannot make sense of."""
    event = error.doc.encode("utf-8", "replace") if isinstance(error, json.JSONDecodeError) else b""
    return _malformed("an event that is not valid", event, situation)


def _unusable(error: Exception, situation: Situation) -> AgentError:
    """The error for a client of the SDK that cannot work as it is installed or set up."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        message = (
            f"The Anthropic SDK needs the package {package!r} for this client, and it is not installed. "
            f"Run: pip install {package}"
        )
    else:
        message = (
            f"The Anthropic SDK could not do its work with {situation.host}: {type(error).__name__}: {error}. "
            "Check how its client is set up."
        )
    return AgentError(message, kind=ErrorKind.INVALID, cause=error)


def _status_error(error: anthropic.APIStatusError, situation: Situation) -> AgentError:
    headers = error.response.headers
    if error.response.is_success:  # an event of a stream that began well
        body = encode(error.body)
        reported = reported_error(body, headers, secret=situation.secret)
        return reported or _malformed("an unknown error", body, situation)
    return answer_error(error.status_code, error.response.content, headers, secret=situation.secret)


def _malformed(what: str, body: bytes, situation: Situation) -> MalformedResponseError:
    return malformed_answer(
        SERVICE, API, what, body, request_id=situation.request_id, secret=situation.secret
    )


def _late(error: Exception, situation: Situation) -> TimeoutError:
    if any(isinstance(cause, httpx2.ConnectTimeout) for cause in _causes(error)):
        return TimeoutError(
            f"No connection to {situation.host} came about in time. Check the network, the proxy and base_url, "
            "or raise the connect timeout."
        )
    return TimeoutError(f"{situation.lateness} Try again, or raise the timeout.")


def _no_connection(error: Exception, situation: Situation) -> AgentError:
    """Why there is no answer: the address, the name, TLS, the proxy, the port, or what listens there."""
    host = situation.host
    causes = list(_causes(error))
    reason = next((cause for cause in reversed(causes) if isinstance(cause, OSError)), None)
    raised = next((cause for cause in causes if isinstance(cause, httpx2.TransportError)), error)
    if isinstance(raised, httpx2.UnsupportedProtocol):
        return InvalidInputError(
            "base_url is not an http:// or https:// address with a host. Write it as https://host.",
            field="base_url",
        )
    if isinstance(raised, httpx2.LocalProtocolError):
        return InvalidInputError(
            f"The request to {host} could not be sent: base_url, or a header such as the key, has a character "
            "in it that does not belong there."
        )
    if isinstance(raised, httpx2.RemoteProtocolError) and not _broke_off(raised):
        return MalformedResponseError(
            f"{host} answered with something that is not HTTP. Check the scheme, host and port of base_url."
        )
    if isinstance(raised, httpx2.ConnectError):
        return NetworkError(
            f"{host} could not be reached: {_why(reason)}. Check base_url, the network and the proxy settings.",
            cause=reason,
            retryable=not isinstance(reason, ssl.SSLError),
        )
    return NetworkError(
        f"The connection to {host} broke before the answer was complete. Try again; if it keeps happening, "
        "check the network and the proxy.",
        cause=reason,
    )


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
