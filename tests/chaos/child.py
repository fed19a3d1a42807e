"""What a child process does: goes on with a run for as long as it is let, or decides what a person has to decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from chaos.bench import BENCH
from chaos.sabotage import SABOTAGES
from chaos.scenarios import SCENARIOS, Scenario
from chaos.script import watched
from chaos.stores import store
from chaos.survey import Survey, survey
from chaos.trap import Spring, Trap
from maverick import AbortSignal, AgentExecutor, AgentResult
from maverick.exceptions import LeaseLostError, RunExistsError, RunHandedOverError, RunNotFoundError
from maverick.journal import Journal
from maverick.loop.result import ToolRecord
from maverick.model import Message
from maverick.testing import ScriptedClient


class Job(Struct, frozen=True, kw_only=True):
    """What a child is started for."""

    task: Literal["go", "decide"]
    scenario: str
    store: str
    address: str
    run_id: str
    folder: str
    """Where the ledger is, and where the child leaves what it has to say."""
    number: int
    """Which process of the run it is."""
    spring: Spring | None = None
    kill_after: float | None = None
    """Seconds after which it is killed from outside, wherever it is then."""
    sabotage: str = ""

    def file(self, name: str) -> Path:
        """A file of this process."""
        return Path(self.folder) / f"{self.number:03}-{name}"


class Report(Struct, frozen=True, kw_only=True):
    """How a run stood when its process ended by itself."""

    reason: str
    output: Any
    turn_count: int
    tokens: int
    errors: list[str]
    records: list[ToolRecord]
    messages: list[Message]
    journal: Survey
    bookings: list[tuple[str, str]]


NAMED_HERE = {"claim": "Claimed", "settle_approval": "ApprovalSettled"}
"""Writes that have no name of their own in the journal, and the names they are killed under."""
OVERTAKEN = 3
"""The exit code of a process that found its run taken over."""


def perform(job: Job) -> int:
    """Do a job; returns the exit code."""
    if job.sabotage:
        SABOTAGES[job.sabotage]()
    BENCH.set_up(
        Path(job.folder) / "ledger",
        Trap(job.file("trace"), job.spring),
        store(job.store, job.address).booking,
    )
    try:
        asyncio.run(_decide(job) if job.task == "decide" else _go(job))
    except (LeaseLostError, RunExistsError):
        return OVERTAKEN
    return 0


async def _go(job: Job) -> None:
    """Resume the run; begin it if there is none."""
    scenario, place = SCENARIOS[job.scenario], store(job.store, job.address)
    async with place.journal() as journal:
        executor = AgentExecutor(ScriptedClient(watched(scenario.script)), journal=journal)
        if scenario.fork_at is not None:
            await _finish_base(executor, scenario, job)
        with suppress(RunNotFoundError):  # nothing that a killed process has under way arrives after this
            await journal.claim(job.run_id)
        _leave(job, "survey", await survey(journal, job.run_id))
        _set_trap(journal)
        try:
            result = await _drive(executor, scenario, job)
        except RunHandedOverError:
            BENCH.signal = AbortSignal()
            result = await executor.resume(job.run_id, scenario.agent, signal=BENCH.signal)
        report = _report(result, await survey(journal, job.run_id), await place.bookings(job.run_id))
    _leave(job, "report", report)


async def _drive(executor: AgentExecutor, scenario: Scenario, job: Job) -> AgentResult[Any]:
    try:
        return await executor.resume(job.run_id, scenario.agent, signal=BENCH.signal)
    except RunNotFoundError:
        return await _begin(executor, scenario, job)


async def _begin(executor: AgentExecutor, scenario: Scenario, job: Job) -> AgentResult[Any]:
    if scenario.fork_at is None:
        return await executor.execute(scenario.agent, run_id=job.run_id, signal=BENCH.signal)
    return await executor.fork(
        _base(job),
        scenario.agent,
        turn=scenario.fork_at,
        edit=scenario.fork_edit,
        new_run_id=job.run_id,
        signal=BENCH.signal,
    )


async def _finish_base(executor: AgentExecutor, scenario: Scenario, job: Job) -> None:
    try:
        await executor.resume(_base(job), scenario.agent)
    except RunNotFoundError:
        await executor.execute(scenario.agent, run_id=_base(job))


def _base(job: Job) -> str:
    return f"{job.run_id}-base"


async def _decide(job: Job) -> None:
    """Decide as a person would, in another process than the run's."""
    decisions, words = SCENARIOS[job.scenario].decisions, SCENARIOS[job.scenario].words
    place = store(job.store, job.address)
    async with place.journal() as journal:
        waiting = (await survey(journal, job.run_id)).pending
        if words and waiting and not await place.waiting(job.run_id):
            await journal.say(job.run_id, words)
        _set_trap(journal)
        for approval_id, arguments in waiting:
            decide = journal.approve if decisions[msgspec.json.decode(arguments)["item"]] else journal.deny
            await decide(approval_id, by="ana")


def _set_trap(journal: Journal) -> None:
    """Have every write of the journal pass the trap."""
    BENCH.trap.set = True
    journal.on_write = BENCH.trap
    for method, point in NAMED_HERE.items():
        setattr(journal, method, _named(getattr(journal, method), point))
    for method in ("create", "append", "request_approvals"):
        setattr(journal, method, _inside_a_point(getattr(journal, method)))


def _named(write: Callable[..., Any], point: str) -> Callable[..., Any]:
    async def at_point(*args: Any) -> Any:
        BENCH.trap(point, True)
        value = await write(*args)
        BENCH.trap(point, False)
        return value

    return at_point


def _inside_a_point(write: Callable[..., Any]) -> Callable[..., Any]:
    async def checked(*args: Any, **options: Any) -> Any:
        assert BENCH.trap.inside, f"{write.__name__} was called outside of any write point"
        return await write(*args, **options)

    return checked


def _report(result: AgentResult[Any], journal: Survey, bookings: list[tuple[str, str]]) -> Report:
    return Report(
        reason=result.terminate_reason.value,
        output=result.output,
        turn_count=result.turn_count,
        tokens=result.usage.total_tokens,
        errors=[str(error) for error in result.errors],
        records=[msgspec.structs.replace(record, duration_ms=0) for record in result.tool_calls],
        messages=list(result.messages),
        journal=journal,
        bookings=bookings,
    )


def _leave(job: Job, name: str, value: Struct) -> None:
    """Leave something for whoever started this process; whole or not at all."""
    written = job.file(f"{name}.part")
    written.write_bytes(msgspec.json.encode(value))
    written.rename(job.file(name))
