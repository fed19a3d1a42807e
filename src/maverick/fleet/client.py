"""A fleet of workers, from the outside: starts, finds, forks and resumes its runs, and moves runs in and out."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from temporalio.client import Client as TemporalClient
from temporalio.client import WorkflowFailureError
from temporalio.service import TLSConfig

from maverick.exceptions import MaverickError, NetworkError, RunExistsError, RunNotFoundError
from maverick.fleet.connection import connect_to_temporal, reaching_temporal
from maverick.fleet.request import (
    DEFAULT_PRIORITY,
    RunRequest,
    check_agent,
    check_priority,
    check_run_id,
    check_user,
)
from maverick.fleet.run import FleetRun
from maverick.fleet.store import MAX_RUNS_PER_USER, QUEUE, FleetRecord, FleetState, FleetStore
from maverick.fleet.watching import Feed
from maverick.fleet.workflows import Workflows
from maverick.journal import Journal, RunStatus
from maverick.journal.postgres.journal import PostgresJournal
from maverick.journal.records import ENDED, Departure
from maverick.journal.transfer import move_run
from maverick.journal.words import RESUMABLE_REASONS
from maverick.misuse import refuse
from maverick.model import Part
from maverick.model.message import parts_of
from maverick.runtime.arguments import new_run_id
from maverick.runtime.event_log import log_failure

_ANSWERS_WITHIN = timedelta(seconds=3)
"""How long a server that works takes at most to say so."""
_PATIENCE = 10.0
"""Seconds that a worker has to hand a run over before it is taken away from it."""


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
        self.store = FleetStore(journal, max_runs_per_user, queue)
        self.workflows = Workflows(temporal, self.store)
        self.feed = Feed(self.store)

    @classmethod
    async def connect(
        cls,
        *,
        temporal: str,
        journal: PostgresJournal | str,
        namespace: str | None = None,
        tls: bool | TLSConfig = False,
        api_key: str | None = None,
        queue: str = QUEUE,
        max_runs_per_user: int = MAX_RUNS_PER_USER,
    ) -> Self:
        """Connect to the Temporal server of a fleet.

        Args:
            temporal: Its address, ``host:port`` or ``temporal://host:port/namespace``.
            journal: The journal that the workers share, or its URL.
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
        kept = PostgresJournal(journal) if isinstance(journal, str) else journal
        return cls(client, kept, queue, max_runs_per_user)

    async def start(
        self,
        agent: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        run_id: str | None = None,
        trace_id: str | None = None,
        priority: int = DEFAULT_PRIORITY,
    ) -> FleetRun:
        """Start a run; returns as soon as the fleet has it.

        Args:
            agent: The name of the agent. A worker has to have it; until one does, the run waits.
            inputs: The values of its variables; images and documents are kept in the journal's database.
            user_id: The verified user it acts for.
            run_id: The run's id, if it is to have a certain one. A run that exists is not started again.
            trace_id: The id of the request it serves.
            priority: From 1, the first, to 5.

        Raises:
            InvalidInputError: The inputs cannot be written as JSON, or are too large; no agent can have this name, or no
                user this id; there is a run with this id that was asked for otherwise, or is another user's; or too many
                runs of the user wait.
            JournalError: The database cannot be reached.
        """
        return await self._begin(agent, RunRequest.of(inputs, trace_id), user_id, run_id, priority)

    async def fork(
        self,
        run_id: str,
        *,
        turn: int,
        edit: str | Iterable[str | Part] | None = None,
        new_run_id: str | None = None,
        user_id: str | None = None,
        priority: int = DEFAULT_PRIORITY,
    ) -> FleetRun:
        """Run again from a turn on, in the fleet; what happened before it comes from the journal.

        The new run is the same user's, and a worker makes it with the agent that it has; see :meth:`AgentExecutor.fork`.

        Args:
            run_id: The run to fork, whether a fleet has driven it or not; it stays as it is.
            turn: The turn to begin with.
            edit: A message to put before that turn: in place of the user's last message, or after the last tool results.
            new_run_id: The new run's id, if it is to have a certain one.
            user_id: The verified user on whose behalf; only that user's runs are found then.
            priority: From 1, the first, to 5.

        Raises:
            RunNotFoundError: The journal does not have it, or it is another user's.
            InvalidInputError: As for :meth:`start`; what only a worker can tell, such as a turn that the run does not have, is
                raised by :meth:`FleetRun.result`.
        """
        found = await self.journal.get(run_id)
        if user_id is not None and found.user_id != user_id:
            raise RunNotFoundError(run_id=run_id)
        message = {} if edit is None else {"edit": edit if isinstance(edit, str) else [*parts_of(edit)]}
        request = RunRequest.of({"run_id": run_id, "turn": turn, **message}, fork=True)
        return await self._begin(found.agent.rpartition("/")[2], request, found.user_id, new_run_id, priority)

    async def _begin(
        self, agent: str, request: RunRequest, user_id: str | None, run_id: str | None, priority: int
    ) -> FleetRun:
        run_id = run_id or new_run_id()
        check_run_id(run_id)
        check_agent(agent)
        check_user(user_id)
        check_priority(priority)
        record = await self.store.add(run_id, agent, user_id, priority, request, self.queue_of(agent))
        try:
            await self._admit(record)
        except NetworkError as error:  # the fleet has it: a worker sees that it begins, once Temporal is back
            log_failure(logging.WARNING, "run_not_offered", error, {"run_id": run_id})
        return self.run(run_id)

    async def _admit(self, record: FleetRecord) -> None:
        """Start a run; or, if it is a user's, as many of that user's as there is room for."""
        await self.workflows.offer(
            [record] if record.user_id is None else await self.store.admit(record.user_id)
        )

    def queue_of(self, agent: str) -> str:
        """The task queue of the workers that have an agent, in whatever version."""
        return f"{self.queue}/{agent}"

    def run(self, run_id: str) -> FleetRun:
        """A run of the fleet by its id, whoever's it is; :meth:`find` is for what a user asks for."""
        return FleetRun(self.store, self.workflows, self.feed, run_id)

    async def find(self, run_id: str, *, user_id: str | None) -> FleetRun:
        """A user's run of the fleet by its id: whatever is then done with it is done with a run of theirs.

        Args:
            run_id: The run.
            user_id: The verified user that it acts for; ``None`` for a run without one.

        Raises:
            RunNotFoundError: The fleet does not have it, or it is another user's.
        """
        run = self.run(run_id)
        if (await run.status()).user_id != user_id:
            raise RunNotFoundError(run_id=run_id)
        return run

    async def resume(
        self, run_id: str, *, accept_changes: bool = False, user_id: str | None = None
    ) -> FleetRun:
        """Resume a run that was stopped, or that waits for the version of its agent that it began with.

        Args:
            run_id: The run.
            accept_changes: Resume it although the agent has changed since the run began.
            user_id: The verified user on whose behalf; only that user's runs are found then.

        Raises:
            RunNotFoundError: The fleet does not have it, or it is another user's.
            InvalidInputError: It has its answer, or a worker is driving it.
        """
        run = self.run(run_id) if user_id is None else await self.find(run_id, user_id=user_id)
        agent = (await run.status()).agent
        found = await self.journal.get(run_id)
        if found.status in ENDED and found.reason not in RESUMABLE_REASONS:
            refuse("run_id", f"the run {run_id!r} has ended.")
        record = await self.store.reopen(run_id, self.queue_of(agent), accept_changes=accept_changes)
        if record is None:
            refuse("run_id", f"a worker is driving the run {run_id!r}.")
        if found.status in ENDED:
            await self.journal.append(await self.journal.claim(run_id), (), RunStatus.RUNNING)
        await self.workflows.close(run_id)  # it may wait in the queue of a version that no worker has
        await self._admit(record)
        return run

    async def adopt(self) -> list[str]:
        """Start the workflow of each run that has none: it was lost, or its server was wiped.

        Returns:
            The ids of the runs whose workflow was started.
        """
        return await self.workflows.adopt(settled_for=0)

    async def check(self) -> None:
        """Make sure that Temporal can be reached.

        Raises:
            NetworkError: It cannot.
        """
        with reaching_temporal():
            is_up = await self.temporal.service_client.check_health(timeout=_ANSWERS_WITHIN)
        if not is_up:
            raise NetworkError("Temporal is not ready. Check its server, and try again.")

    async def aclose(self) -> None:
        """Close the journal's connections."""
        await self.feed.aclose()
        await self.journal.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def list(
        self, *, user_id: str | None = None, state: FleetState | None = None, limit: int = 100
    ) -> list[FleetRecord]:
        """The runs of the fleet, newest first.

        Args:
            user_id: Only this user's.
            state: Only those in this state.
            limit: How many.
        """
        states = () if state is None else (state,)
        return await self.store.runs(*states, limit=limit, user_id=user_id)


