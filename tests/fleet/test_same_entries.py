"""A worker writes the same entries as the executor alone: the scenarios of both its suites, driven both ways."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from chaos.bench import BENCH
from chaos.scenarios import SCENARIOS
from chaos.stores import PostgresStore
from chaos.survey import survey
from chaos.trap import Trap
from conformance.providers.in_process import scripted_client
from conformance.providers.scenarios import Scenario
from maverick import AbortSignal, AgentDefinition, AgentExecutor, OutputConfig, TerminateReason, tool
from maverick.fleet import Fleet
from maverick.fleet.store import FleetState
from maverick.fleet.worker import Offer, Worker
from maverick.journal import Journal, PostgresJournal
from maverick.journal.codec import encode_entry
from maverick.loop.entries import Entry, Resumed, RunStarted, ToolFinished
from maverick.model import LLMClient
from maverick.testing import ScriptedClient
from postgres import fresh_database
from scenario import agent

PATIENCE = 60
"""Seconds after which a run that does not end is given up."""
_NOT_HERE = ("fork", "handover")
"""A fork begins as a copy, not in a fleet; and a worker hands over what it drives, not a tool."""


@tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="pure")
async def now() -> str:
    """What time it is."""
    return "noon"


@dataclass(frozen=True)
class Play:
    """A scenario of one of the suites: an agent, its model, and what a person decides and says."""

    agent: AgentDefinition[Any]
    model: Callable[[], LLMClient]
    decisions: Mapping[str, bool] = field(default_factory=dict)
    words: str = ""


def _of_runs(name: str) -> Play:
    scenario = SCENARIOS[name]
    return Play(
        replace(scenario.agent, name=name),
        lambda: ScriptedClient(scenario.script),
        scenario.decisions,
        scenario.words,
    )


def _of_models(*answers: Scenario) -> Play:
    output = OutputConfig("place", dict[str, str]) if Scenario.STRUCTURED in answers else None
    return Play(
        agent(add, now, name=f"model-{answers[0]}", output=output, max_turns=40),
        lambda: scripted_client(*answers),
    )


PLAYS = {
    play.agent.name: play
    for play in (
        *(_of_runs(name) for name in SCENARIOS if name not in _NOT_HERE),
        *(
            _of_models(answer)
            for answer in (
                Scenario.LOOP,
                Scenario.STRUCTURED,
                Scenario.THINKING,
                Scenario.REFUSAL,
                Scenario.MAX_TOKENS,
            )
        ),
        *(
            _of_models(answer, Scenario.TEXT)
            for answer in (
                Scenario.TOOL,
                Scenario.PARALLEL_TOOLS,
                Scenario.PAUSE,
                Scenario.TOOL_CUT_OFF,
                Scenario.TOOL_CUT_BEFORE_ARGUMENTS,
                Scenario.TOOL_ARGUMENTS_MALFORMED,
            )
        ),
    )
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(temporal_server: str, postgres_server: str) -> AsyncIterator[Fleet]:
    """A fleet with one worker that has the agents of all scenarios."""
    async with fresh_database(postgres_server) as url:
        await PostgresStore(url).prepare()
        fleet = await Fleet.connect(
            temporal=temporal_server, journal=PostgresJournal(url), queue=f"test-{uuid.uuid4().hex[:8]}"
        )
        async with fleet:
            offers = {
                name: Offer(play.agent, _executors(play, fleet.journal)) for name, play in PLAYS.items()
            }
            working = asyncio.create_task(Worker(fleet, offers).run())
            yield fleet
            working.cancel()
            await asyncio.wait([working])


def _executors(play: Play, journal: Journal) -> Callable[[str | None], Any]:
    @asynccontextmanager
    async def executor(user_id: str | None) -> AsyncIterator[AgentExecutor]:
        yield AgentExecutor(play.model(), journal=journal)

    return executor


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def journal(postgres_server: str) -> AsyncIterator[PostgresJournal]:
    """Where the runs are written that the executor alone drives."""
    async with fresh_database(postgres_server) as url:
        await PostgresStore(url).prepare()
        async with PostgresJournal(url) as journal:
            yield journal


class FleetAbort(AbortSignal):
    """What a tool stops its run with when a worker drives it."""

    def __init__(self, fleet: Fleet, run_id: str) -> None:
        super().__init__()
        self._run = fleet.run(run_id)
        self._loop = asyncio.get_running_loop()

    def abort(self, reason: str = "") -> None:
        asyncio.run_coroutine_threadsafe(self._run.abort(reason), self._loop)


async def drive_alone(play: Play, journal: PostgresJournal, run_id: str) -> None:
    """Run a scenario with the executor, until it ends or is stopped."""
    executor = AgentExecutor(play.model(), journal=journal)
    result = await executor.execute(play.agent, run_id=run_id, user_id="ana", signal=BENCH.signal)
    while result.terminate_reason is TerminateReason.AWAITING_APPROVAL:
        await decide(play, journal, run_id)
        result = await executor.resume(run_id, play.agent, signal=BENCH.signal)


async def drive_in(fleet: Fleet, play: Play, run_id: str) -> None:
    """Run a scenario in a fleet, until it ends or is stopped."""
    await fleet.start(play.agent.name, run_id=run_id, user_id="ana")
    while True:
        record = await fleet.store.get(run_id)
        assert record is not None
        assert not record.error
        if record.state is FleetState.ENDED:
            return
        if record.worker is None and record.waits_for:
            await decide(play, fleet.journal, run_id)
            await fleet.workflows.wake(run_id)
        await asyncio.sleep(0.02)


async def decide(play: Play, journal: PostgresJournal, run_id: str) -> None:
    pending = (await survey(journal, run_id)).pending
    if pending and play.words:
        await journal.say(run_id, play.words)
    for approval_id, arguments in pending:
        approved = play.decisions[msgspec.json.decode(arguments)["item"]]
        await (journal.approve if approved else journal.deny)(approval_id, by="ana")


async def entries_of(journal: Journal, run_id: str) -> dict[str, list[Any]]:
    """The entries of a run and its subagents' runs, without what differs each time: times, and ids of traces and processes."""
    found = {run_id: [_lasting(stored.entry) async for stored in journal.read(run_id)]}
    for child in await journal.list_runs(parent=run_id):
        found |= await entries_of(journal, child.run_id)
    return {run: _in_order(entries) for run, entries in found.items()}


