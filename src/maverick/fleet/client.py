"""Starts runs in a fleet, watches them and steers them."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from temporalio.client import Client as TemporalClient
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from maverick.exceptions import InvalidInputError, RunNotFoundError
from maverick.fleet.adoption import Adoption
from maverick.fleet.connection import connect_to_temporal
from maverick.fleet.events import RunEvents
from maverick.fleet.store import MAX_RUNS_PER_USER, FleetRecord, FleetState, FleetStore, RunRequest
from maverick.fleet.watching import Feed
from maverick.fleet.workflow import RunWorkflow
from maverick.journal import RunRecord
from maverick.journal.postgres.journal import PostgresJournal
from maverick.journal.store import ENDED

QUEUE = "maverick"
"""The task queue of workflows, and how those of agents begin."""
_LOOK_AGAIN = 0.5


class Fleet:
    """A fleet of workers, from the outside. Make one with :meth:`connect`.

    Args:
        temporal: The connection to Temporal.
        journal: Where the runs are.
        queue: How the names of the fleet's task queues begin.
        max_runs_per_user: How many runs of a user may be in progress at once.
    """

    def __init__(
        self,
        temporal: TemporalClient,
        journal: PostgresJournal,
        queue: str = QUEUE,
        max_runs_per_user: int = MAX_RUNS_PER_USER,
    ) -> None:
        self.temporal = temporal
        self.journal = journal
        self.queue = queue
        self.store = FleetStore(journal, max_runs_per_user)
        self.feed = Feed(self.store)

    @classmethod
    async def connect(
        cls,
        *,
        temporal: str,
        journal: PostgresJournal,
        namespace: str | None = None,
        tls: bool | TLSConfig = False,
        api_key: str | None = None,
        queue: str = QUEUE,
        max_runs_per_user: int = MAX_RUNS_PER_USER,
    ) -> Self:
        """Connect to the Temporal server of a fleet.

        Args:
            temporal: Its address, ``host:port`` or ``temporal://host:port/namespace``.
            journal: The journal that the workers share.
            namespace: The namespace there, if the address has none; by default ``default``.
            tls: Whether to encrypt the connection, or with which certificates; an API key implies it.
            api_key: The key of a Temporal that asks for one.
            queue: How the names of the fleet's task queues begin.
            max_runs_per_user: How many runs of a user may be in progress at once; more wait for one to end or to park. Runs
                without a user are not limited. Give every client and worker of a fleet the same number.

        Raises:
            NetworkError: It cannot be reached.
            ConfigError: It does not have the namespace, or refuses the key.
        """
        client = await connect_to_temporal(temporal, namespace, tls=tls, api_key=api_key)
        return cls(client, journal, queue, max_runs_per_user)

    async def start(
        self,
        agent: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        run_id: str | None = None,
        trace_id: str | None = None,
        priority: int = 3,
    ) -> FleetRun:
        """Start a run; returns as soon as the fleet has it.

        Args:
            agent: The name of the agent. A worker has to have it; until one does, the run waits.
            inputs: The values of its variables.
            user_id: The verified user it acts for.
            run_id: The run's id, if it is to have a certain one. A run that exists is not started again.
            trace_id: The id of the request it serves.
            priority: From 1, the first, to 5.
        """
        run_id = run_id or f"run_{os.urandom(8).hex()}"
        await self.store.add(
            run_id, agent, user_id, priority, RunRequest.of(inputs, trace_id), self.queue_of(agent)
        )
        record = await self.store.get(run_id)
        if record is None or (record.agent, record.user_id) != (agent, user_id):
            raise InvalidInputError(
                f"run_id: there is another run {run_id!r}. Choose another id.", field="run_id"
            )
        if user_id is None:
            await self.offer([record])
        else:
            await self.offer(await self.store.admit(user_id))
        return FleetRun(self, run_id)

    async def offer(self, records: Iterable[FleetRecord]) -> None:
        """See that runs have workflows; one that has it and waits is woken."""
        for record in records:
            if record.state in (FleetState.QUEUED, FleetState.ENDED):
                continue
            try:
                await self.temporal.start_workflow(
                    RunWorkflow.run,
                    record.queue,
                    id=record.run_id,
                    task_queue=self.queue,
                    id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                    id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                    priority=Priority(
                        priority_key=record.priority, fairness_key=fairness_key(record.user_id)
                    ),
                )
            except WorkflowAlreadyStartedError:
                await self.wake(record.run_id)

    def queue_of(self, agent: str) -> str:
        """The task queue of the workers that have an agent, in whatever version."""
        return f"{self.queue}/{agent}"

    def run(self, run_id: str) -> FleetRun:
        """A run of the fleet by its id."""
        return FleetRun(self, run_id)

    async def adopt(self) -> list[str]:
        """Start the workflow of each run that has none: it was lost, or its server was wiped.

        Returns:
            The ids of the runs whose workflow was started.
        """
        return await Adoption(self).adopt(settled_for=0)

    async def wake(self, run_id: str) -> None:
        """Have a run that waits driven again."""
        try:
            await self.temporal.get_workflow_handle(run_id.partition("/")[0]).signal(RunWorkflow.wake)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:  # else it has ended
                raise

    async def close(self, run_id: str) -> None:
        """End the workflow of a run that is not to be driven any more."""
        try:
            await self.temporal.get_workflow_handle(run_id).terminate()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:  # else it has none
                raise

    async def aclose(self) -> None:
        """Let go of the journal's connections."""
        await self.feed.aclose()
        await self.journal.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def list(self, *, limit: int = 100) -> list[FleetRecord]:
        """The runs of the fleet, newest first."""
        return await self.store.runs(limit=limit)


