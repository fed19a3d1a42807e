"""The state of a run, and what follows from it: the next step.

:class:`~maverick.loop.machine.AgentLoop` changes it as entries come in, and asks it what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, cast

from msgspec.structs import replace
from typing_extensions import TypeVar

from maverick.exceptions import AgentError, OutputValidationError
from maverick.loop import entries, termination
from maverick.loop.compaction import Compactor
from maverick.loop.conversation import Conversation, request_tokens
from maverick.loop.definition import AgentDefinition
from maverick.loop.limits import Ledger
from maverick.loop.output import given_up, repair_prompt
from maverick.loop.prefix import PrefixChange, PrefixReason
from maverick.loop.result import (
    RESUMABLE,
    AgentResult,
    AgentUsage,
    ResultMetadata,
    TerminateReason,
    ToolRecord,
)
from maverick.loop.run_settings import RequestBuilder, RunSettings
from maverick.loop.steps import AwaitApproval, CallModel, CheckOutput, Finish, ReviewCalls, RunTools, Step
from maverick.loop.tool_round import NO_TOOLS, RoundPlanner
from maverick.model import Message, Request, Response, StopReason, Tool, Usage

T = TypeVar("T", default=str)

_NOTHING_SAID = Conversation("", ())
"""The conversation of a run that has not started."""


class LoopState(Generic[T]):
    """Where a run stands; see :class:`~maverick.loop.machine.AgentLoop`."""

    def __init__(
        self, definition: AgentDefinition[T], tools: Mapping[str, Tool], *, max_depth: int = 5
    ) -> None:
        self.definition = definition
        self.step: Step | None = None
        """What to do next; ``None`` until the run has started."""
        self.turn = 0
        self.text = ""
        """The newest text of the model."""
        self.conversation = _NOTHING_SAID
        self.prefix_change: PrefixChange | None = None
        """How the newest request of a turn fails to extend the one before it, if it does."""
        self.ledger = Ledger()
        self.tool_round = NO_TOOLS
        """The tool calls of the turn; empty when there are none."""
        self.closed_round = NO_TOOLS
        """The last tool calls that got all their results."""
        self.reviewed = False
        """Whether the conversation as it stands was sent, or hooks have changed it to be sent."""
        self._start: entries.RunStarted
        self._requests: RequestBuilder
        self._compactor: Compactor
        self._planner: RoundPlanner
        self._first: Message | None = None
        """The first message of the run's own, if it continues a conversation."""
        self._tools = tools
        self._max_depth = max_depth
        self._records: list[ToolRecord] = []
        self._repairs = 0
        self._unchecked: CheckOutput | None = None
        """An answer whose check was stopped together with the run."""
        self._answered: str | None = None
        """The model that answered last, as its provider names it; ``None`` before the first answer."""
        self._reopened = 0
        """The attempts already made at a turn that was stopped to make room for it."""
        self._in_flight = False
        """Whether the model was called and has not answered yet."""
        self._now = self._before = self._paused = 0.0
        """The time of this entry and of the one before it; the seconds in which the run waited for a person,
        or no driver worked on it."""

    def _next_turn(self) -> Step:
        if not self._reopened and (reason := self.ledger.breach(self._elapsed)) is not None:
            return self._stop_at(reason)
        asked = self._requests.settings.max_tokens
        if self.conversation.is_full(asked) and (summary := self._ask_to_compact()) is not None:
            return summary
        room = self.ledger.answer_room(asked, self.conversation.tokens)
        if isinstance(room, TerminateReason):
            return self._stop_at(room)
        request = self._request(room)
        attempts, self._reopened = self._reopened, 0
        return CallModel(request, self.turn, attempts + 1) if attempts else CallModel(request, self.turn + 1)

    def _ask_anew(self, step: CallModel) -> Step:
        """Call the model with the conversation as it is now, in place of a call that is not in progress any more."""
        if not step.compaction:
            self._reopened = step.attempt - (not self._in_flight)
        return self._next_turn()

    def _call_again(self, step: CallModel) -> Step:
        """Continue a model call that another process was about to make, or has made without an answer."""
        if self._in_flight:
            return replace(step, attempt=step.attempt + 1, delay=0.0)
        is_new = step.attempt == 1 and not step.compaction
        return self._next_turn() if is_new else step

    def _reopen(self, step: Finish) -> Step:
        """Continue a run that was stopped; one that came to an end of its own stays as it is."""
        unchecked, self._unchecked = self._unchecked, None
        if unchecked is not None:
            return unchecked
        reason = step.result.terminate_reason
        spent = reason is TerminateReason.MAX_TOOL_CALLS and self.ledger.tool_call_room() == 0
        return step if spent or reason not in RESUMABLE else self._next_turn()

    def _ask_or_run(self) -> Step:
        tools = self.tool_round
        if tools.in_review:
            return ReviewCalls(self.turn, tools)
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
            made = output.format.parse(answer)
        except OutputValidationError as error:
            return self._repair(error)
        if self._requests.settings.checks_output:
            return CheckOutput(made)
        return self._finish(TerminateReason.COMPLETE, output=made)

    def _repair(self, error: OutputValidationError) -> Step:
        """Ask for a better answer, unless that was done often enough."""
        if self._repairs >= self._requests.settings.max_repairs:
            return self._finish(TerminateReason.COMPLETE, given_up(error, self._repairs + 1))
        self._repairs += 1
        self.conversation.interject(Message.user(repair_prompt(error)))
        return self._next_turn()

    def _ask_to_compact(self, *, native: bool | None = None) -> CallModel | None:
        """Ask for the older turns to be compacted, unless there are none or it cannot be afforded."""
        request = self._compactor.request(self.turn, self._request(0), self.ledger, native=native)
        return None if request is None else CallModel(request, self.turn, compaction=True)

    def _summarize(self) -> Step:
        """Compact the conversation without the provider, which could not do it."""
        self._compactor.ask_again()
        return self._ask_to_compact(native=False) or self._compact("")

    def _compact(self, summary: str) -> Step:
        self._compactor.compact(summary)
        return self._next_turn()

    def _refuse(self, hook: str, reason: str) -> Finish:
        return self._finish(TerminateReason.REFUSED, termination.refused_by_hook(hook, reason))

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
                model=self._answered or self._asked,
            ),
            errors=[] if error is None else [error],
            usage=AgentUsage.of(self.ledger.usage, round(self._elapsed * 1000)),
            raw_content=self.text,
            terminate_reason=reason,
            turn_count=self.turn,
            messages=self.conversation.history,
            tool_calls=self._records,
            validated=error is None or not typed,
            earlier=0 if self._first is None else self.conversation.place_of(self._first),
        )

    def _apply(self, settings: RunSettings | None) -> PrefixReason | None:
        """Continue with these settings; says why the next request does not extend the last one, if it does not."""
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
    def _asked(self) -> str:
        """The model that is asked, as its provider names it; empty if that is up to the client."""
        provider, _, name = self._requests.config.model.partition(":")
        return name or provider

    @property
    def _elapsed(self) -> float:
        elapsed = self._now - self._start.at - self._paused
        if elapsed < 0.0:  # not max(), which takes longer than all the rest of this
            return 0.0
        return elapsed
