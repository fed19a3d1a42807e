"""Limits on tokens, money and tool calls: reserved before they are spent, never exceeded."""

from __future__ import annotations

from typing import Any

import pytest

from maverick import ModelConfig, TerminateReason, tool
from maverick.exceptions import InvalidInputError, LimitExceededError
from maverick.loop import ToolOutcome
from maverick.model import ModelInfo, Price, Request, Usage
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent, assert_valid, results_in, run

PRICE = Price(input=1.0, output=10.0)


@tool
async def work() -> str:
    """Work."""
    return "done"


def frugal(request: Request) -> Any:
    """A model that always wants another tool, and takes all the room it is given."""
    given = request.config.max_tokens or 50
    spent = Usage(20, given)
    return calls(call("work"), usage=Usage(20, given, cost_usd=PRICE.cost(spent)))


def assert_stopped_by(result: Any, reason: TerminateReason, setting: str) -> None:
    assert (result.success, result.terminate_reason) == (False, reason)
    (error,) = result.errors
    assert isinstance(error, LimitExceededError)
    assert error.limit == setting
    assert f"raise RunConfig.{setting}" in str(error)


@pytest.mark.requirement("F-LIMITS", "P5", "003-G2")
async def test_the_run_ends_before_it_passes_its_tokens() -> None:
    client = ScriptedClient(frugal)

    result = await run(client, agent(work, max_total_tokens=1_000, max_turns=None))

    assert_stopped_by(result, TerminateReason.MAX_TOTAL_TOKENS, "max_total_tokens")
    assert result.usage.total_tokens <= 1_000
    assert_valid(result.messages)


@pytest.mark.requirement("F-LIMITS", "P5")
async def test_a_request_asks_for_no_longer_an_answer_than_the_tokens_leave() -> None:
    client = ScriptedClient([calls(call("work"), usage=Usage(100, 100)), reply("ok", usage=Usage(220, 10))])
    model = ModelConfig(model="scripted:", max_tokens=500)

    await run(client, agent(work, model=model, max_total_tokens=900))

    first, second = (request.config.max_tokens or 0 for request in client.requests)
    assert first == 500
    assert 0 < second < 500
    assert second <= 900 - 200 - 200


@pytest.mark.requirement("F-LIMITS", "P5")
async def test_tokens_that_do_not_even_hold_the_question_end_the_run_before_the_model_is_called() -> None:
    client = ScriptedClient(["never"])

    result = await run(client, agent(ask="word " * 500, max_total_tokens=100))

    assert_stopped_by(result, TerminateReason.MAX_TOTAL_TOKENS, "max_total_tokens")
    assert client.requests == []


@pytest.mark.requirement("F-LIMITS", "P5")
async def test_the_run_ends_before_it_passes_its_money() -> None:
    client = ScriptedClient(frugal, info=ModelInfo(price=PRICE))
    model = ModelConfig(model="scripted:", max_tokens=100)

    result = await run(client, agent(work, model=model, max_cost_usd=0.01, max_turns=None))

    assert_stopped_by(result, TerminateReason.MAX_COST, "max_cost_usd")
    assert result.usage.total_cost_usd is not None
    assert 0 < result.usage.total_cost_usd <= 0.01


@pytest.mark.requirement("F-LIMITS", "P5")
async def test_a_request_asks_for_no_longer_an_answer_than_the_money_pays() -> None:
    client = ScriptedClient([reply("ok", usage=Usage(5, 1, cost_usd=0.0))], info=ModelInfo(price=PRICE))

    await run(client, agent(max_cost_usd=0.001))

    assert 0 < (client.requests[0].config.max_tokens or 0) <= 100


@pytest.mark.requirement("F-LIMITS", "P5")
async def test_a_limit_in_money_that_can_not_be_counted_ends_the_run_and_says_so() -> None:
    ran: list[str] = []

    @tool
    async def act() -> None:
        """Act."""
        ran.append("ran")

    result = await run([calls(call("act"), usage=Usage(10, 10))], agent(act, max_cost_usd=1.0))

    assert (result.success, result.terminate_reason) == (False, TerminateReason.ERROR)
    (error,) = result.errors
    assert isinstance(error, InvalidInputError)
    assert error.field == "run_config.max_cost_usd"
    assert "max_total_tokens" in str(error)
    assert ran == []
    assert_valid(result.messages)


@pytest.mark.requirement("F-LIMITS", "P5", "P3")
async def test_calls_beyond_the_limit_are_not_run_but_answered_and_the_run_ends() -> None:
    ran: list[int] = []

    @tool
    async def count(number: int) -> int:
        """Count."""
        ran.append(number)
        return number

    script: Script = [call("count", number=1), calls(*[call("count", number=n) for n in (2, 3, 4)])]
    result = await run(script, agent(count, max_tool_calls=3))

    assert_stopped_by(result, TerminateReason.MAX_TOOL_CALLS, "max_tool_calls")
    assert ran == [1, 2, 3]
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED] * 3 + [
        ToolOutcome.DENIED
    ]
    assert "limit of 3 tool calls" in results_in(result.messages)[-1]
    assert_valid(result.messages)


@pytest.mark.requirement("F-LIMITS")
async def test_no_tool_call_at_all_can_be_the_limit() -> None:
    result = await run([call("work")], agent(work, max_tool_calls=0))

    assert_stopped_by(result, TerminateReason.MAX_TOOL_CALLS, "max_tool_calls")
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.DENIED]


@pytest.mark.requirement("F-LIMITS")
async def test_as_many_calls_as_the_limit_allows_are_fine() -> None:
    result = await run([calls(call("work"), call("work")), "Done."], agent(work, max_tool_calls=2))

    assert (result.success, result.output) == (True, "Done.")


async def test_calls_that_are_not_run_anyway_do_not_count() -> None:
    script: Script = [calls(call("unknown"), call("work")), "Done."]

    result = await run(script, agent(work, max_tool_calls=1))

    assert result.success


@pytest.mark.requirement("P5", "003-FR2-AC2")
async def test_a_token_limit_holds_for_a_server_that_counts_no_tokens() -> None:
    @tool(effect="pure")
    async def look() -> str:
        """Look."""
        return "nothing " * 50

    client = ScriptedClient(lambda _: calls(call("look"), usage=Usage()))

    result = await run(client, agent(look, max_turns=None, max_total_tokens=3_000))

    assert result.terminate_reason is TerminateReason.MAX_TOTAL_TOKENS
    assert len(client.requests) < 30
    assert result.usage.total_tokens <= 3_000
