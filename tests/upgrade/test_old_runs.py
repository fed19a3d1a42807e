"""Runs that an earlier version of Maverick wrote are opened, shown, resumed, replayed and forked by this one."""

from __future__ import annotations

import shutil
import typing
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, PromptConfig
from maverick.exceptions import NetworkError, RateLimitError, RunChangedError, StreamingError
from maverick.journal import RunStatus, SqliteJournal
from maverick.journal.timeline import Timeline
from maverick.loop.entries import Entry
from maverick.loop.events import Compacted, RunEnd
from maverick.model import LLMClient, Message, Request, Response, Text, TextDelta, Thought
from maverick.providers import Client, connect
from maverick.testing import ScriptedClient, call, forbid_network, reply
from scenario import assert_valid
from upgrade import agents
from upgrade.agents import Says, by_turn, clerk, coder, manager, reader, reading, reporter

DATA = Path(__file__).parents[1] / "data" / "0.1.0"
TASK = {"boss": "Ana", "prompt": "the usual"}

pytestmark = pytest.mark.requirement("P1")


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SqliteJournal]:
    """The journal, as somebody has it who upgrades."""
    shutil.copy(DATA / "runs.db", tmp_path)
    agents.acted.clear()
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        yield journal


def executor(journal: SqliteJournal, *turns: Says) -> AgentExecutor:
    return AgentExecutor(ScriptedClient(by_turn(*turns)), journal=journal)


async def test_every_run_and_every_kind_of_entry_can_be_read(journal: SqliteJournal) -> None:
    records = [await journal.get(run_id) for run_id in await journal.run_ids()]
    read: set[type[Entry]] = set()
    for record in records:
        entries = [stored.entry async for stored in journal.read(record.run_id)]
        read |= {type(entry) for entry in entries}
        assert len(entries) == record.entries
        assert Timeline(entries).turns

    assert read >= {kind for kind in typing.get_args(Entry) if kind.__name__ in KINDS}
    assert {record.status for record in records} == set(RunStatus)
    assert {record.run_id: record.forked_from for record in records}["forked"] == "finished"


KINDS = (
    *(
        "RunStarted",
        "ModelCalled",
        "ModelReplied",
        "ModelFailed",
        "ToolsStarted",
        "ToolFinished",
        "CallRuled",
    ),
    *("ApprovalDecided", "Interrupted", "Resumed", "Edited"),
)
"""What 0.1.0 wrote; the names are in the files."""

FINISHED: list[tuple[str, AgentDefinition[Any]]] = [
    *((name, clerk) for name in ("finished", "forked", "denied", "shredded")),
    ("typed", reporter),
    ("managed", manager),
]


@pytest.mark.parametrize(("run_id", "agent"), FINISHED)
async def test_a_finished_run_gives_its_answer_again(
    journal: SqliteJournal, run_id: str, agent: AgentDefinition[Any]
) -> None:
    result = await executor(journal).resume(run_id, agent)

    assert result.success
    assert agents.acted == []


@pytest.mark.parametrize(
    ("run_id", "agent"), [*FINISHED, ("failed", clerk), ("aborted", clerk), ("killed", clerk)]
)
async def test_a_run_is_replayed(journal: SqliteJournal, run_id: str, agent: AgentDefinition[Any]) -> None:
    events = [event async for event in executor(journal).replay(run_id, agent)]

    assert events[0].type == "run_start"
    assert events[-1].type == ("tool_call_start" if run_id == "killed" else "run_end")


@pytest.mark.requirement("P2")
async def test_what_was_done_when_the_process_died_is_not_done_again(journal: SqliteJournal) -> None:
    result = await executor(
        journal, call("look", what="door"), call("send", to="ana"), reply("I cannot tell.")
    ).resume("killed", clerk)

    assert result.output == "I cannot tell."
    assert [record.outcome.value for record in result.tool_calls] == ["finished", "unknown"]
    assert agents.acted == []


async def test_a_run_that_was_resumed_before_goes_on(journal: SqliteJournal) -> None:
    looking = (call("look", what="door"), call("look", what="window"), reply("Looked."))

    result = await executor(journal, *looking).resume("killed-again", clerk)

    assert (result.output, result.turn_count) == ("Looked.", 3)


@pytest.mark.parametrize("run_id", ["failed", "aborted"])
async def test_a_run_that_was_stopped_goes_on(journal: SqliteJournal, run_id: str) -> None:
    result = await executor(journal, reply("After all."), reply("After all.")).resume(run_id, clerk)

    assert result.output == "After all."


@pytest.mark.requirement("P7")
async def test_a_decision_that_was_asked_for_is_made_and_used(journal: SqliteJournal) -> None:
    script = (call("shred", what="letters"), reply("Gone."))
    waiting = await journal.list_approvals()
    assert [approval.run_id for approval in waiting] == ["waiting"]

    await journal.approve(waiting[0].approval_id, by="ana")
    results = [await executor(journal, *script).resume(run_id, clerk) for run_id in ("waiting", "approved")]

    assert [result.output for result in results] == ["Gone.", "Gone."]
    assert agents.acted == ["shred letters", "shred letters"]


