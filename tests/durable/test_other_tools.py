"""A run goes on with other tools than it had: what happened stays as it was, and what comes next is planned anew."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import pytest

from durable.office import Office, ProcessDied, die_at, executor
from maverick import (
    AgentDefinition,
    AgentExecutor,
    ApprovalRequest,
    PromptConfig,
    RunConfig,
    TerminateReason,
    ToolConfig,
    tool,
)
from maverick.journal import Journal, MemoryJournal
from maverick.loop.entries import ApprovalDecided, Resumed
from maverick.loop.events import AgentActivityEvent, ApprovalRequested
from maverick.loop.result import ToolOutcome
from maverick.model import Request, Role
from maverick.providers.scripted import TurnLike
from maverick.testing import ScriptedClient, call, calls, reply
from maverick.tools import FunctionTool, Permissions

pytestmark = pytest.mark.requirement("P10")

LOOK, SEND, SHRED = call("look", what="door"), call("send", to="Ana"), call("shred", what="file")
DONE = reply("Done.")


async def agree(_: ApprovalRequest) -> bool:
    return True


def without(office: Office, *names: str) -> AgentDefinition:
    """The clerk, with these tools taken away."""
    return office.clerk(tool_config=ToolConfig([each for each in office.tools if each.name not in names]))


def asking(office: Office, *names: str) -> AgentDefinition:
    """The clerk, with a person asked about these tools alone."""
    tools = [
        FunctionTool(each.function, effect=each.effect, approval=each.name in names) for each in office.tools
    ]
    return office.clerk(tool_config=ToolConfig(tools))


async def killed(
    journal: Journal,
    definition: AgentDefinition,
    *turns: TurnLike,
    at: tuple[str, int] = ("ToolsStarted", 1),
    before: bool = False,
) -> None:
    """Have a run begun, with a person who agrees to all, and its process killed at a write."""
    die_at(journal, *at, before=before)
    with pytest.raises(ProcessDied):
        await executor(journal, *turns, approve=agree).execute(definition, run_id="r")


# What happened --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked_by", [{}, {"permissions": Permissions("ask")}], ids=["tool", "permissions"])
@pytest.mark.parametrize("turn", [2, 3])
async def test_a_run_is_forked_without_a_tool_that_a_person_was_asked_about(
    journal: Journal, office: Office, turn: int, asked_by: dict[str, Any]
) -> None:
    first = executor(journal, SHRED, LOOK, DONE, approve=agree, **asked_by)
    await first.execute(office.clerk() if not asked_by else asking(office), run_id="r")
    client = ScriptedClient([reply("Done anew.")])

    going_on = AgentExecutor(client, journal=journal)
    result = await going_on.fork("r", without(office, "shred"), turn=turn, new_run_id="f")

    assert result.output == "Done anew."
    assert [record.result for record in result.tool_calls] == ["shred: file", "look: door"][: turn - 1]
    assert office.done.count("shred file") == 1
    assert "shred" not in {each.name for each in client.requests[0].tools}


async def test_a_run_goes_on_without_a_tool_that_a_person_was_asked_about(
    journal: Journal, office: Office
) -> None:
    await killed(journal, office.clerk(), SHRED, DONE, at=("ModelCalled", 2))

    result = await executor(journal, SHRED, SHRED, DONE).resume(
        "r", without(office, "shred"), accept_changes=True
    )

    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED, ToolOutcome.DENIED]
    assert "shred" in result.tool_calls[1].result
    assert office.done == ["shred file"]


async def test_a_fork_without_a_tool_is_forked_told_and_resumed_like_any_run(
    journal: Journal, office: Office
) -> None:
    await executor(journal, SHRED, LOOK, DONE, approve=agree).execute(office.clerk(), run_id="r")
    fewer = without(office, "shred")
    await executor(journal, SHRED, LOOK, DONE).fork("r", fewer, turn=2, new_run_id="f")

    told = [event.type async for event in executor(journal).replay("f", fewer)]
    again = await executor(journal, SHRED, LOOK, DONE).fork("f", fewer, turn=3)

    assert told.count("approval_given") == 1
    assert told[-1] == "run_end"
    assert again.output == "Done."
    assert (await executor(journal).resume("f", fewer)).output == "Done."


async def test_a_tool_that_came_with_an_accepted_change_may_go_again(
    journal: Journal, office: Office
) -> None:
    fewer = without(office, "shred")
    await killed(journal, fewer, SHRED, at=("ModelCalled", 1))
    die_at(journal, "ModelCalled", 2, before=False)
    with pytest.raises(ProcessDied):
        await executor(journal, SHRED, DONE, approve=agree).resume("r", office.clerk(), accept_changes=True)

    result = await executor(journal, SHRED, DONE).resume("r", fewer)

    assert (result.output, [record.result for record in result.tool_calls]) == ("Done.", ["shred: file"])


# What was about to happen ---------------------------------------------------------------------------------------


async def test_a_call_that_waits_for_a_person_is_refused_when_its_tool_is_gone(
    journal: Journal, office: Office
) -> None:
    turns = (calls(LOOK, SHRED), DONE)
    await executor(journal, *turns).execute(office.clerk(), run_id="r")

    result = await executor(journal, *turns).resume("r", without(office, "shred"), accept_changes=True)

    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED, ToolOutcome.DENIED]
    assert "Not run" in result.tool_calls[1].result
    assert office.done == ["look door"]
    assert await journal.list_approvals() == []


async def test_nobody_is_asked_any_more_about_a_call_that_the_permissions_forbid_meanwhile(
    journal: Journal, office: Office
) -> None:
    await executor(journal, SHRED, DONE).execute(office.clerk(), run_id="r")

    forbidding = executor(journal, SHRED, DONE, permissions=Permissions("yolo", deny=["shred"]))
    result = await forbidding.resume("r", office.clerk())

    assert result.tool_calls[0].outcome is ToolOutcome.DENIED
    assert await journal.list_approvals() == []


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("gone", ["look", "send"])
async def test_a_call_whose_tool_is_gone_is_told_as_not_run_only_if_it_had_not_begun(
    journal: Journal, office: Office, gone: str, begun: bool
) -> None:
    turns = (calls(SHRED, LOOK, SEND), DONE)
    await killed(journal, office.clerk(), *turns, before=not begun)

    result = await executor(journal, *turns).resume("r", without(office, gone), accept_changes=True)

    [record] = [record for record in result.tool_calls if record.tool_name == gone]
    assert record.outcome is (ToolOutcome.UNKNOWN if begun else ToolOutcome.DENIED)
    assert ("Not run" in record.result) is not begun
    assert not any(done.startswith(gone) for done in office.done)
    assert result.output == "Done."


def boss(*tools: Any) -> AgentDefinition:
    return AgentDefinition(
        "boss",
        "Leads.",
        prompt_config=PromptConfig("", ["Go."]),
        run_config=RunConfig(max_turns=5),
        tool_config=ToolConfig(tools),
    )


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("at", "before", "outcome"),
    [
        (("ToolsStarted", 1), True, ToolOutcome.DENIED),
        (("ToolsStarted", 2), False, ToolOutcome.UNKNOWN),
        (("ModelCalled", 4), False, ToolOutcome.FINISHED),
    ],
    ids=["before it", "in it", "after it"],
)
async def test_a_run_goes_on_without_a_subagent_it_had(
    journal: Journal, office: Office, at: tuple[str, int], before: bool, outcome: ToolOutcome
) -> None:
    def answer(request: Request) -> TurnLike:
        leads = request.messages[0].content == "Go."
        if any(message.role is Role.ASSISTANT for message in request.messages):
            return reply("Done." if leads else "Looked.")
        return calls(call("clerk"), SHRED) if leads else LOOK

    [shred] = [each for each in office.tools if each.name == "shred"]
    running = AgentExecutor(ScriptedClient(answer), journal=journal, approve=agree)
    die_at(journal, *at, before=before)
    with pytest.raises(ProcessDied):
        await running.execute(boss(office.clerk().as_tool(), shred), run_id="r")

    result = await running.resume("r", boss(shred), accept_changes=True)

    assert result.output == "Done."
    assert result.tool_calls[0].outcome is outcome


@pytest.mark.requirement("P5")
@pytest.mark.parametrize("begun", [False, True])
async def test_a_subagent_in_the_place_of_a_tool_is_held_to_what_its_caller_has_left(
    journal: Journal, office: Office, begun: bool
) -> None:
    @tool(effect="pure", approval=True)
    async def clerk() -> str:
        """Do office work."""
        return "done"

    def answer(request: Request) -> TurnLike:
        leads = request.messages[0].content == "Go."
        return LOOK if not leads else DONE if len(request.messages) > 1 else call("clerk")

    running = AgentExecutor(ScriptedClient(answer), journal=journal, approve=agree)
    die_at(journal, "ToolsStarted", before=not begun)
    with pytest.raises(ProcessDied):
        await running.execute(boss(clerk), run_id="r")

    tireless = office.clerk(run_config=RunConfig(max_turns=1_000))
    result = await running.resume("r", boss(tireless.as_tool()), accept_changes=True)

    assert result.success
    assert len(office.done) == (0 if begun else 3)


# Who is asked ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P7")
async def test_a_person_is_asked_about_a_call_that_had_not_begun_when_its_tool_came_to_want_it(
    journal: Journal, office: Office
) -> None:
    turns = (calls(SHRED, SEND), DONE)
    await killed(journal, office.clerk(), *turns, before=True)
    careful = asking(office, "send")
    events: list[AgentActivityEvent] = []

    parked = await executor(journal, *turns).resume(
        "r", careful, on_activity=events.append, accept_changes=True
    )
    asked = [event.tool_call.tool_name for event in events if isinstance(event, ApprovalRequested)]
    await journal.approve("r:1:1", by="ana")
    result = await executor(journal, *turns).resume("r", careful, accept_changes=True)

    assert parked.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert asked == ["send"]
    assert (result.output, sorted(office.done)) == ("Done.", ["send Ana", "shred file"])


@pytest.mark.requirement("P7")
async def test_a_person_who_was_asked_decides_although_the_tool_does_not_want_it_any_more(
    journal: Journal, office: Office
) -> None:
    running = executor(journal, SHRED, SHRED, DONE)
    await running.execute(office.clerk(), run_id="r")

    waits = await running.resume("r", asking(office), accept_changes=True)
    await journal.deny("r:1:0", by="ana")
    result = await running.resume("r", asking(office), accept_changes=True)

    assert waits.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.DENIED, ToolOutcome.FINISHED]


@pytest.mark.requirement("P7")
async def test_a_person_who_has_agreed_is_not_asked_again_when_other_tools_change(
    journal: Journal, office: Office
) -> None:
    turns = (calls(SHRED, SEND), DONE)
    await killed(journal, office.clerk(), *turns, before=True)

    result = await executor(journal, *turns).resume("r", without(office, "send"), accept_changes=True)

    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED, ToolOutcome.DENIED]
    entries = [stored.entry async for stored in journal.read("r")]
    assert sum(isinstance(entry, ApprovalDecided) for entry in entries) == 1


# Any tools, at any point ----------------------------------------------------------------------------------------

NAMES = ("look", "send", "shred")
SUBSETS = list(chain.from_iterable(combinations(NAMES, size) for size in range(len(NAMES) + 1)))
POINTS = [
    *[("ModelCalled", nth) for nth in (1, 2, 3)],
    *[(point, nth) for point in ("ApprovalDecided", "ToolsStarted", "ToolFinished") for nth in (1, 2)],
]


@pytest.mark.parametrize("place", POINTS, ids=lambda place: f"{place[0]} {place[1]}")
async def test_a_run_killed_anywhere_goes_on_with_whatever_tools_are_left(place: tuple[str, int]) -> None:
    turns = (calls(LOOK, SHRED, SEND), calls(SHRED, LOOK, call("nothing")), DONE)
    for gone in SUBSETS:
        office, journal = Office(), MemoryJournal()
        await killed(journal, office.clerk(), *turns, at=place)
        # What its agent is in between must not matter either.
        die_at(journal, "Resumed", before=False)
        with pytest.raises(ProcessDied):
            await executor(journal, *turns, approve=agree).resume("r", office.clerk(), accept_changes=True)

        result = await executor(journal, *turns, approve=agree).resume(
            "r", without(office, *gone), accept_changes=True
        )

        assert result.output == "Done."
        assert [record.tool_name for record in result.tool_calls] == [
            *("look", "shred", "send"),
            *("shred", "look", "nothing"),
        ]
        assert office.done.count("send Ana") <= 1
        entries = [stored.entry async for stored in journal.read("r")]
        assert sum(isinstance(entry, Resumed) for entry in entries) == 2
        told = [event.type async for event in executor(journal).replay("r", without(office, *gone))]
        assert told[-1] == "run_end"
