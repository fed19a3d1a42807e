"""A run that goes on can be spoken to, from this process or another: it hears the words before its next turn."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from maverick import AgentExecutor, tool
from maverick.exceptions import InvalidInputError
from maverick.journal import Journal, SqliteJournal
from maverick.journal.compare import compare_runs
from maverick.loop.events import AgentActivityEvent, ContentChunk, MessageAdded, RunEnd, TurnStart
from maverick.loop.result import TerminateReason
from maverick.model import Request, Response, Role, StopReason
from maverick.testing import ScriptedClient, call, reply
from scenario import agent, assert_valid


def heard_in(request: Request) -> list[str]:
    return [message.content for message in request.messages if message.role is Role.USER]


def whole(events: list[AgentActivityEvent]) -> list[AgentActivityEvent]:
    """The events apart from the pieces in which an answer was streamed."""
    return [event for event in events if not isinstance(event, ContentChunk)]


async def test_words_said_while_a_tool_runs_follow_its_result(journal: Journal, tmp_path: Path) -> None:
    @tool
    async def sail() -> str:
        """Sail, while someone in another process speaks."""
        async with SqliteJournal(tmp_path / "runs.db") as other:
            await other.say("r", "Leave out Brest.", by="ana")
            await other.say("r", "And hurry.")
        return "sailed"

    client = ScriptedClient([call("sail"), reply("Without Brest.")])
    executor = AgentExecutor(client, journal=journal)
    events: list[AgentActivityEvent] = []

    result = await executor.execute(agent(sail), run_id="r", on_activity=events.append)

    assert result.output == "Without Brest."
    roles = [message.role.value for message in client.requests[1].messages]
    assert roles == ["user", "assistant", "tool_result", "user", "user"]
    assert heard_in(client.requests[1]) == ["Do it.", "Leave out Brest.", "And hurry."]
    assert [event.content for event in events if isinstance(event, MessageAdded)] == [
        "Leave out Brest.",
        "And hurry.",
    ]
    assert whole([event async for event in executor.replay("r", agent(sail))]) == whole(events)


async def test_words_that_come_with_the_answer_make_another_turn(journal: Journal) -> None:
    async def answer(request: Request) -> Response:
        if len(client.requests) == 1:
            await executor.say("r", "One more thing.")
        return Response(f"Answer {len(client.requests)}.")

    client = ScriptedClient(answer)
    executor = AgentExecutor(client, journal=journal)
    events: list[AgentActivityEvent] = []

    result = await executor.execute(agent(), run_id="r", on_activity=events.append)

    assert result.output == "Answer 2."
    assert result.turn_count == 2
    assert [message.content for message in client.requests[1].messages] == [
        "Do it.",
        "Answer 1.",
        "One more thing.",
    ]
    assert [type(event) for event in events].count(RunEnd) == 1
    assert whole([event async for event in executor.replay("r", agent())]) == whole(events)
    with pytest.raises(InvalidInputError, match="has ended"):
        await executor.say("r", "Too late.")


async def test_a_stopped_run_hears_when_it_is_resumed_and_a_fork_keeps_what_was_said(
    journal: Journal,
) -> None:
    @tool
    def step() -> str:
        """Go on."""
        return "on"

    client = ScriptedClient([call("step"), reply("Done."), reply("Forked.")])
    executor = AgentExecutor(client, journal=journal)
    first = await executor.execute(agent(step, max_turns=1), run_id="r")
    await executor.say("r", "Go on, please.")

    second = await executor.resume("r", agent(step, max_turns=5), accept_changes=True)
    await executor.fork("r", agent(step), turn=2, new_run_id="f")

    assert first.terminate_reason is TerminateReason.MAX_TURNS
    assert second.output == "Done."
    for request in client.requests[1:]:
        assert heard_in(request) == ["Do it.", "Go on, please."]
        assert_valid(request.messages)
    difference = await compare_runs(journal, "r", "f")
    assert difference is not None
    assert difference.path != "content"


async def test_words_wait_until_a_turn_that_paused_is_over(journal: Journal) -> None:
    async def answer(request: Request) -> Response:
        if len(client.requests) == 1:
            await executor.say("r", "Wait.")
            return Response("I search …", stop_reason=StopReason.PAUSE)
        return Response("Found." if len(client.requests) == 2 else "Waiting.")

    client = ScriptedClient(answer)
    executor = AgentExecutor(client, journal=journal)

    result = await executor.execute(agent(), run_id="r")

    assert client.requests[1].messages[-1].role is Role.ASSISTANT
    assert heard_in(client.requests[2]) == ["Do it.", "Wait."]
    assert result.output == "Waiting."


async def test_words_that_there_is_no_turn_left_for_stop_the_run_at_its_limit(journal: Journal) -> None:
    async def answer(request: Request) -> Response:
        await executor.say("r", "More!")
        await executor.say("r", "Much more!")
        return Response("All.")

    events: list[AgentActivityEvent] = []
    executor = AgentExecutor(ScriptedClient(answer), journal=journal)

    result = await executor.execute(agent(max_turns=1), run_id="r", on_activity=events.append)

    assert result.terminate_reason is TerminateReason.MAX_TURNS
    assert result.raw_content == "All."
    assert sum(isinstance(event, TurnStart) for event in events) == 1
    client = ScriptedClient([reply("Here.")])
    resumed = AgentExecutor(client, journal=journal)
    await resumed.resume("r", agent(max_turns=2), accept_changes=True)
    assert heard_in(client.requests[0]) == ["Do it.", "More!", "Much more!"]


async def test_without_a_journal_there_is_nothing_to_leave_words_in() -> None:
    with pytest.raises(InvalidInputError, match="no journal"):
        await AgentExecutor(ScriptedClient([])).say("r", "Hello?")


@pytest.mark.requirement("P1")
async def test_a_run_that_is_cancelled_as_it_is_about_to_hear_loses_nothing(journal: Journal) -> None:
    @tool(effect="irreversible")
    async def sail() -> str:
        """Sail."""
        await executor.say("r", "Hurry.")
        return "sailed"

    def cancel_second_call(write: str, before: bool) -> None:
        if write == "ModelCalled" and before and client.requests:
            running.cancel()

    client = ScriptedClient([call("sail"), reply("Arrived.")])
    executor = AgentExecutor(client, journal=journal)
    journal.on_write = cancel_second_call
    running = asyncio.ensure_future(executor.execute(agent(sail), run_id="r"))
    with pytest.raises(asyncio.CancelledError):
        await running
    journal.on_write = None

    result = await executor.resume("r", agent(sail))

    assert result.output == "Arrived."
    assert [record.outcome.value for record in result.tool_calls] == ["finished"]
    assert heard_in(client.requests[-1]) == ["Do it.", "Hurry."]
