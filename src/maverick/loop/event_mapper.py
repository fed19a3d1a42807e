"""Maps the entries of a run to the events its observers see: the same entries make the same events, live or replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from maverick.exceptions import MalformedResponseError
from maverick.loop import entries, events
from maverick.loop.entries import Entry
from maverick.loop.events import AgentActivityEvent, ErrorEvent, PartialOutput
from maverick.loop.machine import AgentLoop
from maverick.loop.output import PartialOutputReader, rejected
from maverick.loop.policy import Verdict
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import AgentResult
from maverick.loop.steps import AwaitApproval, CallModel, Finish, Step, approval_id
from maverick.loop.tool_round import PlannedCall
from maverick.model import Opaque, Part, Response, Text, TextDelta, ThinkingDelta, Thought
from maverick.model.server_tools import ServerToolUse, citations_of

# Sets, and types rather than instances below: asking a struct what it is no instance of takes five times as long.
_ASKING = frozenset({entries.ModelReplied, entries.CallsReviewed, entries.Resumed})
"""The entries after which calls may wait for a person that no one was asked about before; of a ruling, its own rule tells."""
_ACTS = frozenset({entries.ModelReplied, entries.ToolFinished, entries.OutputChecked})
"""The entries that a turn ends with, if another one follows."""
_NO_SUMMARY = "The provider did not compact the conversation. The model is asked for a summary instead."


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
            return events.ServerToolUsed(**self._who | {"at": at}, use=use)
        self._streamed = True
        kind = events.ContentChunk if type(delta) is TextDelta else events.Thinking
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
        return events.RunEnd(**self._who | {"at": at}, result=result)

    def events_of(self, entry: Entry, *, goes_on: bool = False) -> Iterator[AgentActivityEvent]:
        """The events of an entry that was just fed to the loop; ``goes_on`` if words for the run keep it from ending."""
        self._who["at"] = entry.at
        kind, step = type(entry), self._loop.step
        if (rule := self._RULES.get(kind)) is not None:
            yield from rule(self, entry)
        if type(step) is AwaitApproval and kind in _ASKING:
            for planned in step.calls:
                if planned.call.id not in self._asked:
                    yield self._ask(planned)
        if self._loop.closed_round is not self._round:
            yield from self._closed_round()
        next_turn = type(step) is CallModel and kind in _ACTS and not self._compacting
        if self._open_turn and (next_turn or type(step) is Finish):
            yield events.TurnEnd(**self._who, turn_number=self._open_turn)
            self._open_turn = 0
        if type(step) is Finish and not goes_on:
            known = entry.error if isinstance(entry, entries.ModelFailed) else None
            for error in step.result.errors:
                if error is not known:
                    yield ErrorEvent(**self._who, error=error)
            yield events.RunEnd(**self._who, result=step.result)

    def _run_started(self, entry: entries.RunStarted) -> Iterator[AgentActivityEvent]:  # noqa: ARG002 - one shape for all
        yield events.RunStart(**self._who)

    def _model_called(self, entry: entries.ModelCalled) -> Iterator[AgentActivityEvent]:
        self._streamed, self._uses, self._reader = False, 0, None
        self._compacting, self._native = entry.compaction, entry.native
        change = self._loop.prefix_change
        if change is not None and not entry.compaction:
            yield events.PrefixChanged(**self._who, reason=change.reason, tokens=change.tokens)
            if change.reason is PrefixReason.MODEL_CHANGED:
                self._model = ""  # it is told once
        if not entry.compaction and entry.attempt == 1:
            self._open_turn = entry.turn
            yield events.TurnStart(**self._who, turn_number=entry.turn)

    def _model_replied(self, entry: entries.ModelReplied) -> Iterator[AgentActivityEvent]:
        if not self._compacting:
            yield from self._answer(entry.response.parts)
        yield events.UsageUpdated(
            **self._who,
            usage=entry.response.usage,
            total=self._loop.ledger.usage,
            context_tokens=self._loop.conversation.tokens,
        )
        if self._compacting:
            yield self._compacted(self._loop.step)
        elif entry.response.model != self._model:
            yield from self._other_model(entry.response)

    def _request_reviewed(self, entry: entries.RequestReviewed) -> Iterator[AgentActivityEvent]:
        for message in entry.added:
            yield events.MessageAdded(**self._who, content=message.content)

    def _compacted(self, step: Step | None) -> AgentActivityEvent:
        if isinstance(step, CallModel) and step.compaction:  # the provider made none, and the model is asked
            return ErrorEvent(**self._who, error=MalformedResponseError(_NO_SUMMARY))
        tokens = self._loop.conversation.tokens
        return events.Compacted(**self._who, context_tokens=tokens, native=self._native)

    def _other_model(self, response: Response) -> Iterator[AgentActivityEvent]:
        """That another model answered than before, such as one that a client falls back to: it has a cache of its own."""
        before, self._model = self._model, response.model or self._model
        if before and before != self._model:
            again = response.usage.input_tokens - response.usage.cache_read_tokens
            yield events.PrefixChanged(**self._who, reason=PrefixReason.MODEL_CHANGED, tokens=again)

    def _answer(self, parts: Iterable[Part]) -> Iterator[AgentActivityEvent]:
        """What of an answer was not told as it came, and its sources."""
        cites = False
        for part in parts:
            if type(part) is Text:
                cites = cites or part.block is not None
                if not self._streamed:
                    yield events.ContentChunk(**self._who, content=part.text)
            elif type(part) is Thought and part.text and not self._streamed:
                yield events.Thinking(**self._who, content=part.text)
            elif type(part) is Opaque and (use := ServerToolUse.of(part)) is not None:
                self._uses -= 1
                if self._uses < 0:
                    yield events.ServerToolUsed(**self._who, use=use)
        if cites and (citations := citations_of(parts)):
            yield events.SourcesCited(**self._who, citations=citations)

    def _model_failed(self, entry: entries.ModelFailed) -> Iterator[AgentActivityEvent]:
        yield ErrorEvent(**self._who, error=entry.error)
        step = self._loop.step
        compacts = isinstance(step, CallModel) and step.compaction
        if isinstance(step, CallModel) and compacts == self._compacting:
            if not compacts or step.request.compact is self._native:
                yield events.RetryScheduled(**self._who, attempt=step.attempt, delay=step.delay)
        elif self._compacting:
            yield events.Compacted(**self._who, context_tokens=self._loop.conversation.tokens)

    def _output_checked(self, entry: entries.OutputChecked) -> Iterator[AgentActivityEvent]:
        output, over = self._loop.definition.output_config, isinstance(self._loop.step, Finish)
        if entry.retry and output is not None and not over:  # else the end tells it
            yield ErrorEvent(**self._who, error=rejected(output.output_name, self._loop.text, entry.retry))

    def _call_ruled(self, entry: entries.CallRuled) -> Iterator[AgentActivityEvent]:
        planned = self._loop.tool_round.calls[entry.index]
        if entry.verdict is Verdict.ASK and planned.call.id not in self._asked:
            yield self._ask(planned)

    def _ask(self, planned: PlannedCall) -> AgentActivityEvent:
        self._asked.add(planned.call.id)
        request = approval_id(self._who["run_id"], self._loop.turn, planned.index)
        return events.ApprovalRequested(
            **self._who, tool_call=planned.call, reason=planned.question or "", approval_id=request
        )

    def _approval_decided(self, entry: entries.ApprovalDecided) -> Iterator[AgentActivityEvent]:
        call = self._loop.tool_round.calls[entry.index].call
        yield events.ApprovalGiven(
            **self._who,
            tool_call_id=call.id,
            approved=entry.approved,
            by=entry.by,
            reason=entry.reason,
            arguments=entry.arguments,
        )

    def _tools_started(self, entry: entries.ToolsStarted) -> Iterator[AgentActivityEvent]:  # noqa: ARG002 - one shape for all
        for planned in self._loop.tool_round.calls:
            yield self._start(planned)

    def _tool_finished(self, entry: entries.ToolFinished) -> Iterator[AgentActivityEvent]:
        round_ = self._loop.tool_round if self._loop.tool_round.calls else self._loop.closed_round
        yield self._end(round_.calls[entry.index], entry)

    def _start(self, planned: PlannedCall) -> AgentActivityEvent:
        self._started.add(planned.index)
        return events.ToolCallStart(**self._who, tool_call=planned.call)

    def _end(self, planned: PlannedCall, result: entries.ToolFinished) -> AgentActivityEvent:
        self._started.discard(planned.index)
        return events.ToolCallEnd(
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
        self._round = closed = self._loop.closed_round
        for planned, result in closed.settled():
            if not closed.started:
                yield self._start(planned)
            if planned.index in self._started:
                yield self._end(planned, result)

    def _resumed(self, entry: entries.Resumed) -> Iterator[AgentActivityEvent]:  # noqa: ARG002 - one shape for all
        yield events.RunResumed(**self._who)
        if self._loop.tool_round.started:
            for planned in self._loop.tool_round.unsettled:
                yield self._start(planned)

    def _edited(self, entry: entries.Edited | entries.Said) -> Iterator[AgentActivityEvent]:
        yield events.MessageAdded(**self._who, content=entry.content)

    _RULES: ClassVar[dict[type[Any], Any]] = {
        entries.RunStarted: _run_started,
        entries.ModelCalled: _model_called,
        entries.ModelReplied: _model_replied,
        entries.ModelFailed: _model_failed,
        entries.RequestReviewed: _request_reviewed,
        entries.OutputChecked: _output_checked,
        entries.CallRuled: _call_ruled,
        entries.ApprovalDecided: _approval_decided,
        entries.ToolsStarted: _tools_started,
        entries.ToolFinished: _tool_finished,
        entries.Resumed: _resumed,
        entries.Edited: _edited,
        entries.Said: _edited,
    }
