"""What services and connections report when something fails, as our errors: which type, whether to retry, what to do.

Services agree on ``{"error": {"message", "type", "code"}}`` and on little else: ``code`` is a word at OpenAI and the
HTTP status at vLLM and llama.cpp, Claude has a ``type`` alone, and any of it may come in a body or in the middle of a
stream that began with status 200.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ContextOverflowError,
    ErrorKind,
    InvalidInputError,
    MalformedResponseError,
    MediaRejectedError,
    NetworkError,
    ProviderError,
    RateLimitError,
    ServerError,
    ThinkingRejectedError,
    TimeoutError,
)
from maverick.providers.http.exchange import Exchange
from maverick.providers.http.wire_json import BAD_JSON

_STATUS_OF_NAME: Mapping[str, int] = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "request_too_large": 413,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    # What OpenAI finds wrong with a request when its answer has begun.
    "bio_policy": 400,
    "misalignment_policy_violation": 400,
    "data_residency_mismatch": 400,
    # Bedrock's names, when they come in the middle of a stream.
    "validationException": 400,
    "throttlingException": 429,
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "serviceUnavailableException": 503,
    "modelTimeoutException": 504,
}

_TOO_LONG = ("prompt is too long", "exceed context limit", "context length", "context size", "context window")

_NO_CREDIT = "credit balance is too low"
"""How Claude says, with the status of a bad request, that the account has no credit."""

_BAD_REQUEST = ("invalid_", "image_", "empty_image", "unsupported_image")
"""How OpenAI's names for what is wrong with a request begin."""

_OLD_THINKING = re.compile(
    r"messages\.\d+\..*thinking`? (block|or `redacted)|The encrypted content .*could not be|"
    r"Item .*was provided without its required",
    re.DOTALL,
)
"""How Claude and OpenAI refuse the thinking of an earlier turn, as opposed to a setting."""

_BAD_IMAGE = (
    "invalid_image", "invalid_base64_image", "image_parse", "image_too", "image_file", "unsupported_image",
    "empty_image", "failed_to_download_image",
)  # fmt: skip
"""How OpenAI's names begin for an image that cannot be read, as opposed to one that it does not want to see."""
_BAD_MEDIA = re.compile(
    r"Could not process (image|PDF)|messages\.\d+\.\S*\.(image|pdf|document)\.source\b|represent a valid (image)",
    re.IGNORECASE,
)
"""How Claude, and OpenAI where it has no code for it, say that an image or a document cannot be read."""


class ServiceError(msgspec.Struct, frozen=True):
    """What a service says of a failure."""

    message: str = ""
    """Its own words."""
    names: tuple[str, ...] = ()
    """Its names for this kind of failure, the most exact one first."""
    status: int | None = None
    """The HTTP status in the body, where it has one."""
    request_id: str = ""
    """Its id of the exchange, where the body has it."""
    about: str = ""
    """The part of the request that it is about, where the body says so."""
    is_certain: bool = False
    """Whether the body can be nothing but an error, whatever the status of the answer."""


def read_service_error(body: bytes) -> ServiceError:
    """What a body reports of a failure: JSON of any of the usual shapes, or else nothing that is known."""
    try:
        answer = msgspec.json.decode(body)
    except BAD_JSON:
        answer = None
    if not isinstance(answer, dict):
        return ServiceError()
    error = answer.get("error") or answer
    if not isinstance(error, dict):
        error = {"message": error}
    code = error.get("code")
    names = tuple(name for name in (code, error.get("type")) if isinstance(name, str))
    return ServiceError(
        _text(error.get("message")),
        names,
        code if isinstance(code, int) and 400 <= code < 600 else None,
        _text(answer.get("request_id")),
        _text(error.get("param")),
        bool(answer.get("error")) or answer.get("object") == "error" or any(map(_STATUS_OF_NAME.get, names)),
    )


def refused(exchange: Exchange, status: int, body: bytes, error: ServiceError | None = None) -> ProviderError:
    """The error for an answer with an error status."""
    error = error or read_service_error(body)
    told = msgspec.structs.replace(
        error,
        message=exchange.hide(error.message) or exchange.excerpt(body),
        request_id=exchange.hide(error.request_id) or exchange.request_id,
    )
    sought = exchange.model, exchange.prices.nearest(exchange.model)
    return status_error(exchange.service, status, told, exchange.headers, sought=sought)


def reported(exchange: Exchange, body: bytes) -> ProviderError | None:
    """The error that an answer with a good status reports in its body or in an event, if it does."""
    error = read_service_error(body)
    if not error.is_certain:
        return None
    known = [_STATUS_OF_NAME[name] for name in error.names if name in _STATUS_OF_NAME]
    unknown = 400 if any(name.startswith(_BAD_REQUEST) for name in error.names) else 500
    return refused(exchange, error.status or (known[0] if known else unknown), body, error)


def no_answer(exchange: Exchange, what: str, body: bytes) -> AgentError:
    """The error for a body without an answer: the failure that it reports, or else what it is."""
    return reported(exchange, body) or exchange.malformed(what, body)


