"""Starts runs in a fleet, watches them and steers them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from temporalio.client import Client as TemporalClient
from temporalio.service import TLSConfig
from typing_extensions import TypeVar

from maverick.exceptions import ApprovalError, InvalidInputError, NetworkError, RunNotFoundError
from maverick.fleet.connection import connect_to_temporal, reaching_temporal
from maverick.fleet.events import RunEvents
from maverick.fleet.request import (
    DEFAULT_PRIORITY,
    RunRequest,
    check_agent,
    check_priority,
    check_reason,
    check_run_id,
    check_user,
)
from maverick.fleet.store import MAX_RUNS_PER_USER, QUEUE, FleetRecord, FleetState, FleetStore
from maverick.fleet.watching import Feed, RunSnapshot, result_of
from maverick.fleet.workflows import Workflows
from maverick.journal import RunRecord, RunStatus
from maverick.journal.approvals import decided_by_the_run
from maverick.journal.postgres.journal import PostgresJournal
from maverick.journal.records import ENDED
from maverick.journal.words import RESUMABLE_REASONS
from maverick.loop import AgentDefinition, AgentResult
from maverick.model import Part
from maverick.runtime.arguments import new_run_id
from maverick.runtime.event_log import log_failure
from maverick.runtime.replay import load

_ANSWERS_WITHIN = timedelta(seconds=3)
"""How long a server that works takes at most to say so."""

T = TypeVar("T", default=Any)


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
        run_id = run_id or new_run_id()
        check_run_id(run_id)
        check_agent(agent)
        check_user(user_id)
        check_priority(priority)
        request = RunRequest.of(inputs, trace_id)
        record = await self.store.add(run_id, agent, user_id, priority, request, self.queue_of(agent))
        try:
            await self._admit(record)
        except NetworkError as error:  # the fleet has it: a worker sees that it begins, once Temporal is back
            log_failure(logging.WARNING, "run_not_offered", error, {"run_id": run_id})
        return FleetRun(self, run_id)

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
        return FleetRun(self, run_id)

    async def find(self, run_id: str, *, user_id: str | None) -> FleetRun:
        """A user's run of the fleet by its id: whatever is then done with it is done with a run of theirs.

        Args:
            run_id: The run.
            user_id: The verified user that it acts for; ``None`` for a run without one.

        Raises:
            RunNotFoundError: The fleet does not have it, or it is another user's.
        """
        run = FleetRun(self, run_id)
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
        run = FleetRun(self, run_id) if user_id is None else await self.find(run_id, user_id=user_id)
        agent = (await run.status()).agent
        found = await self.journal.get(run_id)
        if found.status in ENDED and found.reason not in RESUMABLE_REASONS:
            raise InvalidInputError(f"run_id: the run {run_id!r} has ended.", field="run_id")
        record = await self.store.reopen(run_id, self.queue_of(agent), accept_changes=accept_changes)
        if record is None:
            raise InvalidInputError(f"run_id: a worker is driving the run {run_id!r}.", field="run_id")
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


class FleetRun:
    """A run in a fleet."""

    def __init__(self, fleet: Fleet, run_id: str) -> None:
        self.run_id = run_id
        self._fleet = fleet

    def __repr__(self) -> str:
        return f"<FleetRun {self.run_id}>"

    def events(self, *, after: str = "") -> RunEvents:
        """The events of the run and of its subagents' runs, to its end, as an executor's listener sees them.

        The words of an answer come while it is made. Where an attempt at an answer is given up, as when its worker died,
        a ``RetryScheduled`` says that what was shown of it is void; what is shown of the next one comes once.

        Args:
            after: The ``cursor`` of another such iteration, here or in another process: the events that follow.
        """
        return RunEvents(self._fleet.feed, self._fleet.journal, self.run_id, after)

    async def result(self, definition: AgentDefinition[T] | None = None) -> AgentResult[T]:
        """Wait for the end of the run.

        Args:
            definition: Its agent. Without it, an answer of a declared type is what its JSON says, unchecked.

        Raises:
            RunNotFoundError: There is no such run.
            InvalidInputError: It could not be driven; or the definition is not its agent's.
        """
        snapshot = await self._over()
        began = self.run_id in snapshot.runs
        entries = await load(self._fleet.journal, self.run_id, with_blobs=False) if began else []
        return result_of(entries, snapshot, definition)

    async def status(self) -> FleetRecord:
        """The state of the run in the fleet, which worker drives it, and what it waits for.

        Raises:
            RunNotFoundError: The fleet does not have it.
        """
        record = await self._fleet.store.get(self.run_id)
        if record is None:
            raise RunNotFoundError(run_id=self.run_id)
        return record

    async def say(
        self, content: str | Iterable[str | Part], *, by: str = "", user_id: str | None = None
    ) -> None:
        """Say something to the run; it is heard before its next turn.

        Raises:
            RunNotFoundError: There is no such run, or it is another user's.
            InvalidInputError: It has not begun, has ended, or the message is too long.
        """
        try:
            await self._fleet.journal.say(self.run_id, content, by=by, user_id=user_id)
        except RunNotFoundError:
            record = await self.status()
            if user_id is not None and record.user_id != user_id:
                raise
            raise InvalidInputError(
                f"run_id: no worker has begun the run {self.run_id!r}. Say it once one has.", field="run_id"
            ) from None

    async def abort(self, reason: str = "") -> None:
        """Stop the run, whoever drives it; the reason is recorded with it.

        Raises:
            InvalidInputError: The reason is too long.
        """
        check_reason(reason)
        record = await self._fleet.store.request_abort(self.run_id, reason)
        if record is not None and record.state is FleetState.ENDED:
            await self._fleet.workflows.close(self.run_id)
            await self._fleet.workflows.offer(await self._fleet.store.admit(record.user_id))
        elif record is not None:
            await self._fleet.workflows.wake(self.run_id)

    async def approve(
        self, approval_id: str, *, by: str, reason: str = "", arguments: Mapping[str, Any] | None = None
    ) -> None:
        """Approve a tool call that the run waits for, and wake the run.

        If the agent's executor says who may decide (``may_approve``), the worker that drives the run asks it: a decision
        that it does not allow leaves the request as it was. Otherwise the run's own user decides.

        Args:
            approval_id: The request.
            by: Who decides: the verified user of your program.
            reason: Why.
            arguments: All the arguments to make the call with, in place of the model's; if they do not fit the tool, the
                call is denied.

        Raises:
            ApprovalError: It is unknown, of another run, already decided, expired, or another user's to decide.
            InvalidInputError: The arguments are not a JSON object, or too large.
        """
        await self._decide(approval_id, approved=True, by=by, reason=reason, arguments=arguments)

    async def deny(self, approval_id: str, *, by: str, reason: str = "") -> None:
        """Deny a tool call that the run waits for, and wake the run; the model sees the reason. See :meth:`approve`."""
        await self._decide(approval_id, approved=False, by=by, reason=reason)

    async def _decide(
        self,
        approval_id: str,
        *,
        approved: bool,
        by: str,
        reason: str,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        asked = await self._fleet.journal.get_approval(approval_id)
        if asked.run_id.partition("/")[0] != self.run_id:
            raise ApprovalError(
                f"The run {self.run_id!r} has no request {approval_id!r}.", approval_id=approval_id
            )
        await self._fleet.journal.decide(
            approval_id,
            approved=approved,
            by=by,
            reason=reason,
            may_approve=decided_by_the_run,
            arguments=arguments,
        )
        await self._fleet.workflows.wake(self.run_id)

    async def ended(self) -> RunRecord:
        """Wait until the fleet is done with the run.

        Raises:
            InvalidInputError: It could not be run.
            RunNotFoundError: There is no such run.
        """
        await self._over(in_fleet=True)
        return await self._fleet.journal.get(self.run_id)

    async def _over(self, *, in_fleet: bool = False) -> RunSnapshot:
        """Wait for the end of the run, or until the fleet has noted it too."""

        def is_done(snapshot: RunSnapshot) -> bool:
            return snapshot.is_over and (not in_fleet or snapshot.state == FleetState.ENDED)

        feed = self._fleet.feed
        if is_done(snapshot := await feed.snapshot(self.run_id)):
            return snapshot
        async with feed.watch(self.run_id, words=False) as subscription:
            while not is_done(snapshot := await feed.snapshot(self.run_id)):
                await subscription.changed.wait()
                subscription.changed.clear()
        return snapshot
