"""What the CLI spends on questions of its own is charged too."""

from __future__ import annotations

from typing import Any

import pytest
from claude_agent_sdk import ResultMessage

from maverick.model import Usage
from maverick.providers.claude_cli.usage import hidden_usage


def summed_up(cost: float | None, **models: tuple[int, int, int, int]) -> ResultMessage:
    """The CLI's summary: for each model its plain input, output, cache reads and cache writes."""
    fields = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    usage: dict[str, Any] = {name: dict(zip(fields, counts, strict=True)) for name, counts in models.items()}
    return ResultMessage("success", 1, 1, False, 1, "s", total_cost_usd=cost, model_usage=usage)


@pytest.mark.requirement("005-RUN", "P5")
def test_another_model_that_was_asked_in_passing_is_charged() -> None:
    result = summed_up(0.05, sonnet=(100, 42, 11, 7), haiku=(900, 30, 0, 0))

    hidden = hidden_usage(result, Usage(118, 42, 11, 7, cost_usd=0.04))

    assert (hidden.input_tokens, hidden.output_tokens) == (900, 30)
    assert hidden.cost_usd == pytest.approx(0.01)


@pytest.mark.requirement("005-RUN", "P5")
def test_what_the_turns_have_said_is_not_charged_twice() -> None:
    charged = Usage(118, 42, 11, 7, cost_usd=0.04)

    assert hidden_usage(summed_up(0.05, sonnet=(100, 42, 11, 7)), charged) == Usage()


def test_a_cost_that_is_not_known_stays_unknown() -> None:
    assert hidden_usage(summed_up(None, haiku=(900, 30, 0, 0)), Usage()) == Usage(900, 30)