def status_error(
    service: str,
    status: int,
    error: ServiceError,
    headers: Mapping[str, str],
    *,
    too_long: bool = False,
    sought: tuple[str, str] = ("", ""),
) -> ProviderError:
    """The error to raise for an HTTP status, with what the service said; its headers may say how long to wait.

    ``sought`` is the model that was asked for, and the nearest one that is known, where one is.
    """
    said = f": {error.message.rstrip('. ')}" if error.message else ""
    said += f" (status {status}, request {error.request_id})" if error.request_id else f" (status {status})"

    kind, what, advice, facts = (
        _about_content(service, status, error, too_long=too_long)
        or _about_service(service, status, error, retry_after(headers))
        or _about_request(service, status, error, *sought)
    )
    message = f"{what}{said}. {advice}"
    return kind(message, status=status, request_id=error.request_id or None, **facts)


_Diagnosis: TypeAlias = tuple[type[ProviderError], str, str, dict[str, Any]]
"""An error, what happened, what to do, and the fields that a caller may branch on."""


def _about_content(service: str, status: int, error: ServiceError, *, too_long: bool) -> _Diagnosis | None:
    """What is wrong with what was said, if it is that."""
    if too_long or status == 413 or (status == 400 and _says_too_long(error)):
        what = f"The conversation is too long for {service}"
        return ContextOverflowError, what, "Shorten it, or turn compaction on.", {}
    if status != 400:
        return None
    if "invalid_encrypted_content" in error.names or _OLD_THINKING.match(error.message):
        what = f"{service} does not accept the thinking of an earlier turn"
        advice = "Leave the thinking out, and do not change what was sent before."
        return ThinkingRejectedError, what, advice, {}
    if media := _unread_media(error):
        what, advice = f"{service} could not read the {media}", "Check that it opens, or leave it out."
        return MediaRejectedError, what, advice, {"media": media}
    return None


def _about_service(service: str, status: int, error: ServiceError, wait: float | None) -> _Diagnosis | None:
    """Why the service does not serve the account, or not now, if it is that."""
    when = "later" if wait is None else f"in {wait:g} s"
    if status in {401, 403}:
        what, advice = f"{service} did not accept the key", "Check the key, and that it may use this model."
        return AuthenticationError, what, advice, {}
    if status == 429 and "insufficient_quota" in error.names:
        what = f"{service} will not serve more requests on this account"
        advice = "Check the account's credit and limits; trying again does not help."
        return RateLimitError, what, advice, {"retryable": False}
    if status == 429:
        advice = f"Try again {when}, or send less at once."
        return RateLimitError, f"{service} asks to slow down", advice, {"retry_after": wait}
    if status >= 500:
        return ServerError, f"{service} failed or is overloaded", f"Try again {when}.", {"retry_after": wait}
    if status in {408, 409, 425}:
        return ServerError, f"{service} could not serve the request just now", "Try again.", {}
    return None


def _about_request(service: str, status: int, error: ServiceError, model: str, nearest: str) -> _Diagnosis:
    """Why the service will not serve the request as it is."""
    what, advice = f"{service} refused the request", "Change the request; the same one will fail again."
    if status == 402 or _NO_CREDIT in error.message.lower():
        what, advice = f"{service} refused the request over billing", "Check the account's credit and limits."
    elif 300 <= status < 400:
        what, advice = f"{service} redirects to another address", "Set base_url to the final address."
    elif status == 404 and model:
        what = f"{service} does not know the model {model!r}, or not at this address"
        hint = f"Did you mean {nearest!r}? " if nearest not in ("", model) else ""
        check = "base_url" if nearest == model else "the model's name and base_url"
        advice = f"{hint}Check {check}."
    elif status == 404:
        what, advice = (
            f"{service} does not know the model or the address",
            "Check the model's name and base_url.",
        )
    return ProviderError, what, advice, {"kind": ErrorKind.INVALID}


def _says_too_long(error: ServiceError) -> bool:
    words = error.message.lower()
    return "context_length_exceeded" in error.names or any(phrase in words for phrase in _TOO_LONG)


def _unread_media(error: ServiceError) -> str:
    """What the service could not read, ``image`` or ``document``; empty if it is about something else."""
    if any(name.startswith(_BAD_IMAGE) for name in error.names):
        return "image"
    if error.about.endswith("file_data"):
        return "document"
    if (found := _BAD_MEDIA.search(error.message)) is None:
        return ""
    return "image" if "image" in found[0].lower() else "document"


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """How many seconds the service asks to wait, from ``Retry-After`` as seconds or as a date; else ``None``."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value, time.time() if now is None else now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def connect_timeout(host: str) -> TimeoutError:
    """The error for a connection that took too long."""
    return TimeoutError(
        f"Connecting to {host} took too long. Check the network, the proxy and base_url, or raise the connect timeout."
    )


def bad_characters(host: str) -> InvalidInputError:
    """The error for a request that HTTP cannot carry."""
    return InvalidInputError(
        f"The request to {host} could not be sent: base_url, or a header such as the key, has a character that is not "
        "allowed there."
    )


def not_http(host: str) -> MalformedResponseError:
    """The error for a server that speaks something else."""
    return MalformedResponseError(
        f"{host} answered with something that is not HTTP. Check the scheme, host and port of base_url."
    )


def connection_lost(host: str, cause: BaseException | None) -> NetworkError:
    """The error for a connection that broke."""
    return NetworkError(
        f"The connection to {host} broke before the answer was complete. Try again; if it keeps happening, check the "
        "network and the proxy.",
        cause=cause,
    )


def _seconds_until(date: str, now: float) -> float:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp() - now
    except (ValueError, OverflowError):
        return math.nan


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
