"""Why there is no answer, in plain words, for those who talk to an agent; the log has the details."""

from __future__ import annotations

from maverick.exceptions import (
    AbortedError,
    AgentError,
    AuthenticationError,
    ContextOverflowError,
    ErrorKind,
    HookRefusedError,
    LimitExceededError,
    MalformedResponseError,
    ProviderError,
    RefusalError,
    ServerError,
)

_BY_TYPE: dict[type[AgentError], str] = {
    ContextOverflowError: "This conversation is too long. Please start a new one.",
    RefusalError: "The language model declined to answer this.",
    ServerError: "The language model is overloaded or has failed. Please try again in a minute.",
    LimitExceededError: "This answer reached its limit. Please ask for less at once.",
}
_BY_KIND = {
    ErrorKind.RATE_LIMIT: "The language model is busy. Please try again in a minute.",
    ErrorKind.TIMEOUT: "The language model took too long to answer. Please try again.",
    ErrorKind.NETWORK: "The language model cannot be reached. Please try again in a moment.",
}
_NO_MODEL_THERE = (
    "Something other than the language model answered at its address: perhaps a login page or a proxy. "
    "The address needs to be checked."
)
_NOT_SERVED = (
    "The language model does not serve this request: perhaps the account has no credit, or the model is not there. "
    "The log says why."
)


def plain_reason(error: Exception, *, wrong_key: str, otherwise: str) -> str:
    """Why there is no answer, without technical terms; empty if the user stopped it.

    Args:
        error: What went wrong.
        wrong_key: What is said of a key that the provider rejects.
        otherwise: What is said of anything that a user can do nothing about.
    """
    if isinstance(error, AbortedError):
        return ""
    if isinstance(error, HookRefusedError) and error.reason:
        return error.reason  # written for whoever asked
    if isinstance(error, AuthenticationError):
        return wrong_key
    for kind, words in _BY_TYPE.items():
        if isinstance(error, kind):
            return words
    if words := _unserved(error):
        return words
    return _BY_KIND.get(error.kind, otherwise) if isinstance(error, AgentError) else otherwise


def _unserved(error: Exception) -> str:
    """What is said if the model's service refuses the request, or something else answers in its place; else empty."""
    if isinstance(error, ProviderError) and error.kind is ErrorKind.INVALID:
        is_redirect = error.status is not None and 300 <= error.status < 400
        return _NO_MODEL_THERE if is_redirect else _NOT_SERVED
    is_page = isinstance(error, MalformedResponseError) and error.raw_response.lstrip().startswith("<")
    return _NO_MODEL_THERE if is_page else ""
