"""Children draw on their parent's budget: whatever they do, the parent's limits hold for all together."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maverick import AbortSignal, AgentExecutor, ModelConfig, TerminateReason, tool
from maverick.journal import MemoryJournal
from maverick.loop import ToolOutcome
from maverick.loop.events import RunEnd, ToolCallStart, TurnStart
from maverick.model import ModelInfo, Price, Request, Usage
from maverick.testing import ScriptedClient, call, calls
from scenario import agent, results_in, watch

PRICE = Price(input=1.0, output=10.0)


@tool
async def work() -> str:
    """Work."""
    return "done"


def greedy(children: int = 1) -> Any:
    """A model that plays a parent with greedy children: all of them ask for more for as long as they may."""

    def answer(request: Request) -> Any:
        used = Usage(20, min(request.config.max_tokens or 30, 30))
        usage = Usage(used.input_tokens, used.output_tokens, cost_usd=PRICE.cost(used))
        if request.messages[0].content == "Help.":
            return calls(call("work"), usage=usage)
        return calls(*[call("child") for _ in range(children)], usage=usage)

    return answer


def family(**limits: Any) -> Any:
    """A parent with these limits, and a child that has hardly any of its own."""
    model = ModelConfig(model="scripted:", max_tokens=30)
    child = agent(work, name="child", ask="Help.", model=model, max_turns=1_000)
    return agent(child.as_tool(), model=model, **limits)


@pytest.mark.requirement("P5", "003-OQ1")
@pytest.mark.parametrize("children", [1, 3])
async def test_turns_of_children_are_turns_of_their_parent(children: int) -> None:
    watched = await watch(greedy(children), family(max_turns=12))

    assert len(watched.of(TurnStart)) <= 12
    assert watched.result.terminate_reason is TerminateReason.MAX_TURNS
    assert len(watched.of(RunEnd)) > children


@pytest.mark.requirement("P5", "003-OQ1")
@pytest.mark.parametrize("children", [1, 3])
async def test_tool_calls_of_children_are_tool_calls_of_their_parent(children: int) -> None:
    watched = await watch(greedy(children), family(max_tool_calls=10))

    ran = sum(record.outcome is not ToolOutcome.DENIED for record in all_records(watched))
    assert children < ran <= 10
    assert watched.result.terminate_reason is TerminateReason.MAX_TOOL_CALLS


def all_records(watched: Any) -> list[Any]:
    """The tool calls of every run, children's included."""
    return [record for event in watched.of(RunEnd) for record in event.result.tool_calls]


@pytest.mark.requirement("P5", "003-OQ1")
@pytest.mark.parametrize("children", [1, 3])
async def test_tokens_of_children_are_tokens_of_their_parent(children: int) -> None:
    executor = AgentExecutor(ScriptedClient(greedy(children)))

    result = await executor.execute(family(max_total_tokens=3_000, max_turns=None))

    assert result.usage.total_tokens <= 3_000
    assert (
        executor.metrics.total_input_tokens + executor.metrics.total_output_tokens
        == result.usage.total_tokens
    )
    assert result.terminate_reason is TerminateReason.MAX_TOTAL_TOKENS


@pytest.mark.requirement("P5", "003-OQ1")
@pytest.mark.parametrize("children", [1, 3])
async def test_money_of_children_is_money_of_their_parent(children: int) -> None:
    client = ScriptedClient(greedy(children), info=ModelInfo(price=PRICE))

    watched = await watch(client, family(max_cost_usd=0.01, max_turns=None))

    spent = watched.result.usage.total_cost_usd
    assert spent is not None
    assert 0.0005 < spent <= 0.01
    assert watched.result.terminate_reason is TerminateReason.MAX_COST


@pytest.mark.requirement("P5", "003-OQ1")
async def test_a_child_leaves_its_parent_a_turn_to_answer_with() -> None:
    def answer(request: Request) -> Any:
        if request.messages[0].content == "Help.":
            return call("work")
        return call("child") if len(request.messages) == 1 else "Done without help."

    watched = await watch(answer, family(max_turns=5))

    assert watched.result.output == "Done without help."
    assert watched.result.tool_calls[0].outcome is ToolOutcome.FAILED
    assert len(watched.of(TurnStart)) == 5


@pytest.mark.requirement("P5", "003-OQ1")
async def test_a_child_that_nothing_is_left_for_is_not_started() -> None:
    def answer(request: Request) -> Any:
        assert request.messages[0].content == "Do it."
        return call("child") if len(request.messages) == 1 else "Done without help."

    watched = await watch(answer, family(max_turns=2))

    assert watched.result.output == "Done without help."
    assert watched.result.tool_calls[0].outcome is ToolOutcome.DENIED
    assert "budget" in results_in(watched.result.messages)[0]
    assert len(watched.of(ToolCallStart)) == 1


@pytest.mark.requirement("P5")
async def test_the_childs_own_limits_hold_where_they_are_tighter() -> None:
    child = agent(work, name="child", ask="Help.", max_turns=2)

    def answer(request: Request) -> Any:
        if request.messages[0].content == "Help.":
            return call("work")
        return call("child") if len(request.messages) == 1 else "Done."

    watched = await watch(answer, agent(child.as_tool(), max_turns=50))

    assert watched.of(RunEnd)[0].result.turn_count == 2
    assert watched.result.output == "Done."


@pytest.mark.requirement("P5")
async def test_what_a_child_did_before_it_was_cut_short_counts_when_the_run_goes_on() -> None:
    ran = 0

    @tool(effect="pure")
    async def act() -> str:
        """Act, and stop the run at the third time."""
        nonlocal ran
        ran += 1
        if ran == 3:
            signal.abort()
        await asyncio.sleep(0)
        return "done"

    def answer(request: Request) -> Any:
        return calls(call("act" if request.messages[0].content == "Help." else "child"))

    signal = AbortSignal()
    child = agent(act, name="child", ask="Help.", max_turns=1_000)
    parent = agent(child.as_tool(), max_tool_calls=8, max_turns=1_000)
    async with MemoryJournal() as journal:
        executor = AgentExecutor(ScriptedClient(answer), journal=journal)
        await executor.execute(parent, run_id="r", signal=signal)

        resumed = await executor.resume("r", parent)

    assert resumed.terminate_reason is TerminateReason.MAX_TOOL_CALLS
    assert ran <= 8