async def test_a_subagent_that_was_cut_off_goes_on(journal: SqliteJournal) -> None:
    def model(request: Request) -> Says:
        if any(tool.name == "reporter" for tool in request.tools):
            return by_turn(call("reporter"), reply("Reported."))(request)
        return by_turn(call("look"), reply('{"summary": "Grey.", "cities": []}'))(request)

    result = await AgentExecutor(ScriptedClient(model), journal=journal).resume("managing", manager)

    assert result.output == "Reported."
    assert "Grey" in result.tool_calls[0].result
    assert (await journal.get("managing/1/0")).status is RunStatus.COMPLETE


async def test_a_run_with_tools_that_maverick_has_reworded_goes_on(
    journal: SqliteJournal, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("tea")
    steps = (call("write_file"), call("read_file", path="a.txt"), reply("Done."))

    result = await executor(journal, *steps).resume("coding", coder(tmp_path))

    assert result.output == "Done."


async def test_a_run_is_forked(journal: SqliteJournal) -> None:
    result = await executor(journal, reply("Else."), reply("Else.")).fork(
        "finished", clerk, turn=2, edit="Something else."
    )

    assert result.output == "Else."
    assert result.messages[-2].content == "Something else."


@pytest.mark.requirement("P10")
async def test_an_agent_that_changed_with_the_upgrade_is_named(journal: SqliteJournal) -> None:
    other = AgentDefinition(
        name="clerk",
        description="Does office work.",
        prompt_config=PromptConfig("You work alone."),
        tool_config=clerk.tool_config,
    )

    with pytest.raises(RunChangedError, match="the prompt has changed"):
        await executor(journal).resume("killed", other)


# Condensed runs -------------------------------------------------------------------------------------------------

CONDENSED = ("thought", "thoughtless")


@pytest.fixture
async def condensed(tmp_path: Path) -> AsyncIterator[SqliteJournal]:
    """The journal of runs whose conversation was longer than the context window."""
    shutil.copy(DATA / "condensed.db", tmp_path)
    agents.acted.clear()
    async with SqliteJournal(tmp_path / "condensed.db") as journal:
        yield journal


@pytest.mark.parametrize("run_id", CONDENSED)
async def test_a_condensed_run_is_replayed_and_gives_its_answer_again(
    condensed: SqliteJournal, run_id: str
) -> None:
    reopened = AgentExecutor(ScriptedClient([]), journal=condensed)

    events = [event async for event in reopened.replay(run_id, reader)]
    result = await reopened.resume(run_id, reader)

    assert sum(isinstance(event, Compacted) for event in events) >= 2
    assert isinstance(events[-1], RunEnd)
    assert (result.output, result.turn_count) == ("The end.", 9)
    assert result.messages == events[-1].result.messages
    assert agents.acted == []


@pytest.mark.parametrize("run_id", ["thought-cut", "thought-cut-later", "thoughtless-cut"])
@pytest.mark.parametrize("fork", [False, True])
async def test_a_condensed_run_that_was_killed_goes_on(
    condensed: SqliteJournal, run_id: str, fork: bool
) -> None:
    client = ScriptedClient(reading(8, thinks=run_id.startswith("thought-")))
    reopened = AgentExecutor(client, journal=condensed)

    if fork:
        result = await reopened.fork(run_id, reader, turn=3)
    else:
        result = await reopened.resume(run_id, reader)

    assert (result.output, result.turn_count) == ("The end.", 9)
    read = [record.arguments["number"] for record in result.tool_calls]
    assert read == list(range(1, 9))
    for before, request in pairwise(request for request in client.requests if request.tools):
        assert_valid(request.messages)
        thoughts = [part for message in request.messages for part in message.parts if type(part) is Thought]
        is_extended = list(request.messages[: len(before.messages)]) == list(before.messages)
        assert is_extended or len(thoughts) <= 1


# The cassette ---------------------------------------------------------------------------------------------------


@pytest.fixture
def cassette() -> Client:
    return connect(f"cassette:{DATA / 'cassette.json'}")


def ask(text: str) -> Request:
    return Request([Message.user(text)])


async def collect(client: LLMClient, request: Request, seen: list[str]) -> Response | None:
    async for item in client.stream(request):
        if isinstance(item, Response):
            return item
        if isinstance(item, TextDelta):
            seen.append(item.text)
    return None


async def test_a_recorded_run_is_played_back(cassette: Client) -> None:
    with forbid_network():
        result = await AgentExecutor(cassette).execute(clerk, inputs=TASK)

    assert result.output == "A door."
    assert cassette.model_info("scripted:").context_window == 200_000


@pytest.mark.requirement("P9")
async def test_recorded_answers_errors_and_streams_come_back(cassette: Client) -> None:
    told = await cassette.run(ask("My key is sk-live-fedcba9876543210."))
    with pytest.raises(RateLimitError, match=r"The key \[redacted\] is over its limit.") as limit:
        await cassette.run(ask("fail"))
    streamed: list[str] = []
    story = await collect(cassette, ask("stream"), streamed)
    broken: list[str] = []
    with pytest.raises(NetworkError, match="Cut"):
        await collect(cassette, ask("break"), broken)
    left: list[str] = []
    with pytest.raises(StreamingError):
        await collect(cassette, ask("left"), left)

    assert told.content == "Your key is [redacted]."
    assert (limit.value.retry_after, limit.value.status) == (2.5, 429)
    assert streamed == ["Once", " upon", " a time"]
    assert story is not None
    assert story.parts[-1] == Text("Once upon a time")
    assert (broken, left) == (["Once ", "upon"], ["Your "])
