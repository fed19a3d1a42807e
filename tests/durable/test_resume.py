"""A run whose process died goes on where it was, and no tool acts twice in silence."""

from __future__ import annotations

import time

import pytest

from durable.office import Office, ProcessDied, die_at, executor
from maverick import (
    AbortSignal,
    AgentExecutor,
    PromptConfig,
    RunConfig,
    TerminateReason,
    ToolConfig,
    ToolContext,
    tool,
)
from maverick.exceptions import (
    AuthenticationError,
    InvalidInputError,
    LeaseLostError,
    RunExistsError,
    RunNotFoundError,
)
from maverick.journal import Journal, RunStatus
from maverick.journal.sqlite.journal import SqliteTransaction
from maverick.loop.definition import AgentDefinition
from maverick.loop.events import AgentActivityEvent
from maverick.loop.result import ToolOutcome
from maverick.model import Request, Role
from maverick.testing import ScriptedClient, call, calls, reply

DONE = reply("Done.")


async def killed_after_the_tool(journal: Journal, office: Office, name: str, argument: str) -> AgentExecutor:
    """A run whose tool has acted and whose process died before the result was written."""
    running = executor(journal, call(name, **{argument: "Ana"}), DONE)
    die_at(journal, "ModelCalled", 2)
    with pytest.raises(ProcessDied):
        await running.execute(office.clerk(), run_id="r")
    return running


@pytest.mark.requirement("P1", "003-OQ3")
async def test_a_run_killed_between_two_turns_goes_on_with_the_next(journal: Journal, office: Office) -> None:
    running = executor(journal, call("look", what="door"), call("look", what="window"), DONE)
    die_at(journal, "ModelCalled", 3)
    with pytest.raises(ProcessDied):
        await running.execute(office.clerk(), run_id="r")

    result = await executor(journal, call("look", what="door"), call("look", what="window"), DONE).resume(
        "r", office.clerk()
    )

    assert (result.output, result.turn_count) == ("Done.", 3)
    assert [record.result for record in result.tool_calls] == ["look: door", "look: window"]


@pytest.mark.requirement("P1")
async def test_a_run_killed_before_its_first_write_was_never_there(journal: Journal, office: Office) -> None:
    running = executor(journal, DONE)
    die_at(journal, "ModelCalled", 1)
    with pytest.raises(ProcessDied):
        await running.execute(office.clerk(), run_id="r")

    with pytest.raises(RunNotFoundError, match="'r'"):
        await running.resume("r", office.clerk())


@pytest.mark.requirement("P2")
async def test_a_pure_tool_is_simply_run_again(journal: Journal, office: Office) -> None:
    running = await killed_after_the_tool(journal, office, "look", "what")
    result = await running.resume("r", office.clerk())
    assert office.done == ["look Ana", "look Ana"]
    assert result.tool_calls[0].outcome is ToolOutcome.FINISHED


@pytest.mark.requirement("P2")
async def test_a_keyed_tool_is_run_again_with_the_same_key(journal: Journal, office: Office) -> None:
    running = await killed_after_the_tool(journal, office, "book", "what")
    await running.resume("r", office.clerk())
    assert office.done == ["book r/1/0", "book r/1/0"]


@pytest.mark.requirement("P2", "P3")
async def test_an_irreversible_tool_is_not_run_again_and_the_model_is_told(
    journal: Journal, office: Office
) -> None:
    running = await killed_after_the_tool(journal, office, "send", "to")
    result = await running.resume("r", office.clerk())

    assert office.done == ["send Ana"]
    assert result.success
    assert result.tool_calls[0].outcome is ToolOutcome.UNKNOWN
    told = result.messages[2]
    assert (told.role, told.is_error) == (Role.TOOL_RESULT, True)
    assert "may or may not have taken effect" in told.content


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("arrived", "outcome", "times"),
    [(True, ToolOutcome.FINISHED, 1), (False, ToolOutcome.FINISHED, 2), (None, ToolOutcome.UNKNOWN, 1)],
)
async def test_a_tool_that_can_tell_what_happened_is_asked_first(
    journal: Journal, office: Office, arrived: bool | None, outcome: ToolOutcome, times: int
) -> None:
    running = await killed_after_the_tool(journal, office, "mail", "to")
    office.mail_arrived = arrived
    result = await running.resume("r", office.clerk())
    assert office.done == ["mail Ana"] * times
    assert result.tool_calls[0].outcome is outcome


