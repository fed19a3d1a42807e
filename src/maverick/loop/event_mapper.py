"""Maps the entries of a run to the events its observers see: the same entries make the same events, live or replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from maverick.exceptions import MalformedResponseError
from maverick.loop.entries import (
    ApprovalDecided,
    CallRuled,
    CallsReviewed,
    Edited,
    Entry,
    Interrupted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    OutputChecked,
    RequestReviewed,
    Resumed,
    RunStarted,
    Said,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.events import (
    AgentActivityEvent,
    ApprovalGiven,
    ApprovalRequested,
    Compacted,
    ContentChunk,
    ErrorEvent,
    MessageAdded,
    PartialOutput,
    PrefixChanged,
    RetryScheduled,
    RunEnd,
    RunResumed,
    RunStart,
    ServerToolUsed,
    SourcesCited,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
    TurnEnd,
    TurnStart,
    UsageUpdated,
)
from maverick.loop.machine import AgentLoop
from maverick.loop.output import rejected
from maverick.loop.partial_output import PartialOutputReader
from maverick.loop.policy import Verdict
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import AgentResult
from maverick.loop.steps import AwaitApproval, CallModel, Finish, Step, approval_id
from maverick.loop.tool_round import PlannedCall
from maverick.model import Opaque, Part, Response, Text, TextDelta, ThinkingDelta, Thought
from maverick.model.server_tools import ServerToolUse, citations_of

_NO_SUMMARY = "The provider did not condense the conversation. The model is asked for a summary instead."


class EventMapper:
    """Makes the events of one run."""

    def __init__(self, loop: AgentLoop[Any], run_id: str, trace_id: str, agent: tuple[str, ...]) -> None:
        self._loop = loop
        self._who: dict[str, Any] = {"run_id": run_id, "trace_id": trace_id, "agent": agent, "at": 0.0}
        self._started: set[int] = set()
        """The calls of the turn that have a start event and no end event yet."""
        self._round = loop.closed_round
        self._asked: set[str] = set()
        self._open_turn = 0
        self._compacting = self._native = False
        self._model = ""
        """The model that answered last."""
        self._streamed = False
        self._reader: PartialOutputReader | None = None
        self._uses = 0
        """The uses of the provider's own tools that were told as they came."""

    def delta(self, delta: TextDelta | ThinkingDelta | Opaque, at: float) -> AgentActivityEvent | None:
        """The event of a piece of the answer as it arrives; the whole answer then makes none of its own."""
        if self._compacting:
            return None
        if isinstance(delta, Opaque):
            if (use := ServerToolUse.of(delta)) is None:
                return None
            self._uses += 1
            return ServerToolUsed(**self._who | {"at": at}, use=use)
        self._streamed = True
        kind = ContentChunk if type(delta) is TextDelta else Thinking
        return kind(**self._who | {"at": at}, content=delta.text)

    def partial_output(self, text: str, at: float) -> PartialOutput | None:
        """The event of what there is of a typed output with a piece of its text, if that makes a difference."""
        config = self._loop.definition.output_config
        if config is None or self._compacting:
            return None
        if self._reader is None:
            self._reader = config.format.partial_reader()
        output = self._reader.add(text)
        return None if output is None else PartialOutput(**self._who | {"at": at}, output=output)

    def end(self, result: AgentResult[Any], at: float) -> AgentActivityEvent:
        """The event of a run that is parked until a person has decided, or that had ended before."""
        return RunEnd(**self._who | {"at": at}, result=result)

    def events_of(self, entry: Entry, *, goes_on: bool = False) -> Iterator[AgentActivityEvent]:
        """The events of an entry that was just fed to the loop; ``goes_on`` if words for the run keep it from ending."""
        self._who["at"] = entry.at
        yield from self._RULES[type(entry)](self, entry)
        yield from self._closed_round()
        step = self._loop.step
        over = isinstance(step, Finish)
        acted = isinstance(entry, ModelReplied | ToolFinished | OutputChecked) and not self._compacting
        if self._open_turn and (over or (acted and isinstance(step, CallModel))):
            yield TurnEnd(**self._who, turn_number=self._open_turn)
            self._open_turn = 0
        if isinstance(step, Finish) and not goes_on:
            known = entry.error if isinstance(entry, ModelFailed) else None
            for error in step.result.errors:
                if error is not known:
                    yield ErrorEvent(**self._who, error=error)
            yield RunEnd(**self._who, result=step.result)

    def _run_started(self, entry: RunStarted) -> Iterator[AgentActivityEvent]:  # noqa: ARG002 - one shape for all
        yield RunStart(**self._who)

    def _model_called(self, entry: ModelCalled) -> Iterator[AgentActivityEvent]:
        self._streamed, self._uses, self._reader = False, 0, None
        self._compacting, self._native = entry.compaction, entry.native
        change = self._loop.prefix_change
        if change is not None and not entry.compaction:
            yield PrefixChanged(**self._who, reason=change.reason, tokens=change.tokens)
            if change.reason is PrefixReason.MODEL_CHANGED:
                self._model = ""  # it is told once
        if not entry.compaction and entry.attempt == 1:
            self._open_turn = entry.turn
            yield TurnStart(**self._who, turn_number=entry.turn)

    def _model_replied(self, entry: ModelReplied) -> Iterator[AgentActivityEvent]:
        if not self._compacting:
            yield from self._answer(entry.response.parts)
        yield UsageUpdated(
            **self._who,
            usage=entry.response.usage,
            total=self._loop.ledger.usage,
            context_tokens=self._loop.conversation.tokens,
        )
        step = self._loop.step
        if self._compacting:
            yield self._compacted(step)
            return
        if entry.response.model != self._model:
            yield from self._other_model(entry.response)
        if isinstance(step, AwaitApproval):
            for planned in step.calls:
                yield self._ask(planned)

    def _request_reviewed(self, entry: RequestReviewed) -> Iterator[AgentActivityEvent]:
        for message in entry.added:
            yield MessageAdded(**self._who, content=message.content)

    def _calls_reviewed(self, entry: CallsReviewed) -> Iterator[AgentActivityEvent]:  # noqa: ARG002 - one shape for all
        step = self._loop.step
        for planned in step.calls if isinstance(step, AwaitApproval) else ():
            yield self._ask(planned)

    def _compacted(self, step: Step | None) -> AgentActivityEvent:
        if (
            isinstance(step, CallModel) and step.compaction
        ):  # the provider made no summary, and the model is asked
            return ErrorEvent(**self._who, error=MalformedResponseError(_NO_SUMMARY))
        return Compacted(**self._who, context_tokens=self._loop.conversation.tokens, native=self._native)

    def _other_model(self, response: Response) -> Iterator[AgentActivityEvent]:
        """That another model answered than before, such as one that a client falls back to: it has a cache of its own."""
        before, self._model = self._model, response.model or self._model
        if before and before != self._model:
            again = response.usage.input_tokens - response.usage.cache_read_tokens
            yield PrefixChanged(**self._who, reason=PrefixReason.MODEL_CHANGED, tokens=again)

    def _answer(self, parts: Iterable[Part]) -> Iterator[AgentActivityEvent]:
        """What of an answer was not told as it came, and its sources."""
        cites = False
        for part in parts:
            if isinstance(part, Text):
                cites = cites or part.block is not None
                if not self._streamed:
                    yield ContentChunk(**self._who, content=part.text)
            elif isinstance(part, Thought) and part.text and not self._streamed:
                yield Thinking(**self._who, content=part.text)
            elif isinstance(part, Opaque) and (use := ServerToolUse.of(part)) is not None:
                self._uses -= 1
                if self._uses < 0:
                    yield ServerToolUsed(**self._who, use=use)
        if cites and (citations := citations_of(parts)):
            yield SourcesCited(**self._who, citations=citations)

    def _model_failed(self, entry: ModelFailed) -> Iterator[AgentActivityEvent]:
        yield ErrorEvent(**self._who, error=entry.error)
        step = self._loop.step
        condenses = isinstance(step, CallModel) and step.compaction
        if isinstance(step, CallModel) and condenses == self._compacting:
            if not condenses or step.request.compact is self._native:
                yield RetryScheduled(**self._who, attempt=step.attempt, delay=step.delay)
        elif self._compacting:
            yield Compacted(**self._who, context_tokens=self._loop.conversation.tokens)

    def _output_checked(self, entry: OutputChecked) -> Iterator[AgentActivityEvent]:
        output = self._loop.definition.output_config
        if (
            entry.retry and output is not None and not isinstance(self._loop.step, Finish)
        ):  # else the end tells it
            yield ErrorEvent(**self._who, error=rejected(output.output_name, self._loop.text, entry.retry))

    def _call_ruled(self, entry: CallRuled) -> Iterator[AgentActivityEvent]:
        planned = self._loop.tool_round.calls[entry.index]
        if entry.verdict is Verdict.ASK and planned.call.id not in self._asked:
            yield self._ask(planned)

    def _ask(self, planned: PlannedCall) -> AgentActivityEvent:
        self._asked.add(planned.call.id)
        request = approval_id(self._who["run_id"], self._loop.turn, planned.index)
        return ApprovalRequested(
            **self._who, tool_call=planned.call, reason=planned.question or "", approval_id=request
        )

    def _approval_decided(self, entry: ApprovalDecided) -> Iterator[AgentActivityEvent]:
        call = self._loop.tool_round.calls[entry.index].call
        yield ApprovalGiven(
            **self._who,
            tool_call_id=call.id,
            approved=entry.approved,
            by=entry.by,
            reason=entry.reason,
            arguments=entry.arguments,
        )

    def _tools_started(self, entry: ToolsStarted) -> Iterator[AgentActivityEvent]:  # noqa: ARG002 - one shape for all
        for planned in self._loop.tool_round.calls:
            yield self._start(planned)

    def _tool_finished(self, entry: ToolFinished) -> Iterator[AgentActivityEvent]:
        round_ = self._loop.tool_round if self._loop.tool_round.calls else self._loop.closed_round
        yield self._end(round_.calls[entry.index], entry)

    def _start(self, planned: PlannedCall) -> AgentActivityEvent:
        self._started.add(planned.index)
        return ToolCallStart(**self._who, tool_call=planned.call)

    def _end(self, planned: PlannedCall, result: ToolFinished) -> AgentActivityEvent:
        self._started.discard(planned.index)
        return ToolCallEnd(
            **self._who,
            tool_call_id=planned.call.id,
            result=result.content,
            data=result.data,
            parts=result.parts,
            outcome=result.outcome,
            duration_ms=result.duration_ms,
        )

    def _closed_round(self) -> Iterator[AgentActivityEvent]:
        """The events of calls that the end of the run has left without a result of their own."""
        closed = self._loop.closed_round
        if closed is self._round:
            return
        self._round = closed
        for planned, result in closed.settled():
            if not closed.started:
                yield self._start(planned)
            if planned.index in self._started:
                yield self._end(planned, result)

    def _nothing(self, entry: Entry) -> Iterator[AgentActivityEvent]:  # noqa: ARG002 - one shape for all
        return iter(())

    def _resumed(self, entry: Resumed) -> Iterator[AgentActivityEvent]:  # noqa: ARG002 - one shape for all
        yield RunResumed(**self._who)
        step, tools = self._loop.step, self._loop.tool_round
        if tools.started:
            for planned in tools.unsettled:
                yield self._start(planned)
        if isinstance(step, AwaitApproval):
            for planned in step.calls:
                if planned.call.id not in self._asked:
                    yield self._ask(planned)

    def _edited(self, entry: Edited | Said) -> Iterator[AgentActivityEvent]:
        yield MessageAdded(**self._who, content=entry.content)

    _RULES: ClassVar[dict[type[Any], Any]] = {
        RunStarted: _run_started,
        ModelCalled: _model_called,
        ModelReplied: _model_replied,
        ModelFailed: _model_failed,
        RequestReviewed: _request_reviewed,
        CallsReviewed: _calls_reviewed,
        OutputChecked: _output_checked,
        CallRuled: _call_ruled,
        ApprovalDecided: _approval_decided,
        ToolsStarted: _tools_started,
        ToolFinished: _tool_finished,
        Interrupted: _nothing,
        Resumed: _resumed,
        Edited: _edited,
        Said: _edited,
    }
