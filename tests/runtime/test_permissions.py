"""An executor with permissions: each call is decided on before it runs, and decisions outlive the process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from durable.office import Office, ProcessDied, die_at, executor
from maverick import (
    AgentDefinition,
    AgentExecutor,
    ApprovalRequest,
    PromptConfig,
    TerminateReason,
    ToolConfig,
    tool,
)
from maverick.journal import ApprovalStatus, Journal, SqliteJournal
from maverick.journal.timeline import Timeline
from maverick.loop import ToolOutcome
from maverick.loop.entries import CallRuled
from maverick.loop.events import ApprovalRequested
from maverick.loop.policy import PolicyDecision, Verdict
from maverick.model import Tool, ToolCall
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient, call, calls, reply
from maverick.tools import Permissions
from scenario import agent, assert_valid, results_in, watch

SEND, LOOK, DONE = call("send", to="ana"), call("look", what="x"), reply("Done.")


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with SqliteJournal(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def office() -> Office:
    return Office()


class Asked:
    """A person who answers the same to every question, and remembers them."""

    def __init__(self, *, agrees: bool) -> None:
        self.agrees = agrees
        self.about: list[str] = []

    async def __call__(self, wanted: ApprovalRequest) -> bool:
        self.about.append(wanted.tool_name)
        return self.agrees


@pytest.mark.requirement("C-PERMISSIONS", "P3")
async def test_a_denied_call_gets_its_one_result_and_the_run_goes_on(office: Office) -> None:
    script = [calls(SEND, LOOK), DONE]
    watched = await watch(
        script, office.clerk(), executor={"permissions": Permissions("yolo", deny=["send"])}
    )

    assert office.done == ["look x"]
    assert [record.outcome for record in watched.result.tool_calls] == [
        ToolOutcome.DENIED,
        ToolOutcome.FINISHED,
    ]
    assert results_in(watched.result.messages)[0].startswith("Not run: the permissions deny send.")
    assert watched.result.success
    assert_valid(watched.result.messages)


@pytest.mark.requirement("C-PERMISSIONS", "C-MODES")
@pytest.mark.parametrize("agrees", [True, False])
async def test_a_person_is_asked_about_what_is_neither_allowed_nor_denied_and_told_why(
    agrees: bool, office: Office
) -> None:
    person = Asked(agrees=agrees)
    settings = {"permissions": Permissions("ask"), "approve": person}
    watched = await watch([calls(LOOK, SEND), DONE], office.clerk(), executor=settings)

    assert person.about == ["send"]
    assert ("send ana" in office.done) is agrees
    assert [(e.tool_call.tool_name, e.reason) for e in watched.of(ApprovalRequested)] == [
        ("send", "send may do anything.")
    ]


@pytest.mark.requirement("C-PERMISSIONS", "F-APPROVAL")
async def test_a_tool_that_wants_a_person_asked_is_asked_about_once_whatever_the_permissions_say(
    office: Office,
) -> None:
    for mode in ("ask", "yolo"):
        person = Asked(agrees=True)
        watched = await watch(
            [call("shred", what="x"), DONE],
            office.clerk(),
            executor={"permissions": Permissions(mode), "approve": person},
        )
        assert person.about == ["shred"]
        assert len(watched.of(ApprovalRequested)) == 1


@pytest.mark.requirement("C-PERMISSIONS", "F-APPROVAL")
async def test_why_the_permissions_ask_is_told_of_a_tool_that_wants_a_person_asked_and_does_not_say_why(
    journal: Journal, office: Office
) -> None:
    running = executor(journal, call("shred", what="x"), DONE, permissions=Permissions("ask"))

    await running.execute(office.clerk(), run_id="r")

    assert (await journal.get_approval("r:1:0")).question == "shred may do anything."


@pytest.mark.requirement("C-SANDBOX", "F-APPROVAL")
async def test_a_tool_may_say_why_it_wants_a_person_asked() -> None:
    @tool(approval="there is no sandbox.")
    async def act() -> str:
        """Act."""
        return "acted"

    watched = await watch([call("act"), DONE], agent(act), executor={"approve": Asked(agrees=True)})

    assert [event.reason for event in watched.of(ApprovalRequested)] == ["there is no sandbox."]
    assert watched.result.tool_calls[0].result == "acted"


@pytest.mark.requirement("C-PERMISSIONS", "P7", "P1")
async def test_a_question_waits_in_the_journal_and_its_answer_counts_once(
    journal: Journal, office: Office
) -> None:
    running = executor(journal, SEND, DONE, permissions=Permissions("ask"))

    parked = await running.execute(office.clerk(), run_id="r")
    assert parked.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert "because send may do anything. Decide with" in str(parked.errors[0])
    assert office.done == []
    assert (await journal.get_approval("r:1:0")).question == "send may do anything."
    await journal.approve("r:1:0", by="ana")
    result = await running.resume("r", office.clerk())

    assert (result.success, office.done) == (True, ["send ana"])
    assert (await journal.get_approval("r:1:0")).status is ApprovalStatus.USED


@pytest.mark.requirement("C-PERMISSIONS", "P7")
async def test_what_was_approved_is_still_denied_by_permissions_that_have_changed_since(
    journal: Journal, office: Office
) -> None:
    await executor(journal, SEND, DONE, permissions=Permissions("ask")).execute(office.clerk(), run_id="r")
    await journal.approve("r:1:0", by="ana")

    stricter = executor(journal, SEND, DONE, permissions=Permissions("ask", deny=["send"]))
    result = await stricter.resume("r", office.clerk())

    assert office.done == []
    assert result.tool_calls[0].outcome is ToolOutcome.DENIED


@pytest.mark.requirement("C-PERMISSIONS", "P1")
@pytest.mark.parametrize("before", [True, False])
async def test_a_process_that_dies_around_a_ruling_goes_on_under_the_permissions_it_is_resumed_with(
    before: bool, journal: Journal, office: Office
) -> None:
    denying = executor(journal, calls(SEND, LOOK), DONE, permissions=Permissions("yolo", deny=["send"]))
    die_at(journal, "ToolsStarted", before=before)
    with pytest.raises(ProcessDied):
        await denying.execute(office.clerk(), run_id="r")

    result = await denying.resume("r", office.clerk())

    assert office.done == ["look x"]
    assert result.tool_calls[0].outcome is ToolOutcome.DENIED
    assert_valid(result.messages)


@pytest.mark.requirement("C-PERMISSIONS", "003-OQ3")
async def test_a_run_is_retold_as_it_was_by_an_executor_that_has_no_permissions(
    journal: Journal, office: Office
) -> None:
    person = Asked(agrees=True)
    settings: dict[str, Any] = {
        "permissions": Permissions("ask", deny=["book"]),
        "approve": person,
    }
    events: list[str] = []
    running = executor(journal, calls(SEND, call("book", what="x"), LOOK), DONE, **settings)
    await running.execute(office.clerk(), run_id="r", on_activity=lambda event: events.append(event.type))

    told = [
        event.type
        async for event in AgentExecutor(ScriptedClient([]), journal=journal).replay("r", office.clerk())
    ]

    assert told == events
    entries = [stored.entry async for stored in journal.read("r")]
    assert [(e.index, e.verdict) for e in entries if isinstance(e, CallRuled)] == [
        (0, Verdict.ASK),
        (1, Verdict.DENY),
    ]
    notes = Timeline(entries).turns[0].notes
    assert notes[0] == "send: ask, send may do anything."


@pytest.mark.requirement("C-PERMISSIONS")
async def test_the_calls_of_a_subagent_are_ruled_on_too(office: Office) -> None:
    helper = AgentDefinition(
        "helper",
        "Helps.",
        prompt_config=PromptConfig("", ["Help."]),
        tool_config=ToolConfig(tools=office.tools),
    )
    boss = agent(helper.as_tool())
    client = ScriptedClient([call("helper"), SEND, "I may not.", "Neither may I."])

    result = await AgentExecutor(client, permissions=Permissions("plan")).execute(boss)

    assert result.success
    assert office.done == []
    assert "not in plan mode" in results_in(client.requests[2].messages)[0]


class Broken:
    """A policy that has a fault."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


@pytest.mark.requirement("C-PERMISSIONS", "P8")
@pytest.mark.parametrize("answer", [RuntimeError("oops"), None, True, "allow"], ids=repr)
async def test_permissions_that_fail_allow_nothing(answer: object, office: Office) -> None:
    watched = await watch([calls(SEND, LOOK), DONE], office.clerk(), executor={"permissions": Broken(answer)})

    assert office.done == []
    assert watched.result.success
    assert [record.outcome for record in watched.result.tool_calls] == [ToolOutcome.DENIED] * 2


@pytest.mark.requirement("C-PERMISSIONS")
async def test_the_permissions_are_asked_about_each_call_once_and_not_about_one_that_does_not_run() -> None:
    asked: list[str] = []

    class Counting:
        def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
            asked.append(call.id)
            return PolicyDecision(Verdict.ASK, "why not?")

    @tool
    async def act() -> str:
        """Act."""
        return "acted"

    person = Asked(agrees=True)
    script: Script = [calls(call("act"), call("act"), call("no_such_tool")), call("act"), "ok"]
    watched = await watch(script, agent(act), executor={"permissions": Counting(), "approve": person})

    assert asked == ["call_1", "call_2", "call_4"]
    assert len(person.about) == 3
    assert watched.result.success