@pytest.mark.requirement("P2")
async def test_a_tool_whose_result_was_written_is_not_asked_again(journal: Journal, office: Office) -> None:
    running = executor(journal, call("send", to="Ana"), DONE)
    die_at(journal, "ModelCalled", 2, before=False)
    with pytest.raises(ProcessDied):
        await running.execute(office.clerk(), run_id="r")

    result = await running.resume("r", office.clerk())

    assert office.done == ["send Ana"]
    assert result.tool_calls[0].outcome is ToolOutcome.FINISHED


async def test_results_of_parallel_tools_are_written_while_others_still_run(
    journal: Journal, office: Office
) -> None:
    running = executor(journal, calls(call("send", to="Ana"), call("look", what="door")), DONE)
    die_at(journal, "ModelCalled", 2)
    with pytest.raises(ProcessDied):
        await running.execute(office.clerk(), run_id="r")

    result = await running.resume("r", office.clerk())

    assert result.tool_calls[0].outcome is ToolOutcome.FINISHED
    assert office.done.count("send Ana") == 1


async def test_a_finished_run_gives_its_result_again_without_a_model(
    journal: Journal, office: Office
) -> None:
    first = await executor(journal, DONE).execute(office.clerk(), run_id="r")
    again = await AgentExecutor(ScriptedClient([]), journal=journal).resume("r", office.clerk())
    assert (again.output, again.turn_count, again.usage.total_tokens) == (
        first.output,
        first.turn_count,
        first.usage.total_tokens,
    )


@pytest.mark.requirement("P4")
async def test_an_aborted_run_can_be_resumed(journal: Journal, office: Office) -> None:
    signal = AbortSignal()

    @tool
    async def stop() -> str:
        """Stop."""
        signal.abort("enough")
        return "stopping"

    clerk = office.clerk(tool_config=ToolConfig(tools=[stop]))
    running = executor(journal, call("stop"), DONE)
    stopped = await running.execute(clerk, run_id="r", signal=signal)
    assert stopped.terminate_reason is TerminateReason.ABORTED
    assert (await journal.get("r")).status is RunStatus.STOPPED

    result = await running.resume("r", clerk)

    assert (result.success, result.output) == (True, "Done.")
    assert (await journal.get("r")).status is RunStatus.COMPLETE


async def test_a_run_that_failed_can_be_resumed_when_the_cause_is_gone(
    journal: Journal, office: Office
) -> None:
    broken = AgentExecutor(ScriptedClient([AuthenticationError("Wrong key.")]), journal=journal)
    failed = await broken.execute(office.clerk(), run_id="r")
    assert failed.terminate_reason is TerminateReason.ERROR

    result = await executor(journal, DONE).resume("r", office.clerk())

    assert result.output == "Done."


@pytest.mark.requirement("P5")
async def test_turns_and_tool_calls_made_before_the_crash_count_after_it(
    journal: Journal, office: Office
) -> None:
    def endless(_: Request) -> object:
        return call("look", what="door")

    clerk = office.clerk(run_config=RunConfig(max_turns=3))
    running = AgentExecutor(ScriptedClient(endless), journal=journal)  # type: ignore[arg-type]
    die_at(journal, "ModelCalled", 2)
    with pytest.raises(ProcessDied):
        await running.execute(clerk, run_id="r")

    result = await running.resume("r", clerk)

    assert (result.terminate_reason, result.turn_count) == (TerminateReason.MAX_TURNS, 3)


async def test_a_raised_limit_lets_a_stopped_run_go_on(journal: Journal, office: Office) -> None:
    running = executor(journal, call("look", what="door"), DONE)
    stopped = await running.execute(office.clerk(run_config=RunConfig(max_turns=1)), run_id="r")
    assert stopped.terminate_reason is TerminateReason.MAX_TURNS

    result = await running.resume("r", office.clerk(run_config=RunConfig(max_turns=2)))

    assert result.output == "Done."


