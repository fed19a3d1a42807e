"""The pure loop, fed by hand: what it is told, what it asks for, and that nothing else matters."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from maverick import loop as loop_package
from maverick import tool
from maverick.exceptions import AuthenticationError, InvalidInputError, NetworkError
from maverick.loop import AgentLoop, Limits, TerminateReason, ToolOutcome
from maverick.loop.entries import (
    ApprovalDecided,
    Entry,
    Interrupted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    RunStarted,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.steps import AwaitApproval, CallModel, Finish, RunTools, Step
from maverick.model import Message, ModelInfo, Response, Role, Tool, ToolCall, Usage
from scenario import agent, assert_valid, results_in


@tool
async def look(at: str) -> str:
    """Look at something."""
    return at


@tool(approval=True)
async def delete(name: str) -> str:
    """Delete something."""
    return name


TOOLS: dict[str, Tool] = {"look": look, "delete": delete}
ANSWER = ModelReplied(at=2, response=Response("Done.", usage=Usage(10, 2)))
TWO_CALLS = ModelReplied(
    at=2,
    response=Response("Looking.", [ToolCall("a", "look", {"at": "x"}), ToolCall("b", "look", {"at": "y"})]),
)


def started(**changes: Any) -> RunStarted:
    fields: dict[str, Any] = {
        "at": 1,
        "run_id": "run_1",
        "trace_id": "trace_1",
        "agent": ("worker",),
        "system": "Be brief.",
        "messages": (Message.user("Go."),),
        "head": 1,
        "limits": Limits(turns=5, seconds=60),
        "info": ModelInfo(),
    }
    return RunStarted(**fields | changes)


def fresh(*entries: Entry) -> AgentLoop[Any]:
    """A loop that has been fed these entries."""
    machine: AgentLoop[Any] = AgentLoop(agent(look, delete), TOOLS)
    for entry in entries:
        machine.feed(entry)
    return machine


def called(turn: int = 1, **fields: Any) -> ModelCalled:
    return ModelCalled(at=1, turn=turn, **fields)


def finished(index: int, content: str = "seen") -> ToolFinished:
    return ToolFinished(at=3, index=index, outcome=ToolOutcome.FINISHED, content=content)


TOOL_TURN = (started(), called(), TWO_CALLS, ToolsStarted(at=2, turn=1))


@pytest.mark.requirement("002-AC7", "002-R4-SEND", "002-R4")
def test_it_sends_at_the_start_and_again_with_the_whole_conversation_when_the_results_are_there() -> None:
    machine = fresh(started())
    first = machine.step
    for entry in (called(), TWO_CALLS, ToolsStarted(at=2, turn=1), finished(1, "y seen")):
        machine.feed(entry)
    second = machine.feed(finished(0, "x seen"))

    assert isinstance(first, CallModel)
    assert isinstance(second, CallModel)
    assert (first.turn, second.turn) == (1, 2)
    assert first.request.system == "Be brief."
    assert list(first.request.messages) == [Message.user("Go.")]
    assert list(second.request.messages) == [
        Message.user("Go."),
        TWO_CALLS.response.message,
        Message.tool_result("a", "x seen"),
        Message.tool_result("b", "y seen"),
    ]


@pytest.mark.requirement("002-AC7", "002-R4-TOOLS")
def test_it_asks_for_the_tools_a_response_names() -> None:
    step = fresh(started(), called()).feed(TWO_CALLS)

    assert isinstance(step, RunTools)
    assert [planned.call for planned in step.calls] == list(TWO_CALLS.response.tool_calls)
    assert all(not planned.refusal for planned in step.calls)


@pytest.mark.requirement("002-AC7", "002-R4-COMPLETE")
def test_it_is_complete_when_a_response_asks_for_nothing() -> None:
    step = fresh(started(), called()).feed(ANSWER)

    assert isinstance(step, Finish)
    assert step.result.success
    assert (step.result.output, step.result.terminate_reason) == ("Done.", TerminateReason.COMPLETE)


@pytest.mark.requirement("002-AC7", "002-R4-ERROR")
def test_it_ends_with_the_error_of_a_model_that_failed_for_good() -> None:
    error = AuthenticationError("The key is wrong. Set ANTHROPIC_API_KEY.")

    step = fresh(started(), called()).feed(ModelFailed(at=2, error=error))

    assert isinstance(step, Finish)
    assert (step.result.terminate_reason, step.result.errors) == (TerminateReason.ERROR, [error])


@pytest.mark.requirement("002-AC7", "002-R4-TIMEOUT")
def test_it_ends_with_a_timeout_when_the_time_is_up() -> None:
    stopped = fresh(started(), called()).feed(Interrupted(at=61, reason=TerminateReason.TIMEOUT))
    late = fresh(*TOOL_TURN, finished(0)).feed(
        ToolFinished(at=61.5, index=1, outcome=ToolOutcome.FINISHED, content="late")
    )

    for step in (stopped, late):
        assert isinstance(step, Finish)
        assert step.result.terminate_reason is TerminateReason.TIMEOUT
        assert "RunConfig(timeout=" in str(step.result.error)


MISPLACED: list[tuple[tuple[Entry, ...], Entry]] = [
    ((), ANSWER),
    ((started(),), started()),
    ((started(),), ToolsStarted(at=1, turn=1)),
    ((started(),), finished(0)),
    ((started(), called(), TWO_CALLS), ANSWER),
    ((started(), called(), TWO_CALLS), ApprovalDecided(at=1, index=0, approved=True)),
    (TOOL_TURN, finished(2)),
    (TOOL_TURN, finished(-1)),
    ((*TOOL_TURN, finished(0)), finished(0)),
    ((started(), called(), ANSWER), called(2)),
    ((started(), called(), ANSWER), Interrupted(at=2, reason=TerminateReason.ABORTED)),
]


@pytest.mark.requirement("P3", "003-OQ3")
@pytest.mark.parametrize(("before", "entry"), MISPLACED)
def test_an_entry_that_can_not_have_happened_is_refused_and_changes_nothing(
    before: tuple[Entry, ...], entry: Entry
) -> None:
    machine = fresh(*before)
    step, turn, history = machine.step, machine.turn, machine.conversation.history

    with pytest.raises(InvalidInputError):
        machine.feed(entry)

    assert (machine.step, machine.turn, machine.conversation.history) == (step, turn, history)


def test_a_decision_on_a_call_that_does_not_wait_is_refused() -> None:
    asked = ModelReplied(at=2, response=Response("", [ToolCall("a", "look"), ToolCall("b", "delete")]))
    machine = fresh(started(), called(), asked)

    with pytest.raises(InvalidInputError):
        machine.feed(ApprovalDecided(at=3, index=0, approved=True))
    assert isinstance(machine.feed(ApprovalDecided(at=3, index=1, approved=True)), RunTools)


@pytest.mark.requirement("F-APPROVAL", "P3")
def test_a_call_that_was_denied_is_not_run_but_has_its_result() -> None:
    asked = ModelReplied(at=2, response=Response("", [ToolCall("a", "delete"), ToolCall("b", "delete")]))
    machine = fresh(started(), called(), asked)
    assert isinstance(machine.step, AwaitApproval)

    machine.feed(ApprovalDecided(at=3, index=1, approved=False, by="ana", reason="Keep it."))
    step = machine.feed(ApprovalDecided(at=3, index=0, approved=True))

    assert isinstance(step, RunTools)
    assert [bool(planned.refusal) for planned in step.calls] == [False, True]
    assert "denied by ana. Keep it." in step.calls[1].refusal


WHOLE_RUN: tuple[Entry, ...] = (
    started(),
    called(),
    ModelFailed(at=1.5, error=NetworkError("Unreachable.")),
    called(attempt=2),
    TWO_CALLS,
    ToolsStarted(at=2, turn=1),
    finished(1),
    finished(0),
    called(2),
    ANSWER,
)


def shape(step: Step | None) -> str:
    """Everything a step says."""
    return repr(step)


@pytest.mark.requirement("003-OQ3")
@pytest.mark.parametrize("cut", range(1, len(WHOLE_RUN) + 1))
def test_the_entries_are_the_checkpoint_replayed_they_lead_to_the_same_step(cut: int) -> None:
    live = fresh()
    for entry in WHOLE_RUN[:cut]:
        live.feed(entry)

    resumed = fresh(*WHOLE_RUN[:cut])
    for entry in WHOLE_RUN[cut:]:
        live.feed(entry)
        resumed.feed(entry)

    assert isinstance(resumed.step, Finish)
    assert shape(resumed.step) == shape(live.step)
    assert list(resumed.conversation.history) == list(live.conversation.history)


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("cut", range(2, len(WHOLE_RUN)))
@pytest.mark.parametrize("reason", [TerminateReason.ABORTED, TerminateReason.TIMEOUT])
def test_stopped_at_any_entry_the_history_is_valid(cut: int, reason: TerminateReason) -> None:
    step = fresh(*WHOLE_RUN[:cut]).feed(Interrupted(at=3, reason=reason, partial_text=""))

    assert isinstance(step, Finish)
    assert_valid(step.result.messages)
    assert len(results_in(step.result.messages)) == len(step.result.tool_calls)


def test_stopped_while_answering_the_words_so_far_are_kept() -> None:
    step = fresh(started(), called()).feed(
        Interrupted(at=2, reason=TerminateReason.ABORTED, message="enough", partial_text="Half an ans")
    )

    assert isinstance(step, Finish)
    assert step.result.raw_content == "Half an ans"
    assert step.result.messages[-1] == Message(Role.ASSISTANT, "Half an ans")
    assert "enough" in str(step.result.error)


@pytest.mark.requirement("003-OQ3")
def test_the_loop_imports_nothing_that_waits_or_reads_a_clock_or_draws_a_number() -> None:
    impure = {
        "asyncio",
        "time",
        "datetime",
        "random",
        "secrets",
        "uuid",
        "os",
        "socket",
        "threading",
        "aiohttp",
    }
    folder = Path(str(loop_package.__file__)).parent
    imported = {
        (path.name, name.split(".")[0])
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
    }

    assert sorted((file, name) for file, name in imported if name in impure) == []
    assert ("machine.py", "maverick") in imported
