"""A tool call that needs a person waits in the journal, and one decision counts for one call."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from durable.office import Office, executor
from maverick import (
    AgentDefinition,
    AgentExecutor,
    ApprovalRequest,
    PromptConfig,
    TerminateReason,
    ToolConfig,
)
from maverick.exceptions import ApprovalError, ApprovalRequiredError, InvalidInputError
from maverick.journal import ApprovalStatus, Journal, RunStatus
from maverick.journal.approvals import decided_by_the_run
from maverick.loop.events import AgentActivityEvent
from maverick.loop.result import ToolOutcome
from maverick.model import Request, Role
from maverick.testing import ScriptedClient, call, calls, reply

SHRED = call("shred", what="file")
DONE = reply("Done.")


@pytest.mark.requirement("P7")
async def test_the_run_parks_until_somebody_approves(journal: Journal, office: Office) -> None:
    running = executor(journal, SHRED, DONE)
    events: list[AgentActivityEvent] = []
    parked = await running.execute(office.clerk(), run_id="r", on_activity=events.append)

    assert parked.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert isinstance(parked.errors[0], ApprovalRequiredError)
    assert "maverick runs approve r:1:0" in str(parked.errors[0])
    assert (await journal.get("r")).status is RunStatus.WAITING
    assert office.done == []
    assert [event.type for event in events][-2:] == ["approval_requested", "run_end"]

    await journal.approve("r:1:0", by="ana")
    result = await running.resume("r", office.clerk())

    assert (result.success, office.done) == (True, ["shred file"])
    assert (await journal.get_approval("r:1:0")).status is ApprovalStatus.USED


@pytest.mark.requirement("P7")
async def test_a_denied_call_is_not_run_and_the_model_is_told_by_whom(
    journal: Journal, office: Office
) -> None:
    running = executor(journal, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")
    await journal.deny("r:1:0", by="ana", reason="Too early.")
    result = await running.resume("r", office.clerk())
    assert office.done == []
    assert result.tool_calls[0].outcome is ToolOutcome.DENIED
    assert "denied by ana. Too early." in result.tool_calls[0].result


async def test_resuming_too_early_parks_again(journal: Journal, office: Office) -> None:
    running = executor(journal, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")
    again = await running.resume("r", office.clerk())
    assert again.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert len(await journal.list_approvals(run_id="r")) == 1


@pytest.mark.requirement("P7")
async def test_a_decision_counts_once(journal: Journal, office: Office) -> None:
    await executor(journal, SHRED, DONE).execute(office.clerk(), run_id="r")
    await journal.approve("r:1:0", by="ana")
    with pytest.raises(ApprovalError, match="counts once"):
        await journal.approve("r:1:0", by="ana")
    with pytest.raises(ApprovalError, match="counts once"):
        await journal.deny("r:1:0", by="ana")


@pytest.mark.requirement("P7")
async def test_only_the_user_the_run_acts_for_decides(journal: Journal, office: Office) -> None:
    await executor(journal, SHRED, DONE).execute(office.clerk(), run_id="r", user_id="ana")
    with pytest.raises(ApprovalError, match="the run's own user"):
        await journal.approve("r:1:0", by="eve")
    assert (await journal.approve("r:1:0", by="ana")).approved


@pytest.mark.requirement("P7")
async def test_a_request_nobody_decided_on_in_time_is_denied(journal: Journal, office: Office) -> None:
    running = executor(journal, SHRED, DONE, approval_expires_in=0)
    result = await running.execute(office.clerk(), run_id="r")
    assert office.done == []
    assert result.tool_calls[0].outcome is ToolOutcome.DENIED
    assert "expiry" in result.tool_calls[0].result


@pytest.mark.requirement("P7")
async def test_an_approval_of_other_arguments_does_not_count(journal: Journal, office: Office) -> None:
    running = executor(journal, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")
    approved = await journal.approve("r:1:0", by="ana")
    forged = replace(approved, arguments_hash="0" * 32)
    assert await journal.settle_approval(forged, ApprovalStatus.APPROVED)
    result = await running.resume("r", office.clerk())
    assert office.done == []
    assert "not the one that was asked about" in result.tool_calls[0].result


async def test_several_calls_of_a_turn_wait_for_all_decisions(journal: Journal, office: Office) -> None:
    turns = (calls(call("look", what="door"), SHRED, call("shred", what="desk")), DONE)
    running = executor(journal, *turns)
    await running.execute(office.clerk(), run_id="r")
    await journal.approve("r:1:1", by="ana")
    assert (await running.resume("r", office.clerk())).terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert office.done == []
    await journal.deny("r:1:2", by="ana")
    result = await running.resume("r", office.clerk())
    assert office.done == ["look door", "shred file"]
    assert [record.outcome for record in result.tool_calls] == [
        ToolOutcome.FINISHED,
        ToolOutcome.FINISHED,
        ToolOutcome.DENIED,
    ]


async def test_a_run_parks_when_its_subagent_does(journal: Journal, office: Office) -> None:
    helper = AgentDefinition(
        "helper",
        "Helps.",
        prompt_config=PromptConfig("", ["Help with ${task}."]),
        tool_config=ToolConfig(tools=office.tools),
    )
    clerk = office.clerk(tool_config=ToolConfig(tools=[helper.as_tool(), *office.tools]))

    def script(request: Request) -> object:
        said = sum(message.role is Role.ASSISTANT for message in request.messages)
        if request.messages[0].content == "Help with it.":
            return [SHRED, reply("Helped.")][said]
        return [calls(call("look", what="door"), call("helper", task="it")), DONE][said]

    running = AgentExecutor(ScriptedClient(script), journal=journal)  # type: ignore[arg-type]
    parked = await running.execute(clerk, run_id="r")
    assert parked.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert (await journal.get("r")).status is RunStatus.WAITING
    [request] = await journal.list_approvals()
    await journal.approve(request.approval_id, by="ana")

    result = await running.resume("r", clerk)

    assert [record.result for record in result.tool_calls] == ["look: door", "Helped."]
    assert sorted(office.done) == ["look door", "shred file"]


@pytest.mark.requirement("P7")
@pytest.mark.parametrize("approved", [True, False])
async def test_what_was_decided_while_the_run_waited_is_not_asked_again(
    journal: Journal, office: Office, approved: bool
) -> None:
    await executor(journal, call("shred", what="file")).execute(office.clerk(), run_id="r")
    await (journal.approve if approved else journal.deny)("r:1:0", by="ana")
    asked: list[str] = []

    async def ask(made: ApprovalRequest) -> bool:
        asked.append(made.tool_name)
        return not approved

    resumed = AgentExecutor(ScriptedClient([reply("Done.")]), journal=journal, approve=ask)
    result = await resumed.resume("r", office.clerk())

    assert result.success
    assert asked == []
    assert office.done == (["shred file"] if approved else [])


async def test_what_nobody_has_decided_is_asked_of_whoever_is_there(journal: Journal, office: Office) -> None:
    await executor(journal, call("shred", what="file")).execute(office.clerk(), run_id="r")

    async def ask(made: ApprovalRequest) -> bool:
        return made.tool_name == "shred"

    resumed = AgentExecutor(ScriptedClient([reply("Done.")]), journal=journal, approve=ask)
    await resumed.resume("r", office.clerk())

    assert office.done == ["shred file"]


@pytest.mark.requirement("P7")
async def test_a_request_that_was_decided_on_elsewhere_can_not_be_approved_any_more(
    journal: Journal, office: Office
) -> None:
    async def agree(asked: ApprovalRequest) -> bool:
        asked.arguments["what"] = "everything"
        return True

    await executor(journal, SHRED, DONE).execute(office.clerk(), run_id="r")

    result = await executor(journal, SHRED, DONE, approve=agree).resume("r", office.clerk())

    assert (result.success, office.done) == (True, ["shred file"])
    assert (await journal.get_approval("r:1:0")).status is ApprovalStatus.USED
    with pytest.raises(ApprovalError):
        await journal.approve("r:1:0", by="ana")


async def test_one_call_decides_and_goes_on(journal: Journal, office: Office) -> None:
    running = executor(journal, SHRED, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r", user_id="ana")

    waits_again = await running.approve("r:1:0", by="ana", resume=True)
    result = await running.deny("r:2:0", by="ana", reason="Once is enough.", resume=True)

    assert waits_again is not None
    assert waits_again.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert result is not None
    assert (result.output, office.done) == ("Done.", ["shred file"])
    assert "Once is enough." in result.tool_calls[1].result


async def test_an_executor_that_has_not_run_the_agent_asks_for_it_before_anything_is_decided(
    journal: Journal, office: Office
) -> None:
    await executor(journal, SHRED).execute(office.clerk(), run_id="r")
    other = executor(journal, SHRED, DONE)

    with pytest.raises(InvalidInputError, match="give the agent 'clerk' too"):
        await other.approve("r:1:0", by="ana", resume=True)
    result = await other.approve("r:1:0", by="ana", resume=True, definition=office.clerk())

    assert result is not None
    assert result.success


@pytest.mark.requirement("P7")
async def test_the_executor_says_who_may_decide_and_a_journal_alone_asks_the_runs_own_user(
    journal: Journal, office: Office
) -> None:
    running = AgentExecutor(
        ScriptedClient([SHRED, DONE]),
        journal=journal,
        may_approve=lambda approval, by: by == "boss" and approval.arguments == {"what": "file"},
    )
    await running.execute(office.clerk(), run_id="r", user_id="ana")

    for refused in (running.approve("r:1:0", by="ana"), journal.approve("r:1:0", by="boss")):
        with pytest.raises(ApprovalError, match="decided by"):
            await refused
    result = await running.approve("r:1:0", by="boss", resume=True)

    assert result is not None
    assert (result.success, office.done) == (True, ["shred file"])


@pytest.mark.requirement("P7")
@pytest.mark.parametrize("rule", [lambda _, by: by == "boss", lambda _, by: 1 / 0], ids=["strict", "broken"])
async def test_a_decision_written_past_the_executor_that_says_who_may_does_not_count(
    journal: Journal, office: Office, rule: Any
) -> None:
    running = AgentExecutor(ScriptedClient([SHRED, DONE]), journal=journal, may_approve=rule)
    await running.execute(office.clerk(), run_id="r", user_id="ana")

    for decide in (journal.approve, journal.deny):
        await decide("r:1:0", by="ana")
        result = await running.resume("r", office.clerk())

        assert (result.terminate_reason, office.done) == (TerminateReason.AWAITING_APPROVAL, [])
        assert "The decision of 'ana' does not count" in str(result.error)
        assert (await journal.get_approval("r:1:0")).status is ApprovalStatus.PENDING


@pytest.mark.requirement("P7")
async def test_who_may_decide_can_be_left_to_the_process_that_drives_the_run(
    journal: Journal, office: Office
) -> None:
    running = AgentExecutor(
        ScriptedClient([SHRED, DONE]), journal=journal, may_approve=lambda _, by: by == "boss"
    )
    await running.execute(office.clerk(), run_id="r", user_id="ana")
    await journal.decide("r:1:0", approved=True, by="boss", may_approve=decided_by_the_run)
    without_rule = await executor(journal, DONE).resume("r", office.clerk())
    await journal.decide("r:1:0", approved=True, by="boss", may_approve=decided_by_the_run)
    result = await running.resume("r", office.clerk())

    assert without_rule.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert (result.success, office.done) == (True, ["shred file"])


async def test_a_run_is_resumed_as_a_stream(journal: Journal, office: Office) -> None:
    running = executor(journal, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")
    await running.approve("r:1:0", by="ana")

    events = [event.type async for event in running.stream(office.clerk(), resume="r")]

    assert (events[0], events[-1], office.done) == ("run_resumed", "run_end", ["shred file"])


async def test_what_a_resumed_run_has_already_is_not_given_again(journal: Journal, office: Office) -> None:
    running = executor(journal, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")

    with pytest.raises(InvalidInputError, match="inputs: a run that is resumed has its own"):
        async for _ in running.stream(office.clerk(), resume="r", inputs={}):
            pass
    with pytest.raises(InvalidInputError, match="expected 'raise' or 'resume'"):
        await running.execute(office.clerk(), run_id="r", if_exists="junk")  # type: ignore[arg-type]
