from __future__ import annotations

import pytest

from maverick.exceptions import AgentError, NetworkError, RateLimitError, ServerError
from maverick.loop.steps import CallModel
from maverick.model import Request

CALL = CallModel(Request(messages=()), turn=1)


@pytest.mark.requirement("003-NFR2-RETRY")
def test_each_wait_is_twice_the_one_before_up_to_half_a_minute() -> None:
    attempts = [CALL]
    for _ in range(8):
        attempts.append(attempts[-1].retry(NetworkError("Unreachable."), 0.5))

    assert [attempt.delay for attempt in attempts] == [0, 0.5, 1, 2, 4, 8, 16, 30, 30]


@pytest.mark.requirement("002-R8-RETRY")
@pytest.mark.parametrize(
    ("error", "wait"),
    [
        (RateLimitError("Slow down.", retry_after=7), (7, True)),
        (ServerError("Busy.", retry_after=7), (7, True)),
        (RateLimitError("Slow down.", retry_after=-3), (0, True)),
        (RateLimitError("Slow down."), (0.5, False)),
    ],
)
def test_a_wait_the_provider_names_is_kept_exactly(error: AgentError, wait: tuple[float, bool]) -> None:
    retry = CALL.retry(error, 0.5)

    assert (retry.delay, retry.exact_delay) == wait
