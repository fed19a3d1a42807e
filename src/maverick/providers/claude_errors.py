"""What the Claude API says when something is wrong, in our errors."""

from __future__ import annotations

from collections.abc import Mapping

from maverick.exceptions import ProviderError
from maverick.providers.http_errors import ErrorAnswer, read_error_answer, status_error

SERVICE = "Claude"
"""What messages call the service."""

API = "the Messages API"
"""What messages call its API."""

_STATUS_OF_TYPE: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    # What Bedrock calls them, when they come in the middle of a stream.
    "validationException": 400,
    "throttlingException": 429,
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "serviceUnavailableException": 503,
    "modelTimeoutException": 504,
}

_TOO_LONG = ("prompt is too long", "exceed context limit", "exceeds the context window")


def answer_error(status: int, body: bytes, headers: Mapping[str, str], *, secret: str = "") -> ProviderError:
    """The error for an answer with an error status.

    Args:
        status: Its HTTP status.
        body: Its body.
        headers: Its headers.
        secret: The key, which must not be repeated even if the other side does.
    """
    return _error(status, read_error_answer(body, secret=secret), headers)


def reported_error(body: bytes, headers: Mapping[str, str], *, secret: str = "") -> ProviderError | None:
    """The error that an answer with a good status reports in its body or in an event, if it does."""
    answer = read_error_answer(body, secret=secret)
    status = _STATUS_OF_TYPE.get(answer.type)
    return None if status is None else _error(status, answer, headers)


def _error(status: int, answer: ErrorAnswer, headers: Mapping[str, str]) -> ProviderError:
    words = answer.message.lower()
    too_long = status == 400 and any(phrase in words for phrase in _TOO_LONG)
    return status_error(SERVICE, status, answer, headers, overflow=too_long)
