"""Puts a run together: a new one, one that the journal has, and those of its subagents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct
from typing_extensions import TypeVar

from maverick.exceptions import RunNotFoundError
from maverick.journal import Journal
from maverick.journal.records import Lease
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import Entry, RunStarted
from maverick.loop.machine import AgentLoop
from maverick.loop.tool_round import PlannedCall
from maverick.model import ExecutionMetrics, Part
from maverick.model.client import own_model
from maverick.runtime import replay
from maverick.runtime.deciding import ExecutorOptions
from maverick.runtime.driver import Driver
from maverick.runtime.event_log import Listener
from maverick.runtime.hooks import HookChain
from maverick.runtime.prepared_agent import AgentPreparer, PreparedAgent
from maverick.runtime.run import Run, RunClock
from maverick.runtime.run_writer import RunWriter
from maverick.runtime.worker import Predecessor

T = TypeVar("T", default=str)


class Attendance(NamedTuple):
    """What a program brings to a run for as long as it drives it; a run's subagents get the same."""

    listeners: Sequence[Listener] = ()
    deps: object = None
    """What tools find in their context."""
    accept_changes: bool = False
    """Whether it continues although its agent has changed."""


class RunBuilder(Struct):
    """Makes the drivers of an executor's runs."""

    agents: AgentPreparer
    options: ExecutorOptions
    metrics: ExecutionMetrics
    hooks: HookChain | None

    def driver(
        self,
        agent: PreparedAgent[T],
        start: RunStarted,
        attendance: Attendance,
        writer: RunWriter | None,
        clock: RunClock,
        entries: Sequence[Entry] = (),
        predecessor: Predecessor | None = None,
    ) -> Driver[T]:
        """The driver of a run that begins like this, with the entries it has already."""
        definition, client, toolset = agent
        listeners, deps, _ = attendance
        loop = AgentLoop(definition, toolset.tools, max_depth=self.options["max_depth"])
        run = Run(
            start, loop, client, toolset, listeners, writer, clock, predecessor, agent.tracer(start), deps
        )
        subagent = partial(self._subagent, attendance=attendance)
        return Driver(run, self.options, self.metrics, self.hooks, subagent, entries)

    async def reopened(
        self,
        journal: Journal,
        run_id: str,
        definition: AgentDefinition[T],
        attendance: Attendance,
        caller: Lease | None = None,
        inherited: str | None = None,
    ) -> Driver[T]:
        """The driver of a run that the journal has; all is checked before the process that works on it is stopped."""
        agent = self.agents.prepare(definition, inherited)
        record = await replay.check_complete(journal, run_id, caller)
        begun = await replay.load_beginning(journal, run_id)
        if not replay.has_answer(record, begun, agent.fingerprint):
            replay.check_unchanged(begun, agent.fingerprint, accept_changes=attendance.accept_changes)
        writer = RunWriter(journal, await journal.claim(run_id, caller))
        if caller is None:  # it may have been moved meanwhile; from here on, that would take the lease
            await replay.check_complete(journal, run_id, caller)
        entries = await replay.load(journal, run_id)
        start = replay.beginning(run_id, entries)
        clock = RunClock(after=entries[-1].at)
        return self.driver(agent, start, attendance, writer, clock, entries, Predecessor.of(run_id, entries))

    async def forked(
        self,
        journal: Journal,
        run_id: str,
        definition: AgentDefinition[T],
        attendance: Attendance,
        turn: int,
        edit: str | Iterable[str | Part] | None,
        new_run_id: str,
    ) -> Driver[T]:
        """The driver of a new run that begins with what a run had before a turn."""
        agent = self.agents.prepare(definition)
        entries = replay.forked(
            run_id,
            await replay.load(journal, run_id),
            turn,
            edit,
            run_id=new_run_id,
            trace_id=os.urandom(16).hex(),
            fingerprint=agent.fingerprint,
            info=agent.info.essentials(agent.definition.model_config.thinking),
        )
        writer = RunWriter(journal, forked_from=run_id)
        for entry in entries:
            writer.add(entry)
        start, clock = replay.beginning(new_run_id, entries), RunClock(after=entries[-1].at)
        return self.driver(agent, start, attendance, writer, clock, entries)

    async def _subagent(
        self, parent: Run[Any], planned: PlannedCall, *, attendance: Attendance
    ) -> Driver[Any]:
        """The driver of a subagent's run, new or reopened."""
        definition = parent.toolset.ready[planned.call.tool_name].agent
        assert definition is not None  # noqa: S101 - asked only about tools that are agents
        run_id = f"{parent.start.run_id}/{planned.turn}/{planned.index}"
        inherited = parent.loop.definition.model_config.model or own_model(parent.client) or None
        # A process that was overtaken must not begin a subagent's run, nor take it from the one that continues.
        caller = None if parent.writer is None else parent.writer.lease
        if (journal := self.options["journal"]) is not None:
            with suppress(RunNotFoundError):  # it is new
                return await self.reopened(journal, run_id, definition, attendance, caller, inherited)
        agent = self.agents.prepare(definition, inherited)
        start = agent.start(
            planned.call.arguments,
            at=parent.clock.now(),
            run_id=run_id,
            trace_id=parent.start.trace_id,
            user_id=parent.start.user_id,
            journaled=journal is not None,
            caller=parent.start,
            grant=planned.grant,
        )
        writer = None if journal is None else RunWriter(journal, caller=caller)
        return self.driver(agent, start, attendance, writer, parent.clock)
