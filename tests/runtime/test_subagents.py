"""An agent that calls another: nested runs, told under one trace, with a bound to their depth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from maverick import (
    AbortSignal,
    AgentDefinition,
    AgentExecutor,
    OutputConfig,
    PromptConfig,
    TerminateReason,
    ToolConfig,
    ToolContext,
    ToolRegistry,
    tool,
)
from maverick.exceptions import InvalidToolError, NetworkError
from maverick.loop import ToolOutcome
from maverick.loop.events import RunEnd, RunStart, ToolCallStart
from maverick.model import Request, Usage
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent, assert_valid, results_in, watch

PATIENCE = 10
"""Seconds after which a test that hangs is given up."""

researcher = AgentDefinition(
    "researcher", "Finds things out.", PromptConfig("You research.", ["Find out about ${topic}."])
)


def by_agent(**scripts: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """A model that plays several agents, told apart by how their conversations begin."""

    def answer(request: Request) -> Any:
        first = request.messages[0].content
        for beginning, script in scripts.items():
            if first.lower().startswith(beginning):
                return script(request)
        raise AssertionError(f"nobody plays {first!r}")

    return answer


def asks_once(tool_name: str, then: str = "Done.", **arguments: Any) -> Callable[[Request], Any]:
    """A model that calls one tool and then answers."""
    return lambda request: call(tool_name, **arguments) if len(request.messages) == 1 else then


@pytest.mark.requirement("003-G5", "003-OQ1")
async def test_a_definition_is_a_tool_whose_answer_is_its_result() -> None:
    model = by_agent(
        do=asks_once("researcher", topic="whales"),
        find=lambda _: reply("Whales sing.", usage=Usage(30, 3)),
    )

    watched = await watch(model, agent(researcher.as_tool()))

    assert (watched.result.success, results_in(watched.result.messages)) == (True, ["Whales sing."])
    child = watched.client.requests[1]
    assert (child.system, child.messages[0].content) == ("You research.", "Find out about whales.")
    assert [offered.name for offered in watched.client.requests[0].tools] == ["researcher"]


@pytest.mark.requirement("003-OQ1", "003-NFR3-TRACE", "003-FR3-AC1")
async def test_the_events_of_a_child_are_nested_in_its_parents_under_the_same_trace() -> None:
    model = by_agent(do=asks_once("researcher", topic="whales"), find=lambda _: "Whales sing.")

    watched = await watch(model, agent(researcher.as_tool()), run_id="run_7", trace_id="trace_7")

    parts = [("/".join(event.agent), event.type) for event in watched.events]
    inside = [part for part in parts if part[0] == "worker/researcher"]
    assert inside[0][1] == "run_start"
    assert inside[-1][1] == "run_end"
    first, last = parts.index(inside[0]), parts.index(inside[-1])
    assert parts[first - 1] == ("worker", "tool_call_start")
    assert parts[last + 1] == ("worker", "tool_call_end")
    assert {event.trace_id for event in watched.events} == {"trace_7"}
    assert {event.run_id for event in watched.events} == {"run_7", "run_7/1/0"}
    assert [event.agent for event in watched.of(RunStart)] == [("worker",), ("worker", "researcher")]


@pytest.mark.requirement("002-R7", "000-FR-014")
async def test_what_a_child_used_is_counted_in_its_parents_usage() -> None:
    model = by_agent(
        do=lambda request: (
            calls(call("researcher", topic="whales"), usage=Usage(10, 1, cost_usd=0.25))
            if len(request.messages) == 1
            else reply("ok", usage=Usage(20, 2, cost_usd=0.25))
        ),
        find=lambda _: reply("Whales sing.", usage=Usage(300, 30, cost_usd=0.5)),
    )
    executor = AgentExecutor(ScriptedClient(model))

    result = await executor.execute(agent(researcher.as_tool()))

    assert (result.usage.input_tokens, result.usage.output_tokens) == (330, 33)
    assert result.usage.total_cost_usd == 1.0
    assert executor.metrics.invocations == 3
    assert executor.metrics.total_input_tokens == 330


@pytest.mark.requirement("003-OQ1", "003-FR5-AC1")
async def test_typed_output_of_a_child_reaches_its_parent_as_json() -> None:
    lister = agent(name="lister", ask="List it.", output=OutputConfig("numbers", list[int]))
    model = by_agent(do=asks_once("lister"), list=lambda _: "Here: [1, 2]")

    watched = await watch(model, agent(lister.as_tool()))

    assert results_in(watched.result.messages) == ["[1,2]"]


@pytest.mark.requirement("003-OQ1", "003-ERR-TOOL")
async def test_a_child_that_fails_is_a_tool_that_failed_and_tells_what_it_had() -> None:
    @tool
    async def work() -> str:
        """Work."""
        return "done"

    child = agent(work, name="child", ask="Help.", max_turns=1)
    model = by_agent(do=asks_once("child", then="Without help."), help=lambda _: ["Half way.", call("work")])

    watched = await watch(model, agent(child.as_tool()))

    (text,) = results_in(watched.result.messages)
    assert watched.result.output == "Without help."
    assert watched.result.tool_calls[0].outcome is ToolOutcome.FAILED
    assert "max_turns" in text
    assert "Half way." in text


@pytest.mark.requirement("003-OQ1", "003-ERR-TOOL")
async def test_a_child_whose_model_fails_does_not_fail_its_parent() -> None:
    child = agent(name="child", ask="Help.")
    model = by_agent(
        do=asks_once("child", then="Without help."),
        help=lambda _: NetworkError("Unreachable.", retryable=False),
    )

    watched = await watch(model, agent(child.as_tool()))

    assert watched.result.output == "Without help."
    assert "Unreachable." in results_in(watched.result.messages)[0]


@pytest.mark.requirement("003-OQ1", "003-ERR-TOOL")
@pytest.mark.parametrize("arguments", [{}, {"topc": "whales"}, {"topic": "whales", "depth": 3}])
async def test_wrong_inputs_to_a_child_are_answered_and_may_be_corrected(arguments: dict[str, Any]) -> None:
    def corrects(request: Request) -> Any:
        said = len(request.messages)
        return (call("researcher", **arguments), None, call("researcher", topic="whales"), None, "Done.")[
            said - 1
        ]

    watched = await watch(by_agent(do=corrects, find=lambda _: "Whales sing."), agent(researcher.as_tool()))

    first, second = results_in(watched.result.messages)
    assert "topic" in first or "depth" in first
    assert second == "Whales sing."


@pytest.mark.requirement("003-FR2-AC4", "003-OQ1")
async def test_children_of_one_turn_run_at_the_same_time() -> None:
    together = asyncio.Barrier(3)

    async def meets(request: Request) -> str:
        await together.wait()
        return "met"

    three = [call("researcher", topic=str(number)) for number in range(3)]
    model = by_agent(do=lambda request: calls(*three) if len(request.messages) == 1 else "ok", find=meets)

    async with asyncio.timeout(PATIENCE):
        watched = await watch(model, agent(researcher.as_tool()))

    assert results_in(watched.result.messages) == ["met"] * 3


@pytest.mark.requirement("003-OQ1")
@pytest.mark.parametrize("depth", [1, 2, 4])
async def test_agents_are_nested_no_deeper_than_the_bound(depth: int) -> None:
    registry = ToolRegistry()
    deeper = AgentDefinition(
        "deeper",
        "Goes deeper.",
        PromptConfig(initial_messages=["Dig."]),
        tool_config=ToolConfig(tools=["deeper"]),
    )
    registry.register(deeper.as_tool())
    client = ScriptedClient(by_agent(dig=asks_once("deeper", then="Bottom.")))
    depths: list[int] = []

    result = await AgentExecutor(client, registry, max_depth=depth).execute(
        deeper, on_activity=lambda event: depths.append(len(event.agent))
    )

    assert result.success
    assert max(depths) == depth
    assert any(
        f"{depth} deep" in text for request in client.requests for text in results_in(request.messages)
    )


@pytest.mark.requirement("P6", "P2", "003-NFR3-TRACE")
async def test_tools_of_a_child_know_the_user_the_trace_and_a_key_of_their_own() -> None:
    seen: list[ToolContext] = []

    @tool
    async def act(ctx: ToolContext) -> str:
        """Act."""
        seen.append(ctx)
        return "done"

    child = agent(act, name="child", ask="Help.")
    model = by_agent(do=asks_once("child"), help=asks_once("act"))

    await watch(model, agent(child.as_tool()), run_id="run_7", trace_id="trace_7", user_id="ana")

    (context,) = seen
    assert (context.user_id, context.trace_id) == ("ana", "trace_7")
    assert context.agent == ("worker", "child")
    assert context.idempotency_key == "run_7/1/0/1/0"


@pytest.mark.requirement("P4", "P5", "003-FR2-AC3")
@pytest.mark.parametrize("levels", [1, 2])
async def test_abort_while_a_child_runs_ends_both_and_counts_what_the_child_used(levels: int) -> None:
    signal = AbortSignal()

    @tool
    async def hang() -> None:
        """Never return."""
        signal.abort("enough")
        await asyncio.Event().wait()

    inner = agent(hang, name="inner", ask="Help.")
    middle = agent(inner.as_tool(), name="middle", ask="Lead.")
    top = agent((inner if levels == 1 else middle).as_tool())
    model = by_agent(
        do=lambda _: calls(call("inner" if levels == 1 else "middle"), usage=Usage(10, 1)),
        lead=lambda _: calls(call("inner"), usage=Usage(100, 10)),
        help=lambda _: calls(call("hang"), usage=Usage(1000, 100)),
    )

    async with asyncio.timeout(PATIENCE):
        watched = await watch(model, top, signal=signal)

    assert watched.result.terminate_reason is TerminateReason.ABORTED
    assert watched.result.usage.total_tokens == (1111 if levels == 1 else 1221)
    assert_valid(watched.result.messages)
    ended = [event.agent for event in watched.of(RunEnd)]
    assert [len(path) for path in ended] == list(range(levels + 1, 0, -1))
    assert {event.result.terminate_reason for event in watched.of(RunEnd)} == {TerminateReason.ABORTED}
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.requirement("P4", "P5")
async def test_a_timeout_of_the_parent_ends_the_child_too_and_counts_it() -> None:
    @tool
    async def hang() -> None:
        """Never return."""
        await asyncio.Event().wait()

    child = agent(hang, name="child", ask="Help.")
    model = by_agent(
        do=lambda _: calls(call("child"), usage=Usage(10, 1)),
        help=lambda _: calls(call("hang"), usage=Usage(50, 5)),
    )

    async with asyncio.timeout(PATIENCE):
        watched = await watch(model, agent(child.as_tool(), timeout_ms=150))

    assert watched.result.terminate_reason is TerminateReason.TIMEOUT
    assert watched.result.usage.total_tokens == 66
    assert len(watched.of(ToolCallStart)) == 2


@pytest.mark.requirement("003-FR1-AC2")
async def test_a_tool_name_of_a_child_that_nothing_registers_is_refused_before_the_first_model_call() -> None:
    grandchild = agent("nowhere", name="grandchild")
    child = agent(grandchild.as_tool(), name="child")
    client = ScriptedClient(["Never said."])
    executor = AgentExecutor(client)

    for _ in range(2):
        with pytest.raises(InvalidToolError, match="nowhere"):
            await executor.execute(agent(child.as_tool(), name="parent"))

    assert client.requests == []
