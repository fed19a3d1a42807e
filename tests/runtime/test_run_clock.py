"""A run's time is counted by the monotonic clock: setting the computer's clock neither ends a run nor prolongs it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from clocks import Clocks
from durable.office import ProcessDied, die_at, executor
from maverick import AgentDefinition, AgentExecutor, TerminateReason, tool
from maverick.journal import Journal, SqliteJournal
from maverick.loop.entries import Entry, Resumed
from maverick.loop.events import AgentActivityEvent
from maverick.model import Tool
from maverick.providers.scripted import TurnLike
from maverick.testing import ScriptedClient, call, reply
from scenario import agent, run

HOUR = 3600.0
MINUTE_MS = 60_000
DONE = reply("Done.")


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


@pytest.fixture
def set_clock(clocks: Clocks) -> Tool:
    @tool(effect="pure")
    async def set_clock(hours: float) -> str:
        """Set the clock."""
        clocks.set_ahead(hours * HOUR)
        return "set"

    return set_clock


@pytest.fixture
def work(clocks: Clocks) -> Tool:
    @tool(effect="pure")
    async def work(seconds: float) -> str:
        """Work for some time."""
        clocks.pass_by(seconds)
        return "worked"

    return work


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with SqliteJournal(tmp_path / "runs.db") as opened:
        yield opened


async def entries_of(journal: Journal, run_id: str) -> list[Entry]:
    return [stored.entry async for stored in journal.read(run_id)]


def is_in_order(times: list[float]) -> bool:
    return all(earlier <= later for earlier, later in pairwise(times))


@pytest.mark.requirement("P5", "F-CLOCK")
@pytest.mark.parametrize("hours", [5, -5])
async def test_a_clock_that_is_set_meanwhile_does_not_end_a_run(hours: float, set_clock: Tool) -> None:
    result = await run([call("set_clock", hours=hours), DONE], agent(set_clock, timeout_ms=MINUTE_MS))

    assert (result.terminate_reason, result.output) == (TerminateReason.COMPLETE, "Done.")
    assert 0 <= result.usage.duration_ms < MINUTE_MS


@pytest.mark.requirement("P5", "F-CLOCK")
async def test_a_clock_that_is_set_back_gives_a_run_no_more_time(set_clock: Tool, work: Tool) -> None:
    script: list[TurnLike] = [call("set_clock", hours=-5), call("work", seconds=61), DONE]

    result = await run(script, agent(set_clock, work, timeout_ms=MINUTE_MS))

    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert result.usage.duration_ms >= MINUTE_MS


@pytest.mark.requirement("P5", "F-CLOCK")
@pytest.mark.parametrize("hours", [5, -5])
async def test_the_time_used_before_a_crash_counts_after_it_however_the_clock_was_set(
    hours: float,
    journal: Journal,
    clocks: Clocks,
    set_clock: Tool,
    work: Tool,
) -> None:
    definition = agent(set_clock, work, timeout_ms=MINUTE_MS)
    script: list[TurnLike] = [
        call("set_clock", hours=hours),
        call("work", seconds=50),
        call("work", seconds=20),
        DONE,
    ]
    running = executor(journal, *script)
    die_at(journal, "ModelCalled", 3, before=False)
    with pytest.raises(ProcessDied):
        await running.execute(definition, run_id="r")
    clocks.pass_by(HOUR)

    result = await running.resume("r", definition)

    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert [record.tool_name for record in result.tool_calls] == ["set_clock", "work", "work"]
    assert MINUTE_MS <= result.usage.duration_ms < 2 * MINUTE_MS


@pytest.mark.requirement("P5", "F-CLOCK")
@pytest.mark.parametrize("hours", [5, -5])
async def test_a_clock_that_is_set_between_two_processes_neither_takes_time_nor_gives_it(
    hours: float, journal: Journal, clocks: Clocks, work: Tool
) -> None:
    definition = agent(work, timeout_ms=MINUTE_MS)
    running = executor(journal, call("work", seconds=50), call("work", seconds=5), DONE)
    die_at(journal, "ModelCalled", 2, before=False)
    with pytest.raises(ProcessDied):
        await running.execute(definition, run_id="r")
    clocks.set_ahead(hours * HOUR)

    result = await running.resume("r", definition)

    assert (result.terminate_reason, result.output) == (TerminateReason.COMPLETE, "Done.")
    assert 55_000 <= result.usage.duration_ms < MINUTE_MS
    assert is_in_order([entry.at for entry in await entries_of(journal, "r")])


@pytest.mark.requirement("F-CLOCK")
async def test_the_times_of_a_run_are_those_of_the_wall_clock_at_its_start_and_when_it_is_resumed(
    journal: Journal, clocks: Clocks, set_clock: Tool
) -> None:
    definition = agent(set_clock)
    running = executor(journal, call("set_clock", hours=5), DONE)
    began = time.time()
    die_at(journal, "ModelCalled", 2, before=False)
    with pytest.raises(ProcessDied):
        await running.execute(definition, run_id="r")
    resumed = time.time()
    await running.resume("r", definition)

    entries = await entries_of(journal, "r")

    back = next(index for index, entry in enumerate(entries) if isinstance(entry, Resumed))
    assert all(began <= entry.at < began + HOUR for entry in entries[:back])
    assert all(resumed <= entry.at < resumed + HOUR for entry in entries[back:])


@pytest.mark.requirement("F-CLOCK", "003-OQ3")
@pytest.mark.parametrize("hours", [5, -5])
async def test_a_run_whose_clock_was_set_is_retold_in_the_order_it_happened_in(
    hours: float, journal: Journal, set_clock: Tool
) -> None:
    helper: AgentDefinition[str] = agent(set_clock, name="helper")
    boss = agent(set_clock, helper.as_tool(), name="boss")
    script: list[TurnLike] = [
        call("set_clock", hours=hours),
        call("helper"),
        call("set_clock", hours=hours),
        "Helped.",
        DONE,
    ]
    events: list[AgentActivityEvent] = []
    running = AgentExecutor(ScriptedClient(script), journal=journal)
    await running.execute(boss, run_id="r", on_activity=events.append)

    told = [event async for event in running.replay("r", boss)]

    def summary(events: list[AgentActivityEvent]) -> list[tuple[str, tuple[str, ...]]]:
        return [(event.type, event.agent) for event in events if event.type != "content_chunk"]

    assert summary(told) == summary(events)
    assert is_in_order([event.at for event in events])