@pytest.mark.requirement("P1", "P2")
async def test_a_subagent_goes_on_where_it_was(journal: Journal, office: Office) -> None:
    helper = AgentDefinition(
        "helper",
        "Helps.",
        prompt_config=PromptConfig("", ["Help with ${task}."]),
        tool_config=ToolConfig(tools=office.tools),
    )
    clerk = office.clerk(tool_config=ToolConfig(tools=[helper.as_tool()]))

    def script(request: Request) -> object:
        said = sum(message.role is Role.ASSISTANT for message in request.messages)
        if request.messages[0].content == "Help with it.":
            return [call("send", to="Ana"), call("look", what="door"), reply("Helped.")][said]
        return [call("helper", task="it"), DONE][said]

    running = AgentExecutor(ScriptedClient(script), journal=journal)  # type: ignore[arg-type]
    die_at(journal, "ModelCalled", 4)  # the helper's third turn
    with pytest.raises(ProcessDied):
        await running.execute(clerk, run_id="r")

    result = await running.resume("r", clerk)

    assert result.tool_calls[0].result == "Helped."
    assert office.done.count("send Ana") == 1
    assert [child.run_id for child in await journal.list_runs(parent="r")] == ["r/1/0"]


@pytest.mark.requirement("P2")
async def test_a_process_that_was_overtaken_neither_writes_nor_acts(journal: Journal, office: Office) -> None:
    @tool
    async def wait() -> str:
        """Let another process take the run over meanwhile."""
        await journal.claim("r")
        return "waited"

    clerk = office.clerk(tool_config=ToolConfig(tools=[wait, *office.tools]))
    with pytest.raises(LeaseLostError, match="Another process"):
        await executor(journal, call("wait"), call("send", to="Ana"), DONE).execute(clerk, run_id="r")
    assert office.done == []


async def test_a_taken_run_id_is_refused(journal: Journal, office: Office) -> None:
    running = executor(journal, DONE)
    await running.execute(office.clerk(), run_id="r")
    with pytest.raises(RunExistsError, match="resume it"):
        await running.execute(office.clerk(), run_id="r")


async def test_an_executor_without_a_journal_says_how_to_get_one(office: Office) -> None:
    with pytest.raises(InvalidInputError, match="journal=SqliteJournal"):
        await AgentExecutor(ScriptedClient([])).resume("r", office.clerk())


@pytest.mark.requirement("P2")
async def test_a_queued_tool_does_not_run_after_the_run_was_taken_over(
    journal: Journal, office: Office
) -> None:
    @tool(effect="transactional")
    async def wait() -> str:
        """Let another process take the run over meanwhile."""
        await journal.claim("r")
        return "waited"

    tools = ToolConfig(tools=[wait, *office.tools], max_parallel=1)
    turn = calls(call("wait"), call("send", to="Ana"))
    with pytest.raises(LeaseLostError):
        await executor(journal, turn, DONE).execute(office.clerk(tool_config=tools), run_id="r")
    assert office.done == []


@pytest.mark.requirement("P2", "P3")
async def test_a_stop_that_comes_after_the_commit_of_a_tool_comes_too_late_for_it(
    journal: Journal, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal = AbortSignal()

    @tool(effect="transactional")
    async def note(what: str, ctx: ToolContext) -> str:
        """Note something."""
        await ctx.session.execute("CREATE TABLE IF NOT EXISTS notes (what TEXT)")
        await ctx.session.execute("INSERT INTO notes VALUES (?)", what)
        return "noted"

    close = SqliteTransaction._close

    def stopped_meanwhile(self: SqliteTransaction) -> None:
        signal.abort()
        time.sleep(0.05)  # a disk that is busy
        close(self)

    monkeypatch.setattr(SqliteTransaction, "_close", stopped_meanwhile)
    running = executor(journal, call("note", what="tea"), DONE)

    result = await running.execute(office.clerk(tool_config=ToolConfig([note])), run_id="r", signal=signal)

    assert result.terminate_reason is TerminateReason.ABORTED
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED]


async def test_whoever_watches_a_run_that_had_ended_is_told_its_end(journal: Journal, office: Office) -> None:
    events: list[AgentActivityEvent] = []
    await executor(journal, DONE).execute(office.clerk(), run_id="r")

    result = await executor(journal).resume("r", office.clerk(), on_activity=events.append)

    assert [event.type for event in events] == ["run_end"]
    assert result.output == "Done."
