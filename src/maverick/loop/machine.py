"""The agent loop as a pure state machine.

It never awaits, reads no clock, draws no random number and touches no network. It is fed what happened (an entry)
and answers with what to do next (a step):

    entries ──▶ AgentLoop ──▶ steps ──▶ a driver does the I/O ──▶ entries …

A driver records and feeds every entry, feeds the intents ``ModelCalled`` and ``ToolsStarted`` before it acts, feeds one
``ToolFinished`` for each planned call, and stops at ``Finish``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace
from typing_extensions import TypeVar

from maverick.exceptions import ContextOverflowError, InvalidInputError
from maverick.loop import entries, termination
from maverick.loop.compaction import Compactor
from maverick.loop.conversation import Conversation
from maverick.loop.limits import Ledger
from maverick.loop.output import rejected
from maverick.loop.policy import Verdict
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import TerminateReason
from maverick.loop.run_settings import RequestBuilder
from maverick.loop.state import LoopState
from maverick.loop.steps import AwaitApproval, CallModel, CheckOutput, Finish, ReviewCalls, RunTools, Step
from maverick.loop.tool_round import RoundPlanner
from maverick.model import Message, StopReason

T = TypeVar("T", default=str)

_UNDER_WAY = (CallModel, ReviewCalls, RunTools, AwaitApproval, CheckOutput)


class AgentLoop(LoopState[T]):
    """One run of an agent, without I/O.

    Its ``tools`` are those of today: recorded entries were decided with the tools of their time. Agents may be nested in
    each other ``max_depth`` deep.
    """

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
        self._paused += entry.waited
        self.step = handle(self, entry, self.step)
        self._in_flight = type(entry) is entries.ModelCalled
        return self.step

    def seconds_left(self, entry: entries.RunStarted | entries.Resumed) -> float | None:
        """How long a run may take that is about to be started, or resumed, with this entry."""
        if entry.limits.seconds is None or isinstance(entry, entries.RunStarted):
            return entry.limits.seconds
        return max(entry.limits.seconds - self._elapsed, 0.0)

    def _on_run_started(self, entry: entries.RunStarted, _: None) -> Step:
        self._start = entry
        self._first = entry.messages[entry.earlier] if entry.earlier else None
        self._requests = RequestBuilder(
            self.definition, self._tools, entry.settings, entry.system, native_output=entry.info.native_output
        )
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
            # It was decided for a model that can read less than today's, or that compacts in another way.
            self._compactor.ask_again()
            return self._ask_to_compact(native=entry.native) or step
        self.prefix_change, self.reviewed = self.conversation.sending(), True
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
                return self._compact(response.content)
            return self._next_turn() if self._compactor.take_block(response) else self._summarize()
        self.reviewed = False
        if entry.refusal:
            return self._refuse(entry.refused_by, entry.refusal)
        response, calls = self.conversation.answer(response, self.turn)
        if len(response.parts) > len(calls):  # else there is no text
            self.text = response.content or self.text
        if calls:
            self.tool_round = self._planner.plan(self.turn, calls, response.stop_reason, self._elapsed)
            self.tool_round.in_review = entry.review
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
            if (summary := self._ask_to_compact()) is not None:
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
            self._keep_partly(entry.partial_text, step)
            return self._finish(TerminateReason.ERROR, termination.broken_off(error, entry.partial_text))
        # What was about this conversation, or may pass, does not say that the provider cannot compact.
        self._compactor.native &= error.retryable or isinstance(error, ContextOverflowError)
        return self._summarize() if step.request.compact else self._compact("")

    def _on_request_reviewed(self, entry: entries.RequestReviewed, step: CallModel) -> Step:
        if self._in_flight or self.reviewed:
            raise InvalidInputError("A request is reviewed once, before it is sent.", field="entry")
        if entry.refusal:
            return self._refuse(entry.by, entry.refusal)
        first = 0 if self._first is None else self.conversation.place_of(self._first)
        self.conversation.revise(entry.since, entry.messages, entry.added)
        self._first = self.conversation.history[first] if first else None
        self.reviewed = True
        if step.compaction:
            self._compactor.ask_again()
        return self._ask_anew(step)

    def _on_calls_reviewed(self, entry: entries.CallsReviewed, _: ReviewCalls) -> Step:
        tools = self.tool_round
        if not all(tools.may_rule(review.index) for review in entry.calls):
            raise InvalidInputError("A tool call that is not run cannot be reviewed.", field="calls")
        tools.in_review = False
        for review in entry.calls:
            if review.refusal:
                tools.refuse(review.index, review.refusal)
            elif review.call is not None:
                tools.change(review.index, review.call)
        return self._ask_or_run()

    def _on_output_checked(self, entry: entries.OutputChecked, step: CheckOutput | Finish) -> Step:
        output = self.definition.output_config
        if isinstance(step, Finish) and output is None and step.listens:  # the agent is not at hand
            if not entry.retry:
                return step
            return self._finish(TerminateReason.COMPLETE, rejected("output", self.text, entry.retry))
        if isinstance(step, Finish) or output is None:
            raise InvalidInputError("There is no output to check.", field="entry")
        if entry.retry:
            return self._repair(rejected(output.output_name, self.text, entry.retry))
        made = output.format.restore(entry.output) if entry.output else output.format.parse(self.text)
        return self._finish(TerminateReason.COMPLETE, output=made)

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
        for planned in self.tool_round.calls:
            if not planned.refusal:
                self.ledger.tool_calls += 1
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
        self._keep_partly(entry.partial_text, step)
        self._unchecked = step if isinstance(step, CheckOutput) else None
        if entry.reason is TerminateReason.TIMEOUT:
            late = termination.limit_reached(entry.reason, self.ledger.limits)
            return self._finish(entry.reason, termination.broken_off(late, entry.partial_text))
        return self._finish(entry.reason, entry.error or termination.interrupted(entry, step))

    def _keep_partly(self, text: str, step: Step) -> None:
        """Keep what had arrived of an answer that the run ends without."""
        if text:
            self.text = text
            if isinstance(step, CallModel):
                self.ledger.charge(self._estimated_usage(text, step))
            self.conversation.say_partly(text)

    def _on_resumed(self, entry: entries.Resumed, step: Step) -> Step:
        self._paused += max(self._now - self._before, 0.0)
        self.ledger.limits = entry.limits
        changed = self._apply(entry.settings)
        self.conversation.drop_partial()
        if changed is not None:
            self.conversation.rewrite(self.conversation.history, changed)
            if isinstance(step, CallModel):  # what was asked is not what is asked now
                self._compactor.ask_again()
                return self._ask_anew(step)
        if isinstance(step, Finish):
            return self._reopen(step)
        if isinstance(step, CallModel):
            return self._call_again(step)
        if isinstance(step, CheckOutput):
            return step
        if self.tool_round.started:
            self.tool_round.reopened = True
            return step
        self._planner.replan(self.tool_round, self._elapsed)
        return self._ask_or_run()

    def _on_edited(self, entry: entries.Edited, step: CallModel) -> Step:
        self.conversation.edit(entry.parts or entry.content, keeps_media=entry.keeps_media)
        self.reviewed = False
        return replace(step, request=replace(step.request, messages=self.conversation.history))

    def _on_said(self, entry: entries.Said, step: CallModel | Finish) -> Step:
        if self._in_flight or not step.listens:
            raise InvalidInputError("Words can be taken in only between two turns.", field="entry")
        self.conversation.interject(Message.user(entry.parts or entry.content))
        self.reviewed = False
        self._reopened = step.attempt - 1 if isinstance(step, CallModel) else 0
        return self._next_turn()

    _RULES: ClassVar[dict[type[Any], tuple[tuple[type[Any], ...], Any]]] = {
        entries.RunStarted: ((type(None),), _on_run_started),
        entries.ModelCalled: ((CallModel,), _on_model_called),
        entries.ModelReplied: ((CallModel,), _on_model_replied),
        entries.ModelFailed: ((CallModel,), _on_model_failed),
        entries.RequestReviewed: ((CallModel,), _on_request_reviewed),
        entries.CallsReviewed: ((ReviewCalls,), _on_calls_reviewed),
        entries.OutputChecked: ((CheckOutput, Finish), _on_output_checked),
        entries.CallRuled: ((RunTools, AwaitApproval), _on_call_ruled),
        entries.ApprovalDecided: ((AwaitApproval,), _on_approval_decided),
        entries.ToolsStarted: ((RunTools,), _on_tools_started),
        entries.ToolFinished: ((RunTools,), _on_tool_finished),
        entries.Interrupted: (_UNDER_WAY, _on_interrupted),
        entries.Resumed: ((*_UNDER_WAY, Finish), _on_resumed),
        entries.Edited: ((CallModel,), _on_edited),
        entries.Said: ((CallModel, Finish), _on_said),
    }
    """For each kind of entry, the steps it may follow and what it does."""
