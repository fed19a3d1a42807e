"""The agent loop as a pure state machine.

It never awaits, reads no clock, draws no random number and touches no network. It is fed what happened (an entry)
and answers with what to do next (a step):

    entries ──▶ AgentLoop ──▶ steps ──▶ a driver does the I/O ──▶ entries …

A driver records and feeds every entry, feeds the intents ``ModelCalled`` and ``ToolsStarted`` before it acts, feeds one
``ToolFinished`` for each planned call, and stops at ``Finish``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, cast

from msgspec.structs import replace
from typing_extensions import TypeVar

from maverick.exceptions import AgentError, ContextOverflowError, InvalidInputError, OutputValidationError
from maverick.loop import entries, termination
from maverick.loop.compaction import Compactor
from maverick.loop.conversation import Conversation, request_tokens
from maverick.loop.definition import AgentDefinition
from maverick.loop.limits import Ledger
from maverick.loop.output import repair_prompt
from maverick.loop.policy import Verdict
from maverick.loop.prefix import PrefixChange, PrefixReason
from maverick.loop.request_builder import RequestBuilder
from maverick.loop.result import (
    RESUMABLE,
    AgentResult,
    AgentUsage,
    ResultMetadata,
    TerminateReason,
    ToolRecord,
)
from maverick.loop.run_settings import RunSettings
from maverick.loop.steps import AwaitApproval, CallModel, Finish, RunTools, Step
from maverick.loop.tool_round import NO_TOOLS, RoundPlanner
from maverick.model import Message, Request, Response, StopReason, Tool, Usage

T = TypeVar("T", default=str)


class AgentLoop(Generic[T]):
    """One run of an agent, without I/O.

    Args:
        definition: The agent.
        tools: Its tools by name, as they are today. Recorded entries were decided with the tools of their time.
        max_depth: How deep agents may be nested in each other.
    """

    def __init__(
        self, definition: AgentDefinition[T], tools: Mapping[str, Tool], *, max_depth: int = 5
    ) -> None:
        self.definition = definition
        self.step: Step | None = None
        """What to do next; ``None`` until the run has started."""
        self.turn = 0
        self.text = ""
        """The newest text of the model."""
        self.conversation = Conversation("", ())
        self.prefix_change: PrefixChange | None = None
        """How the newest request of a turn fails to extend the one before it, if it does."""
        self.ledger = Ledger()
        self.tool_round = NO_TOOLS
        """The tool calls of the turn; empty when there are none."""
        self.closed_round = NO_TOOLS
        """The last tool calls that got all their results."""
        self._tools = tools
        self._max_depth = max_depth
        self._records: list[ToolRecord] = []
        self._repairs = 0
        self._answered: str | None = None
        """The model that answered last, as its provider names it; ``None`` before the first answer."""
        self._reopened = 0
        """The attempts already made at a turn that was stopped to make room for it."""
        self._in_flight = False
        """Whether the model was called and has not answered yet."""
        self._now = self._before = self._paused = 0.0
        """The time of this entry and of the one before it; the seconds in which no driver worked on the run."""

    def feed(self, entry: entries.Entry) -> Step:
        """Take in what happened and say what to do next.

        Raises:
            InvalidInputError: The entry cannot follow what happened before; the run is as it was.
        """
        expected, handle = self._RULES[type(entry)]
        if type(self.step) not in expected:
            raise InvalidInputError(
                f"{type(entry).__name__} does not fit here: the run is at {type(self.step).__name__}.",
                field="entry",
            )
        self._before, self._now = self._now, entry.at
        self.step = handle(self, entry, self.step)
        self._in_flight = type(entry) is entries.ModelCalled
        return self.step

    def seconds_left(self, entry: entries.RunStarted | entries.Resumed) -> float | None:
        """How long a run may take that is about to be started, or resumed, with this entry."""
        if entry.limits.seconds is None or isinstance(entry, entries.RunStarted):
            return entry.limits.seconds
        return max(entry.limits.seconds - self._elapsed, 0.0)

    # What happened ----------------------------------------------------------------------------------------------

    def _on_run_started(self, entry: entries.RunStarted, _: None) -> Step:
        self._start = entry
        self._requests = RequestBuilder(self.definition, self._tools, entry)
        self.ledger = Ledger(entry.limits, entry.info.price, entry.info.least_output)
        self.conversation = Conversation(self._requests.system, entry.messages)
        self._compactor = Compactor(self.conversation, entry)
        self._planner = RoundPlanner(self.ledger, self.conversation, self._requests, entry, self._max_depth)
        self._apply(entry.settings)
        return self._next_turn()

    def _on_model_called(self, entry: entries.ModelCalled, step: CallModel) -> Step:
        if entry.attempt == 1 and not entry.compaction:
            self.turn = entry.turn
            self.ledger.turns += 1
        if entry.compaction:
            if step.compaction and step.request.compact is entry.native:
                return step
            # It was decided for a model that can read less than today's, or that condenses in another way.
            self._compactor.ask_again()
            return self._ask_to_condense(native=entry.native) or step
        self.prefix_change = self.conversation.sending()
        if step.compaction:
            return CallModel(self._request(self._requests.settings.max_tokens), entry.turn, entry.attempt)
        return step

    def _on_model_replied(self, entry: entries.ModelReplied, step: CallModel) -> Step:
        response = entry.response
        if self._answered is None and not step.compaction and self._requests.release_choice():
            self.conversation.note_change(PrefixReason.SETTINGS_CHANGED)
        self._answered = response.model or self._answered or ""
        usage = response.usage
        if not usage.total_tokens and self.ledger.limits.tokens is not None:  # the limit needs to know it
            usage = self._estimated_usage(response.content, step)
        self.ledger.charge(usage)
        if step.compaction:
            if not step.request.compact:
                return self._condense(response.content)
            return self._next_turn() if self._compactor.take_block(response) else self._summarize()
        response, calls = self.conversation.answer(response, self.turn)
        self.text = response.content or self.text
        if calls:
            self.tool_round = self._planner.plan(self.turn, calls, response.stop_reason, self._elapsed)
        if self.ledger.limits.cost_usd is not None and response.usage.cost_usd is None:
            return self._finish(
                TerminateReason.ERROR, termination.no_price(response.model or self._requests.config.model)
            )
        if calls and response.stop_reason is not StopReason.REFUSAL:
            return self._ask_or_run()
        return self._conclude(response)

    def _on_model_failed(self, entry: entries.ModelFailed, step: CallModel) -> Step:
        error, settings = entry.error, self._requests.settings
        if isinstance(error, ContextOverflowError) and not step.compaction:
            self._reopened = step.attempt
            self.conversation.overflowed()
            if (summary := self._ask_to_condense()) is not None:
                return summary
            if self.conversation.shorten():
                return self._next_turn()
        elif self.conversation.leave_out_refused(error):
            self._reopened = self._reopened if step.compaction else step.attempt
            return self._summarize() if step.compaction else self._next_turn()
        elif error.retryable and step.attempt <= settings.max_retries:
            retry = step.retry(error, settings.retry_delay_ms / 1000)
            if self.ledger.breach(self._elapsed + retry.delay) is not TerminateReason.TIMEOUT:
                return retry
        if not step.compaction:
            return self._finish(TerminateReason.ERROR, error)
        # What was about this conversation, or may pass, does not say that the provider cannot condense.
        self._compactor.native &= error.retryable or isinstance(error, ContextOverflowError)
        return self._summarize() if step.request.compact else self._condense("")

    def _on_call_ruled(self, entry: entries.CallRuled, step: RunTools | AwaitApproval) -> Step:
        tools = self.tool_round
        if not tools.may_rule(entry.index):
            raise InvalidInputError(f"Tool call {entry.index} cannot be ruled on now.", field="index")
        if entry.verdict is Verdict.ALLOW:
            return step
        if entry.verdict is Verdict.DENY:
            tools.refuse(entry.index, entry.reason)
        else:
            tools.ask(entry.index, entry.reason)
        return self._ask_or_run()

    def _on_approval_decided(self, entry: entries.ApprovalDecided, _: AwaitApproval) -> Step:
        tools = self.tool_round
        if not tools.waits(entry.index):
            raise InvalidInputError(f"Tool call {entry.index} does not wait for approval.", field="index")
        if entry.approved:
            tools.agree(entry.index)
            if entry.arguments is not None:
                tools.edit(entry.index, entry.arguments, entry.by)
        else:
            tools.refuse(entry.index, f"denied by {entry.by or 'the user'}. {entry.reason}".rstrip())
        return self._ask_or_run()

    def _on_tools_started(self, _: entries.ToolsStarted, step: RunTools) -> Step:
        self.tool_round.started = True
        self.ledger.tool_calls += sum(not planned.refusal for planned in self.tool_round.calls)
        return step

    def _on_tool_finished(self, entry: entries.ToolFinished, step: RunTools) -> Step:
        self.tool_round.settle(entry)
        if entry.turns:  # it was a subagent
            self.ledger.charge(entry.usage, turns=entry.turns, tool_calls=entry.tool_calls)
        if self.tool_round.open:
            return step
        over_limit = self.tool_round.over_limit
        self._close_round()
        return self._stop_at(TerminateReason.MAX_TOOL_CALLS) if over_limit else self._next_turn()

    def _on_interrupted(self, entry: entries.Interrupted, step: Step) -> Step:
        self.ledger.charge(entry.usage, turns=entry.turns, tool_calls=entry.tool_calls)
        if entry.partial_text:
            self.text = entry.partial_text
            if isinstance(step, CallModel):
                self.ledger.charge(self._estimated_usage(entry.partial_text, step))
            self.conversation.say_partly(entry.partial_text)
        if entry.reason is TerminateReason.TIMEOUT:
            return self._stop_at(entry.reason)
        return self._finish(entry.reason, termination.interrupted(entry, step))

    def _on_resumed(self, entry: entries.Resumed, step: Step) -> Step:
        self._paused += max(self._now - self._before, 0.0)
        self.ledger.limits = entry.limits
        changed = self._apply(entry.settings)
        self.conversation.drop_partial()
        if changed is not None:
            self.conversation.rewrite(self.conversation.history, changed)
            if isinstance(step, CallModel):  # what was asked is not what is asked now
                self._compactor.ask_again()
                if not step.compaction:
                    self._reopened = step.attempt - (not self._in_flight)
                return self._next_turn()
        if isinstance(step, Finish):
            reason = step.result.terminate_reason
            spent = reason is TerminateReason.MAX_TOOL_CALLS and self.ledger.tool_call_room() == 0
            return step if spent or reason not in RESUMABLE else self._next_turn()
        if isinstance(step, CallModel) and self._in_flight:
            return replace(step, attempt=step.attempt + 1, delay=0.0)
        if isinstance(step, CallModel):
            is_new = step.attempt == 1 and not step.compaction
            return self._next_turn() if is_new else step
        if self.tool_round.started:
            self.tool_round.reopened = True
            return step
        self._planner.replan(self.tool_round, self._elapsed)
        return self._ask_or_run()

    def _on_edited(self, entry: entries.Edited, step: CallModel) -> Step:
        self.conversation.edit(entry.parts or entry.content, keeps_media=entry.keeps_media)
        return replace(step, request=replace(step.request, messages=self.conversation.history))

    def _on_said(self, entry: entries.Said, step: CallModel | Finish) -> Step:
        if self._in_flight or not step.listens:
            raise InvalidInputError("Words can be taken in only between two turns.", field="entry")
        self.conversation.interject(Message.user(entry.parts or entry.content))
        self._reopened = step.attempt - 1 if isinstance(step, CallModel) else 0
        return self._next_turn()

    _RULES: ClassVar[dict[type[Any], tuple[tuple[type[Any], ...], Any]]] = {
        entries.RunStarted: ((type(None),), _on_run_started),
        entries.ModelCalled: ((CallModel,), _on_model_called),
        entries.ModelReplied: ((CallModel,), _on_model_replied),
        entries.ModelFailed: ((CallModel,), _on_model_failed),
        entries.CallRuled: ((RunTools, AwaitApproval), _on_call_ruled),
        entries.ApprovalDecided: ((AwaitApproval,), _on_approval_decided),
        entries.ToolsStarted: ((RunTools,), _on_tools_started),
        entries.ToolFinished: ((RunTools,), _on_tool_finished),
        entries.Interrupted: ((CallModel, RunTools, AwaitApproval), _on_interrupted),
        entries.Resumed: ((CallModel, RunTools, AwaitApproval, Finish), _on_resumed),
        entries.Edited: ((CallModel,), _on_edited),
        entries.Said: ((CallModel, Finish), _on_said),
    }
    """For each kind of entry, the steps it may follow and what it does."""

    # What to do next --------------------------------------------------------------------------------------------

    def _next_turn(self) -> Step:
        if not self._reopened and (reason := self.ledger.breach(self._elapsed)) is not None:
            return self._stop_at(reason)
        asked = self._requests.settings.max_tokens
        if self.conversation.is_full(asked) and (summary := self._ask_to_condense()) is not None:
            return summary
        room = self.ledger.answer_room(asked, self.conversation.tokens)
        if isinstance(room, TerminateReason):
            return self._stop_at(room)
        request = self._request(room)
        attempts, self._reopened = self._reopened, 0
        return CallModel(request, self.turn, attempts + 1) if attempts else CallModel(request, self.turn + 1)

    def _ask_or_run(self) -> Step:
        tools = self.tool_round
        return AwaitApproval(self.turn, tools) if tools.waiting else RunTools(self.turn, tools)

    def _conclude(self, response: Response) -> Step:
        if self.definition.output_config is not None:  # text beside earlier tool calls is not a value
            self.text = response.content
        match response.stop_reason:
            case StopReason.PAUSE:
                return self._next_turn()
            case StopReason.REFUSAL:
                return self._finish(TerminateReason.REFUSED, termination.refused(response))
            case StopReason.MAX_TOKENS | StopReason.CONTEXT_OVERFLOW:
                return self._finish(TerminateReason.MAX_TOKENS, termination.cut_off(response.stop_reason))
        return self._deliver(self.text)

    def _deliver(self, answer: str) -> Step:
        """End with the answer, if it is what the definition declares; ask for a better one otherwise."""
        output = self.definition.output_config
        if output is None:
            return self._finish(TerminateReason.COMPLETE)
        try:
            return self._finish(TerminateReason.COMPLETE, output=output.format.parse(answer))
        except OutputValidationError as error:
            if self._repairs >= self._requests.settings.max_repairs:
                return self._finish(TerminateReason.COMPLETE, error)
            self._repairs += 1
            self.conversation.interject(Message.user(repair_prompt(error)))
            return self._next_turn()

    def _ask_to_condense(self, *, native: bool | None = None) -> CallModel | None:
        """Ask for the older turns to be condensed, unless there are none or it cannot be afforded."""
        request = self._compactor.request(self.turn, self._request(0), self.ledger, native=native)
        return None if request is None else CallModel(request, self.turn, compaction=True)

    def _summarize(self) -> Step:
        """Condense the conversation without the provider, which could not do it."""
        self._compactor.ask_again()
        return self._ask_to_condense(native=False) or self._condense("")

    def _condense(self, summary: str) -> Step:
        self._compactor.condense(summary)
        return self._next_turn()

    def _stop_at(self, reason: TerminateReason) -> Finish:
        return self._finish(reason, termination.limit_reached(reason, self.ledger.limits))

    def _finish(
        self, reason: TerminateReason, error: AgentError | None = None, output: T | None = None
    ) -> Finish:
        self._close_round()
        return Finish(self.outcome(reason, error, output))

    def outcome(
        self, reason: TerminateReason, error: AgentError | None = None, output: T | None = None
    ) -> AgentResult[T]:
        """The result of a run that stands where this one stands."""
        start, typed = self._start, self.definition.output_config is not None
        self.conversation.history.derived[RunSettings] = self._requests.settings.binding(start.system)
        return AgentResult(
            success=error is None,
            output=cast("T", self.text) if error is None and not typed else output,
            metadata=ResultMetadata(
                run_id=start.run_id,
                trace_id=start.trace_id,
                agent=start.agent,
                model=self._answered or self._requests.config.model,
            ),
            errors=[] if error is None else [error],
            usage=AgentUsage.of(self.ledger.usage, round(self._elapsed * 1000)),
            raw_content=self.text,
            terminate_reason=reason,
            turn_count=self.turn,
            messages=self.conversation.history,
            tool_calls=self._records,
            validated=error is None or not typed,
            earlier=self.conversation.place_of(start.messages[start.earlier]) if start.earlier else 0,
        )

    # The pieces -------------------------------------------------------------------------------------------------

    def _apply(self, settings: RunSettings | None) -> PrefixReason | None:
        """Go on with these settings; says why the next request does not extend the last one, if it does not."""
        changed = self._requests.apply(settings, answered=self._answered is not None)
        self.conversation.offer_tools(self._requests.offer.tokens)
        self.conversation.size = self._requests.settings.context_window or self._start.info.context_window
        return changed

    def _estimated_usage(self, answer: str, step: CallModel) -> Usage:
        asked = request_tokens(step.request) if step.compaction else self.conversation.tokens
        return self.ledger.estimated_usage(asked, answer, step.request.config.max_tokens or 0)

    def _close_round(self) -> None:
        """Put the results into the history, in the order of the calls; an unfinished call is cancelled."""
        tools = self.tool_round
        if tools.calls:
            self.tool_round, self.closed_round = NO_TOOLS, tools
            share = self.conversation.result_share(len(tools.calls))
            for message, record in tools.close(self._now, share):
                self.conversation.say(message)
                self._records.append(record)

    def _request(self, max_tokens: int) -> Request:
        return self._requests.request(self.conversation.history, max_tokens)

    @property
    def _elapsed(self) -> float:
        return max(self._now - self._start.at - self._paused, 0.0)
