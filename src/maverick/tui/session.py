"""One conversation and its runs: starting, stopping, resuming and forking them, and approving their tool calls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from maverick.exceptions import AgentNotFoundError, InvalidInputError, MaverickError, RunChangedError
from maverick.journal.approvals import decided_by_the_run
from maverick.journal.records import RunStatus
from maverick.loop import AgentDefinition, AgentResult, ModelConfig, TerminateReason
from maverick.loop.entries import RunStarted
from maverick.loop.events import TurnStart
from maverick.model import ToolContext
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.approver import ApprovalAnswer, ApprovalRequest
from maverick.tui.backend import Backend, PreparedAgent
from maverick.tui.block import Speaker, Tone, ToolState, ToolUse, Words
from maverick.tui.conversation import ConversationModel, Status
from maverick.tui.plain_text import one_line

_STOP_TIMEOUT = 5.0
"""Seconds that runs have to end when they are stopped."""


@dataclass(frozen=True, slots=True)
class Question:
    """A tool call that waits for approval."""

    agent: str
    """The agent that makes the call."""
    tool_name: str
    arguments: dict[str, Any]
    reason: str = ""
    """Why approval is needed, unless the tool always needs it."""


Ask: TypeAlias = Callable[[Question], Awaitable[ApprovalAnswer | None]]
"""Asks the user about a tool call; ``None`` means later."""


def new_run_id() -> str:
    """A unique id for a run."""
    return f"run_{os.urandom(8).hex()}"


class Session:
    """A conversation that is shown, whether it is live or only read.

    Args:
        backend: Where its agent, its journal and its executor come from.
        agent: The agent's name.
        ask: Asks the user about a tool call.
        new_id: Makes the ids of runs.
    """

    def __init__(
        self, backend: Backend, agent: str, ask: Ask, new_id: Callable[[], str] = new_run_id
    ) -> None:
        self.model = ConversationModel()
        self.agent = agent
        self.model_name = ""
        """The ``provider:model`` that answers, once it is known."""
        self.is_live = False
        """Whether one of its runs is in progress here."""
        self.began_at = 0.0
        """When its last task was started."""
        self.entries = 0
        """How many entries the run had when it was last read from the journal."""
        self._backend = backend
        self._ask = ask
        self._new_id = new_id
        self._signal = AbortSignal()
        self._asking = asyncio.Lock()
        self._reminder = asyncio.Event()

    @property
    def run_id(self) -> str:
        """The run that is shown, or the last one of the conversation."""
        return self.model.run_id

    async def start(self, inputs: Mapping[str, Any]) -> None:
        """Run the agent, continuing the conversation.

        Raises:
            MaverickError: The run cannot be started.
        """
        if self.model.status in (Status.RUNNING, Status.WAITING, Status.LEFT):
            raise InvalidInputError(
                "This run has not finished. Stop it (Ctrl-C), resume it (r), or start a new one (n).",
                field="run",
            )
        prepared = self._prepare()
        definition, before, run_id = prepared.definition, self.model.messages, self._new_id()
        _, prompt = definition.render(inputs)
        self.model.begin(run_id, prompt, definition.run_config.limits, prepared.context_window)
        if prepared.notice:
            self.model.remark(prepared.notice)
        await self._drive(
            prepared,
            lambda executor: executor.execute(
                definition,
                inputs=inputs,
                messages=before,
                run_id=run_id,
                signal=self._signal,
                on_activity=self.model.tell,
            ),
        )

    async def open(self, run_id: str) -> None:
        """Show a run from the journal, as far as it can be replayed with its agent as it is now.

        Raises:
            MaverickError: There is no such run, or it cannot be read.
        """
        record = await self._backend.journal.get(run_id)
        self.entries = record.entries
        model = ConversationModel()
        try:
            definition = self._prepare().definition
        except AgentNotFoundError as error:
            definition = AgentDefinition(self.agent, "Not found.", model_config=ModelConfig("offline:"))
            model.remark(str(error), Tone.BAD)
        await self._show_beginning(model, run_id)
        async with self._backend.executor(definition, None, None) as executor:
            try:
                async for event in executor.replay(run_id, definition):
                    model.tell(event)
            except InvalidInputError as error:  # the agent has changed, and the run no longer follows from it
                model.remark(f"The agent has changed, so the rest cannot be shown: {error}", Tone.BAD)
        if record.status is RunStatus.WAITING:
            model.park()
        model.leave()
        self.model = model

    async def resume(self, *, accept_changes: bool = False) -> None:
        """Resume the run. If it waits for approvals, the user is asked for them first.

        Args:
            accept_changes: Whether to resume it even though its agent has changed.

        Raises:
            MaverickError: It cannot be resumed.
        """
        if self.is_live:
            raise InvalidInputError("This run is already in progress.", field="run")
        if not self.model.can_resume:
            raise InvalidInputError("There is nothing to resume: this run has finished.", field="run")
        parked = self.model.status is Status.WAITING
        if parked and not await self._decide_parked():
            return
        await self._resume(parked=parked, accept_changes=accept_changes)

    async def fork(self, turn: int, edit: str | None, source: str) -> None:
        """Run again from a turn on, as a new run.

        Args:
            turn: The turn to begin with.
            edit: A message to put before it.
            source: The run to fork.

        Raises:
            MaverickError: It cannot be forked there.
        """
        prepared, run_id = self._prepare(), self._new_id()
        model = ConversationModel()
        await self._show_beginning(model, source)
        async with self._backend.executor(prepared.definition, None, None) as executor:
            async for event in executor.replay(source, prepared.definition):
                if isinstance(event, TurnStart) and (event.run_id, event.turn_number) == (source, turn):
                    break
                model.tell(event)
        model.become(run_id, f"forked from turn {turn} of {source}")
        if edit is not None:
            model.edit(edit)
        self.model = model
        await self._drive(
            prepared,
            lambda executor: executor.fork(
                source,
                prepared.definition,
                turn=turn,
                edit=edit,
                new_run_id=run_id,
                signal=self._signal,
                on_activity=self.model.tell,
            ),
        )

    async def decide(self) -> None:
        """Ask again about a tool call that was put off.

        Raises:
            MaverickError: No tool call waits for approval, or the answer cannot be recorded.
        """
        if self.is_live and self._asked():
            self._reminder.set()
        elif self.model.status is Status.WAITING:
            await self.resume()
        else:
            raise InvalidInputError("No tool call is waiting for approval.", field="run")

    def prompt_of(self, run_id: str) -> str:
        """The user's last message before the first turn of a run."""
        prompts = [
            block.text
            for block in self.model.blocks
            if isinstance(block, Words)
            and block.speaker is Speaker.USER
            and (block.run_id, block.turn) == (run_id, 0)
        ]
        return prompts[-1] if prompts else ""

    async def say(self, text: str) -> None:
        """Say something to the run that is in progress: the agent hears it before its next turn.

        Raises:
            MaverickError: It has not begun, or has just ended.
        """
        await self._backend.journal.say(self.run_id, text, by=self._backend.user)
        self.model.remark(f"The agent hears this before its next turn: {one_line(text)}")

    def stop(self) -> None:
        """Stop the run; its partial answer is kept."""
        self._signal.abort("stopped by the user")

    def _prepare(self) -> PreparedAgent:
        prepared = self._backend.prepare(self.agent)
        self.model_name = prepared.definition.model_config.model or ""
        return prepared

    async def _show_beginning(self, model: ConversationModel, run_id: str) -> None:
        async for stored in self._backend.journal.read(run_id):
            start = stored.entry
            if isinstance(start, RunStarted):
                model.begin(run_id, start.messages, start.limits, start.info.context_window)
            break

    async def _resume(self, *, parked: bool, accept_changes: bool) -> None:
        prepared, run_id = self._prepare(), self.run_id
        await self._drive(
            prepared,
            lambda executor: executor.resume(
                run_id,
                prepared.definition,
                signal=self._signal,
                on_activity=self.model.tell,
                accept_changes=accept_changes,
            ),
            # Only a run without an approver of its own reads decisions from the journal.
            asks_here=not parked,
        )

    async def _drive(
        self,
        prepared: PreparedAgent,
        run: Callable[[AgentExecutor], Awaitable[AgentResult[Any]]],
        *,
        asks_here: bool = True,
    ) -> None:
        self._signal, self.is_live = AbortSignal(), True
        self.model.status = Status.RUNNING
        approve = self._approve if asks_here else None
        try:
            async with self._backend.executor(prepared.definition, approve, self._show_output) as executor:
                result = await run(executor)
        finally:
            self.is_live = False
            self.model.leave()
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL and await self._decide_parked():
            await self._resume(parked=True, accept_changes=False)

    def _show_output(self, context: ToolContext, output: str) -> None:
        self.model.show_output(context.run_id, context.call_id, output)

    async def _approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask about a call of a live run until the user decides."""
        question = Question(self.agent, request.tool_name, request.arguments, request.reason)
        async with self._asking:  # one call at a time, also when subagents run in parallel
            while True:
                answer = await self._ask(question)
                if answer is not None:
                    return answer
                self._reminder.clear()
                await self._reminder.wait()

    async def _decide_parked(self) -> bool:
        """Ask for the approvals the run waits for, and record them in its journal; says whether all are decided."""
        journal = self._backend.journal
        for approval in await journal.list_approvals():
            if approval.run_id.partition("/")[0] != self.run_id:  # the ids of its subagents have a slash
                continue
            arguments = approval.arguments
            answer = await self._ask(Question(self.agent, approval.tool_name, arguments))
            if answer is None:
                return False
            await journal.decide(
                approval.approval_id,
                approved=answer.approved,
                by=self._backend.user,
                reason=answer.reason,
                may_approve=decided_by_the_run,
                arguments=answer.arguments,
            )
        return True

    def _asked(self) -> list[ToolUse]:
        return [
            block
            for block in self.model.blocks
            if isinstance(block, ToolUse) and block.state is ToolState.ASKED
        ]


class SessionTasks:
    """Starts the tasks of conversations, shows their errors there, and stops those that are not done.

    Args:
        clock: The time, in seconds since the epoch.
        done: Called when a task is done or has failed.
    """

    def __init__(self, clock: Callable[[], float], done: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._done = done
        self._tasks: dict[asyncio.Task[None], Session] = {}

    def start(self, session: Session, work: Callable[[], Awaitable[None]]) -> None:
        """Do something with a conversation."""
        session.began_at = self._clock()
        task = asyncio.create_task(self._run(session, work))
        self._tasks[task] = session
        task.add_done_callback(self._tasks.pop)

    async def stop(self) -> list[Session]:
        """Stop runs and cancel the rest; returns the conversations whose run can be resumed."""
        live = [session for session in self._tasks.values() if session.is_live]
        for task, session in self._tasks.items():
            if session.is_live:
                session.stop()
            else:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_TIMEOUT)
        return [session for session in live if session.model.can_resume]

    async def cancel(self) -> None:
        """Cancel everything at once."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, session: Session, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except RunChangedError as error:
            show_error(session, f"{error} Or press R to resume it anyway.")
        except MaverickError as error:
            show_error(session, str(error))
        except Exception as error:  # noqa: BLE001 - a bug is shown too, and the screen stays
            show_error(session, f"Internal error: {type(error).__name__}: {error}")
        await self._done()


def show_error(session: Session, text: str) -> None:
    """Show an error in a conversation."""
    session.model.remark(one_line(text), Tone.BAD)