def place_of(fleet: Fleet) -> str:
    """What a fleet is called where a run is looked for that was moved to it."""
    return f"temporal://{fleet.temporal.service_client.config.target_host}/{fleet.temporal.namespace}"


async def move_in(fleet: Fleet, run_id: str, source: Journal | None = None) -> FleetRun:
    """Have a fleet continue a run. Whoever drives it elsewhere can no longer write to it.

    The ``source`` is the journal that has it, if that is not the fleet's. Raises what
    :func:`~maverick.journal.transfer.move_run` does.
    """
    check_run_id(run_id)
    taken = await fleet.store.get(run_id)
    if taken is not None and taken.user_id != (await (source or fleet.journal).get(run_id)).user_id:
        raise RunExistsError(run_id=run_id)
    if source is not None:
        await move_run(source, run_id, fleet.journal, place_of(fleet))
    record = await fleet.journal.get(run_id)
    if taken is not None:
        return fleet.run(run_id)
    await fleet.journal.claim(run_id)
    return await fleet.start(record.agent, user_id=record.user_id, run_id=run_id)


async def move_out(fleet: Fleet, run_id: str, target: Journal | None = None, place: str = "") -> None:
    """Take a run out of a fleet; it can then be resumed by whoever has the journal.

    Its worker hands it over first. If that takes too long, the run is taken away from it. The ``target`` is the journal to
    move it to, if that is not the fleet's, and ``place`` what it is called, without passwords. Raises what
    :func:`~maverick.journal.transfer.move_run` does.
    """
    await fleet.journal.get(run_id)
    left = await fleet.store.remove(run_id)  # first, so that no worker takes it any more
    if left is not None and left.worker is not None:
        await _handed_over(fleet, run_id)
    await fleet.workflows.close(run_id)
    if left is not None:
        await fleet.workflows.offer(await fleet.store.admit(left.user_id))
    if target is None:
        await fleet.journal.claim(run_id)
        return
    try:
        await move_run(fleet.journal, run_id, target, place)
    except MaverickError:
        if left is not None and Departure.of(await fleet.journal.get(run_id)) is None:  # it stays
            await fleet.start(left.agent, user_id=left.user_id, run_id=run_id, priority=left.priority)
        raise


async def _handed_over(fleet: Fleet, run_id: str) -> None:
    """Wait for the worker of a run to leave it: its workflow then finds that the fleet does not have it, and ends."""
    await fleet.store.notify({"move": run_id})
    with (
        contextlib.suppress(builtins.TimeoutError, WorkflowFailureError),
        reaching_temporal(or_not_found=True),
    ):
        async with asyncio.timeout(_PATIENCE):
            await fleet.temporal.get_workflow_handle(run_id).result()
