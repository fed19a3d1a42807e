"""The way in: runs agents, one or many at once, on asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self
from weakref import WeakKeyDictionary

from typing_extensions import TypeVar

from maverick.config import AgentConfig, load_config
from maverick.exceptions import InvalidInputError, InvalidToolError, RunNotFoundError
from maverick.journal import Journal
from maverick.journal.records import Lease
from maverick.loop.definition import AgentDefinition, ModelConfig
from maverick.loop.entries import Entry, RunStarted
from maverick.loop.events import AgentActivityEvent
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.limits import Limits
from maverick.loop.machine import AgentLoop
from maverick.loop.policy import Policy
from maverick.loop.result import AgentResult
from maverick.loop.run_settings import RunSettings
from maverick.loop.tool_round import PlannedCall
from maverick.model import ExecutionMetrics, LLMClient, Message, ModelInfo, Role, model_info
from maverick.model.client import NO_DEFAULTS, RequestDefaults, own_model, request_defaults
from maverick.model.history import check_conversation
from maverick.providers import Client
from maverick.providers.catalog import open_client
from maverick.providers.resolve import resolve
from maverick.runtime import history
from maverick.runtime.abort import AbortSignal
from maverick.runtime.driver import Approver, Driver
from maverick.runtime.event_feed import EventFeed
from maverick.runtime.event_log import is_logged, log_event
from maverick.runtime.keeper import RunKeeper
from maverick.runtime.run import Listener, Run
from maverick.runtime.run_clock import RunClock
from maverick.runtime.toolset import Toolset
from maverick.runtime.tracing import RunTracer
from maverick.runtime.worker import Predecessor, worker_name
from maverick.telemetry import current_trace_id, instruments
from maverick.tools import ToolRegistry

T = TypeVar("T", default=str)


class AgentExecutor:
    """Runs agents. One executor serves any number of runs at once.

    Args:
        client: The model to call; without one, each definition's own ``provider:model`` is connected to, or the model
            in the settings for a definition that names none.
        tool_registry: Where tools are found that a definition only names.
        journal: Where runs are kept, so that they can be resumed; without one they are not.
        approve: Asks a person about tools that need approval. Without it, the run parks in its journal until somebody
            has decided; without a journal too, such a call ends the run.
        approval_expires_in: The seconds after which a request nobody decided on is denied.
        permissions: Rules on each tool call before it runs, subagents' calls included. Without them every call may run
            that its tool does not want a person asked about.
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
        self._client = client
        self._settings = settings
        self._connected: dict[str | None, Client] = {}
        self._filled: WeakKeyDictionary[AgentDefinition[Any], AgentDefinition[Any]] = WeakKeyDictionary()
        self._registry = ToolRegistry() if tool_registry is None else tool_registry
        self._toolsets: WeakKeyDictionary[AgentDefinition[Any], Toolset] = WeakKeyDictionary()
        self._journal = journal
        self._approve = approve
        self._approval_expires_in = approval_expires_in
        self._permissions = permissions
        self._max_depth = max_depth

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

        Returns:
            How the run ended. A run that fails or is stopped has a result too; it does not raise.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type, or the conversation so far is not whole.
            InvalidToolError: A tool the definition names is not registered.
            ConfigError: The executor has no client, and the settings do not say how to reach the model.
            JournalError: The run could not be written down; nothing is done that is not.
        """
        if not isinstance(definition, AgentDefinition):
            raise InvalidInputError(
                f"definition: expected an AgentDefinition, got {definition!r}.", field="definition"
            )
        check_conversation(messages)
        client, definition = self._prepared(definition)
        system, first = definition.render(inputs)
        clock = RunClock()
        start = RunStarted(
            at=clock.now(),
            run_id=_checked(run_id) or _new_run_id(),
            trace_id=trace_id or current_trace_id() or os.urandom(16).hex(),
            agent=(definition.name,),
            system=system,
            messages=(*messages, *first),
            head=len(first) or 1,
            earlier=len(messages) if first else _last_said(messages),
            limits=definition.run_config.limits,
            info=_info(client, definition),
            fingerprint=self._fingerprint(definition),
            settings=self._run_settings(definition),
            worker=self._worker(),
            user_id=user_id,
        )
        keeper = None if self._journal is None else RunKeeper(self._journal)
        driver = self._driver(definition, start, client, _listeners(on_activity), keeper, clock)
        return await driver.drive(signal)

    async def stream(
        self, definition: AgentDefinition[Any], **options: Any
    ) -> AsyncGenerator[AgentActivityEvent, None]:
        """Run an agent and yield its events; the last one is ``RunEnd``, with the result.

        Takes what :meth:`execute` takes, but for ``on_activity``. Leaving the loop early stops the run.
        """
        feed = EventFeed()
        if "on_activity" in options:
            raise InvalidInputError("on_activity: stream() yields the events itself.", field="on_activity")
        running = asyncio.ensure_future(self.execute(definition, on_activity=feed.put, **options))
        running.add_done_callback(lambda _: feed.close())
        try:
            async for event in feed.read():
                yield event
            await running
        finally:
            running.cancel()
            await asyncio.wait([running])

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
        is never run again by itself. A call whose tool is gone is not run; if it was running, nobody knows what came
        of it. A run that has its answer gives it again.

        Args:
            run_id: The run.
            definition: Its agent.
            signal: Stops the run when it is aborted.
            on_activity: Called with each new event.
            accept_changes: Go on although the agent is not what it was when the run began.

        Raises:
            RunNotFoundError: There is no such run.
            RunChangedError: The agent has changed; the message names how.
            LeaseLostError: Another process resumed the run at the same time.
        """
        driver = await self._reopened(
            self._kept_runs(), run_id, definition, _listeners(on_activity), accept_changes=accept_changes
        )
        return await driver.drive(signal)

    async def replay(
        self, run_id: str, definition: AgentDefinition[Any]
    ) -> AsyncGenerator[AgentActivityEvent, None]:
        """The events of a run as it happened, from the journal alone."""
        journal = self._kept_runs()
        for event in await history.retold(journal, run_id, definition, self._registry, self._max_depth):
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
            edit: Words to put before that turn: in place of the user's last message, or after the last tool results.
            new_run_id: The new run's id, if it is to have a certain one.
            signal: Stops the run when it is aborted.
            on_activity: Called with each new event.

        Raises:
            RunNotFoundError: There is no such run.
            InvalidInputError: The run has no such turn.
        """
        journal = self._kept_runs()
        client, definition = self._prepared(definition)
        new_run_id = _checked(new_run_id) or _new_run_id()
        entries = history.forked(
            run_id,
            await history.load(journal, run_id),
            turn,
            edit,
            run_id=new_run_id,
            trace_id=os.urandom(16).hex(),
            fingerprint=self._fingerprint(definition),
            info=_info(client, definition),
        )
        keeper = RunKeeper(journal, forked_from=run_id)
        for entry in entries:
            keeper.remember(entry)
        start = history.beginning(new_run_id, entries)
        clock = RunClock(after=entries[-1].at)
        driver = self._driver(definition, start, client, _listeners(on_activity), keeper, clock, entries)
        return await driver.drive(signal)

    async def aclose(self) -> None:
        """Close the clients this executor has connected; not the one it was given."""
        clients, self._connected = self._connected, {}
        for client in clients.values():
            await client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # Putting a run together -------------------------------------------------------------------------------------

    def _driver(
        self,
        definition: AgentDefinition[T],
        start: RunStarted,
        client: LLMClient,
        listeners: Sequence[Listener],
        keeper: RunKeeper | None,
        clock: RunClock,
        entries: Sequence[Entry] = (),
        predecessor: Predecessor | None = None,
        *,
        accept_changes: bool = False,
    ) -> Driver[T]:
        toolset = self._toolset(definition)
        loop = AgentLoop(definition, toolset.tools, max_depth=self._max_depth)
        tracer = self._tracer(definition.model_config.model or own_model(client), start)
        run = Run(start, loop, client, toolset, listeners, keeper, clock, predecessor, tracer)
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
        """The driver of a run that the journal has; it is checked before anybody who works on it is stopped."""
        client, definition = self._prepared(definition, inherited)
        history.check_complete(await journal.get(run_id))
        begun = await history.load_beginning(journal, run_id)
        history.check_unchanged(begun, self._fingerprint(definition), accept_changes=accept_changes)
        keeper = RunKeeper(journal, await journal.claim(run_id, caller))
        entries = await history.load(journal, run_id)
        start = history.beginning(run_id, entries)
        clock = RunClock(after=entries[-1].at)
        return self._driver(
            definition,
            start,
            client,
            listeners,
            keeper,
            clock,
            entries,
            Predecessor.of(run_id, entries),
            accept_changes=accept_changes,
        )

    async def _subagent(
        self, parent: Run[Any], planned: PlannedCall, turn: int, *, accept_changes: bool
    ) -> Driver[Any]:
        definition = parent.toolset.ready[planned.call.tool_name].agent
        assert definition is not None  # noqa: S101 - asked only about tools that are agents
        run_id = f"{parent.start.run_id}/{turn}/{planned.index}"
        inherited = parent.loop.definition.model_config.model or own_model(parent.client) or None
        # Whoever was overtaken must not begin a subagent's run, nor take it from whoever goes on with the caller's.
        caller = None if parent.keeper is None else parent.keeper.lease
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
        client, definition = self._prepared(definition, inherited)
        system, first = definition.render(planned.call.arguments)
        start = RunStarted(
            at=parent.clock.now(),
            run_id=run_id,
            trace_id=parent.start.trace_id,
            agent=(*parent.start.agent, definition.name),
            system=system,
            messages=first,
            head=len(first),
            limits=definition.run_config.limits.within(planned.grant or Limits()),
            info=_info(client, definition),
            fingerprint=self._fingerprint(definition),
            settings=self._run_settings(definition),
            worker=self._worker(),
            user_id=parent.start.user_id,
            parent=parent.start.run_id,
        )
        keeper = None if self._journal is None else RunKeeper(self._journal, caller=caller)
        return self._driver(
            definition, start, client, parent.listeners, keeper, parent.clock, accept_changes=accept_changes
        )

    def _worker(self) -> str:
        """This process, for runs that others may go on with."""
        return "" if self._journal is None else worker_name()

    def _tracer(self, model: str, start: RunStarted) -> RunTracer | None:
        traced = instruments()
        return None if traced is None else RunTracer(traced, start, model)

    def _toolset(self, definition: AgentDefinition[Any]) -> Toolset:
        toolset = self._toolsets.get(definition)
        if toolset is None:
            toolset = self._toolsets[definition] = Toolset(definition, self._registry)
            try:
                for agent in toolset.agents:
                    self._toolset(agent)  # what they name has to be there before the first model call
            except InvalidToolError:
                del self._toolsets[definition]
                raise
        return toolset

    def _fingerprint(self, definition: AgentDefinition[Any]) -> Fingerprint | None:
        return None if self._journal is None else self._toolset(definition).fingerprint(definition)

    def _run_settings(self, definition: AgentDefinition[Any]) -> RunSettings | None:
        return None if self._journal is None else RunSettings.of(definition, self._toolset(definition).tools)

    def _prepared(
        self, definition: AgentDefinition[T], inherited: str | None = None
    ) -> tuple[LLMClient, AgentDefinition[T]]:
        """The client of an agent, and the agent with the client's defaults for what it leaves open.

        The loop has to know them: how long an answer may get is part of what it plans with.

        Args:
            definition: The agent.
            inherited: The model of the agent that calls it, for one that names none.
        """
        client = self._client
        if client is None:
            client = self._client_of(definition.model_config.model or inherited)
        defaults = request_defaults(client)
        if defaults is NO_DEFAULTS:
            return client, definition
        config = _with_defaults(definition.model_config, defaults)
        if config == definition.model_config:
            return client, definition
        filled = self._filled.get(definition)
        if filled is None:
            filled = self._filled[definition] = replace(definition, model_config=config)
        return client, filled

    def _client_of(self, model: str | None) -> LLMClient:
        if model not in self._connected:
            settings = load_config().agent if self._settings is None else self._settings
            self._connected[model] = open_client(resolve(settings, named=model).check())
        return self._connected[model]

    def _kept_runs(self) -> Journal:
        if self._journal is None:
            raise InvalidInputError(
                "This executor keeps no runs. Make it with AgentExecutor(client, journal=SqliteJournal(…)).",
                field="journal",
            )
        return self._journal


def _listeners(on_activity: Listener | None) -> list[Listener]:
    """Who is to be told what happens: the caller, and the log if anybody reads it."""
    if inspect.iscoroutinefunction(on_activity) or inspect.iscoroutinefunction(
        getattr(on_activity, "__call__", None)  # noqa: B004 - an object whose __call__ is async
    ):
        raise InvalidInputError(
            "on_activity: expected a plain function; to await something for each event, use stream().",
            field="on_activity",
        )
    listeners: list[Listener] = [log_event] if is_logged() else []
    return listeners if on_activity is None else [*listeners, on_activity]


def _checked(run_id: str | None) -> str | None:
    """The id a caller wants for a run."""
    if run_id is not None and "/" in run_id:
        raise InvalidInputError(
            f"run_id: {run_id!r} has a '/', which is how the runs of subagents are named. Use another character.",
            field="run_id",
        )
    return run_id


def _info(client: LLMClient, definition: AgentDefinition[Any]) -> ModelInfo:
    return model_info(client, definition.model_config.model or own_model(client))


def _with_defaults(own: ModelConfig, defaults: RequestDefaults) -> ModelConfig:
    timeout = defaults.request_timeout
    return replace(
        own,
        max_tokens=own.max_tokens or defaults.max_tokens,
        temperature=defaults.temperature if own.temperature == -1 else own.temperature,
        request_timeout_ms=own.request_timeout_ms
        or (None if timeout is None else max(round(timeout * 1000), 1)),
    )


def _new_run_id() -> str:
    return f"run_{os.urandom(8).hex()}"


def _last_said(messages: Sequence[Message]) -> int:
    """Where in a conversation its user last said something."""
    said = (index for index in reversed(range(len(messages))) if messages[index].role is Role.USER)
    return next(said, 0)
