"""Agents that are classes run as any other agent does: kept, resumed, limited, ruled on, and on any model."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maverick.agents import AgentContext, AgentResult, MaverickAgent
from maverick.agents.class_executor import ClassDefinition, ClassExecutor, define_class
from maverick.agents.context import NO_BRANCH
from maverick.agents.named_tools import coding_registry
from maverick.config import MaverickConfig
from maverick.exceptions import RunChangedError, ServerError
from maverick.journal import Journal, SqliteJournal
from maverick.loop import PromptConfig, RunConfig, TerminateReason
from maverick.model import Role
from maverick.testing import ScriptedClient, call, reply
from maverick.tools.permissions import Permissions


class Twins(MaverickAgent):
    """Asks twice, and the second time about the first answer."""

    system_prompt = "You answer for ${nobody}."

    async def execute(self, context: AgentContext) -> AgentResult[Any]:
        first = await self.run_prompt(f"First, {context.extra['who']}.", context)
        return await self.run_prompt(f"Then: {first.output}", context)


def twins(folder: Path, **changes: Any) -> ClassDefinition:
    context = AgentContext(folder, NO_BRANCH, MaverickConfig())
    tools = ["Read", "Write", "Bash(git status)", "WebSearch"]
    definition = define_class("twins", Twins, context, allowed_tools=tools)
    return replace(definition, **changes)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        yield journal


def executor(client: ScriptedClient, folder: Path, **options: Any) -> ClassExecutor:
    return ClassExecutor(client, coding_registry(folder), **options)


@pytest.mark.requirement("P1", "CLASS-RUNS")
async def test_a_prompt_that_is_done_answers_from_the_journal_when_execute_is_entered_again(
    journal: Journal, tmp_path: Path
) -> None:
    before = ScriptedClient([reply("One."), ServerError("It failed.")])
    failed = await executor(before, tmp_path, journal=journal).execute(
        twins(tmp_path), inputs={"who": "Ana"}, run_id="work"
    )
    after = ScriptedClient([reply("Two.")])
    result = await executor(after, tmp_path, journal=journal).resume("work.2", twins(tmp_path))
    again = await executor(ScriptedClient([]), tmp_path, journal=journal).resume("work", twins(tmp_path))

    assert [type(error) for error in failed.errors] == [ServerError]
    assert len(before.requests) == 2  # nothing is tried again
    assert before.requests[0].messages[-1].content == "First, Ana."
    assert before.requests[0].system == "You answer for ${nobody}."
    assert [record.run_id for record in await journal.list_runs()] == ["work.2", "work"]
    assert (result.output, again.output) == ("Two.", "Two.")
    assert [request.messages[-1].content for request in after.requests] == ["Then: One."]


@pytest.mark.requirement("P10", "CLASS-RUNS")
async def test_a_class_that_has_changed_is_not_resumed_unless_that_is_accepted(
    journal: Journal, tmp_path: Path
) -> None:
    started = executor(ScriptedClient([ServerError("It failed.")]), tmp_path, journal=journal)
    await started.execute(twins(tmp_path), inputs={"who": "Ana"}, run_id="work")
    changed = twins(tmp_path, prompt_config=PromptConfig("You are another."))
    client = ScriptedClient([reply("One."), reply("Two.")])

    refused = await executor(client, tmp_path, journal=journal).resume("work", changed)
    accepted = await executor(client, tmp_path, journal=journal).resume("work", changed, accept_changes=True)

    assert [type(error) for error in refused.errors] == [RunChangedError]
    assert accepted.output == "Two."


@pytest.mark.requirement("CLASS-RUNS")
async def test_on_another_model_a_class_has_our_tools_and_is_held_to_limits_and_permissions(
    tmp_path: Path,
) -> None:
    client = ScriptedClient([call("write_file", path="a.txt", content="x"), reply("No."), reply("Done.")])
    runner = executor(client, tmp_path, permissions=Permissions("yolo", deny=["write_file"]))
    limited = twins(tmp_path, run_config=RunConfig(max_turns=1))

    result = await runner.execute(twins(tmp_path), inputs={"who": "Ana"})
    stopped = await executor(ScriptedClient(lambda _: call("read_file", path="a.txt")), tmp_path).execute(
        limited, inputs={"who": "Ana"}
    )

    assert result.output == "Done."
    assert {tool.name for tool in client.requests[0].tools} == {"read_file", "write_file"}
    assert not (tmp_path / "a.txt").exists()
    assert client.requests[1].messages[-1].role is Role.TOOL_RESULT
    assert stopped.terminate_reason is TerminateReason.MAX_TURNS


@pytest.mark.requirement("CLASS-RUNS")
async def test_a_prompt_of_a_class_can_be_replayed_and_forked(journal: Journal, tmp_path: Path) -> None:
    runner = executor(
        ScriptedClient([reply("One."), reply("Two."), reply("Three.")]), tmp_path, journal=journal
    )
    await runner.execute(twins(tmp_path), inputs={"who": "Ana"}, run_id="work")

    told = [event.type async for event in runner.replay("work.2", twins(tmp_path))]
    forked = await runner.fork("work.2", twins(tmp_path), turn=1, edit="Else?", new_run_id="fork")
    resumed = await runner.resume("fork", twins(tmp_path))

    assert told[-1] == "run_end"
    assert (forked.output, resumed.output) == ("Three.", "Three.")


@pytest.mark.requirement("CLASS-RUNS")
async def test_without_the_sdk_a_class_still_runs_on_another_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)
    client = ScriptedClient([reply("One."), reply("Two.")])

    result = await ClassExecutor(client).execute(twins(tmp_path), inputs={"who": "Ana"})

    assert result.output == "Two."
    assert {tool.name for tool in client.requests[0].tools} == {"read_file", "write_file"}
