"""When a failed model call is tried again, and how long to wait first."""

from __future__ import annotations

from maverick.exceptions import AgentError, RateLimitError, ServerError

_LONGEST_WAIT = 30.0


def backoff(error: AgentError, attempt: int, first_delay: float) -> tuple[float, bool]:
    """How long to wait after a failed attempt, and whether the provider itself named the time.

    Args:
        error: Why the attempt failed.
        attempt: Its number, from 1.
        first_delay: The wait after the first attempt, in seconds; it doubles each time.
    """
    if isinstance(error, RateLimitError | ServerError) and error.retry_after is not None:
        return max(error.retry_after, 0.0), True
    return min(first_delay * 2 ** (attempt - 1), _LONGEST_WAIT), False
