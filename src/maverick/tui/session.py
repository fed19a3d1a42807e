"""One conversation and its runs: starting, stopping, resuming and forking them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from maverick.exceptions import AgentNotFoundError, InvalidInputError, MaverickError, RunChangedError
from maverick.journal.conversations import used_in
from maverick.journal.records import RunStatus
from maverick.loop import AgentDefinition, AgentResult, ModelConfig, TerminateReason
from maverick.loop.entries import RunStarted
from maverick.loop.events import AgentActivityEvent, TurnStart
from maverick.loop.result import ToolOutcome
from maverick.model import Part, ToolContext
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.arguments import new_run_id
from maverick.runtime.consent import Grants
from maverick.tools.coding.shell import LONGEST, Shell
from maverick.tools.coding.workspace import Workspace
from maverick.tui.backend import Backend, PreparedAgent
from maverick.tui.block import LineStyle, Speaker, Words
from maverick.tui.conversation import ConversationModel, Status
from maverick.tui.questions import Approvals, Ask

NOTE = "\n\nI ran this command myself: "
"""What comes between a prompt and the output of a command of the user's own."""
PROMPT = "prompt"
"""The input that a message to an agent is."""


class Session:
    """A conversation that is shown, whether it is live or only read."""

    def __init__(
        self,
        backend: Backend,
        agent: str,
        ask: Ask,
        grants: Callable[[], Grants],
        new_id: Callable[[], str] = new_run_id,
        origin: str = "",
    ) -> None:
        self.model = ConversationModel()
        self.agent = agent
        self.origin = origin
        """The trace id of the conversation that the agent is from, whose file may not be where agents are looked for."""
        self.model_name = ""
        """The ``provider:model`` that answers, once it is known."""
        self.mode = ""
        """What the agent may do without asking, once that is known."""
        self.notice = ""
        """What the user should know before the first run, such as why the agent cannot run."""
        self.is_live = False
        """Whether one of its runs is in progress here."""
        self.began_at = 0.0
        """When its last task was started."""
        self.entries = 0
        """How many entries the run had when it was last read from the journal."""
        self._backend = backend
        self._approvals = Approvals(backend, agent, ask, grants, self._wait)
        self._new_id = new_id
        self._signal = AbortSignal()
        self._command: asyncio.Task[str] | None = None
        self._notes: list[str] = []
        """What the user's own commands have printed, for the next message."""

    @property
    def run_id(self) -> str:
        """The run that is shown, or the last one of the conversation."""
        return self.model.run_id

    async def start(self, inputs: Mapping[str, Any]) -> None:
        """Run the agent, continuing the conversation."""
        if self.model.status in (Status.RUNNING, Status.WAITING, Status.LEFT):
            problem = "This run has not finished. Resume it (/resume), or start a new conversation (/new)."
            raise InvalidInputError(problem, field="run")
        prepared = self._prepare()
        definition, before, run_id = prepared.definition, self.model.messages, self._new_id()
        _, prompt = definition.render(inputs)
        notes = self._notes
        if notes and PROMPT in inputs:
            *media, asked = [inputs[PROMPT]] if isinstance(inputs[PROMPT], str) else inputs[PROMPT]
            text = asked + "".join(notes)
            inputs = {**inputs, PROMPT: [*media, text] if media else text}
            self._notes = []
        trace_id = self.model.trace_id or os.urandom(16).hex()
        self.model.begin(run_id, prompt, definition.run_config.limits, prepared.context_window)
        if prepared.notice and not before:  # once in a conversation
            self.model.remark(prepared.notice)
        tell = self._teller(run_id)
        try:
            await self._drive(
                prepared,
                lambda executor: executor.execute(
                    definition,
                    inputs=inputs,
                    messages=before,
                    run_id=run_id,
                    trace_id=trace_id,
                    signal=self._signal,
                    on_activity=tell,
                ),
            )
        except MaverickError:
            if self.model.forget_refused():
                self._notes = notes
            raise

    async def open(self, run_id: str, earlier: Iterable[str] = ()) -> None:
        """Show a run from the journal, as far as it can be replayed with its agent as it is now.

        What the earlier runs of the conversation have used is counted.
        """
        record = await self._backend.journal.get(run_id)
        self.entries = record.entries
        model = ConversationModel()
        try:
            definition = self._prepare().definition
        except (AgentNotFoundError, InvalidInputError) as error:  # it is gone, or its file is not trusted
            definition = AgentDefinition(self.agent, "Not found.", model_config=ModelConfig("offline:"))
            model.remark(str(error), LineStyle.BAD)
        for run in earlier:
            model.gauge.usage += await used_in(self._backend.journal, run)
        await self._show_beginning(model, run_id)
        async with self._backend.executor(definition, None, None) as executor:
            try:
                async for event in executor.replay(run_id, definition):
                    model.tell(event)
            except InvalidInputError as error:  # the agent has changed, and the run no longer follows from it
                model.remark(f"The agent has changed, so the rest cannot be shown: {error}", LineStyle.BAD)
        if record.status is RunStatus.WAITING:
            model.park()
        model.leave()
        self.model = model

    async def resume(self, *, accept_changes: bool = False) -> None:
        """Resume the run, perhaps although its agent has changed; the user is first asked for approvals it waits for."""
        if self.is_live:
            raise InvalidInputError("This run is already in progress.", field="run")
        if not self.model.can_resume:
            raise InvalidInputError("There is nothing to resume: this run has finished.", field="run")
        parked = self.model.status is Status.WAITING
        if parked and not await self._is_decided():
            return
        try:
            await self._resume(parked=parked, accept_changes=accept_changes)
        except RunChangedError as error:
            hint = f"{error} Or resume it anyway: /resume anyway"
            raise RunChangedError(hint, changes=error.changes) from error

    async def fork(self, turn: int, edit: str | None, source: str) -> None:
        """Run again from a turn of another run on, with a message put before it, as a new run."""
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
        tell = self._teller(run_id, self.origin)
        await self._drive(
            prepared,
            lambda executor: executor.fork(
                source,
                prepared.definition,
                turn=turn,
                edit=edit,
                new_run_id=run_id,
                signal=self._signal,
                on_activity=tell,
            ),
        )

    async def decide(self) -> None:
        """Ask again about a tool call that was put off; an error if none waits for approval."""
        if self.is_live and self.is_asking:
            self._approvals.remind()
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

    async def say(self, content: str | Sequence[str | Part]) -> None:
        """Say something to the run that is in progress: the agent hears it before its next turn.

        It is an error if the run has not begun, or has just ended.
        """
        number = await self._backend.journal.say(self.run_id, content, by=self._backend.user)
        said = content if isinstance(content, str) else content[-1]
        self.model.queue(str(said), number)

    async def take_back(self) -> list[str]:
        """Take back what the agent has not heard yet, oldest first; it does not hear it later either."""
        journal, run_id = self._backend.journal, self.run_id
        return [words for words, number in self.model.take_back() if await journal.unsay(run_id, number)]

    async def run_command(self, command: str) -> None:
        """Run a command of the user's own; the agent sees what it printed with the next message.

        It is not in a sandbox and no permission is asked for, since the user typed it, as they would in their shell. It
        has no keys and tokens in its environment, as the agent's commands do not, because a model reads the output.
        """
        tool, began = self.model.begin_command(command), time.monotonic()

        def show(_: ToolContext, output: str) -> None:
            self.model.show_output("", tool.call_id, output)

        shell = Shell(Workspace(self._backend.folder), on_output=show)
        about: dict[str, Any] = {"run_id": "", "trace_id": "", "agent": (), "turn": 0, "deadline": 0}
        context = ToolContext(**about, call_id=tool.call_id, idempotency_key=f"user-{os.urandom(4).hex()}")
        self._command = asyncio.create_task(shell.shell(command, context, LONGEST))
        outcome, printed = ToolOutcome.CANCELLED, "stopped"
        try:
            printed = await self._command
            outcome = ToolOutcome.FINISHED if printed.endswith("[exit code 0]") else ToolOutcome.FAILED
            self._notes.append(f"{NOTE}{command}\n{printed}")
        except asyncio.CancelledError:
            if not self._command.cancelled():  # the screen is closed, and this task with it
                raise
        finally:
            self._command = None
            self.model.end_command(tool, printed, outcome, time.monotonic() - began)

    @property
    def is_busy(self) -> bool:
        """Whether there is something to stop here: a run, or a command of the user's own."""
        return self.is_live or self._command is not None

    @property
    def is_asking(self) -> bool:
        """Whether a tool call, or the question of an MCP server, waits for the user."""
        return self.model.status is Status.WAITING or (self.is_live and bool(self.model.asked))

    def stop(self) -> None:
        """Stop the run, whose partial answer is kept, and the user's own command."""
        self._signal.abort("stopped by the user")
        if self._command is not None:
            self._command.cancel()

    def look(self) -> None:
        """Find out which model answers, and what the agent may do; what keeps it from running is in the notice."""
        try:
            self._prepare()
        except MaverickError as error:
            self.notice, self.mode = str(error), self._backend.mode or self.mode

    def _prepare(self) -> PreparedAgent:
        prepared = self._backend.prepare(self.agent, self.origin)
        self.model_name = prepared.definition.model_config.model or ""
        self.mode, self.notice = prepared.mode, prepared.notice
        return prepared

    def _teller(self, run_id: str, origin: str = "") -> Callable[[AgentActivityEvent[Any]], None]:
        """What shows the events of a new run; with the first, which comes once it has begun, the run is remembered."""
        is_known = False

        def tell(event: AgentActivityEvent[Any]) -> None:
            nonlocal is_known
            if not is_known:
                is_known = True
                self._backend.continue_conversation(self.agent, event.trace_id, run_id, origin)
            self.model.tell(event)

        return tell

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
        approve = self._approvals.approve if asks_here else None
        try:
            async with self._backend.executor(prepared.definition, approve, self._show_output) as executor:
                result = await run(executor)
        finally:
            self.is_live = False
            self.model.leave()
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL and await self._is_decided():
            await self._resume(parked=True, accept_changes=False)

    async def _is_decided(self) -> bool:
        return await self._approvals.decide_parked(self.run_id, self._prepare().definition)

    def _wait(self, put_off: bool) -> None:
        """Show whether a live run waits for a question that the user has put off."""
        if not put_off:
            self.model.go_on()
        elif not self._signal.aborted:
            self.model.park()

    def _show_output(self, context: ToolContext, output: str) -> None:
        self.model.show_output(context.run_id, context.call_id, output)
