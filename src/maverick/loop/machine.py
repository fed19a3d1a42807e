"""The agent loop as a pure state machine.

It never awaits, reads no clock, draws no random number and touches no network. It is fed what happened (an entry)
and answers with what to do next (a step):

    entries ──▶ AgentLoop ──▶ steps ──▶ a driver does the I/O ──▶ entries …

A driver records and feeds every entry, feeds the intents ``ModelCalled`` and ``ToolsStarted`` before it acts, feeds one
``ToolFinished`` for each planned call, and stops at ``Finish``. Above this module are the drivers; below it are the
rules it applies: limits, the round of tools, output, retry and compaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic

from msgspec.structs import replace
from typing_extensions import TypeVar

from maverick.exceptions import (
    AbortedError,
    AgentError,
    ApprovalRequiredError,
    ContextOverflowError,
    InvalidInputError,
    LimitExceededError,
    OutputValidationError,
    RefusalError,
)
from maverick.loop import compaction
from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import (
    ApprovalDecided,
    Entry,
    Interrupted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    RunStarted,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.limits import Ledger, Limits, limit_error
from maverick.loop.output import repair_prompt
from maverick.loop.result import AgentResult, AgentUsage, TerminateReason, ToolRecord
from maverick.loop.retry import backoff
from maverick.loop.round import RoundPlanner, ToolRound, have_own_ids, with_own_ids
from maverick.loop.steps import AwaitApproval, CallModel, Finish, RunTools, Step
from maverick.model import (
    History,
    Message,
    OutputSchema,
    Request,
    RequestConfig,
    Response,
    StopReason,
    Tool,
    ToolCall,
)

T = TypeVar("T", default=str)

_USUAL_ANSWER = 4096
"""Tokens kept free for an answer whose size the definition leaves to the client."""


class AgentLoop(Generic[T]):
    """One run of an agent, without I/O.

    Args:
        definition: The agent.
        tools: Its tools by name.
        max_depth: How deep agents may be nested in each other.
    """

    def __init__(
        self, definition: AgentDefinition[T], tools: Mapping[str, Tool], *, max_depth: int = 5
    ) -> None:
        self.definition = definition
        self.step: Step | None = None
        """What to do next; ``None`` until the run has started."""
        self.history = History()
        self.turn = 0
        self.text = ""
        """The newest words of the model."""
        self.context_tokens = 0
        """About how many tokens the next request has."""
        self.compactions = 0
        self.ledger = Ledger(Limits())
        self._tools = tools
        self._offered = tuple(tools.values())
        self._max_depth = max_depth
        self._records: list[ToolRecord] = []
        self._round: ToolRound | None = None
        self._repairs = 0
        self._reopened = 0
        """The attempts already made at the turn that a compaction interrupted."""
        self._compacted_turn = -1

    def feed(self, entry: Entry) -> Step:
        """Take in what happened and say what to do next.

        Raises:
            InvalidInputError: The entry can not follow what happened before; nothing has changed then.
        """
        expected, handle = self._RULES[type(entry)]
        if type(self.step) not in expected:
            raise InvalidInputError(
                f"{type(entry).__name__} does not fit here: the run is at {type(self.step).__name__}.",
                field="entry",
            )
        self._now = entry.at
        self.step = handle(self, entry)
        return self.step

    def planned_call(self, index: int) -> ToolCall:
        """The tool call of this turn with this index."""
        assert self._round is not None  # noqa: S101 - asked about calls that wait or run
        return self._round.calls[index].call

    # What happened ----------------------------------------------------------------------------------------------

    def _on_run_started(self, entry: RunStarted) -> Step:
        model, output = self.definition.model_config, self.definition.output_config
        self._start = entry
        self._window = model.context_window or entry.info.context_window
        self._config = RequestConfig(model.max_tokens, model.temperature, model.model)
        self._system = entry.system
        self._output = None
        if output is not None:
            self._output = OutputSchema(output.output_name, output.format.json_schema)
            if not entry.info.native_output:
                self._system = f"{entry.system}\n\n{output.format.instructions()}".lstrip()
        self.ledger = Ledger(entry.limits)
        self._planner = RoundPlanner(self._tools, self.ledger, len(entry.agent), self._max_depth)
        self.history = History(entry.messages)
        self._recount_context()
        return self._next_turn()

    def _on_model_called(self, entry: ModelCalled) -> Step:
        if entry.attempt == 1 and not entry.compaction:
            self.turn = entry.turn
            self.ledger.turns += 1
        assert self.step is not None  # noqa: S101 - the rules let this entry in at CallModel only
        return self.step

    def _on_model_replied(self, entry: ModelReplied) -> Step:
        response = entry.response
        self.ledger.charge(response.usage)
        if isinstance(self.step, CallModel) and self.step.compaction:
            return self._summarised(response.content)
        calls = response.tool_calls
        if calls and not have_own_ids(calls):
            response = with_own_ids(response, self.turn)
            calls = response.tool_calls
        self._say(response.message, response.usage.total_tokens)
        self.text = response.content or self.text
        if calls:
            reserve = self.context_tokens + (self._config.max_tokens or _USUAL_ANSWER)
            self._round = self._planner.plan(self.turn, calls, response.stop_reason, self._elapsed, reserve)
        if self.ledger.limits.cost_usd is not None and response.usage.cost_usd is None:
            return self._finish(TerminateReason.ERROR, _unpriced(response.model or self._config.model))
        return self._run_round() if self._round else self._conclude(response)

    def _on_model_failed(self, entry: ModelFailed) -> Step:
        step, error = self.step, entry.error
        assert isinstance(step, CallModel)  # noqa: S101 - the rules let this entry in at CallModel only
        if isinstance(error, ContextOverflowError) and not step.compaction:
            self._reopened = step.attempt
            self._window = min(self._window or self.context_tokens, self.context_tokens)
            if (summary := self._compact()) is not None:
                return summary
        elif error.retryable and step.attempt <= self.definition.run_config.max_retries:
            delay, exact = backoff(error, step.attempt, self.definition.run_config.retry_delay_ms / 1000)
            if self.ledger.breach(self._elapsed + delay) is not TerminateReason.TIMEOUT:
                return replace(step, attempt=step.attempt + 1, delay=delay, exact_delay=exact)
        return self._summarised("") if step.compaction else self._finish(TerminateReason.ERROR, error)

    def _on_approval_decided(self, entry: ApprovalDecided) -> Step:
        step, tools = self.step, self._round
        assert isinstance(step, AwaitApproval) and tools is not None  # noqa: S101, PT018 - by the rules
        waiting = tuple(planned for planned in step.calls if planned.index != entry.index)
        if len(waiting) == len(step.calls):
            raise InvalidInputError(f"Tool call {entry.index} does not wait for approval.", field="index")
        if not entry.approved:
            tools.refuse(entry.index, f"Not run: denied by {entry.by or 'the user'}. {entry.reason}".rstrip())
        return AwaitApproval(step.turn, waiting) if waiting else RunTools(tools.turn, tools.calls)

    def _on_tools_started(self, entry: ToolsStarted) -> Step:  # noqa: ARG002 - it says all by being there
        tools = self._round
        assert isinstance(self.step, RunTools) and tools is not None  # noqa: S101, PT018 - by the rules
        tools.started = True
        self.ledger.tool_calls += sum(not planned.refusal for planned in tools.calls)
        return self.step

    def _on_tool_finished(self, entry: ToolFinished) -> Step:
        tools = self._round
        assert isinstance(self.step, RunTools) and tools is not None  # noqa: S101, PT018 - by the rules
        tools.settle(entry)
        if entry.turns:  # a subagent
            self.ledger.charge(entry.usage, turns=entry.turns, tool_calls=entry.tool_calls)
        if tools.open:
            return self.step
        self._close_round()
        if tools.over_limit:
            return self._stop_at_limit(TerminateReason.MAX_TOOL_CALLS)
        return self._next_turn()

    def _on_interrupted(self, entry: Interrupted) -> Step:
        self.ledger.charge(entry.usage)
        if entry.partial_text:
            self.text = entry.partial_text
            self._say(Message.assistant(entry.partial_text))
        if entry.reason is TerminateReason.TIMEOUT:
            return self._stop_at_limit(entry.reason)
        return self._finish(entry.reason, self._interruption(entry))

    _RULES: ClassVar[dict[type[Any], tuple[tuple[type[Any], ...], Any]]] = {
        RunStarted: ((type(None),), _on_run_started),
        ModelCalled: ((CallModel,), _on_model_called),
        ModelReplied: ((CallModel,), _on_model_replied),
        ModelFailed: ((CallModel,), _on_model_failed),
        ApprovalDecided: ((AwaitApproval,), _on_approval_decided),
        ToolsStarted: ((RunTools,), _on_tools_started),
        ToolFinished: ((RunTools,), _on_tool_finished),
        Interrupted: ((CallModel, RunTools, AwaitApproval), _on_interrupted),
    }
    """For each kind of entry, the steps it may follow and what it does."""

    # What to do next --------------------------------------------------------------------------------------------

    def _next_turn(self) -> Step:
        if not self._reopened and (reason := self.ledger.breach(self._elapsed)) is not None:
            return self._stop_at_limit(reason)
        if self._is_full() and (summary := self._compact()) is not None:
            return summary
        room = self._room(self._config.max_tokens, self.context_tokens)
        if isinstance(room, TerminateReason):
            return self._stop_at_limit(room)
        config = self._config if room == self._config.max_tokens else replace(self._config, max_tokens=room)
        request = Request(self.history, self._offered, config, self._system, self._output)
        attempts, self._reopened = self._reopened, 0
        if attempts:
            return CallModel(request, self.turn, attempts + 1)
        return CallModel(request, self.turn + 1)

    def _room(self, asked: int, input_tokens: int) -> int | TerminateReason:
        return self.ledger.answer_room(asked, input_tokens, self._start.info.price)

    def _run_round(self) -> Step:
        assert self._round is not None  # noqa: S101 - the caller has just planned it
        calls = self._round.calls
        waiting = self._planner.needing_approval(calls)
        return AwaitApproval(self.turn, waiting) if waiting else RunTools(self.turn, calls)

    def _close_round(self) -> None:
        """Put the results into the history, in the order of the calls; an unfinished call is cancelled."""
        tools, self._round = self._round, None
        if tools is None:
            return
        tools.cancel_open(self._now)
        fair_share = None if self._window is None else max(self._window // (2 * len(tools.calls)), 100)
        results = tools.messages(fair_share)
        self.history = self.history.extended(*results)
        self.context_tokens += sum(compaction.message_tokens(message) for message in results)
        self._records += tools.records()

    def _conclude(self, response: Response) -> Step:
        match response.stop_reason:
            case StopReason.PAUSE:
                return self._next_turn()
            case StopReason.REFUSAL:
                return self._finish(TerminateReason.REFUSED, _refused(response))
            case StopReason.MAX_TOKENS | StopReason.CONTEXT_OVERFLOW:
                return self._finish(TerminateReason.MAX_TOKENS, _cut_off(response.stop_reason))
        return self._deliver(response.content)

    def _deliver(self, answer: str) -> Step:
        """End with the answer, if it is what the definition declares; ask for a better one otherwise."""
        output = self.definition.output_config
        if output is None:
            return self._finish(TerminateReason.COMPLETE)
        try:
            return self._finish(TerminateReason.COMPLETE, output=output.format.parse(answer))
        except OutputValidationError as error:
            self.text = answer
            if self._repairs == output.max_repairs:
                return self._finish(TerminateReason.COMPLETE, error)
            self._repairs += 1
            self._say(Message.user(repair_prompt(error)))
            return self._next_turn()

    def _finish(
        self, reason: TerminateReason, error: AgentError | None = None, output: T | None = None
    ) -> Finish:
        self._close_round()
        typed = self.definition.output_config is not None
        result: AgentResult[Any] = AgentResult(
            success=error is None,
            output=output if typed else self.text,
            metadata={
                "run_id": self._start.run_id,
                "trace_id": self._start.trace_id,
                "agent": self._start.agent,
                "model": self._config.model,
            },
            errors=[] if error is None else [error],
            usage=AgentUsage.of(self.ledger.usage, round(self._elapsed * 1000)),
            raw_content=self.text,
            terminate_reason=reason,
            turn_count=self.turn,
            messages=self.history,
            tool_calls=self._records,
            validated=error is None or not typed,
        )
        return Finish(result)

    def _stop_at_limit(self, reason: TerminateReason) -> Finish:
        return self._finish(reason, limit_error(reason, self.ledger.limits))

    def _interruption(self, entry: Interrupted) -> AgentError:
        if entry.reason is TerminateReason.AWAITING_APPROVAL:
            call = self.step.calls[0].call if isinstance(self.step, AwaitApproval) else None
            return ApprovalRequiredError(
                entry.message or f"The tool {call.tool_name if call else ''!r} needs a person's approval.",
                tool_name=call.tool_name if call else "",
                call_id=call.id if call else "",
            )
        because = f": {entry.message}" if entry.message else ""
        return AbortedError(f"The run was stopped{because}.", reason=entry.message)

    # The context window -----------------------------------------------------------------------------------------

    def _is_full(self) -> bool:
        if self._window is None:
            return False
        answer = min(self._config.max_tokens or _USUAL_ANSWER, self._window // 4)
        return self.context_tokens + answer > self._window

    def _compact(self) -> CallModel | None:
        """Ask for a summary of the older turns, unless there are none or it can not be afforded."""
        head, window = self._start.head, self._window or self.context_tokens
        cut = compaction.newest_turns(self.history, head, window // 2)
        if cut - head < 2 or cut == len(self.history) or self._compacted_turn == self.turn:
            return None
        request = compaction.summary_request(self.history[head:cut], self._config, window)
        room = self._room(request.config.max_tokens, compaction.request_tokens(request))
        if isinstance(room, TerminateReason):
            return None
        self._cut, self._compacted_turn = cut, self.turn
        request = replace(request, config=replace(request.config, max_tokens=room))
        return CallModel(request, self.turn, compaction=True)

    def _summarised(self, summary: str) -> Step:
        head, cut = self._start.head, self._cut
        summary = summary or compaction.plain_summary(self.history[head:cut])
        self.history = compaction.compacted(self.history, head, cut, summary)
        self.compactions += 1
        self._recount_context()
        return self._next_turn()

    def _recount_context(self) -> None:
        tools = sum(
            compaction.estimate_tokens(f"{tool.description}{tool.parameters}") for tool in self._offered
        )
        said = sum(compaction.message_tokens(message) for message in self.history)
        self.context_tokens = compaction.estimate_tokens(self._system) + tools + said

    def _say(self, message: Message, counted_tokens: int = 0) -> None:
        """Add a message; the context then has as many tokens as the provider counted, or as are estimated."""
        if message.parts:  # no provider takes an empty message
            self.history = self.history.extended(message)
        self.context_tokens = counted_tokens or self.context_tokens + compaction.message_tokens(message)

    @property
    def _elapsed(self) -> float:
        return max(self._now - self._start.at, 0.0)


def _unpriced(model: str) -> InvalidInputError:
    return InvalidInputError(
        f"max_cost_usd is set, but what {model!r} costs is not known, so the limit can not be kept. "
        "Add its price, or limit max_total_tokens instead.",
        field="run_config.max_cost_usd",
    )


def _refused(response: Response) -> RefusalError:
    said = f" It said: {response.content[:200]}" if response.content else ""
    return RefusalError(f"The model declined to answer.{said} Rephrase the task or use another model.")


def _cut_off(reason: StopReason) -> LimitExceededError:
    if reason is StopReason.MAX_TOKENS:
        return LimitExceededError(
            "The answer was cut off at the token limit of one answer. Raise ModelConfig.max_tokens.",
            limit="max_tokens",
        )
    return LimitExceededError(
        "The answer was cut off because the context window was full. Shorten the task or its tool results.",
        limit="context_window",
    )
