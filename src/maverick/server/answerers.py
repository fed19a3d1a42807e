"""Who answers in a conversation: the task chat, or any other agent. Both make a run of each answer."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import msgspec
from pydantic_core import to_jsonable_python

from maverick.agents.conversations import result_so_far, unheard_by
from maverick.chat import AgentRunner, AnswerTimeoutError
from maverick.chat.filtered_events import FilteredEvents
from maverick.chat.reply import tool_call_record
from maverick.chat.runner import pure_tools, text_history
from maverick.chat.tables import TASKS_AGENT, storable
from maverick.exceptions import (
    AgentError,
    ApprovalError,
    InvalidToolError,
    LeaseLostError,
    MaverickError,
    RunChangedError,
    RunHandedOverError,
)
from maverick.journal import Approval, Journal
from maverick.journal.approvals import allows
from maverick.loop import AgentDefinition, TerminateReason
from maverick.loop.events import AgentActivityEvent, RunEnd
from maverick.loop.result import AgentResult, ToolOutcome
from maverick.model import Message, Role, Text, Thought, ToolCall
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.event_log import Listener, log_failure
from maverick.runtime.replay import load_beginning
from maverick.server.answer import AnswerJob, AnswerStatus, Reply
from maverick.server.errors import log_in_full, reason_of
from maverick.server.served_agent import ServedAgent

_CHANGED = "This agent was changed after it began to answer. {done}Please ask again."


Filter: TypeAlias = Callable[[Listener], Listener]
"""Makes a listener to the events of a run, which passes on those that the user gets."""


class Answerer(Protocol):
    """Answers in conversations."""

    name: str
    journal: Journal | None
    timeout_ms: int | None
    """How long an answer may take."""
    in_turns: bool
    """Whether the answer is what is said in the last turn; else it is all that is said."""

    async def answer(
        self, job: AnswerJob, signal: AbortSignal, on_activity: Listener | None, *, filtered: bool
    ) -> Reply:
        """Answer a message; a run that was begun before is continued.

        Raises:
            LeaseLostError: Another process has taken the run over.
            RunHandedOverError: The run was left to another process.
        """

    async def found_again(self, job: AnswerJob) -> AnswerJob:
        """A job that was begun before, with the id under which the journal has its run."""

    async def filter(self, job: AnswerJob) -> Filter:
        """What makes the events of a run those that the user gets."""

    async def aclose(self) -> None:
        """Close all connections."""


class TaskChat:
    """The chat that keeps a user's tasks."""

    name = TASKS_AGENT
    in_turns = False

    def __init__(self, runner: AgentRunner) -> None:
        self.runner = runner
        self.journal = runner.journal
        self.timeout_ms = runner.limits.timeout_ms

    async def answer(
        self, job: AnswerJob, signal: AbortSignal, on_activity: Listener | None, *, filtered: bool
    ) -> Reply:
        """Answer a message in words of the chat, whatever happens."""
        ended: AgentResult[Any] | None = None
        failure: AgentError | None

        def hear(event: AgentActivityEvent) -> None:
            nonlocal ended
            if isinstance(event, RunEnd) and len(event.agent) == 1:
                ended = event.result
            if on_activity is not None:
                on_activity(event)

        try:
            result = await self.runner.run(
                job.context,
                job.message,
                run_id=job.run_id,
                signal=signal,
                attachments=job.attachments,
                on_activity=hear,
                filtered=filtered,
            )
            failure = ended.errors[0] if ended is not None and ended.errors else None
        except AnswerTimeoutError as error:
            result, failure = error.result, error  # the run itself may only know that it was stopped
        status, reason = AnswerStatus.COMPLETE, ""
        if not result.is_answer:
            status = AnswerStatus.STOPPED if signal.aborted else AnswerStatus.FAILED
        if status is AnswerStatus.FAILED and failure is not None:
            reason = reason_of(failure)
            log_in_full("answer_failed", failure, run_id=job.record.run_id)
        elif status is AnswerStatus.FAILED:
            reason = result.error or ""
        return Reply(
            status=status,
            response=result.response,
            tool_calls=result.tool_calls,
            reason=reason,
            cost_usd=0.0 if ended is None else ended.usage.total_cost_usd or 0.0,
            # Only a tool asks; a question that was open before was settled by the message.
            may_ask=bool(result.tool_calls) or not result.success,
        )

    async def found_again(self, job: AnswerJob) -> AnswerJob:
        """The job with the id of its run, which Maverick 0.1.0 kept under another."""
        return replace(job, former_run=await self.runner.known_run(job.context, job.run_id))

    async def filter(self, job: AnswerJob) -> Filter:
        """Pass on whole sentences, and no words that a tool's answer takes the place of."""
        pure = pure_tools(await self.runner.agent(job.user_id))
        text = await self.runner.sentence_filter(job.context, job.message)
        return lambda publish: FilteredEvents(text(), pure, publish).put

    async def aclose(self) -> None:
        """Close the connections to tool servers."""
        await self.runner.aclose()


