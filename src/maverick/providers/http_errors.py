"""What a service's error answer means, in our errors: which type it is, whether to retry, and what to do about it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from maverick.exceptions import (
    AuthenticationError,
    ContextOverflowError,
    ErrorKind,
    MalformedResponseError,
    ProviderError,
    RateLimitError,
    ServerError,
)
from maverick.providers.wire_json import BAD_JSON

_EXCERPT_CHARACTERS = 300


class ErrorAnswer(msgspec.Struct, frozen=True):
    """What a service says of a failure."""

    message: str = ""
    """Its own words."""
    type: str = ""
    """Its name for this sort of failure."""
    request_id: str = ""
    """Its id of the exchange, where the body has it."""


def read_error_answer(body: bytes, *, secret: str = "") -> ErrorAnswer:
    """Find the service's words in an error body: JSON of any of the usual shapes, or else the text as it is.

    Args:
        body: The body.
        secret: The key, which must not be repeated even if the other side does.
    """
    try:
        answer = msgspec.json.decode(body)
    except BAD_JSON:
        answer = None
    if not isinstance(answer, dict):
        return ErrorAnswer(excerpt(body, secret=secret))
    error = answer.get("error", answer)
    if not isinstance(error, dict):
        error = {"message": error}
    message = _text(error.get("message"))
    return ErrorAnswer(
        message=(message.replace(secret, "***") if secret else message) or excerpt(body, secret=secret),
        type=_text(error.get("type")) or _text(error.get("code")),
        request_id=_text(answer.get("request_id")),
    )


def status_error(
    service: str, status: int, answer: ErrorAnswer, headers: Mapping[str, str], *, overflow: bool = False
) -> ProviderError:
    """The error to raise for an answer whose status is not a success.

    Args:
        service: What to call the service in the message, such as ``Claude``.
        status: The HTTP status.
        answer: What the service said.
        headers: The headers of its answer: how long to wait, and the id of the request.
        overflow: Whether the service said that the conversation is too long.
    """
    request_id = answer.request_id or request_id_of(headers) or None
    said = f": {answer.message.rstrip('. ')}" if answer.message else ""
    about = f" (status {status}, request {request_id})" if request_id else f" (status {status})"
    facts: dict[str, Any] = {"status": status, "request_id": request_id}

    if overflow or status == 413:
        return ContextOverflowError(
            f"The conversation is too long for {service}{said}{about}. Shorten it, or let it be compacted.",
            **facts,
        )
    if status in {401, 403}:
        return AuthenticationError(
            f"{service} did not accept the key{said}{about}. Check the key, and that it may use this model.",
            **facts,
        )
    if status == 429:
        wait = retry_after(headers)
        return RateLimitError(
            f"{service} asks to slow down{said}{about}. Try again {_when(wait)}, or send less at once.",
            retry_after=wait,
            **facts,
        )
    if status >= 500:
        wait = retry_after(headers)
        return ServerError(
            f"{service} failed or is overloaded{said}{about}. Try again {_when(wait)}.",
            retry_after=wait,
            **facts,
        )
    return _refused(service, status, said + about, facts)


def malformed_answer(
    service: str, api: str, what: str, body: bytes, *, request_id: str, secret: str = ""
) -> MalformedResponseError:
    """The error for an answer that is not what the API sends.

    Args:
        service: What to call the service in the message.
        api: What to call the API that ``base_url`` should lead to.
        what: What came in place of an answer.
        body: Its bytes.
        request_id: The service's id of the exchange; empty when it gave none.
        secret: The key, which must not be repeated even if the other side does.
    """
    about = f" (request {request_id})" if request_id else ""
    return MalformedResponseError(
        f"{service} answered with {what}{about}. Try again; if it keeps happening, check that base_url points to "
        f"{api}, and whether a proxy or a login page stands in between.",
        raw_response=excerpt(body, secret=secret),
    )


def request_id_of(headers: Mapping[str, str]) -> str:
    """The service's id of the exchange, under whichever name it gives it; empty when it gives none."""
    return headers.get("request-id") or headers.get("x-request-id") or headers.get("x-amzn-requestid") or ""


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """How many seconds the service asks to wait, from ``Retry-After`` as seconds or as a date; else ``None``.

    Args:
        headers: The headers of the answer.
        now: The time to count a date from, in seconds since the epoch; by default, the present.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value, time.time() if now is None else now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def excerpt(body: bytes, *, secret: str = "") -> str:
    """The beginning of a body as one line of text, for a message or for ``raw_response``; without the secret."""
    if secret:
        body = body.replace(secret.encode(), b"***")
    text = " ".join(body[: 4 * _EXCERPT_CHARACTERS].decode("utf-8", "replace").split())
    return text if len(text) <= _EXCERPT_CHARACTERS else text[:_EXCERPT_CHARACTERS] + "…"


def _refused(service: str, status: int, detail: str, facts: dict[str, Any]) -> ProviderError:
    """The error for a request that the service will not serve as it is."""
    if status == 402:
        message = (
            f"{service} refused the request over billing{detail}. Check the account's credit and limits."
        )
    elif status == 404:
        message = (
            f"{service} does not know the model or the address{detail}. Check the model's name and base_url."
        )
    elif 300 <= status < 400:
        message = f"{service} redirects to another address{detail}. Set base_url to the final address."
    elif status in {408, 409, 425}:
        return ServerError(f"{service} could not serve the request just now{detail}. Try again.", **facts)
    else:
        message = f"{service} refused the request{detail}. Change the request; the same one will fail again."
    return ProviderError(message, kind=ErrorKind.INVALID, **facts)


def _when(wait: float | None) -> str:
    return "in a while" if wait is None else f"in {wait:g} s"


def _seconds_until(date: str, now: float) -> float:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp() - now
    except (ValueError, OverflowError):
        return math.nan


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
