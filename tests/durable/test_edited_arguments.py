"""A person may approve a call with other arguments: what runs is what they approved, and the model is told."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from durable.office import Office, ProcessDied, by_turn, die_at, executor
from maverick import AgentDefinition, AgentExecutor, PromptConfig, ToolConfig
from maverick.exceptions import InvalidInputError
from maverick.journal import ApprovalStatus, Journal
from maverick.loop.events import ApprovalGiven, ToolCallStart
from maverick.loop.policy import PolicyDecision, Verdict
from maverick.loop.result import ToolOutcome
from maverick.model import Request, Role, Tool, ToolCall
from maverick.testing import ScriptedClient, call, reply

SHRED = call("shred", what="file")
DONE = reply("Done.")
TAPE = {"what": "tape"}
TOLD = 'ana approved this call with other arguments than yours: {"what": "tape"}\n\nshred: tape'


@pytest.mark.requirement("P7")
async def test_the_call_is_made_as_it_was_approved_and_told_the_same_again(
    journal: Journal, office: Office
) -> None:
    client = ScriptedClient([SHRED, DONE, reply("Forked.")])
    running = AgentExecutor(client, journal=journal)
    await running.execute(office.clerk(), run_id="r", user_id="ana")

    result = await running.approve("r:1:0", by="ana", arguments=TAPE, resume=True)
    told = [event async for event in running.replay("r", office.clerk())]
    forked = await running.fork("r", office.clerk(), turn=2)

    assert result is not None
    assert (office.done, result.tool_calls[0].arguments, result.tool_calls[0].result) == (
        ["shred tape"],
        TAPE,
        "shred: tape",
    )
    assert result.messages[1].tool_calls[0].arguments == {
        "what": "file"
    }  # what the model said stays as it was
    assert [request.messages[2].content for request in client.requests[1:]] == [TOLD, TOLD]
    assert [event.arguments for event in told if isinstance(event, ApprovalGiven)] == [TAPE]
    assert [event.tool_call.arguments for event in told if isinstance(event, ToolCallStart)] == [TAPE]
    assert (forked.output, forked.tool_calls[0].arguments) == ("Forked.", TAPE)


@pytest.mark.requirement("P1", "P2", "P7")
@pytest.mark.parametrize("point", ["ApprovalDecided", "ToolsStarted"])
@pytest.mark.parametrize("before", [True, False])
async def test_a_process_that_dies_after_the_decision_makes_no_other_call(
    journal: Journal, office: Office, point: str, before: bool
) -> None:
    script = by_turn(SHRED, DONE)
    running = AgentExecutor(ScriptedClient(script), journal=journal)
    await running.execute(office.clerk(), run_id="r")
    await running.approve("r:1:0", by="ana", arguments=TAPE)
    die_at(journal, point, before=before)
    with pytest.raises(ProcessDied):
        await running.resume("r", office.clerk())

    result = await AgentExecutor(ScriptedClient(script), journal=journal).resume("r", office.clerk())

    begun = (point, before) == ("ToolsStarted", False)
    assert office.done == ([] if begun else ["shred tape"])
    assert result.tool_calls[0].outcome is (ToolOutcome.UNKNOWN if begun else ToolOutcome.FINISHED)
    assert result.tool_calls[0].arguments == TAPE


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"what": 7}, "what: Input should be a valid string"),
        ({}, "what: Field required"),
        ({"what": "tape", "user_id": "eve"}, "user_id: Extra inputs are not permitted"),
        (["tape"], "expected a dict"),
        ({"what": float("nan")}, "cannot be written as JSON"),
        ({"what": "x" * 1_000_001}, "at most 1,000,000 characters"),
    ],
)
async def test_an_executor_that_knows_the_agent_refuses_what_does_not_fit_and_nothing_is_decided(
    journal: Journal, office: Office, arguments: Any, why: str
) -> None:
    running = executor(journal, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")

    with pytest.raises(InvalidInputError, match=why):
        await running.approve("r:1:0", by="ana", arguments=arguments)

    assert (await journal.get_approval("r:1:0")).status is ApprovalStatus.PENDING


async def test_what_does_not_fit_and_was_decided_where_the_tool_is_unknown_denies_the_call(
    journal: Journal, office: Office
) -> None:
    running = executor(journal, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")
    await journal.approve("r:1:0", by="ana", arguments={"waht": "tape"})

    result = await running.resume("r", office.clerk())

    assert (office.done, result.tool_calls[0].outcome) == ([], ToolOutcome.DENIED)
    assert "The arguments do not fit shred: what: Field required" in result.tool_calls[0].result


@pytest.mark.requirement("P7")
@pytest.mark.parametrize(
    "forged", [{"edited_json": '{"what": "vault"}'}, {"edited_hash": ""}], ids=["arguments", "hash"]
)
async def test_edited_arguments_are_bound_to_the_decision(
    journal: Journal, office: Office, forged: dict[str, str]
) -> None:
    running = executor(journal, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")
    approved = await journal.approve("r:1:0", by="ana", arguments=TAPE)
    assert await journal.settle_approval(replace(approved, **forged), ApprovalStatus.APPROVED)

    result = await running.resume("r", office.clerk())

    assert office.done == []
    assert "not the one that was asked about" in result.tool_calls[0].result


class NoTapes:
    """A policy that forbids shredding tapes, and has a person asked about all else that is shredded."""

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        if call.arguments == TAPE:
            return PolicyDecision(Verdict.DENY, "tapes are kept.")
        return PolicyDecision(Verdict.ASK, f"{call.arguments['what']} cannot be restored")


@pytest.mark.parametrize(
    ("arguments", "done", "told"),
    [(TAPE, [], "Not run: tapes are kept."), ({"what": "disk"}, ["shred disk"], "shred: disk")],
)
async def test_the_permissions_rule_on_what_was_approved_and_no_one_is_asked_twice(
    journal: Journal, office: Office, arguments: dict[str, str], done: list[str], told: str
) -> None:
    running = executor(journal, SHRED, DONE, permissions=NoTapes())
    await running.execute(office.clerk(), run_id="r")

    result = await running.approve("r:1:0", by="ana", arguments=arguments, resume=True)

    assert result is not None
    assert (result.success, office.done, result.tool_calls[0].result) == (True, done, told)


class Printer:
    """A tool with a JSON Schema of its own, and no check."""

    name = "print"
    description = "Prints."
    parameters: ClassVar[Any] = {
        "type": "object",
        "properties": {"copies": {"type": "integer", "maximum": 9}},
    }
    approval = True

    async def execute(self, args: dict[str, Any]) -> str:
        return f"{args['copies']} copies"


async def test_the_tool_of_a_subagent_is_checked_by_its_own_schema(journal: Journal) -> None:
    clerk = AgentDefinition(
        "clerk",
        "Prints.",
        prompt_config=PromptConfig("", ["Print ${what}."]),
        tool_config=ToolConfig(tools=[Printer()]),
    )
    chief = AgentDefinition("chief", "Leads.", tool_config=ToolConfig(tools=[clerk.as_tool()]))

    def script(request: Request) -> object:
        said = sum(message.role is Role.ASSISTANT for message in request.messages)
        if request.messages[0].content == "Print it.":
            return [call("print", copies=3), reply(request.messages[-1].content)][said]
        return [call("clerk", what="it"), reply(request.messages[-1].content)][said]

    running = AgentExecutor(ScriptedClient(script), journal=journal)  # type: ignore[arg-type]
    await running.execute(chief, inputs={"prompt": "Go."}, run_id="r")
    [asked] = await journal.list_approvals()

    def approve(copies: object) -> Awaitable[Any]:
        return running.approve(asked.approval_id, by="ana", arguments={"copies": copies}, resume=True)

    with pytest.raises(InvalidInputError, match="copies: 'two' is not of type 'integer'"):
        await approve("two")
    result = await approve(2)

    assert 'ana approved this call with other arguments than yours: {"copies": 2}' in result.output
    assert "2 copies" in result.output