class AgentAnswerer:
    """Any agent. The conversation so far is that of the run before, tool calls and their results included."""

    in_turns = True

    def __init__(self, agent: ServedAgent, journal: Journal) -> None:
        self.agent = agent
        self.name = agent.definition.name
        self.journal: Journal | None = journal
        self.timeout_ms = agent.definition.run_config.timeout_ms
        self._journal = journal

    async def answer(
        self,
        job: AnswerJob,
        signal: AbortSignal,
        on_activity: Listener | None,
        *,
        filtered: bool,  # noqa: ARG002 - its words are the answer
    ) -> Reply:
        """Run the agent, or continue its run."""
        try:
            async with self.agent.executor(job.user_id) as executor:
                return await self._run(executor, job, signal, on_activity)
        except (LeaseLostError, RunHandedOverError):
            raise
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything; the user is told, and the log
            log_in_full("answer_failed", error, run_id=job.run_id)
            if isinstance(error, RunChangedError):
                return await self._cut_off(job.run_id)
            return Reply(status=AnswerStatus.FAILED, response="", reason=reason_of(error))

    async def found_again(self, job: AnswerJob) -> AnswerJob:
        """The same job: the answer's id is its run's."""
        return job

    async def filter(self, job: AnswerJob) -> Filter:  # noqa: ARG002 - the same for each
        """Pass everything on."""
        return lambda publish: publish

    async def aclose(self) -> None:
        """Close the agent's connections."""
        await self.agent.aclose()

    async def _run(
        self, executor: AgentExecutor, job: AnswerJob, signal: AbortSignal, on_activity: Listener | None
    ) -> Reply:
        definition, inputs = self.agent.run_inputs(
            job.message, job.attachments, job.inputs or {}, is_first=job.is_first
        )
        if job.model is not None:
            definition = replace(definition, model_config=replace(definition.model_config, model=job.model))
        result = await executor.execute(
            definition,
            inputs=inputs,
            messages=() if job.is_first else await self._earlier(job),
            run_id=job.run_id,
            user_id=job.user_id,
            signal=signal,
            on_activity=on_activity,
            if_exists="resume",
        )
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL:
            asked = await pending_approval(self._journal, job.run_id)
            waiting = await self._reply(job.run_id, AnswerStatus.WAITING, result)
            if asked is None:
                return waiting
            may_be_user = await may_decide(executor, asked, job.user_id)
            shown = in_order(executor, self.agent.definition, asked)
            return replace(waiting, approval=shown, may_decide=may_be_user)
        if result.success:
            output = None if definition.output_config is None else to_jsonable_python(result.output)
            return replace(await self._reply(job.run_id, AnswerStatus.COMPLETE, result), output=output)
        if signal.aborted:
            return await self._reply(job.run_id, AnswerStatus.STOPPED, result)
        log_in_full("answer_failed", result.errors[0], run_id=job.run_id)
        return await self._reply(job.run_id, AnswerStatus.FAILED, result, reason_of(result.errors[0]))

    async def _reply(
        self, run_id: str, status: AnswerStatus, result: AgentResult[Any], reason: str = ""
    ) -> Reply:
        """The answer of a run, with what its user said to it, heard or not: an answer that waits hears it later."""
        head = (await load_beginning(self._journal, run_id)).head
        is_over = status is not AnswerStatus.WAITING
        unheard = await unheard_by(self._journal, run_id) if is_over else []
        return Reply(
            status=status,
            response=result.raw_content,
            tool_calls=[tool_call_record(call, call.result) for call in result.tool_calls],
            reason=reason,
            parts=_parts(result, [*result.new_messages[head:], *unheard]),
            cost_usd=result.usage.total_cost_usd or 0.0,
        )

    async def _cut_off(self, run_id: str) -> Reply:
        """The answer of a run that cannot continue, since its agent has changed: what was said and done until then."""
        try:
            result = await result_so_far(self._journal, run_id)
        except MaverickError as error:
            log_failure(logging.WARNING, "run_not_read", error, {"run_id": run_id})
            return Reply(status=AnswerStatus.FAILED, response="", reason=_CHANGED.format(done=""))
        done = dict.fromkeys(c.tool_name for c in result.tool_calls if c.outcome is ToolOutcome.FINISHED)
        kept = f"What it had done until then is kept: {', '.join(done)}. " if done else ""
        return await self._reply(run_id, AnswerStatus.FAILED, result, _CHANGED.format(done=kept))

    async def _earlier(self, job: AnswerJob) -> Sequence[Message]:
        """What was said and done before: of the last run, or as it was shown if that run is not there any more."""
        if job.earlier_run is not None:
            try:
                result = await result_so_far(self._journal, job.earlier_run)
                return [*result.messages, *await unheard_by(self._journal, job.earlier_run)]
            except MaverickError as error:
                ids = {"run_id": job.record.run_id, "earlier": job.earlier_run}
                log_failure(logging.WARNING, "earlier_run_not_read", error, ids)
        return text_history(job.context)