class FleetRun:
    """A run in a fleet."""

    def __init__(self, fleet: Fleet, run_id: str) -> None:
        self.run_id = run_id
        self._fleet = fleet

    def events(self, *, after: str = "") -> RunEvents:
        """The events of the run and of its subagents' runs, to its end, as an executor's listener sees them.

        The words of an answer come while it is made. Where an attempt at an answer is given up, as when its worker died,
        a ``RetryScheduled`` says that what was shown of it is void; what is shown of the next one comes once.

        Args:
            after: The ``cursor`` of another such iteration, here or in another process: the events that follow.
        """
        return RunEvents(self._fleet.feed, self._fleet.journal, self.run_id, after)

    async def say(self, content: str, *, by: str = "", user_id: str | None = None) -> None:
        """Say something to the run; it is heard before its next turn."""
        await self._fleet.journal.say(self.run_id, content, by=by, user_id=user_id)

    async def abort(self, reason: str = "") -> None:
        """Stop the run, whoever drives it."""
        record = await self._fleet.store.request_abort(self.run_id, reason)
        if record is not None and record.state is FleetState.ENDED:
            await self._fleet.close(self.run_id)
            await self._fleet.offer(await self._fleet.store.admit(record.user_id))
        elif record is not None:
            await self._fleet.wake(self.run_id)

    async def approve(self, approval_id: str, *, by: str) -> None:
        """Approve a tool call that the run waits with, and have it go on."""
        await self._fleet.journal.approve(approval_id, by=by)
        await self._fleet.wake(self.run_id)

    async def ended(self) -> RunRecord:
        """Wait for the end of the run.

        Raises:
            InvalidInputError: It could not be run.
            RunNotFoundError: The fleet does not have it.
        """
        while True:
            record = await self._fleet.store.get(self.run_id)
            if record is None:
                raise RunNotFoundError(run_id=self.run_id)
            if record.error:
                raise InvalidInputError(record.error, field="run_id")
            if record.state is FleetState.ENDED:
                found = await self._fleet.journal.get(self.run_id)
                if found.status in ENDED:
                    return found
            await asyncio.sleep(_LOOK_AGAIN)


def fairness_key(user_id: str | None) -> str:
    """What Temporal knows a user by, to give every user their turn: a hash, since ids are often addresses of people."""
    return "" if user_id is None else hashlib.sha256(user_id.encode()).hexdigest()[:32]
