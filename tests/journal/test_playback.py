"""A run's journal is a cassette: played back, the model answers as it did, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, OutputConfig, TerminateReason, tool
from maverick.exceptions import (
    CassetteMissError,
    InvalidToolError,
    JournalError,
    RateLimitError,
    RunNotFoundError,
)
from maverick.journal import Journal, MemoryJournal
from maverick.journal.compare import Divergence, compare_runs
from maverick.journal.playback import RunPlayback
from maverick.loop.entries import ModelCalled
from maverick.loop.events import AgentActivityEvent, ContentChunk
from maverick.model import (
    LLMClient,
    Message,
    ModelInfo,
    Request,
    Response,
    Text,
    TextDelta,
    ThinkingDelta,
    Thought,
    Usage,
)
from maverick.providers.scripted import Script, TurnLike
from maverick.testing import ScriptedClient, call, calls, reply, turn
from scenario import agent


@tool
async def weigh(item: str) -> str:
    """Weigh something."""
    return f"{item}: {len(item)} kg"


class Killed(BaseException):
    """Stands for a kill."""


async def recorded(script: Script, definition: AgentDefinition[Any], **info: Any) -> Journal:
    """A journal that has one run of an agent, ``r``."""
    journal = MemoryJournal()
    client = ScriptedClient(script, info=ModelInfo(**info))
    await AgentExecutor(client, journal=journal).execute(definition, run_id="r")
    return journal


async def play(journal: Journal, definition: AgentDefinition[Any], run_id: str = "again") -> Any:
    client = await RunPlayback.load(journal, "r", definition)
    return await AgentExecutor(client, journal=journal).execute(definition, run_id=run_id)


@pytest.mark.requirement("003-OQ3")
async def test_a_run_played_back_is_the_same_run() -> None:
    worker = agent(weigh)
    script: list[TurnLike] = [
        calls(call("weigh", item="x"), call("weigh", item="yy"), text="Let me see."),
        RateLimitError("Slow down."),
        call("weigh", item="zzz"),
        reply("Seven kilos."),
    ]
    journal = await recorded(script, worker)

    result = await play(journal, worker)

    assert result.output == "Seven kilos."
    assert await compare_runs(journal, "r", "again") is None


async def test_a_playback_is_a_client() -> None:
    assert isinstance(RunPlayback(), LLMClient)


async def test_what_was_streamed_can_be_streamed_again() -> None:
    worker = agent()
    journal = await recorded([reply("Hello there.", thinking="A greeting.")], worker)
    client = await RunPlayback.load(journal, "r", worker)
    events: list[AgentActivityEvent] = []

    await AgentExecutor(client).execute(worker, on_activity=events.append)

    assert "".join(e.content for e in events if isinstance(e, ContentChunk)) == "Hello there."


async def test_a_stream_yields_each_part_and_then_the_answer() -> None:
    worker = agent()
    journal = await recorded([turn(Thought("Hm."), "One.", "Two.")], worker)
    client = await RunPlayback.load(journal, "r", worker)

    items = [item async for item in client.stream(Request([Message.user("Do it.")]))]

    assert items[:-1] == [ThinkingDelta("Hm."), TextDelta("One."), TextDelta("Two.")]
    assert isinstance(items[-1], Response)
    assert items[-1].parts == (Thought("Hm."), Text("One."), Text("Two."))


async def test_an_answer_in_repair_is_played_back_too() -> None:
    counter = agent(output=OutputConfig(output_name="count", schema=int))
    journal = await recorded([reply("many"), reply("7")], counter, native_output=True)

    result = await play(journal, counter)

    assert result.output == 7
    assert result.turn_count == 2


async def test_a_condensed_conversation_is_played_back_with_what_the_client_knew_of_the_model() -> None:
    worker = agent(weigh)

    def answer(request: Request) -> Any:
        if not request.tools:
            return reply("A summary.")
        if "A summary." in str(request.messages):
            return reply("Heavy.")
        return calls(call("weigh", item="x" * 3000), usage=Usage(1000 * len(request.messages), 10))

    journal = await recorded(answer, worker, context_window=4000)
    condensed = [stored.entry async for stored in journal.read("r") if isinstance(stored.entry, ModelCalled)]
    assert sum(entry.compaction for entry in condensed) == 1

    result = await play(journal, worker)

    assert result.output == "Heavy."
    assert await compare_runs(journal, "r", "again") is None


@pytest.mark.requirement("003-OQ3")
async def test_a_run_of_nested_agents_is_played_back() -> None:
    scout = agent(weigh, name="scout", ask="Scout ${place}.")
    chief = agent(scout.as_tool("send_scout"), name="chief")

    def answer(request: Request) -> Any:
        task, *since = (message.content for message in request.messages)
        if task.startswith("Scout"):
            return reply(f"I say {since[-1]}") if since else call("weigh", item=task)
        if not since:
            return calls(call("send_scout", place="A"), call("send_scout", place="BB"))
        return reply(" ".join(since).strip())

    journal = await recorded(answer, chief)

    result = await play(journal, chief)

    assert result.output == "I say Scout A.: 8 kg I say Scout BB.: 9 kg"
    assert await compare_runs(journal, "r", "again") is None
    assert await compare_runs(journal, "r/1/1", "again/1/1") is None


async def test_a_tool_that_answers_something_else_is_noticed() -> None:
    journal = await recorded([call("weigh", item="x"), reply("One.")], agent(weigh))

    @tool(name="weigh")
    async def lie(item: str) -> str:
        """Weigh something."""
        return f"{item}: nothing"

    result = await play(journal, agent(lie))

    assert result.terminate_reason is TerminateReason.ERROR
    (error,) = result.errors
    assert isinstance(error, CassetteMissError)
    assert error.line == 7
    assert error.difference == Divergence(7, "messages[2].parts[0].text", "x: 1 kg", "x: nothing")
    assert "'x: 1 kg'" in str(error)
    assert "'x: nothing'" in str(error)


@pytest.mark.parametrize(
    ("request_made", "path"),
    [
        (Request([Message.user("Do that.")]), "messages[0].parts[0].text"),
        (Request([Message.user("Do it."), Message.user("Now.")]), "messages[1]"),
        (Request([]), "messages[0]"),
        (Request([Message.user("Do it.")], system="Be brief."), "system"),
        (Request([Message.assistant("Do it.")]), "messages[0].role"),
    ],
)
async def test_whatever_was_not_asked_is_refused(request_made: Request, path: str) -> None:
    worker = agent()
    client = await RunPlayback.load(await recorded([reply("Done.")], worker), "r", worker)

    with pytest.raises(CassetteMissError) as refused:
        await client.run(request_made)

    assert isinstance(refused.value.difference, Divergence)
    assert refused.value.difference.path == path
    assert not refused.value.retryable
    assert (await client.run(Request([Message.user("Do it.")]))).content == "Done."


async def test_a_question_is_answered_as_often_as_it_was_asked() -> None:
    worker = agent()
    client = await RunPlayback.load(await recorded([reply("Done.")], worker), "r", worker)
    await client.run(Request([Message.user("Do it.")]))

    with pytest.raises(CassetteMissError, match="knows no more"):
        await client.run(Request([Message.user("Do it.")]))


async def test_an_answer_that_never_came_is_not_played_back() -> None:
    worker = agent()
    journal = MemoryJournal()
    executor = AgentExecutor(ScriptedClient([reply("Done.")]), journal=journal)

    def die(name: str, before: bool) -> None:
        if name == "Finished":
            journal.on_write = None
            raise Killed

    journal.on_write = die
    with pytest.raises(Killed):
        await executor.execute(worker, run_id="r")

    client = await RunPlayback.load(journal, "r", worker)
    with pytest.raises(CassetteMissError, match="knows no more"):
        await client.run(Request([Message.user("Do it.")]))


async def test_tools_that_are_only_named_are_looked_up() -> None:
    journal = await recorded([call("weigh", item="x"), reply("One.")], agent(weigh))

    client = await RunPlayback.load(journal, "r", agent("weigh"), {"weigh": weigh})

    assert (await client.run(Request([Message.user("Do it.")]))).tool_calls[0].tool_name == "weigh"
    with pytest.raises(InvalidToolError, match="weigh"):
        await RunPlayback.load(journal, "r", agent("weigh"))


async def test_a_run_of_another_agent_is_refused() -> None:
    journal = await recorded([reply("many"), reply("7")], agent(output=OutputConfig("count", int)))

    with pytest.raises(JournalError, match="does not follow from this definition"):
        await RunPlayback.load(journal, "r", agent())
    with pytest.raises(RunNotFoundError):
        await RunPlayback.load(journal, "x", agent())


async def test_a_subagent_that_is_no_tool_any_more_is_named() -> None:
    scout = agent(name="scout", ask="Scout ${place}.")
    script: list[TurnLike] = [call("scout", place="A"), reply("Clear."), reply("All clear.")]
    journal = await recorded(script, agent(scout.as_tool(), name="chief"))

    @tool(name="scout")
    async def look(place: str) -> str:
        """Scout."""
        return place

    with pytest.raises(JournalError, match="'scout'"):
        await RunPlayback.load(journal, "r", agent(look, name="chief"))
