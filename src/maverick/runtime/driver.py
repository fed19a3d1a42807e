"""The asyncio driver: does the I/O that the pure loop asks for, and reports back what happened."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Generic

from msgspec.structs import asdict
from typing_extensions import TypeVar

from maverick.exceptions import (
    AgentError,
    ApprovalRequiredError,
    MalformedResponseError,
    NetworkError,
    RunHandedOverError,
    StreamingError,
    TimeoutError,
)
from maverick.journal.redaction import redact_text
from maverick.loop import entries
from maverick.loop.entries import Entry
from maverick.loop.limits import Ledger
from maverick.loop.result import RESUMABLE, AgentResult, TerminateReason, ToolOutcome
from maverick.loop.steps import AwaitApproval, CallModel, CheckOutput, Finish, ReviewCalls, RunTools, Step
from maverick.model import ExecutionMetrics, History, Message, Request, Response, TextDelta
from maverick.model.client import RunScope, run_scope
from maverick.providers.client import stream_of, whole
from maverick.providers.deadlines import RequestTimeout, deadlines_of
from maverick.runtime.approver import NOT_ASKED, ask_about
from maverick.runtime.deciding import ExecutorOptions
from maverick.runtime.event_log import log_failure
from maverick.runtime.gates import ApprovalGate, PermissionGate, fitting
from maverick.runtime.hooks import HookChain, check_output
from maverick.runtime.interruption import AbortSignal, Interruption, RunInterrupted, RunParked
from maverick.runtime.replay import follow
from maverick.runtime.run import Run
from maverick.runtime.tool_batch import ToolBatch
from maverick.runtime.tool_runner import StartAgent, ToolRunner
from maverick.runtime.worker import begin_work, end_work, worker_name

T = TypeVar("T", default=str)


class Driver(Generic[T]):
    """Drives one run to its end."""

    def __init__(
        self,
        run: Run[T],
        options: ExecutorOptions,
        metrics: ExecutionMetrics,
        hooks: HookChain | None,
        start_agent: StartAgent,
        recorded: Sequence[Entry] = (),
    ) -> None:
        self.run = run
        self._recorded = recorded
        """The entries that the run has already."""
        self._metrics = metrics
        self._approve = options["approve"]
        self._gate = None if run.writer is None else ApprovalGate(run, run.writer, options)
        self._permissions = PermissionGate(run, options["permissions"])
        self._hooks = hooks
        self._start_agent = start_agent
        self._partial: list[str] = []
        self._passed: History | None = None
        """The conversation that the hooks let pass."""
        self._lost = Ledger()
        """What subagents had used when they were cut short."""
        self._scope: RunScope | None = None
        self._batch: ToolBatch | None = None
        """What runs the tool calls; made for the first of them."""

    async def drive(
        self, signal: AbortSignal | None = None, handover: AbortSignal | None = None
    ) -> AgentResult[T]:
        """Run to the end; one that came to an end of its own earlier has its result already.

        The signal aborts the run, or hands it over; ``handover`` is that of the run that called this one as a subagent.

        Raises:
            RunHandedOverError: It was handed over; everything that happened is written.
        """
        self.run.handover = None if self.run.writer is None else signal or handover
        first: entries.RunStarted | entries.Resumed = self.run.start
        if self._recorded:
            *_, step = follow(self.run.start.run_id, self._recorded, self.run.recall)
            if isinstance(step, Finish) and step.result.terminate_reason not in RESUMABLE:
                return self.run.leave(step.result)
            limits = self.run.start.limits  # those that its caller granted, or else the definition's
            first = entries.Resumed(
                at=self.run.clock.now(),
                limits=limits if self.run.start.parent else self.run.loop.definition.run_config.limits,
                settings=self.run.toolset.settings,
                worker=worker_name(),
            )
        begin_work(self.run.start.run_id)
        try:
            async with run_scope(self.run.client) as self._scope:
                try:
                    return await self._drive(first, signal)
                except RunHandedOverError:  # written before anything is closed, which may take a while
                    await self.run.hand_over()
                    raise
        finally:
            end_work(self.run.start.run_id)

    async def _drive(
        self, first: entries.RunStarted | entries.Resumed, signal: AbortSignal | None
    ) -> AgentResult[T]:
        """Do what the loop asks, step by step, until it is finished or the run is stopped."""
        self._interruption = Interruption(self.run.loop.seconds_left(first), signal, self.run.handover)
        self.run.waiting.add(self._interruption)
        self._stream = stream_of(self.run.client)
        try:
            step = await self.run.record(first)
            # By type: asking a struct what it is no instance of takes five times as long.
            while type(step) is not Finish:
                self._interruption.check()
                if type(step) is CallModel:
                    step = await self._call_model(step)
                elif self._permissions.is_due and isinstance(step, RunTools | AwaitApproval):
                    for ruled in self._permissions.decisions():
                        step = await self.run.record(ruled)
                elif type(step) is RunTools:
                    step = await self._run_tools(step)
                else:
                    step = await self._consult(step)
        except RunInterrupted as stop:
            step = await self._interrupt(stop.reason, stop.message, stop.error)
        except RunParked as parked:
            return self.run.leave(self.run.loop.outcome(TerminateReason.AWAITING_APPROVAL, parked.error))
        except asyncio.CancelledError:
            await self._interrupt(TerminateReason.ABORTED, "its task was cancelled")
            raise
        finally:
            self.run.waiting.leave_clocks()
            self._interruption.close()
        return step.result

    async def _call_model(self, step: CallModel) -> Step:
        if step.delay:
            await self._interruption.guard(asyncio.sleep(_jittered(step)), idle=True)
        if self._hooks is not None and (review := await self._review_request(step)) is not None:
            return await self.run.record(review)
        recorded = await self.run.record(
            entries.ModelCalled(
                at=self.run.clock.now(),
                turn=step.turn,
                attempt=step.attempt,
                compaction=step.compaction,
                native=step.request.compact,
            )
        )
        if recorded is not step:  # words for the run came first
            return recorded
        self._partial.clear()
        try:
            response = whole(await self._interruption.guard(self._ask_in_time(step.request)))
        except (RunInterrupted, RunHandedOverError):
            raise
        except Exception as error:  # noqa: BLE001 - a client from elsewhere may raise anything (promise P8)
            return await self._fail(error, step)
        self._metrics.record(response.usage)
        self._partial.clear()
        if self._hooks is None or step.compaction:
            return await self.run.record(entries.ModelReplied(at=self.run.clock.now(), response=response))
        return await self.run.record(await self._review_response(response))

    @property
    def _hooks_see_answers(self) -> bool:
        """Whether hooks have to see an answer before it is kept, which takes all of it."""
        return self._hooks is not None and self._hooks.see_answers

    async def _fail(self, error: Exception, step: CallModel) -> Step:
        """Record that a call has failed, with what had arrived of the answer."""
        if not isinstance(error, AgentError):
            log_failure(logging.WARNING, "client_failed", error, self.run.ids)
            error = _foreign(error)
        partial = "" if step.compaction else self._cut_off(error)
        return await self.run.record(
            entries.ModelFailed(at=self.run.clock.now(), error=error, partial_text=partial)
        )

    def _cut_off(self, error: AgentError) -> str:
        """What had arrived of an answer that broke off, without secrets; nothing that hooks would have to see first."""
        account = error.partial_messages if isinstance(error, StreamingError) else []
        if self._hooks_see_answers:
            account.clear()
            return ""
        said = [message.content for message in account if isinstance(message, Message)]
        return redact_text("".join(said or self._partial))

    async def _review_request(self, step: CallModel) -> Entry | None:
        """What the hooks decide about a request; they are asked once about the conversation as it stands."""
        hooks, history = self._hooks, self.run.loop.conversation.history
        if hooks is None or self._passed is history:
            return None
        turn = step.turn + 1 if step.compaction else step.turn
        ctx = self.run.context(turn, self._interruption.deadline)
        review = await self._interruption.guard(hooks.review_request(self.run, step, ctx))
        self._passed = history if review is None else None
        return review

    async def _review_response(self, response: Response) -> Entry:
        assert self._hooks is not None  # noqa: S101 - there are some to ask
        ctx = self.run.context(self.run.loop.turn, self._interruption.deadline)
        try:
            return await self._interruption.guard(self._hooks.review_response(self.run, response, ctx))
        except RunInterrupted:
            self._lost.charge(response.usage)
            raise

    async def _consult(self, step: AwaitApproval | ReviewCalls | CheckOutput) -> Step:
        """Ask a person, the hooks or the output's validators."""
        deadline = self._interruption.deadline
        match step:
            case AwaitApproval():
                return await self._ask_person(step)
            case CheckOutput(output=output):
                ctx = self.run.context(self.run.loop.turn, deadline)
                checked = await self._interruption.guard(check_output(self.run, output, ctx))
                return await self.run.record(checked)
        if self._hooks is None:  # the run was begun with some, and is resumed without
            return await self.run.record(entries.CallsReviewed(at=self.run.clock.now()))
        reviewing = self._hooks.review_calls(self.run, step, deadline)
        return await self.run.record(await self._interruption.guard(reviewing))

    def _ask_in_time(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Ask the model, within the agent's request timeout if it has one."""
        limit = self.run.loop.definition.model_config.request_timeout
        return self._ask_model(request) if limit is None else self._ask_within(limit, request)

    async def _ask_within(self, seconds: float, request: Request) -> Response:
        with RequestTimeout(seconds, self._interruption.set_idle):
            return await self._ask_model(request)

    async def _ask_model(self, request: Request) -> Response:
        # A partial answer can be kept, and shown as it arrives, only if it is streamed.
        if not self.run.watched and not self._interruption.may_come:
            return await self.run.client.run(request)
        items = self._stream(request)
        try:
            async for item in items:
                if isinstance(item, Response):
                    return item
                if type(item) is TextDelta:
                    self._partial.append(item.text)
                self.run.hear(item, self.run.clock.now())
        finally:
            if (close := getattr(items, "aclose", None)) is not None:
                await close()
        raise MalformedResponseError("The model's stream ended without its response. Try again.")

    def _make_batch(self) -> ToolBatch:
        run, interruption = self.run, self._interruption
        runner = ToolRunner(run, lambda: interruption.deadline, self._start_agent, self._lost, self._hooks)
        parallel = run.loop.definition.tool_config.max_parallel
        deadlines = deadlines_of(asyncio.get_running_loop())
        self._batch = ToolBatch(runner, run.toolset, parallel, deadlines, run.waiting)
        run.waiting.add(self._batch)
        return self._batch

    async def _run_tools(self, step: RunTools) -> Step:
        tools, batch = self.run.loop.tool_round, self._batch or self._make_batch()
        if self._gate is not None and self._recorded:
            await self._gate.withdraw_refused()
        if not tools.started:
            await self.run.record(entries.ToolsStarted(at=self.run.clock.now(), turn=step.turn))
        batch.start(tools.unsettled)
        latest: Step = step
        try:
            while type(latest) is RunTools:
                finished = await self._interruption.guard(batch.next())
                latest = await self.run.record(finished)
                if self._scope is not None:
                    failed = finished.outcome is not ToolOutcome.FINISHED
                    planned = tools.calls[finished.index]
                    self._scope.tool_finished(planned.call.id, planned.told(finished.content), failed=failed)
        except RunParked:
            if self.run.writer is not None:
                await self.run.writer.park(())
            raise
        except (RunInterrupted, asyncio.CancelledError):
            for finished in await batch.stop():
                await self.run.record(finished)
            raise
        except BaseException:  # a subagent was handed over, or the journal failed: nothing more may happen
            await batch.stop()
            raise
        return latest

    async def _ask_person(self, step: AwaitApproval) -> Step:
        decided = await self._decision(step)
        if decided.arguments is not None:  # the call is ruled on once more
            self._permissions.forget()
        return await self.run.record(decided)

    async def _decision(self, step: AwaitApproval) -> entries.ApprovalDecided:
        """What a person has decided while the run was parked, or says now, or decides through the journal."""
        gate, resumed, planned = self._gate, bool(self._recorded), step.first
        if gate is not None and resumed and (known := await gate.recorded_decision(step)) is not None:
            return known
        if self._approve is None:
            return await self._decision_in_journal(step)
        if self.run.writer is not None:  # a process that ends while the person thinks has not lost the answer
            self.run.writer.write_soon()
        try:
            with self.run.waiting:
                answer = await self._interruption.guard(
                    ask_about(planned, self.run, self._approve), idle=True
                )
        except ApprovalRequiredError:
            return await self._decision_in_journal(step)
        except AgentError:  # it cancelled itself
            answer = NOT_ASKED
        if gate is not None and resumed:
            await gate.withdraw(planned)
        decided = entries.ApprovalDecided(at=self.run.clock.now(), index=planned.index, **asdict(answer))
        return fitting(decided, self.run.toolset.tools[planned.call.tool_name])

    async def _decision_in_journal(self, step: AwaitApproval) -> entries.ApprovalDecided:
        """What a person has decided through the journal, where the run waits until they have."""
        if self._gate is not None:
            return await self._gate.decision(step)
        raise RunInterrupted(
            TerminateReason.AWAITING_APPROVAL,
            f"The tool {step.first.call.tool_name!r} needs a person's approval. Give the executor approve=…, or a "
            "journal, so that the run can wait for it.",
        )

    async def _interrupt(
        self, reason: TerminateReason, message: str, error: AgentError | None = None
    ) -> Finish:
        """End the run, unless it has just ended by itself."""
        step = self.run.loop.step
        if not isinstance(step, Finish):
            compacting = isinstance(step, CallModel) and step.compaction
            step = await self.run.record(
                entries.Interrupted(
                    at=self.run.clock.now(),
                    reason=reason,
                    message=message,
                    partial_text="" if compacting or self._hooks_see_answers else "".join(self._partial),
                    usage=self._lost.usage,
                    turns=self._lost.turns,
                    tool_calls=self._lost.tool_calls,
                    error=error,
                )
            )
        assert isinstance(step, Finish)  # noqa: S101 - an interrupted run is over
        return step


def _jittered(step: CallModel) -> float:
    """The wait before a retry, spread so that many clients do not come back at once."""
    import random  # here, since few calls are tried again

    spread = random.random()  # noqa: S311 - not a secret
    return step.delay * (1 + spread / 10 if step.exact_delay else 0.5 + spread / 2)


def _foreign(error: Exception) -> AgentError:
    """The error of a client from elsewhere as one of ours; what may pass is tried again, as if it were our client's."""
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, builtins.TimeoutError):
        return TimeoutError(f"The model did not answer in time ({what}). Try again later.", cause=error)
    if isinstance(error, OSError) and error.filename is None:  # one about a file is no trouble of the network
        return NetworkError(
            f"The connection to the model failed ({what}). Check the network and the client's address.",
            cause=error,
        )
    return AgentError(
        f"The model's client failed with {what}. This is a fault of the client; it should raise an AgentError.",
        cause=error,
    )
