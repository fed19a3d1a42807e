"""Runs one tool call and makes a result of whatever comes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, Protocol, TypeAlias

from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, JournalError, MaverickError, ToolError
from maverick.journal.transaction import Transaction
from maverick.loop.entries import ToolFinished
from maverick.loop.limits import Ledger
from maverick.loop.result import AgentResult, TerminateReason, ToolOutcome
from maverick.loop.tool_round import PlannedCall
from maverick.model import Effect, Outcome, Part, StructuredResult, Text, ToolContext
from maverick.model.server_tools import shows_findings
from maverick.model.untrusted import is_marked, mark_untrusted
from maverick.runtime.event_log import log_failure
from maverick.runtime.hooks import CallResult, HookChain
from maverick.runtime.interruption import AbortSignal, RunParked
from maverick.runtime.run import Run
from maverick.runtime.toolset import ReadyTool
from maverick.runtime.watchdog import watchdog
from maverick.tools.rendering import cap, parts_of_result, render, text_of, with_texts
from maverick.tools.threads import end_if_forked, this_process

_UNKNOWN = (
    "Unknown: the process stopped while this tool ran, so it may or may not have taken effect. "
    "It was not run again. Check before you repeat it."
)
_GONE = (
    "Unknown: the process stopped while this tool ran, so it may or may not have taken effect. "
    "The tool is gone. Check its effect in another way."
)
_ESCAPED = (
    "Unknown: the tool committed its transaction by itself, so what it had done by then has taken effect and is not "
    "undone. Check before you repeat it."
)
_UNDER_WAY = (
    "Unknown: the tool has not taken effect yet, but the process that worked on this before may still be running it. "
    "It was not run again. Check before you repeat it."
)


class AgentDriver(Protocol):
    """What drives a subagent."""

    run: Run[Any]

    async def drive(self, *, handover: AbortSignal | None) -> AgentResult[Any]:
        """Run it to its end, or until it is handed over together with its caller."""
        ...


StartAgent: TypeAlias = Callable[[Run[Any], PlannedCall], Awaitable[AgentDriver]]
"""Makes the driver of a subagent from the run that calls it, and the call."""


class ToolRunner:
    """Runs the tool calls of a run; each has an id of its own."""

    def __init__(
        self,
        run: Run[Any],
        deadline: Callable[[], float | None],
        start_agent: StartAgent,
        lost: Ledger,
        hooks: HookChain | None = None,
    ) -> None:
        self._run = run
        self._deadline = deadline
        self._start_agent = start_agent
        self._committing: set[str] = set()
        self._expired: set[str] = set()
        self._transactions: dict[str, Transaction] = {}
        self._rolling_back: set[asyncio.Future[None]] = set()
        self._lost = lost
        self._hooks = hooks if hooks is not None and hooks.after_tool else None

    def expire(self, planned: PlannedCall) -> bool:
        """Take the time of a call as up; says whether it can still be cut off: not while its effect is committed."""
        if planned.call.id in self._committing:
            return False
        self._expired.add(planned.call.id)
        return True

    def cut_off(self, planned: PlannedCall) -> None:
        """End the transaction of a call that is not waited for any more."""
        self._expired.add(planned.call.id)
        if (transaction := self._transactions.get(planned.call.id)) is not None:
            undoing = asyncio.ensure_future(transaction.roll_back())
            self._rolling_back.add(undoing)
            undoing.add_done_callback(self._rolling_back.discard)

    async def run(self, planned: PlannedCall) -> ToolFinished:
        """Run a call. Whatever the tool does, there is a result, unless the task is cancelled.

        A subagent that waits for a person, or is handed over, raises what says so; so does a journal that fails.
        """
        if planned.refusal:
            outcome = ToolOutcome.UNKNOWN if planned.begun else ToolOutcome.DENIED
            return self._finished(planned, outcome, planned.refusal)
        run = self._run
        if run.loop.tool_round.reopened and (recovered := await self._recover(planned)) is not None:
            return recovered
        ready, began = run.toolset.ready[planned.call.tool_name], run.clock.now()
        if run.tracer is not None:
            run.tracer.enter(planned, began)
        if ready.agent is not None:
            return await self._run_agent(planned, began)
        if ready.effect is Effect.TRANSACTIONAL:
            return await self._run_transaction(planned, ready, began)
        return await self._attempt(planned, ready, began)

    def failed(self, planned: PlannedCall, text: str, seconds: float = 0.0) -> ToolFinished:
        """The result of a call that failed after so many seconds."""
        return self._finished(planned, ToolOutcome.FAILED, text, self._run.clock.now() - seconds)

    async def _attempt(
        self, planned: PlannedCall, ready: ReadyTool, began: float, session: object = None
    ) -> ToolFinished:
        """Run the tool and make a result of what it returns, or raises."""
        task, process = asyncio.current_task(), this_process()
        assert task is not None  # noqa: S101 - a batch runs each call in a task
        watchdog.enter(task, planned.call, self._run)
        try:
            value = await self._execute(planned, ready, session)
            if type(value) is str or type(value) is int:  # nearly always
                result = CallResult(ToolOutcome.FINISHED, cap(str(value), ready.max_output))
            else:
                result = await _result_of(value, ready)
        except asyncio.CancelledError:
            raise
        except MaverickError as error:
            result = CallResult(ToolOutcome.FAILED, cap(str(error), ready.max_output))
        except BaseException as error:  # noqa: BLE001 - not even SystemExit of a tool may end the run or the process
            result = CallResult(ToolOutcome.FAILED, cap(self._explained(error, ready), ready.max_output))
            fields = self._run.ids | {"tool": planned.call.tool_name}
            log_failure(logging.WARNING, "tool_failed", error, fields)
        finally:
            watchdog.leave(task)
        end_if_forked(process)
        if self._hooks is not None:
            result = await self._reviewed(planned, ready, result, session)
        return self._settled(planned, ready, result, began)

    def _execute(self, planned: PlannedCall, ready: ReadyTool, session: object) -> Awaitable[Any]:
        arguments = planned.call.arguments
        if not ready.validates:  # what a tool does to its arguments must not change what the model said
            arguments = deepcopy(arguments)
        if ready.takes_context:
            return ready.execute(arguments, self._context(planned, ready, session))
        return ready.execute(arguments)

    def _settled(
        self, planned: PlannedCall, ready: ReadyTool, result: CallResult, began: float | None = None
    ) -> ToolFinished:
        """The result as the model sees it: untrusted content is marked, also in an error message."""
        content, parts = result.content, result.parts
        if ready.untrusted:
            content = mark_untrusted(ready.tool.name, content)
            if parts:  # a marked text names what follows it
                parts = (Text(content), *(part for part in parts if not isinstance(part, Text)))
        return self._finished(planned, result.outcome, content, began, result.data, parts)

    async def _reviewed(
        self, planned: PlannedCall, ready: ReadyTool, result: CallResult, session: object = None
    ) -> CallResult:
        """The result as the hooks leave it."""
        assert self._hooks is not None  # noqa: S101 - there are some to ask
        ctx = self._context(planned, ready, session)
        return await self._hooks.review_result(self._run, planned.call, result, ctx)

    async def _run_transaction(self, planned: PlannedCall, ready: ReadyTool, began: float) -> ToolFinished:
        """Run a tool whose effect and result are written together, or not at all."""
        writer = self._run.writer
        if writer is None:
            text = f"{planned.call.tool_name} is transactional: its run needs a journal."
            return self._finished(planned, ToolOutcome.FAILED, text)
        try:
            opened = writer.transaction()
        except JournalError as error:
            return self._finished(planned, ToolOutcome.FAILED, str(error))
        self._transactions[planned.call.id] = opened
        committed = False
        try:
            async with opened as transaction:
                finished = await self._attempt(planned, ready, began, transaction)
                if transaction.escaped:
                    finished = self._finished(planned, ToolOutcome.UNKNOWN, _ESCAPED, began)
                # A call that was cut off has its result already, however late and well it ends.
                elif planned.call.id in self._expired:
                    pass
                elif transaction.lost is not None:
                    # Not the tool's failure: it runs again when the run is resumed.
                    raise transaction.lost
                elif finished.outcome is ToolOutcome.FINISHED:
                    self._committing.add(planned.call.id)
                    await writer.commit(transaction, finished)
                    committed = True
        except asyncio.CancelledError:
            if not committed:
                raise
        except ToolError as error:  # the database has undone what the tool did
            finished = self._finished(planned, ToolOutcome.FAILED, str(error), began)
        finally:
            del self._transactions[planned.call.id]
            self._committing.discard(planned.call.id)
        return finished

    async def _recover(self, planned: PlannedCall) -> ToolFinished | None:
        """The result of a call that was running when the process died, unless its effect lets it run again (promise P2)."""
        ready = self._run.toolset.of_begun(planned)
        if ready is None:
            return self._finished(planned, ToolOutcome.UNKNOWN, _GONE)
        if ready.agent is not None or ready.effect is not Effect.IRREVERSIBLE:
            return None
        found = await self._reconcile(planned, ready)
        if found.happened is None:
            return self._finished(planned, ToolOutcome.UNKNOWN, _UNKNOWN)
        if found.happened:
            result = CallResult(ToolOutcome.FINISHED, cap(found.result, ready.max_output))
            if self._hooks is not None:
                result = await self._reviewed(planned, ready, result)
            return self._settled(planned, ready, result)
        former = self._run.predecessor
        if former is not None and former.may_act(ready.timeout, self._run.clock.now()):
            return self._finished(planned, ToolOutcome.UNKNOWN, _UNDER_WAY)
        return None

    async def _reconcile(self, planned: PlannedCall, ready: ReadyTool) -> Outcome:
        if ready.reconcile is None:
            return Outcome.unknown()
        try:
            return await ready.reconcile(planned.call.arguments, self._context(planned, ready))
        except Exception as error:  # noqa: BLE001 - whatever went wrong, it is unknown whether the call took effect
            fields = self._run.ids | {"tool": planned.call.tool_name}
            log_failure(logging.WARNING, "reconcile_failed", error, fields)
            return Outcome.unknown()

    async def _run_agent(self, planned: PlannedCall, began: float) -> ToolFinished:
        try:
            child = await self._start_agent(self._run, planned)
        except InvalidInputError as error:
            return self._finished(planned, ToolOutcome.FAILED, str(error), began)
        child.run.waiting.caller = self._run.waiting
        try:
            result = await child.drive(handover=self._run.handover)
        except asyncio.CancelledError:
            spent = child.run.loop.ledger
            self._lost.charge(spent.usage, turns=spent.turns, tool_calls=spent.tool_calls)
            raise
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL and child.run.writer is not None:
            raise RunParked(result.errors[0])
        outcome = ToolOutcome.FINISHED if result.success else ToolOutcome.FAILED
        name, spent = planned.call.tool_name, child.run.loop.ledger
        answered = CallResult(outcome, _answered(name, result))
        if self._hooks is not None:
            answered = await self._reviewed(planned, self._run.toolset.ready[name], answered)
        content = _marked_answer(name, result, answered.content)
        return replace(
            self._finished(planned, answered.outcome, content, began),
            usage=spent.usage,
            turns=spent.turns,
            tool_calls=spent.tool_calls,
        )

    def _explained(self, error: BaseException, ready: ReadyTool) -> str:
        """An error of a tool in its own words; and what to do about it, where it is a typical mistake."""
        trace = error.__traceback__  # its first frame is that of the call
        if (
            isinstance(error, TypeError)
            and trace is not None
            and trace.tb_next is None
            and "await" in str(error)
        ):
            return f"The execute() of the tool {ready.tool.name!r} is not async. Write: async def execute(self, args)"
        try:
            what = f"{type(error).__name__}: {error}"
        except Exception:  # noqa: BLE001 - its own __str__ failed
            return type(error).__name__
        of_none = isinstance(error, AttributeError | TypeError) and "'NoneType' object" in what
        if of_none and ready.takes_context and self._run.deps is None:
            return f"{what}. The run has no deps; if the tool uses them, give them with execute(…, deps=…)."
        return what

    def _finished(
        self,
        planned: PlannedCall,
        outcome: ToolOutcome,
        content: str,
        began: float | None = None,
        data: dict[str, Any] | None = None,
        parts: tuple[Part, ...] = (),
    ) -> ToolFinished:
        now = self._run.clock.now()
        return ToolFinished(
            at=now,
            index=planned.index,
            outcome=outcome,
            content=content,
            parts=parts,
            data=data,
            duration_ms=0 if began is None else round((now - began) * 1000),
        )

    def _context(self, planned: PlannedCall, ready: ReadyTool, session: object = None) -> ToolContext[Any]:
        of_run = self._deadline()
        deadline = asyncio.get_running_loop().time() + ready.timeout
        deadline = deadline if of_run is None else min(deadline, of_run)
        return self._run.context(planned.turn, deadline, planned, session)


async def _result_of(value: object, ready: ReadyTool) -> CallResult:
    """The result that a value of a tool makes."""
    outcome, data = ToolOutcome.FINISHED, None
    if isinstance(value, StructuredResult):
        outcome = ToolOutcome.FAILED if value.is_error else ToolOutcome.FINISHED
        data, value = value.data, value.parts or value.text
    if ready.untrusted:
        value = with_texts(value)
    if (found := parts_of_result(value, ready.max_output)) is not None:
        content, parts = found
        return CallResult(outcome, content, data, parts)
    return CallResult(outcome, await render(value, ready.max_output), data)


def _marked_answer(name: str, result: AgentResult[Any], text: str) -> str:
    """A subagent's answer for its caller; one that has read untrusted content is untrusted too."""
    has_read = any(is_marked(record.result) for record in result.tool_calls) or any(
        is_marked(message.content) or shows_findings(message.parts) for message in result.messages
    )
    return mark_untrusted(f"the agent {name}", text) if has_read else text


def _answered(name: str, result: AgentResult[Any]) -> str:
    """A subagent's result as text."""
    if result.success:
        return result.raw_content if isinstance(result.output, str) else text_of(result.output)
    so_far = f"\nWhat it had so far: {result.raw_content}" if result.raw_content else ""
    return f"The agent {name!r} did not finish ({result.terminate_reason.value}): {result.error}{so_far}"
