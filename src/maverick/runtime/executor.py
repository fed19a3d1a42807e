"""``AgentExecutor``: runs agents, one or many at once, on asyncio."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from typing_extensions import TypeVar

from maverick.config import AgentConfig
from maverick.exceptions import InvalidInputError, RunNotFoundError
from maverick.journal import Journal
from maverick.journal.records import Lease
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import Entry, Execution, RunStarted
from maverick.loop.events import AgentActivityEvent
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.machine import AgentLoop
from maverick.loop.policy import Policy
from maverick.loop.result import AgentResult
from maverick.loop.tool_round import PlannedCall
from maverick.model import ExecutionMetrics, LLMClient, Message, Part
from maverick.model.client import own_model
from maverick.model.history import check_conversation
from maverick.runtime import replay
from maverick.runtime.driver import Approver, Driver
from maverick.runtime.event_log import Listener, listeners_of
from maverick.runtime.event_stream import EventStream
from maverick.runtime.interruption import AbortSignal
from maverick.runtime.prepared_agent import AgentPreparer, PreparedAgent
from maverick.runtime.run import Run, RunClock
from maverick.runtime.run_writer import RunWriter
from maverick.runtime.worker import Predecessor
from maverick.telemetry import current_trace_id
from maverick.tools import ToolRegistry

T = TypeVar("T", default=str)


class AgentExecutor:
    """Runs agents. One executor serves any number of runs at once.

    Args:
        client: The model to call; without one, each definition's own ``provider:model`` is connected to, or the model
            in the settings for a definition that names none.
        tool_registry: Where tools are found that a definition only names.
        journal: Where runs are recorded, so that they can be resumed; without one they are not.
        approve: Asks a person about tools that need approval. Without it, the run parks in its journal until a
            person has decided; without a journal too, such a call ends the run.
        approval_expires_in: The seconds after which a request without a decision is denied.
        permissions: Rules on each tool call before it runs, subagents' calls included. Without them every call may run
            whose tool does not ask for approval.
        max_depth: How deep agents may be nested in each other.
        settings: What to connect with when there is no client; by default the settings of files and environment.
    """

    def __init__(
        self,
        client: LLMClient | None = None,
        tool_registry: ToolRegistry | None = None,
        *,
        journal: Journal | None = None,
        approve: Approver | None = None,
        approval_expires_in: float | None = None,
        permissions: Policy | None = None,
        max_depth: int = 5,
        settings: AgentConfig | None = None,
    ) -> None:
        self.metrics = ExecutionMetrics()
        """The tokens of all model calls this executor has made."""
        self.options: Mapping[str, Any] = {
            "client": client,
            "tool_registry": tool_registry,
            "journal": journal,
            "approve": approve,
            "approval_expires_in": approval_expires_in,
            "permissions": permissions,
            "max_depth": max_depth,
            "settings": settings,
        }
        """The arguments it was created with."""
        registry = ToolRegistry() if tool_registry is None else tool_registry
        self._agents = AgentPreparer(client, registry, settings)
        self._journal = journal
        self._approve = approve
        self._approval_expires_in = approval_expires_in
        self._permissions = permissions
        self._max_depth = max_depth

    @classmethod
    def like(cls, other: AgentExecutor, **options: Any) -> Self:
        """An executor with the options of another, except those given here.

        What the other one connects stays its own: each closes its own connections. The metrics are shared.

        Args:
            other: The executor to copy; what a subclass has added to it is copied too.
            options: Arguments of the constructor that replace those of the other.
        """
        made = cls.__new__(cls)
        vars(made).update(vars(other))
        AgentExecutor.__init__(made, **{**other.options, **options})
        made.metrics = other.metrics
        return made

    async def execute(
        self,
        definition: AgentDefinition[T],
        *,
        inputs: Mapping[str, Any] | None = None,
        signal: AbortSignal | None = None,
        on_activity: Listener | None = None,
        messages: Sequence[Message] = (),
        run_id: str | None = None,
        trace_id: str | None = None,
        user_id: str | None = None,
        execution: Execution | None = None,
    ) -> AgentResult[T]:
        """Run an agent to its end.

        Args:
            definition: The agent.
            inputs: The values of its variables.
            signal: Stops the run when it is aborted.
            on_activity: Called with each event, in order.
            messages: The conversation so far, if the run continues one.
            run_id: The run's id, if it is to have a certain one; without ``/``, which is for subagents' runs.
            trace_id: The id of the request it serves; it is on every event and log line.
            user_id: The verified user it acts for; tools see it, the model does not.
            execution: What the run is a prompt of, if its agent is a class.

        Returns:
            How the run ended. A run that fails or is stopped has a result too; it does not raise.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type, or the conversation so far is not whole.
            InvalidToolError: A tool the definition names is not registered.
            ConfigError: The executor has no client, and the settings do not say how to reach the model.
            JournalError: The run could not be written to its journal; nothing is done that is not.
        """
        if not isinstance(definition, AgentDefinition):
            raise InvalidInputError(
                f"definition: expected an AgentDefinition, got {definition!r}.", field="definition"
            )
        check_conversation(messages)
        agent, clock = self._agents.prepare(definition), RunClock()
        start = agent.start(
            inputs,
            at=clock.now(),
            run_id=_checked_or_new(run_id),
            trace_id=trace_id or current_trace_id() or os.urandom(16).hex(),
            user_id=user_id,
            journaled=self._journal is not None,
            earlier=messages,
            execution=execution,
        )
        if self._journal is not None and messages:  # which may be those of a run that was replayed
            await self._journal.load_blobs([start])
        writer = None if self._journal is None else RunWriter(self._journal)
        driver = self._driver(agent, start, listeners_of(on_activity), writer, clock)
        return await driver.drive(signal)

    async def stream(
        self, definition: AgentDefinition[Any], **options: Any
    ) -> AsyncGenerator[AgentActivityEvent, None]:
        """Run an agent and yield its events; the last one is ``RunEnd``, with the result.

        Takes what :meth:`execute` takes, except ``on_activity``. Leaving the loop early stops the run.
        """
        if "on_activity" in options:
            raise InvalidInputError("on_activity: stream() yields the events itself.", field="on_activity")

        def start(listener: Listener) -> Coroutine[Any, Any, AgentResult[Any]]:
            return self.execute(definition, on_activity=listener, **options)

        async with EventStream(start) as events:
            async for event in events:
                yield event
            await events.result

    async def resume(
        self,
        run_id: str,
        definition: AgentDefinition[T],
        *,
        signal: AbortSignal | None = None,
        on_activity: Listener | None = None,
        accept_changes: bool = False,
    ) -> AgentResult[T]:
        """Go on with a run whose process died, or that was stopped, failed or waits for an approval.

        A tool call that was running when the process died is handled as its tool's effect allows: an irreversible one
        is never run again by itself. A call whose tool is gone is not run; if it was running, its outcome is
        unknown. A run that has its answer gives it again.

        Args:
            run_id: The run.
            definition: Its agent.
            signal: Stops the run when it is aborted.
            on_activity: Called with each new event.
            accept_changes: Go on although the agent is not what it was when the run began.

        Raises:
            RunNotFoundError: There is no such run.
            RunMovedError: It was moved to another journal, and continues there.
            RunChangedError: The agent has changed; the message names how.
            LeaseLostError: Another process resumed the run at the same time.
        """
        driver = await self._reopened(
            self._kept_runs(), run_id, definition, listeners_of(on_activity), accept_changes=accept_changes
        )
        return await driver.drive(signal)

    async def replay(
        self, run_id: str, definition: AgentDefinition[Any]
    ) -> AsyncGenerator[AgentActivityEvent, None]:
        """The events of a run as it happened, from the journal alone."""
        journal = self._kept_runs()
        for event in await replay.replayed(
            journal, run_id, definition, self._agents.registry, self._max_depth
        ):
            yield event

    async def fork(
        self,
        run_id: str,
        definition: AgentDefinition[T],
        *,
        turn: int,
        edit: str | None = None,
        new_run_id: str | None = None,
        signal: AbortSignal | None = None,
        on_activity: Listener | None = None,
    ) -> AgentResult[T]:
        """Run again from a turn on; what happened before it comes from the journal.

        Args:
            run_id: The run to fork; it stays as it is.
            definition: The agent from here on; its model and tools may be others.
            turn: The turn to begin with.
            edit: A message to put before that turn: in place of the user's last message, or after the last tool results.
            new_run_id: The new run's id, if it is to have a certain one.
            signal: Stops the run when it is aborted.
            on_activity: Called with each new event.

        Raises:
            RunNotFoundError: There is no such run.
            InvalidInputError: The run has no such turn.
        """
        journal = self._kept_runs()
        agent = self._agents.prepare(definition)
        new_run_id = _checked_or_new(new_run_id)
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
        start = replay.beginning(new_run_id, entries)
        clock = RunClock(after=entries[-1].at)
        driver = self._driver(agent, start, listeners_of(on_activity), writer, clock, entries)
        return await driver.drive(signal)

    async def say(
        self, run_id: str, content: str | Iterable[str | Part], *, by: str = "", user_id: str | None = None
    ) -> None:
        """Say something to a run that goes on, here or in another process: see :meth:`Journal.say`."""
        await self._kept_runs().say(run_id, content, by=by, user_id=user_id)

    def fingerprint(self, definition: AgentDefinition[Any]) -> Fingerprint:
        """What an agent is here, in hashes: a run of another version cannot be resumed (promise P10).

        Raises:
            InvalidToolError: A tool the definition names is not registered.
            ConfigError: The executor has no client, and the settings do not say how to reach the model.
        """
        return self._agents.prepare(definition).fingerprint

    async def aclose(self) -> None:
        """Close the clients this executor has connected; not the one it was given."""
        await self._agents.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # Putting a run together -------------------------------------------------------------------------------------

    def _driver(
        self,
        agent: PreparedAgent[T],
        start: RunStarted,
        listeners: Sequence[Listener],
        writer: RunWriter | None,
        clock: RunClock,
        entries: Sequence[Entry] = (),
        predecessor: Predecessor | None = None,
        *,
        accept_changes: bool = False,
    ) -> Driver[T]:
        definition, client, toolset = agent
        loop = AgentLoop(definition, toolset.tools, max_depth=self._max_depth)
        tracer = agent.tracer(start)
        run = Run(start, loop, client, toolset, listeners, writer, clock, predecessor, tracer)
        return Driver(
            run,
            self.metrics,
            self._approve,
            self._approval_expires_in,
            self._permissions,
            partial(self._subagent, accept_changes=accept_changes),
            entries=entries,
        )

    async def _reopened(
        self,
        journal: Journal,
        run_id: str,
        definition: AgentDefinition[T],
        listeners: Sequence[Listener],
        caller: Lease | None = None,
        *,
        accept_changes: bool,
        inherited: str | None = None,
    ) -> Driver[T]:
        """The driver of a run that the journal has; all is checked before the process that works on it is stopped."""
        agent = self._agents.prepare(definition, inherited)
        await replay.check_complete(journal, run_id, caller)
        begun = await replay.load_beginning(journal, run_id)
        replay.check_unchanged(begun, agent.fingerprint, accept_changes=accept_changes)
        writer = RunWriter(journal, await journal.claim(run_id, caller))
        entries = await replay.load(journal, run_id)
        start = replay.beginning(run_id, entries)
        clock = RunClock(after=entries[-1].at)
        former = Predecessor.of(run_id, entries)
        return self._driver(
            agent, start, listeners, writer, clock, entries, former, accept_changes=accept_changes
        )

    async def _subagent(
        self, parent: Run[Any], planned: PlannedCall, turn: int, *, accept_changes: bool
    ) -> Driver[Any]:
        definition = parent.toolset.ready[planned.call.tool_name].agent
        assert definition is not None  # noqa: S101 - asked only about tools that are agents
        run_id = f"{parent.start.run_id}/{turn}/{planned.index}"
        inherited = parent.loop.definition.model_config.model or own_model(parent.client) or None
        # A process that was overtaken must not begin a subagent's run, nor take it from the one that goes on.
        caller = None if parent.writer is None else parent.writer.lease
        if self._journal is not None:
            with suppress(RunNotFoundError):  # it is new
                return await self._reopened(
                    self._journal,
                    run_id,
                    definition,
                    parent.listeners,
                    caller,
                    accept_changes=accept_changes,
                    inherited=inherited,
                )
        agent = self._agents.prepare(definition, inherited)
        start = agent.start(
            planned.call.arguments,
            at=parent.clock.now(),
            run_id=run_id,
            trace_id=parent.start.trace_id,
            user_id=parent.start.user_id,
            journaled=self._journal is not None,
            caller=parent.start,
            grant=planned.grant,
        )
        writer = None if self._journal is None else RunWriter(self._journal, caller=caller)
        return self._driver(
            agent, start, parent.listeners, writer, parent.clock, accept_changes=accept_changes
        )

    def _kept_runs(self) -> Journal:
        if self._journal is None:
            raise InvalidInputError(
                "This executor has no journal. Create it with AgentExecutor(client, journal=SqliteJournal(…)).",
                field="journal",
            )
        return self._journal


def run_sync(
    definition: AgentDefinition[T], *, client: LLMClient | None = None, **options: Any
) -> AgentResult[T]:
    """Run an agent to its end, from code that is not async.

    Args:
        definition: The agent.
        client: The model to call; by default the definition's own.
        options: What :meth:`AgentExecutor.execute` takes.

    Raises:
        InvalidInputError: There is an event loop in this thread already; ``await executor.execute(…)`` there.
    """

    async def run() -> AgentResult[T]:
        async with AgentExecutor(client) as executor:
            return await executor.execute(definition, **options)

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # as it should be: no loop is running here
        return asyncio.run(run())
    raise InvalidInputError(
        "run_sync() was called where an event loop runs; write `await executor.execute(…)` there."
    )


def _checked_or_new(run_id: str | None) -> str:
    if not run_id:
        return f"run_{os.urandom(8).hex()}"
    if "/" in run_id:
        raise InvalidInputError(
            f"run_id: {run_id!r} has a '/', which is how the runs of subagents are named. Use another character.",
            field="run_id",
        )
    return run_id
