from __future__ import annotations

import pytest

from maverick.exceptions import AgentError, NetworkError, RateLimitError, ServerError
from maverick.loop.retry import backoff


@pytest.mark.requirement("003-NFR2-RETRY")
def test_each_wait_is_twice_the_one_before_up_to_half_a_minute() -> None:
    waits = [backoff(NetworkError("Unreachable."), attempt, 0.5)[0] for attempt in range(1, 9)]

    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30]


@pytest.mark.requirement("002-R8-RETRY")
@pytest.mark.parametrize(
    "error", [RateLimitError("Slow down.", retry_after=7), ServerError("Busy.", retry_after=7)]
)
def test_a_wait_the_provider_names_is_kept_exactly(error: AgentError) -> None:
    assert backoff(error, 3, 0.5) == (7, True)


def test_a_wait_in_the_past_is_no_wait() -> None:
    assert backoff(RateLimitError("Slow down.", retry_after=-3), 1, 0.5) == (0, True)


def test_a_wait_the_provider_leaves_open_is_ours() -> None:
    assert backoff(RateLimitError("Slow down."), 2, 0.5) == (1, False)
