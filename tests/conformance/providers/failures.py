"""What each fault has to become, whoever the provider is: one typed error that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.providers.asking import Way
from conformance.providers.scenarios import Scenario
from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ContextOverflowError,
    ErrorKind,
    MalformedResponseError,
    NetworkError,
    ProviderError,
    RateLimitError,
    ServerError,
    StreamingError,
    TimeoutError,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What is expected of an error."""

    error: type[AgentError]
    kind: ErrorKind
    retryable: bool
    advice: str
    """Words of its message that say what to do."""
    statuses: tuple[int | None, ...] = (None,)
    """The HTTP statuses it may have."""
    has_request_id: bool | None = False
    """Whether the id of the exchange is known; ``None`` where services differ."""
    retry_after: float | None = None


def _answered(
    error: type[AgentError], kind: ErrorKind, retryable: bool, advice: str, *statuses: int
) -> Failure:
    """An error that the service itself reports, with the id of the exchange."""
    return Failure(error, kind, retryable, advice, statuses, has_request_id=True)


_MALFORMED = Failure(MalformedResponseError, ErrorKind.AGENT, True, "check")
_BROKEN_STREAM = Failure(StreamingError, ErrorKind.NETWORK, True, "Try again", has_request_id=True)
_UNREACHABLE = Failure(NetworkError, ErrorKind.NETWORK, True, "Check")
_LATE = Failure(TimeoutError, ErrorKind.TIMEOUT, True, "raise the timeout")

_EITHER_WAY: Mapping[Scenario, Failure] = {
    Scenario.BAD_REQUEST: _answered(ProviderError, ErrorKind.INVALID, False, "Change the request", 400),
    Scenario.PROMPT_TOO_LONG: _answered(ContextOverflowError, ErrorKind.INVALID, False, "Shorten it", 400),
    Scenario.WRONG_KEY: _answered(AuthenticationError, ErrorKind.AGENT, False, "Check the key", 401),
    Scenario.KEY_ECHOED: Failure(
        AuthenticationError, ErrorKind.AGENT, False, "Check the key", (401,), has_request_id=None
    ),
    Scenario.FORBIDDEN: _answered(AuthenticationError, ErrorKind.AGENT, False, "may use this model", 403),
    Scenario.NO_SUCH_MODEL: _answered(ProviderError, ErrorKind.INVALID, False, "Check the model's name", 404),
    Scenario.TOO_LARGE: _answered(ContextOverflowError, ErrorKind.INVALID, False, "Shorten it", 413),
    Scenario.RATE_LIMITED: replace(
        _answered(RateLimitError, ErrorKind.RATE_LIMIT, True, "Try again in 7 s", 429), retry_after=7
    ),
    Scenario.SERVER_ERROR: _answered(ServerError, ErrorKind.AGENT, True, "Try again", 500),
    Scenario.OVERLOADED: replace(
        _answered(ServerError, ErrorKind.AGENT, True, "Try again in 2 s", 529, 503), retry_after=2
    ),
    Scenario.HTML: replace(_MALFORMED, advice="proxy or a login page"),
    Scenario.HTML_ERROR: Failure(ServerError, ErrorKind.AGENT, True, "Try again", (502,)),
    Scenario.REDIRECT: Failure(ProviderError, ErrorKind.INVALID, False, "Set base_url", (307,)),
    Scenario.BAD_JSON: replace(_MALFORMED, has_request_id=True),
    Scenario.ERROR_EVENT: _answered(ServerError, ErrorKind.AGENT, True, "Try again", 529, 500),
    Scenario.HANG: _LATE,
    Scenario.NOT_HTTP: replace(_MALFORMED, advice="Check the scheme, host and port of base_url"),
    Scenario.NO_SERVER: replace(_UNREACHABLE, advice="base_url"),
    Scenario.NO_SUCH_HOST: replace(_UNREACHABLE, advice="base_url"),
    Scenario.WRONG_CERTIFICATE: replace(_UNREACHABLE, advice="TLS", retryable=False),
}

FAILURES: Mapping[Way, Mapping[Scenario, Failure]] = {
    "whole": {
        **_EITHER_WAY,
        Scenario.NOTHING: replace(_MALFORMED, has_request_id=True),
        Scenario.CUT: replace(_UNREACHABLE, advice="Try again"),
        Scenario.STALL: _LATE,
    },
    "streamed": {
        **_EITHER_WAY,
        Scenario.NOTHING: _BROKEN_STREAM,
        Scenario.CUT: _BROKEN_STREAM,
        Scenario.NO_STOP: _BROKEN_STREAM,
        Scenario.ENDLESS_EVENT: replace(_MALFORMED, advice="Check that base_url"),
        Scenario.STALL: replace(_LATE, has_request_id=True),
    },
}
"""What each fault becomes, asked for an answer as a whole and for a stream of it."""
