"""Tools that need a person's approval run only when somebody agrees."""

from __future__ import annotations

import asyncio
import threading

import pytest

from maverick import AbortSignal, ApprovalRequest, TerminateReason, tool
from maverick.exceptions import ApprovalRequiredError
from maverick.loop import ToolOutcome
from maverick.loop.events import ApprovalGiven, ApprovalRequested, ToolCallStart
from maverick.providers.scripted import Script
from maverick.runtime import ApprovalAnswer
from maverick.runtime.approver import Approver
from maverick.testing import call, calls
from scenario import agent, assert_valid, results_in, watch

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool(approval=True)
async def delete(name: str) -> str:
    """Delete something."""
    ran.append(name)
    return f"{name} is gone"


@tool
async def look() -> str:
    """Look."""
    ran.append("look")
    return "seen"


@pytest.mark.requirement("F-APPROVAL")
async def test_a_person_is_asked_about_each_call_and_decides_alone_about_it() -> None:
    asked: list[ApprovalRequest] = []

    async def approve(wanted: ApprovalRequest) -> bool:
        asked.append(wanted)
        return wanted.arguments != {"name": "b"}

    script: Script = [calls(call("delete", name="a"), call("look"), call("delete", name="b")), "ok"]
    watched = await watch(script, agent(delete, look), executor={"approve": approve})

    assert [(wanted.tool_name, wanted.arguments) for wanted in asked] == [
        ("delete", {"name": "a"}),
        ("delete", {"name": "b"}),
    ]
    assert sorted(ran) == ["a", "look"]
    outcomes = [record.outcome for record in watched.result.tool_calls]
    assert outcomes == [ToolOutcome.FINISHED, ToolOutcome.FINISHED, ToolOutcome.DENIED]
    assert "denied" in results_in(watched.result.messages)[2]
    assert_valid(watched.result.messages)


@pytest.mark.requirement("F-APPROVAL", "003-FR3-AC1")
async def test_the_question_and_the_decision_are_told_before_any_tool_starts() -> None:
    async def approve(wanted: ApprovalRequest) -> bool:
        return True

    watched = await watch([call("delete", name="a"), "ok"], agent(delete), executor={"approve": approve})

    [asked] = watched.of(ApprovalRequested)
    assert (asked.tool_call.id, asked.approval_id) == ("call_1", f"{asked.run_id}:1:0")
    assert [(event.tool_call_id, event.approved) for event in watched.of(ApprovalGiven)] == [("call_1", True)]
    order = [watched.types.index(kind.type) for kind in (ApprovalRequested, ApprovalGiven, ToolCallStart)]
    assert order == sorted(order)


async def _has_no_one_to_ask(_: ApprovalRequest) -> bool:
    raise ApprovalRequiredError("No one is here.")


@pytest.mark.requirement("F-APPROVAL", "P3")
@pytest.mark.parametrize("approve", [None, _has_no_one_to_ask])
async def test_without_anybody_to_ask_the_run_ends_waiting_and_nothing_ran(approve: Approver | None) -> None:
    script: Script = [calls(call("delete", name="a"), call("look")), "never"]
    result = (await watch(script, agent(delete, look), executor={"approve": approve})).result

    assert (result.success, result.terminate_reason) == (False, TerminateReason.AWAITING_APPROVAL)
    (error,) = result.errors
    assert isinstance(error, ApprovalRequiredError)
    assert (error.tool_name, error.call_id) == ("delete", "call_1")
    assert "approve=" in str(error)
    assert ran == []
    assert_valid(result.messages)


@pytest.mark.requirement("F-APPROVAL")
async def test_a_call_that_would_not_run_anyway_is_not_asked_about() -> None:
    async def approve(wanted: ApprovalRequest) -> bool:
        raise AssertionError("nobody should be asked")

    script: Script = [call("delete", name="a")]
    watched = await watch(script, agent(delete, max_tool_calls=0), executor={"approve": approve})

    assert watched.result.terminate_reason is TerminateReason.MAX_TOOL_CALLS
    assert watched.of(ApprovalRequested) == []


@pytest.mark.requirement("F-APPROVAL", "003-FR2-AC3", "P4")
async def test_a_run_can_be_stopped_while_a_person_thinks() -> None:
    signal = AbortSignal()

    async def approve(wanted: ApprovalRequest) -> bool:
        signal.abort("went home")
        await asyncio.Event().wait()
        return True

    async with asyncio.timeout(10):
        watched = await watch(
            [call("delete", name="a"), "never"], agent(delete), executor={"approve": approve}, signal=signal
        )

    assert watched.result.terminate_reason is TerminateReason.ABORTED
    assert [record.outcome for record in watched.result.tool_calls] == [ToolOutcome.CANCELLED]
    assert ran == []
    assert_valid(watched.result.messages)


@pytest.mark.requirement("F-APPROVAL", "P8")
@pytest.mark.parametrize("failure", [RuntimeError("the pager is off"), asyncio.CancelledError()], ids=repr)
async def test_an_approver_that_fails_neither_raises_nor_lets_the_tool_run(failure: BaseException) -> None:
    async def approve(wanted: ApprovalRequest) -> bool:
        raise failure

    watched = await watch([call("delete", name="a"), "ok"], agent(delete), executor={"approve": approve})

    assert ran == []
    assert watched.types[-1] == "run_end"
    assert watched.result.tool_calls[0].outcome is not ToolOutcome.FINISHED
    if isinstance(failure, Exception):
        assert "denied by the executor. No one could be asked" in watched.result.tool_calls[0].result
    assert_valid(watched.result.messages)


@pytest.mark.requirement("F-APPROVAL", "P6")
@pytest.mark.parametrize("is_async", [True, False])
async def test_whoever_decides_sees_the_run_and_the_user_and_may_change_the_arguments_or_say_why_not(
    is_async: bool,
) -> None:
    asked: list[ApprovalRequest] = []

    def decide(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request)
        assert is_async is (threading.current_thread() is threading.main_thread())
        if request.arguments == {"name": "a"}:
            return request.approve(arguments={"name": "c"}, by="ana")
        return request.deny("b is still needed", by="ana")

    async def decide_later(request: ApprovalRequest) -> ApprovalAnswer:
        return decide(request)

    script: Script = [calls(call("delete", name="a"), call("delete", name="b")), "ok"]
    approve = decide_later if is_async else decide
    watched = await watch(script, agent(delete), executor={"approve": approve}, run_id="r", user_id="bob")

    assert [(one.run_id, one.user_id, one.agent, one.approval_id, one.tool_name) for one in asked] == [
        ("r", "bob", ("worker",), "r:1:0", "delete"),
        ("r", "bob", ("worker",), "r:1:1", "delete"),
    ]
    assert ran == ["c"]
    assert results_in(watched.result.messages) == [
        'ana approved this call with other arguments than yours: {"name": "c"}\n\nc is gone',
        "Not run: denied by ana. b is still needed",
    ]


@pytest.mark.requirement("F-APPROVAL")
async def test_arguments_that_do_not_fit_the_tool_are_a_no() -> None:
    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        return request.approve(arguments={"nmae": "c"})

    result = (
        await watch([call("delete", name="a"), "ok"], agent(delete), executor={"approve": approve})
    ).result

    assert (ran, result.tool_calls[0].outcome) == ([], ToolOutcome.DENIED)
    assert "nmae: Extra inputs are not permitted" in result.tool_calls[0].result
