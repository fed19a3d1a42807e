"""``AgentExecutor``: runs agents, one or many at once, on asyncio."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

from typing_extensions import TypeVar, Unpack

from maverick.config import AgentConfig
from maverick.exceptions import RunExistsError, RunNotFoundError
from maverick.journal import Journal
from maverick.journal.approvals import MayApprove
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import Execution
from maverick.loop.events import AgentActivityEvent
from maverick.loop.fingerprint import Fingerprint
from maverick.loop.policy import Policy
from maverick.loop.result import AgentResult
from maverick.misuse import refuse
from maverick.model import ExecutionMetrics, LLMClient, Message, Part
from maverick.model.history import check_conversation
from maverick.runtime import arguments, replay
from maverick.runtime.approver import Approver
from maverick.runtime.deciding import ApprovingExecutor, ExecutorOptions
from maverick.runtime.event_log import EventStream, Listener, listeners_of
from maverick.runtime.hooks import HookChain, Hooks
from maverick.runtime.interruption import AbortSignal
from maverick.runtime.prepared_agent import AgentPreparer
from maverick.runtime.replay import Fork
from maverick.runtime.run import RunClock
from maverick.runtime.run_builder import Attendance, RunBuilder
from maverick.runtime.run_writer import RunWriter
from maverick.runtime.toolset import Guidance
from maverick.telemetry import current_trace_id
from maverick.tools import ToolRegistry

T = TypeVar("T", default=str)


class AgentExecutor(ApprovingExecutor):
    """Runs agents. One executor serves any number of runs at once.

    Args:
        client: The model to call; without one, each definition's own ``provider:model`` is connected to, or the model
            in the settings for a definition that names none.
        tool_registry: Where tools are found that a definition only names.
        journal: Where runs are recorded, so that they can be resumed; without one they are not.
        approve: Asks a person about tools that need approval. Without it, or if it raises an ``ApprovalRequiredError``, the
            run parks in its journal until a person has decided; without a journal too, such a call ends the run.
        approval_expires_in: The seconds after which a request without a decision is denied.
        permissions: Rules on each tool call before it runs, subagents' calls included. Without them every call may run
            whose tool does not ask for approval.
        max_depth: How deep agents may be nested in each other.
        settings: What to connect with when there is no client; by default the settings of files and environment.
        deps: What tools find in ``ToolContext.deps``, in runs that are not given their own.
        may_approve: Says who may decide on a request, for :meth:`approve` and :meth:`deny`; by default the run's own user.
            An agreement that another process has written to the journal counts only if it says so too.
        hooks: What acts around model calls and tool calls, subagents' included: objects of classes derived from
            :class:`~maverick.Hooks`, asked in this order.
        guidance: What agents that refer to tools by name are told besides their prompts, such as a project's instructions.
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
        deps: object = None,
        may_approve: MayApprove | None = None,
        hooks: Sequence[Hooks] = (),
        guidance: Guidance | None = None,
    ) -> None:
        arguments.check_client(client)
        arguments.check_parts(tool_registry, journal, approve, permissions, max_depth, may_approve)
        self.metrics = ExecutionMetrics()
        """The tokens of all model calls this executor has made."""
        self.options: ExecutorOptions = {
            "client": client,
            "tool_registry": tool_registry,
            "journal": journal,
            "approve": approve,
            "approval_expires_in": approval_expires_in,
            "permissions": permissions,
            "max_depth": max_depth,
            "settings": settings,
            "deps": deps,
            "may_approve": may_approve,
            "hooks": hooks,
            "guidance": guidance,
        }
        """The arguments it was created with."""
        registry = ToolRegistry() if tool_registry is None else tool_registry
        chain = HookChain(hooks) if hooks else None
        self._agents = AgentPreparer(client, registry, settings, guidance, chain.names if chain else ())
        self._known: dict[str, AgentDefinition[Any]] = {}
        """The agents that were run here last, by name."""
        self._runs = RunBuilder(self._agents, self.options, self.metrics, chain)

    @classmethod
    def like(cls, other: AgentExecutor, **options: Unpack[ExecutorOptions]) -> Self:
        """An executor with the options of another, except those given here.

        What the other one connects stays its own: each closes its own connections. The metrics are shared.

        Args:
            other: The executor to copy; what a subclass has added to it is copied too.
            options: Arguments of the constructor that replace those of the other.
        """
        made = cls.__new__(cls)
        vars(made).update(vars(other))
        given = other.options.copy()
        given.update(options)
        AgentExecutor.__init__(made, **given)
        made.metrics = made._runs.metrics = other.metrics  # noqa: SLF001 - of the class itself
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
        deps: object = None,
        if_exists: Literal["raise", "resume"] = "raise",
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
            deps: What its tools find in ``ToolContext.deps``: a database, a client, whatever they need. It is not
                recorded; give it again to resume the run.
            if_exists: What to do when the journal has a run of this id: ``raise`` a RunExistsError, or ``resume`` it, so
                that the same call starts the run or continues it.
            execution: What the run is a prompt of, if its agent is a class.

        Returns:
            How the run ended. A run that fails or is stopped has a result too; it does not raise.

        Raises:
            InvalidInputError: An input is missing, unknown or of the wrong type, or the conversation so far is not whole;
                or the run that would be resumed was begun with other inputs.
            InvalidToolError: A tool the definition names is not registered.
            ConfigError: The executor has no client, and the settings do not say how to reach the model.
            JournalError: The run could not be written to its journal; nothing is done that is not.
            RunExistsError: There is a run of this id.
        """
        arguments.check_definition(definition)
        arguments.check_run(signal, user_id, if_exists)
        if if_exists == "resume" and not run_id:
            refuse(
                "run_id",
                "if_exists='resume' needs one, the same each time; without it, each call would start a new run.",
            )
        if if_exists == "resume" and run_id is not None and await self._has(run_id):
            if inputs is not None:
                begun = await replay.load_beginning(self._kept_runs(), run_id)
                replay.check_inputs(begun, self.fingerprint(definition), definition.render(inputs))
            return await self.resume(
                run_id, definition, signal=signal, on_activity=on_activity, user_id=user_id, deps=deps
            )
        check_conversation(messages)
        self._known[definition.name] = definition
        agent, clock = self._agents.prepare(definition), RunClock()
        start = agent.start(
            inputs,
            at=clock.now(),
            run_id=arguments.checked_run_id(run_id),
            trace_id=trace_id or current_trace_id() or os.urandom(16).hex(),
            user_id=user_id,
            journaled=(journal := self.options["journal"]) is not None,
            earlier=messages,
            execution=execution,
        )
        if journal is not None and messages:  # which may be those of a run that was replayed
            await journal.load_blobs([start])
        writer = None if journal is None else RunWriter(journal)
        driver = self._runs.driver(agent, start, self._watch(on_activity, deps), writer, clock)
        try:
            return await driver.drive(signal)
        except RunExistsError:
            if if_exists != "resume":
                raise
        # The same call was made at the same time, and has begun the run.
        return await self.resume(
            start.run_id, definition, signal=signal, on_activity=on_activity, user_id=user_id, deps=deps
        )

    async def stream(
        self,
        definition: AgentDefinition[T],
        *,
        inputs: Mapping[str, Any] | None = None,
        signal: AbortSignal | None = None,
        messages: Sequence[Message] = (),
        run_id: str | None = None,
        trace_id: str | None = None,
        user_id: str | None = None,
        deps: object = None,
        if_exists: Literal["raise", "resume"] = "raise",
        resume: str | None = None,
        accept_changes: bool = False,
        fork: Fork | None = None,
    ) -> AsyncGenerator[AgentActivityEvent[T], None]:
        """Run an agent and yield its events; the last one is ``RunEnd``, with the result.

        Leaving the loop early stops the run. With ``resume``, the id of a run, it continues with that one as :meth:`resume`
        does, ``accept_changes`` included; with ``fork`` it forks one. The other arguments are those of :meth:`execute`.

        Raises:
            InvalidInputError: An option is for a new run, and one is resumed or forked; or the other way round.
        """
        of_new = {"inputs": inputs, "messages": messages or None, "run_id": run_id, "trace_id": trace_id}
        of_fork = {"resume": resume, "user_id": user_id}
        arguments.check_stream(of_new, of_fork, fork, resume=resume, accept_changes=accept_changes)
        start: Callable[..., Coroutine[Any, Any, AgentResult[T]]]
        if fork is not None:
            start = partial(
                self.fork, fork.run_id, definition, turn=fork.turn, edit=fork.edit, new_run_id=fork.new_run_id
            )
        elif resume is not None:
            start = partial(self.resume, resume, definition, accept_changes=accept_changes, user_id=user_id)
        else:
            start = partial(
                self.execute,
                definition,
                inputs=inputs,
                messages=messages,
                run_id=run_id,
                trace_id=trace_id,
                if_exists=if_exists,
                user_id=user_id,
            )
        running = partial(start, signal=signal, deps=deps)
        async with EventStream(lambda listener: running(on_activity=listener)) as events:
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
        user_id: str | None = None,
        deps: object = None,
        accept_changes: bool = False,
    ) -> AgentResult[T]:
        """Continue a run whose process died, or that was stopped, failed or waits for an approval.

        A tool call that was running when the process died is handled as its tool's effect allows: an irreversible one
        is never run again by itself. A call whose tool is gone is not run; if it was running, its outcome is
        unknown. A run that has its answer gives it again.

        Args:
            run_id: The run.
            definition: Its agent.
            signal: Stops the run when it is aborted.
            on_activity: Called with each new event.
            user_id: The verified user on whose behalf; only that user's runs are found then.
            deps: What its tools find in ``ToolContext.deps``.
            accept_changes: Continue although the agent is not what it was when the run began.

        Raises:
            RunNotFoundError: There is no such run.
            RunMovedError: It was moved to another journal, and continues there.
            RunChangedError: The agent has changed; the message names how.
            LeaseLostError: Another process resumed the run at the same time.
        """
        journal = self._kept_runs()
        arguments.check_definition(definition)
        arguments.check_run(signal, user_id, "resume")
        self._known[definition.name] = definition
        if user_id is not None and (await journal.get(run_id)).user_id != user_id:
            raise RunNotFoundError(run_id=run_id)
        attendance = self._watch(on_activity, deps, accept_changes=accept_changes)
        driver = await self._runs.reopened(journal, run_id, definition, attendance)
        return await driver.drive(signal)

    async def replay(
        self, run_id: str, definition: AgentDefinition[T]
    ) -> AsyncGenerator[AgentActivityEvent[T], None]:
        """The events of a run as it happened, from the journal alone."""
        arguments.check_definition(definition)
        registry, max_depth = self._agents.registry, self.options["max_depth"]
        for event in await replay.replayed(self._kept_runs(), run_id, definition, registry, max_depth):
            yield event

    async def fork(
        self,
        run_id: str,
        definition: AgentDefinition[T],
        *,
        turn: int,
        edit: str | Iterable[str | Part] | None = None,
        new_run_id: str | None = None,
        signal: AbortSignal | None = None,
        on_activity: Listener | None = None,
        deps: object = None,
    ) -> AgentResult[T]:
        """Run again from a turn on; what happened before it comes from the journal.

        Args:
            run_id: The run to fork; it stays as it is.
            definition: The agent from here on; its model and tools may be others.
            turn: The turn to begin with.
            edit: A message to put before that turn: in place of the user's last message, or after the last tool results.
                A text replaces only the text of that message; its images and documents stay.
            new_run_id: The new run's id, if it is to have a certain one.
            signal: Stops the run when it is aborted.
            on_activity: Called with each new event.
            deps: What its tools find in ``ToolContext.deps``.

        Raises:
            RunNotFoundError: There is no such run.
            InvalidInputError: The run has no such turn.
            RunChangedError: The run was made with hooks that this executor does not have.
        """
        journal, new_run_id = self._kept_runs(), arguments.checked_run_id(new_run_id)
        arguments.check_definition(definition)
        attendance = self._watch(on_activity, deps)
        driver = await self._runs.forked(journal, run_id, definition, attendance, turn, edit, new_run_id)
        return await driver.drive(signal)

    async def say(
        self, run_id: str, content: str | Iterable[str | Part], *, by: str = "", user_id: str | None = None
    ) -> None:
        """Say something to a run in progress, here or in another process: see :meth:`Journal.say`."""
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

    def _watch(self, listener: Listener | None, deps: object, *, accept_changes: bool = False) -> Attendance:
        own = self.options["deps"] if deps is None else deps
        return Attendance(listeners_of(listener), own, accept_changes=accept_changes)

    async def _has(self, run_id: str) -> bool:
        try:
            await self._kept_runs().get(run_id)
        except RunNotFoundError:
            return False
        return True


arguments.explain_calls(AgentExecutor)