def _parts(result: AgentResult[Any], added: Sequence[Message]) -> list[dict[str, Any]] | None:
    """What a run said, thought, heard and called, in order; ``None`` if it only said something."""
    numbers = {record.call_id: number for number, record in enumerate(result.tool_calls)}
    parts: list[dict[str, Any]] = []
    for message in added:
        for part in message.parts:
            match part:
                case Text(text=text) if text.strip() and message.role is not Role.TOOL_RESULT:
                    kind = "text" if message.role is Role.ASSISTANT else "said"
                    parts.append({"type": kind, "text": storable(text)})
                case Thought(text=text) if text.strip():
                    parts.append({"type": "thinking", "text": storable(text)})
                case ToolCall(id=call_id) if call_id in numbers:
                    parts.append({"type": "tool_call", "number": numbers[call_id]})
    return None if all(part["type"] == "text" for part in parts) else parts


async def pending_approval(journal: Journal, run_id: str) -> Approval | None:
    """What a person is to decide before a run continues, in it or in a run of a subagent."""
    if found := await journal.list_approvals(run_id=run_id):
        return found[0]
    pending = await journal.list_approvals(user_id=(await journal.get(run_id)).user_id)
    return next((one for one in pending if one.run_id.startswith(f"{run_id}/")), None)


def in_order(executor: AgentExecutor, definition: AgentDefinition[Any], asked: Approval) -> Approval:
    """A request to be shown, with its arguments in the order of the tool's parameters; the journal sorts them by name."""
    tools = [tool for tool in definition.tool_config.tools if not isinstance(tool, str)]
    registry = executor.options["tool_registry"]
    if registry is not None:
        with suppress(InvalidToolError):  # it is one of those, or a subagent's
            tools.append(registry.get(asked.tool_name))
    names = next(
        (list(tool.parameters.get("properties", {})) for tool in tools if tool.name == asked.tool_name), []
    )
    first = {name: asked.arguments[name] for name in names if name in asked.arguments}
    return msgspec.structs.replace(asked, arguments_json=json.dumps({**first, **asked.arguments}))


async def may_decide(executor: AgentExecutor, asked: Approval, user_id: str) -> bool:
    """Whether a user may decide on a request: the run's own, unless the executor says who."""
    rule = executor.options["may_approve"]
    if rule is None:
        return asked.user_id == user_id
    try:
        return allows(rule, asked, user_id)
    except ApprovalError as error:
        log_in_full("may_approve_failed", error, run_id=asked.run_id)
        return False
