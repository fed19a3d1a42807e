"""Why there is no answer: in full for the log, and in plain words for whoever asked."""

from __future__ import annotations

import logging
import traceback
from typing import Any

from maverick.exceptions import (
    AbortedError,
    AgentError,
    AuthenticationError,
    ContextOverflowError,
    ErrorKind,
    LimitExceededError,
    RefusalError,
    ServerError,
)
from maverick.telemetry import log

_BY_TYPE: tuple[tuple[type[AgentError], str], ...] = (
    (
        AuthenticationError,
        "The language model does not let this server in. Please tell whoever runs the server.",
    ),
    (ContextOverflowError, "This conversation has become too long. Please start a new one."),
    (RefusalError, "The language model declined to answer this."),
    (
        ServerError,
        "The language model is overloaded or out of order right now. Please try again in a minute.",
    ),
    (LimitExceededError, "This took more than one answer may take. Please ask for less at once."),
)
_BY_KIND = {
    ErrorKind.RATE_LIMIT: "The language model has more to do than it can right now. Please try again in a minute.",
    ErrorKind.TIMEOUT: "The language model took too long to answer. Please try again.",
    ErrorKind.NETWORK: "The language model can not be reached right now. Please try again in a moment.",
}
_OTHER = "Something went wrong on the server. Whoever runs it can see what."


def reason_of(error: AgentError) -> str:
    """Why there is no answer, in plain words; empty if the user knows."""
    if isinstance(error, AbortedError):
        return ""
    for kind, words in _BY_TYPE:
        if isinstance(error, kind):
            return words
    return _BY_KIND.get(error.kind, _OTHER)


def log_in_full(message: str, error: BaseException, **ids: Any) -> None:
    """Write down what failed, with all of its causes and where each was raised.

    The words of errors that are not ours are left out: they may quote what was said, or a key.
    """
    fields: dict[str, Any] = {**ids, "error": type(error).__name__, "text": str(error)}
    for name in ("kind", "status", "request_id", "retry_after"):
        if (value := getattr(error, name, None)) is not None:
            fields[name] = str(value)
    where: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(where) < 10:
        where.append(f"{type(cause).__name__}\n{''.join(traceback.format_tb(cause.__traceback__))}".rstrip())
        cause = cause.__cause__ or cause.__context__
    log(logging.ERROR, message, {**fields, "where": "\ncaused by ".join(where)})
