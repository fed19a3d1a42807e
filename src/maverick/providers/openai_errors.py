"""What a Chat Completions server says when something is wrong, in our errors.

Servers agree on ``{"error": {"message", "type", "code"}}`` and on little else: ``code`` is a word at OpenAI and the
HTTP status at vLLM and llama.cpp, and either may come in a stream that began with status 200.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from maverick.exceptions import ProviderError, RateLimitError
from maverick.providers.http_errors import read_error_answer, request_id_of, status_error
from maverick.providers.wire_json import BAD_JSON

_STATUS_OF_NAME: Mapping[str, int] = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
}

_TOO_LONG = ("context length", "context size", "context window")


def answer_error(
    service: str, status: int, body: bytes, headers: Mapping[str, str], *, secret: str = ""
) -> ProviderError:
    """The error for an answer with an error status.

    Args:
        service: What to call the server in the message.
        status: Its HTTP status.
        body: Its body.
        headers: Its headers.
        secret: The key, which must not be repeated even if the other side does.
    """
    answer = read_error_answer(body, secret=secret)
    names = _names(_error_object(body) or {})
    if status == 429 and "insufficient_quota" in names:
        return RateLimitError(
            f"{service} will not serve more requests on this account: {answer.message.rstrip('. ')} (status 429). "
            "Check the account's credit and limits; trying again does not help.",
            status=status,
            request_id=request_id_of(headers) or None,
            retryable=False,
        )
    words = answer.message.lower()
    too_long = "context_length_exceeded" in names or any(phrase in words for phrase in _TOO_LONG)
    return status_error(service, status, answer, headers, overflow=too_long and status == 400)


def reported_error(
    service: str, body: bytes, headers: Mapping[str, str], *, secret: str = ""
) -> ProviderError | None:
    """The error that an answer with a good status reports in its body or in an event, if it does."""
    error = _error_object(body)
    if error is None:
        return None
    code = error.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        status = code
    else:
        known = [_STATUS_OF_NAME[name] for name in _names(error) if name in _STATUS_OF_NAME]
        status = known[0] if known else 500
    return answer_error(service, status, body, headers, secret=secret)


def _error_object(body: bytes) -> dict[str, Any] | None:
    """What the body says of a failure, or ``None`` when it does not speak of one."""
    try:
        answer = msgspec.json.decode(body)
    except BAD_JSON:
        return None
    if not isinstance(answer, dict):
        return None
    error = answer if answer.get("object") == "error" else answer.get("error")
    if not error:
        return None
    return error if isinstance(error, dict) else {"message": error}


def _names(error: Mapping[str, Any]) -> list[str]:
    """The server's names for this sort of failure, the more exact one first."""
    return [name for name in (error.get("code"), error.get("type")) if isinstance(name, str)]
