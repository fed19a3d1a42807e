"""The export of a run is a cassette: played back, the model answers as it did, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, OutputConfig, TerminateReason, connect, tool
from maverick.exceptions import CassetteMissError, InvalidInputError, RateLimitError
from maverick.journal import Journal, MemoryJournal
from maverick.journal.compare import Divergence, compare_runs
from maverick.journal.export import export_run
from maverick.loop.entries import ModelCalled
from maverick.model import Message, ModelInfo, Request, Usage
from maverick.providers import Client
from maverick.providers.scripted import Script, TurnLike
from maverick.testing import ScriptedClient, call, calls, reply
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


async def exported(journal: Journal, folder: Path) -> Client:
    file = folder / "run.json"
    file.write_bytes(b"".join([line async for line in export_run(journal, "r")]))
    return connect(f"cassette:{file}")


async def play(journal: Journal, folder: Path, definition: AgentDefinition[Any]) -> Any:
    client = await exported(journal, folder)
    return await AgentExecutor(client, journal=journal).execute(definition, run_id="again")


@pytest.mark.requirement("003-OQ3")
async def test_a_run_played_back_is_the_same_run(tmp_path: Path) -> None:
    worker = agent(weigh)
    script: list[TurnLike] = [
        calls(call("weigh", item="x"), call("weigh", item="yy"), text="Let me see."),
        RateLimitError("Slow down."),
        call("weigh", item="zzz"),
        reply("Seven kilos."),
    ]
    journal = await recorded(script, worker)

    result = await play(journal, tmp_path, worker)

    assert result.output == "Seven kilos."
    assert await compare_runs(journal, "r", "again") is None


async def test_a_typed_answer_is_played_back(tmp_path: Path) -> None:
    counter = agent(output=OutputConfig(output_name="count", schema=int))
    journal = await recorded([reply("7")], counter, native_output=True)

    assert (await play(journal, tmp_path, counter)).output == 7


async def test_a_run_that_does_not_follow_without_its_agent_is_refused(tmp_path: Path) -> None:
    counter = agent(output=OutputConfig(output_name="count", schema=int))
    journal = await recorded([reply("many"), reply("7")], counter, native_output=True)

    with pytest.raises(InvalidInputError, match="ModelCalled does not fit here"):
        await exported(journal, tmp_path)


async def test_a_condensed_conversation_is_played_back_with_what_the_client_knew_of_the_model(
    tmp_path: Path,
) -> None:
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

    result = await play(journal, tmp_path, worker)

    assert result.output == "Heavy."
    assert await compare_runs(journal, "r", "again") is None


@pytest.mark.requirement("003-OQ3")
async def test_a_run_of_nested_agents_is_played_back(tmp_path: Path) -> None:
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

    result = await play(journal, tmp_path, chief)

    assert result.output == "I say Scout A.: 8 kg I say Scout BB.: 9 kg"
    assert await compare_runs(journal, "r", "again") is None
    assert await compare_runs(journal, "r/1/1", "again/1/1") is None


async def test_a_tool_that_answers_something_else_is_noticed(tmp_path: Path) -> None:
    journal = await recorded([call("weigh", item="x"), reply("One.")], agent(weigh))

    @tool(name="weigh")
    async def lie(item: str) -> str:
        """Weigh something."""
        return f"{item}: nothing"

    result = await play(journal, tmp_path, agent(lie))

    assert result.terminate_reason is TerminateReason.ERROR
    (error,) = result.errors
    assert isinstance(error, CassetteMissError)
    assert error.difference == Divergence(8, "messages[2].content", "x: 1 kg", "x: nothing")


async def test_an_answer_that_never_came_is_not_played_back(tmp_path: Path) -> None:
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

    client = await exported(journal, tmp_path)
    with pytest.raises(CassetteMissError, match="given already"):
        await client.run(Request([Message.user("Do it.")]))
