"""A run can be told again from its journal alone, and begun again from any turn."""

from __future__ import annotations

from typing import Any

import pytest

from durable.office import Office, executor
from maverick import AgentDefinition, AgentExecutor, Fork, ModelConfig, ToolConfig, tool
from maverick.exceptions import InvalidInputError, RunNotFoundError
from maverick.journal import Journal
from maverick.loop.events import AgentActivityEvent, ContentChunk, RunEnd
from maverick.model import ModelInfo, Role
from maverick.testing import ScriptedClient, call, calls, reply


def told(events: list[AgentActivityEvent]) -> list[object]:
    """The events, with pieces of an answer joined: a replay tells an answer in one piece."""
    joined: list[object] = []
    for event in events:
        if isinstance(event, ContentChunk) and joined and isinstance(joined[-1], tuple):
            joined[-1] = ("content", joined[-1][1] + event.content)
        else:
            joined.append(("content", event.content) if isinstance(event, ContentChunk) else event.type)
    return joined


async def test_a_replay_tells_the_same_events_without_a_model(journal: Journal, office: Office) -> None:
    live: list[AgentActivityEvent] = []
    turns = (calls(call("look", what="door"), call("nothing")), reply("All is well here."))
    await executor(journal, *turns).execute(office.clerk(), run_id="r", on_activity=live.append)

    silent = AgentExecutor(ScriptedClient([]), journal=journal)
    replayed = [event async for event in silent.replay("r", office.clerk())]

    assert told(replayed) == told(live)
    assert {event.run_id for event in replayed} == {"r"}


async def test_a_replay_tells_what_subagents_did_where_they_did_it(journal: Journal, office: Office) -> None:
    live: list[AgentActivityEvent] = []
    boss = AgentDefinition(
        name="boss", description="Delegates.", tool_config=ToolConfig(tools=[office.clerk().as_tool()])
    )
    turns = (call("clerk"), call("look", what="door"), reply("It is shut."), reply("All is well."))
    await executor(journal, *turns).execute(
        boss, inputs={"prompt": "Go."}, run_id="r", on_activity=live.append
    )

    silent = AgentExecutor(ScriptedClient([]), journal=journal)
    replayed = [event async for event in silent.replay("r", boss)]

    assert told(replayed) == told(live)
    assert {"/".join(event.agent) for event in replayed} == {"boss", "boss/clerk"}


async def test_an_id_that_a_subagent_could_have_is_refused(journal: Journal, office: Office) -> None:
    with pytest.raises(InvalidInputError, match="run_id"):
        await executor(journal, reply("Hi.")).execute(office.clerk(), run_id="r/1/0")


async def test_replaying_an_unknown_run_says_so(journal: Journal, office: Office) -> None:
    with pytest.raises(RunNotFoundError):
        _ = [event async for event in executor(journal).replay("nope", office.clerk())]


async def test_a_fork_serves_what_came_before_from_the_journal(journal: Journal, office: Office) -> None:
    await executor(journal, call("send", to="Ana"), call("look", what="door"), reply("Done.")).execute(
        office.clerk(), run_id="r"
    )
    client = ScriptedClient([reply("Something else.")])

    result = await AgentExecutor(client, journal=journal).fork("r", office.clerk(), turn=2, new_run_id="f")

    assert result.output == "Something else."
    assert office.done.count("send Ana") == 1
    assert [message.content for message in client.requests[0].messages] == ["Do it.", "", "send: Ana"]
    assert (await journal.get("f")).forked_from == "r"
    original = await AgentExecutor(ScriptedClient([]), journal=journal).resume("r", office.clerk())
    assert original.output == "Done."


async def test_a_fork_at_a_later_turn_adds_the_edit_after_the_results(
    journal: Journal, office: Office
) -> None:
    await executor(journal, call("look", what="door"), reply("Done.")).execute(office.clerk(), run_id="r")
    client = ScriptedClient([reply("Only Brest.")])
    await AgentExecutor(client, journal=journal).fork("r", office.clerk(), turn=2, edit="Only Brest, please.")
    last = client.requests[0].messages[-1]
    assert (last.role, last.content) == (Role.USER, "Only Brest, please.")
    assert client.requests[0].messages[-2].role is Role.TOOL_RESULT


async def test_a_fork_at_the_first_turn_replaces_the_task(journal: Journal, office: Office) -> None:
    await executor(journal, reply("Done.")).execute(office.clerk(), run_id="r")
    client = ScriptedClient([reply("Did the other thing.")])
    await AgentExecutor(client, journal=journal).fork("r", office.clerk(), turn=1, edit="Do the other thing.")
    assert [message.content for message in client.requests[0].messages] == ["Do the other thing."]


async def test_a_fork_is_streamed(journal: Journal, office: Office) -> None:
    await executor(journal, call("look", what="door"), reply("Done.")).execute(office.clerk(), run_id="r")
    client = ScriptedClient([reply("Only Brest.")])
    running = AgentExecutor(client, journal=journal)

    fork = Fork("r", turn=2, edit="Only Brest, please.", new_run_id="f")
    events = [event async for event in running.stream(office.clerk(), fork=fork)]

    assert isinstance(events[-1], RunEnd)
    assert (events[-1].run_id, events[-1].result.output) == ("f", "Only Brest.")
    assert client.requests[0].messages[-1].content == "Only Brest, please."
    refused: list[tuple[dict[str, Any], str]] = [
        ({"inputs": {}}, "inputs: a run that is forked has its own"),
        ({"user_id": "ana"}, "user_id: a run that is forked has its own"),
        ({"resume": "r"}, "resume: a run that is forked has its own"),
        ({"fork": "r"}, r"Fork\('report-42', turn=3\)"),
    ]
    for wrong, why in refused:
        with pytest.raises(InvalidInputError, match=why):
            await anext(running.stream(office.clerk(), **{"fork": fork, **wrong}))


async def test_a_fork_may_use_another_model_and_other_tools(journal: Journal, office: Office) -> None:
    @tool
    async def phone(who: str) -> str:
        """Phone somebody."""
        return f"phoned {who}"

    await executor(journal, call("look", what="door"), reply("Done.")).execute(office.clerk(), run_id="r")
    changed = office.clerk(model_config=ModelConfig(model="openai:m"), tool_config=ToolConfig(tools=[phone]))
    client = ScriptedClient([call("phone", who="Ana"), reply("Phoned.")], info=ModelInfo(context_window=9000))
    result = await AgentExecutor(client, journal=journal).fork("r", changed, turn=2, new_run_id="f")
    assert [record.result for record in result.tool_calls] == ["look: door", "phoned Ana"]
    assert client.requests[0].config.model == "openai:m"


async def test_a_fork_can_itself_be_resumed(journal: Journal, office: Office) -> None:
    await executor(journal, call("look", what="door"), reply("Done.")).execute(office.clerk(), run_id="r")
    await executor(journal, call("look", what="door"), reply("Forked.")).fork(
        "r", office.clerk(), turn=2, new_run_id="f"
    )
    again = await AgentExecutor(ScriptedClient([]), journal=journal).resume("f", office.clerk())
    assert again.output == "Forked."


async def test_a_turn_the_run_never_had_is_refused(journal: Journal, office: Office) -> None:
    await executor(journal, reply("Done.")).execute(office.clerk(), run_id="r")
    with pytest.raises(InvalidInputError, match="turns 1 to 1, not 7"):
        await executor(journal).fork("r", office.clerk(), turn=7)
