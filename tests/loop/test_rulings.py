"""What a policy said of a tool call, fed to the pure loop."""

from __future__ import annotations

from typing import Any

import pytest

from maverick import tool
from maverick.exceptions import InvalidInputError
from maverick.loop import AgentLoop, Limits
from maverick.loop.entries import (
    ApprovalDecided,
    CallRuled,
    ModelCalled,
    ModelReplied,
    RunStarted,
    ToolsStarted,
)
from maverick.loop.policy import Verdict
from maverick.loop.steps import AwaitApproval, RunTools
from maverick.model import Message, ModelInfo, Response, Tool, ToolCall
from scenario import agent


@tool
async def look(at: str) -> str:
    """Look at something."""
    return at


@tool(approval=True)
async def delete(at: str) -> str:
    """Delete something."""
    return at


TOOLS: dict[str, Tool] = {"look": look, "delete": delete}


def asked_for(*names: str) -> AgentLoop[Any]:
    """A loop whose model has just asked for these tools."""
    machine: AgentLoop[Any] = AgentLoop(agent(look, delete), TOOLS)
    machine.feed(
        RunStarted(
            at=1,
            run_id="run",
            trace_id="trace",
            agent=("worker",),
            system="",
            messages=(Message.user("Go."),),
            head=1,
            limits=Limits(turns=5),
            info=ModelInfo(),
        )
    )
    machine.feed(ModelCalled(at=1, turn=1))
    calls = [ToolCall(f"call_{index}", name, {"at": "x"}) for index, name in enumerate(names)]
    machine.feed(ModelReplied(at=2, response=Response("", calls)))
    return machine


def ruled(index: int, verdict: Verdict, reason: str = "because.") -> CallRuled:
    return CallRuled(at=2, index=index, verdict=verdict, reason=reason)


@pytest.mark.requirement("C-PERMISSIONS", "P3")
def test_a_denied_call_is_refused_with_the_reason_and_the_others_run() -> None:
    step = asked_for("look", "look").feed(ruled(0, Verdict.DENY))

    assert isinstance(step, RunTools)
    assert [planned.refusal for planned in step.calls] == ["Not run: because.", ""]


@pytest.mark.requirement("C-PERMISSIONS")
def test_a_call_to_be_asked_about_waits_for_a_person_with_the_reason() -> None:
    machine = asked_for("look", "look", "delete")

    step = machine.feed(ruled(1, Verdict.ASK))

    assert isinstance(step, AwaitApproval)
    assert [(planned.index, planned.question) for planned in step.calls] == [(1, "because."), (2, "")]
    machine.feed(ApprovalDecided(at=3, index=1, approved=True))
    done = machine.feed(ApprovalDecided(at=3, index=2, approved=False))
    assert isinstance(done, RunTools)
    assert [bool(planned.refusal) for planned in done.calls] == [False, False, True]


@pytest.mark.requirement("C-PERMISSIONS")
def test_a_call_that_waits_for_a_person_can_still_be_denied_or_allowed_by_nobody() -> None:
    machine = asked_for("delete", "look")

    allowed = machine.feed(ruled(0, Verdict.ALLOW))
    denied = machine.feed(ruled(0, Verdict.DENY))

    assert isinstance(allowed, AwaitApproval)
    assert isinstance(denied, RunTools)
    assert denied.calls[0].refusal


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize("index", [-1, 2, 0], ids=["below", "above", "refused already"])
def test_a_ruling_on_no_call_or_one_that_does_not_run_is_refused(index: int) -> None:
    machine = asked_for("look", "look")
    machine.feed(ruled(0, Verdict.DENY))
    before = machine.step

    with pytest.raises(InvalidInputError, match="cannot be ruled on"):
        machine.feed(ruled(index, Verdict.ASK))

    assert machine.step is before


@pytest.mark.requirement("C-PERMISSIONS")
def test_a_ruling_comes_too_late_once_tools_have_started() -> None:
    machine = asked_for("look")
    machine.feed(ToolsStarted(at=2, turn=1))

    with pytest.raises(InvalidInputError, match="cannot be ruled on"):
        machine.feed(ruled(0, Verdict.DENY))
