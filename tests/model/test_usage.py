from __future__ import annotations

import pytest

from maverick.model import ExecutionMetrics, Price, Usage


@pytest.mark.requirement("002-R7", "002-AC8")
def test_metrics_add_up_every_invocation() -> None:
    metrics = ExecutionMetrics()

    metrics.record(Usage(input_tokens=100, output_tokens=20))
    metrics.record(Usage(input_tokens=130, output_tokens=5))

    assert metrics == ExecutionMetrics(total_input_tokens=230, total_output_tokens=25, invocations=2)


@pytest.mark.requirement("002-R7")
def test_usages_add_up_figure_by_figure() -> None:
    total = Usage(1, 2, 3, 4, 0.5, 5) + Usage(10, 20, 30, 40, 0.25, 50)

    assert total == Usage(11, 22, 33, 44, 0.75, 55)
    assert total.total_tokens == 33


@pytest.mark.parametrize(
    ("left", "right", "total"), [(None, None, None), (0.5, None, 0.5), (None, 0.5, 0.5), (0.0, None, 0.0)]
)
def test_a_cost_that_is_not_known_is_never_made_up(
    left: float | None, right: float | None, total: float | None
) -> None:
    assert (Usage(cost_usd=left) + Usage(cost_usd=right)).cost_usd == total


def test_a_price_counts_each_token_once_and_cached_ones_at_their_own_price() -> None:
    usage = Usage(
        input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=600_000, cache_write_tokens=200_000
    )

    assert Price(input=3, output=15).cost(usage) == pytest.approx(3 + 1.5)
    assert Price(input=3, output=15, cache_read=0.3, cache_write=3.75).cost(usage) == pytest.approx(
        0.6 + 0.18 + 0.75 + 1.5
    )


def test_what_is_cached_for_an_hour_has_its_own_price() -> None:
    usage = Usage(input_tokens=100_000, cache_write_tokens=100_000, cache_write_1h_tokens=40_000)

    assert Price(3, 15, cache_write=3.75, cache_write_1h=6).cost(usage) == pytest.approx(0.225 + 0.24)
    assert Price(3, 15, cache_write=3.75).cost(usage) == pytest.approx(0.375)


def test_a_request_longer_than_a_threshold_costs_the_higher_price_as_a_whole() -> None:
    price = Price(1, 5, long=Price(2, 7.5), long_from=200_000)

    assert price.cost(Usage(200_000, 1000)) == pytest.approx(0.2 + 0.005)
    assert price.cost(Usage(200_001, 1000)) == pytest.approx(0.400002 + 0.0075)
