"""One conversation and the runs it is made of: starting, stopping, resuming, forking them, and deciding for them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from maverick.exceptions import AgentNotFoundError, InvalidInputError
from maverick.journal import Approval, ApprovalStatus
from maverick.journal.records import RunStatus
from maverick.loop import AgentDefinition, AgentResult, ModelConfig, TerminateReason
from maverick.loop.entries import RunStarted
from maverick.loop.events import TurnStart
from maverick.model import ToolCall, ToolContext
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.tui.block import Speaker, Tone, ToolState, ToolUse, Words
from maverick.tui.conversation import ConversationModel, Status
from maverick.tui.question import Ask, Question
from maverick.tui.workplace import Prepared, Workplace


def new_run_id() -> str:
    """An id that no other run has."""
    return f"run_{os.urandom(8).hex()}"


class Session:
    """A conversation that a person looks at, whether it goes on here or is only read.

    Args:
        workplace: Where its agent, its journal and its executor come from.
        agent: The agent's name.
        ask: Asks the person about a tool call.
        new_id: Makes the ids of runs.
    """

    def __init__(
        self, workplace: Workplace, agent: str, ask: Ask, new_id: Callable[[], str] = new_run_id
    ) -> None:
        self.model = ConversationModel()
        self.agent = agent
        self.model_name = ""
        """The ``provider:model`` that answers, once it is known."""
        self.is_live = False
        """Whether a run of it goes on here."""
        self.began_at = 0.0
        """When it was last set to work, as whoever did so has noted."""
        self.entries = 0
        """How many entries the run had when it was last read from the journal."""
        self._workplace = workplace
        self._ask = ask
        self._new_id = new_id
        self._signal = AbortSignal()
        self._asking = asyncio.Lock()
        self._reminder = asyncio.Event()

    @property
    def run_id(self) -> str:
        """The run that is shown, or the last of those that continue each other."""
        return self.model.run_id

    async def start(self, inputs: Mapping[str, Any]) -> None:
        """Run the agent, continuing what was said so far.

        Raises:
            MaverickError: It can not be started.
        """
        if self.model.status in (Status.RUNNING, Status.WAITING, Status.LEFT):
            raise InvalidInputError(
                "This run has not ended. Stop it (ctrl+c), resume it (r), or begin another (n).", field="run"
            )
        prepared = self._prepare()
        definition, before, run_id = prepared.definition, self.model.messages, self._new_id()
        _, said = definition.render(inputs)
        self.model.begin(run_id, said, definition.run_config.limits, prepared.window)
        if prepared.remark:
            self.model.remark(prepared.remark)
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
        """Show a run that is kept, as far as it has come, or can be told with the agent as it is now.

        Raises:
            MaverickError: It is not there, or can not be read.
        """
        record = await self._workplace.journal.get(run_id)
        self.entries = record.entries
        model = ConversationModel()
        try:
            definition = self._prepare().definition
        except AgentNotFoundError as error:
            definition = AgentDefinition(self.agent, "Is not there.", model_config=ModelConfig("offline:"))
            model.remark(str(error), Tone.BAD)
        await self._tell_beginning(model, run_id)
        async with self._workplace.executor(definition, None, None) as executor:
            try:
                async for event in executor.replay(run_id, definition):
                    model.tell(event)
            except (
                InvalidInputError
            ) as error:  # the agent has changed, so that it would have gone on otherwise
                model.remark(f"The rest can not be told with the agent as it is now: {error}", Tone.BAD)
        if record.status is RunStatus.WAITING:
            model.park()
        model.leave()
        self.model = model

    async def resume(self, *, accept_changes: bool = False) -> None:
        """Go on with the run. One that is parked has its questions asked first.

        Args:
            accept_changes: Whether to go on although the agent is not what it was.

        Raises:
            MaverickError: It can not go on.
        """
        if self.is_live:
            raise InvalidInputError("This run goes on already.", field="run")
        if not self.model.can_resume:
            raise InvalidInputError("This run has come to its end: there is nothing to resume.", field="run")
        parked = self.model.status is Status.WAITING
        if parked and not await self._decide_parked():
            return
        await self._resume(parked=parked, accept_changes=accept_changes)

    async def fork(self, turn: int, edit: str | None, source: str) -> None:
        """Run again from a turn on, in a run of its own.

        Args:
            turn: The turn to begin with.
            edit: Words to put before it.
            source: The run to fork.

        Raises:
            MaverickError: It can not be forked there.
        """
        prepared, run_id = self._prepare(), self._new_id()
        model = ConversationModel()
        await self._tell_beginning(model, source)
        async with self._workplace.executor(prepared.definition, None, None) as executor:
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
        """Ask again what was put off.

        Raises:
            MaverickError: Nothing is asked, or the decision can not be taken in.
        """
        if self.is_live and self._asked():
            self._reminder.set()
        elif self.model.status is Status.WAITING:
            await self.resume()
        else:
            raise InvalidInputError("Nothing waits for your decision here.", field="run")

    def said_in(self, run_id: str) -> str:
        """What the person said last before the first turn of a run."""
        said = [
            block.text
            for block in self.model.blocks
            if isinstance(block, Words)
            and block.speaker is Speaker.USER
            and (block.run_id, block.turn) == (run_id, 0)
        ]
        return said[-1] if said else ""

    def stop(self) -> None:
        """Stop the run; what there is of its answer stays."""
        self._signal.abort("the person stopped it")

    # How -----------------------------------------------------------------------------------------------------------

    def _prepare(self) -> Prepared:
        prepared = self._workplace.prepare(self.agent)
        self.model_name = prepared.definition.model_config.model or ""
        return prepared

    async def _tell_beginning(self, model: ConversationModel, run_id: str) -> None:
        async for stored in self._workplace.journal.read(run_id):
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
            # Decisions that are in the journal count only for a run that looks for them there.
            asks_here=not parked,
        )

    async def _drive(
        self,
        prepared: Prepared,
        run: Callable[[AgentExecutor], Awaitable[AgentResult[Any]]],
        *,
        asks_here: bool = True,
    ) -> None:
        self._signal, self.is_live = AbortSignal(), True
        self.model.status = Status.RUNNING
        try:
            async with self._workplace.executor(
                prepared.definition, self._approve if asks_here else None, self._hear
            ) as executor:
                result = await run(executor)
        finally:
            self.is_live = False
            self.model.leave()
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL and await self._decide_parked():
            await self._resume(parked=True, accept_changes=False)

    def _hear(self, context: ToolContext, said: str) -> None:
        self.model.hear(context.run_id, context.call_id, said)

    async def _approve(self, call: ToolCall) -> bool:
        """Ask about a call of a run that goes on here, until there is an answer."""
        async with self._asking:  # calls of several subagents are asked about one after the other
            while True:
                reason = next((tool.question for tool in self._asked() if tool.call_id == call.id), "")
                answer = await self._ask(Question.on_call(self.agent, call, reason))
                if answer is not None:
                    return answer
                self._reminder.clear()
                await self._reminder.wait()

    async def _decide_parked(self) -> bool:
        """Ask what the run waits for, and write the answers into its journal; says whether all is decided."""
        for approval in await self._pending():
            answer = await self._ask(Question.on_approval(self.agent, approval))
            if answer is None:
                return False
            decide = self._workplace.journal.approve if answer else self._workplace.journal.deny
            await decide(approval.approval_id, by=self._workplace.user)
        return True

    async def _pending(self) -> list[Approval]:
        """What the run and its subagents wait for; only subagents' ids have a slash."""
        asked = await self._workplace.journal.list_approvals(status=ApprovalStatus.PENDING)
        return [one for one in asked if one.run_id.partition("/")[0] == self.run_id]

    def _asked(self) -> list[ToolUse]:
        return [
            block
            for block in self.model.blocks
            if isinstance(block, ToolUse) and block.state is ToolState.ASKED
        ]