def _lasting(entry: Entry) -> dict[str, Any]:
    entry = msgspec.structs.replace(entry, at=0.0)
    if isinstance(entry, RunStarted | Resumed):
        limits = msgspec.structs.replace(entry.limits, seconds=None)
        entry = msgspec.structs.replace(entry, worker="", limits=limits)
    if isinstance(entry, RunStarted):
        entry = msgspec.structs.replace(entry, trace_id="")
    if isinstance(entry, ToolFinished):
        entry = msgspec.structs.replace(entry, duration_ms=0)
    plain: dict[str, Any] = msgspec.json.decode(encode_entry(entry))
    return plain


def _in_order(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results of calls that ran side by side come in any order."""
    ordered: list[dict[str, Any]] = []
    for kind, same in groupby(entries, lambda entry: entry["type"]):
        found = list(same)
        ordered += sorted(found, key=lambda entry: entry["index"]) if kind == "ToolFinished" else found
    return ordered


@pytest.mark.parametrize("name", PLAYS)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_worker_writes_the_entries_that_the_executor_alone_writes(
    name: str, fleet: Fleet, journal: PostgresJournal, tmp_path: Path
) -> None:
    play, run_id = PLAYS[name], f"run-{name}"
    trap = Trap(tmp_path / "trace", None)

    async with asyncio.timeout(PATIENCE):
        BENCH.set_up(tmp_path / "alone", trap, PostgresStore.booking)
        await drive_alone(play, journal, run_id)
        BENCH.set_up(tmp_path / "fleet", trap, PostgresStore.booking)
        BENCH.signal = FleetAbort(fleet, run_id)
        await drive_in(fleet, play, run_id)

    alone, driven = await entries_of(journal, run_id), await entries_of(fleet.journal, run_id)
    assert driven == alone
    assert (await fleet.journal.get(run_id)).status is (await journal.get(run_id)).status
