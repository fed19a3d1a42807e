"""A run as OpenTelemetry spans and metrics, by the conventions for generative AI.

A span for the run, one for each model call and one for each tool call; a subagent's run is a span in the tool call that
started it. They hold names, ids and figures, never what was said (promise P9).

A tool's span begins when the tool does, for what the tool does belongs into it. All else is noted, and told in one go
when the run ends, a second has passed or much was noted: entries have their own times, so that nothing is lost by it, and
code that has just run costs a third of code that has not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from maverick.loop.entries import (
    Entry,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    RunStarted,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.result import AgentResult, ToolOutcome
from maverick.loop.steps import Finish, RunTools, Step
from maverick.loop.tool_round import PlannedCall
from maverick.telemetry import Instruments

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from maverick.telemetry.run_span import RunSpan

_VENDORS = {"claude": "anthropic", "claude-sdk": "anthropic", "claude-code": "anthropic"}
"""What the conventions call the providers that they have other names for."""

_PATIENCE = 1.0
"""Seconds after which what was noted is told."""

_MANY = 1024
"""How many notes are told in one go at most, so that the event loop is not held up."""


class RunTracer:
    """Tells OpenTelemetry of one run, entry by entry. Its span belongs into the span that is current when it begins.

    Args:
        instruments: What to tell it with.
        start: The entry the run begins with.
        model: The model as its definition names it, ``provider:model``.
    """

    __slots__ = (
        "_began",
        "_call_name",
        "_called",
        "_cost",
        "_input_tokens",
        "_instruments",
        "_labels",
        "_notes",
        "_output_tokens",
        "_run",
        "_start",
        "_timer",
        "_tools",
        "_turn",
        "_turns",
    )

    def __init__(self, instruments: Instruments, start: RunStarted, model: str) -> None:
        provider, _, name = model.partition(":")
        self._instruments = instruments
        self._start = start
        self._call_name = f"chat {name or provider}"
        self._labels = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _VENDORS.get(provider, provider),
            "gen_ai.request.model": name or provider,
        }
        self._notes: list[tuple[Entry, Step]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._run: RunSpan | None = None
        self._called: ModelCalled | None = None
        self._turn = 0
        self._turns = 0
        self._began = 0.0
        self._tools: dict[tuple[int, int], Span] = {}
        self._input_tokens = 0
        self._output_tokens = 0
        self._cost = 0.0

    def observe(self, entry: Entry, step: Step) -> None:
        """Take note of an entry and of what the loop answered to it."""
        if self._timer is None:
            self._prepare(entry)
        self._notes.append((entry, step))
        if type(step) is Finish:
            self.end(entry.at, step.result)
        elif len(self._notes) == _MANY:
            self._tell()

    def enter(self, turn: int, planned: PlannedCall, at: float) -> None:
        """Begin the span of a tool call, and make it the current one of the task that runs it."""
        if self._run is not None:
            self._run.enter(self._tool(self._run, turn, planned, at))

    def end(self, at: float, result: AgentResult[Any]) -> None:
        """Tell that the run is over, or that it waits for a person."""
        self._tell()
        run, self._run = self._run, None
        if run is None:
            return
        reason = result.terminate_reason.value
        if self._called is not None:
            self._tell_failed_call(run, self._called, at, reason)
        for tool in self._tools.values():
            run.end_tool(tool, at, reason)
        self._called, self._tools = None, {}
        self._measure(at - self._began, reason)
        attributes: dict[str, Any] = {
            "gen_ai.usage.input_tokens": result.usage.input_tokens,
            "gen_ai.usage.output_tokens": result.usage.output_tokens,
            "maverick.turns": result.turn_count,
            "maverick.terminate_reason": reason,
        }
        if result.usage.total_cost_usd is not None:
            attributes["maverick.cost_usd"] = result.usage.total_cost_usd
        run.end(at, attributes, None if result.success else reason)

    def _prepare(self, entry: Entry) -> None:
        """Begin the run's span, if it has not begun, and see to it that what is noted from now on is told."""
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self._tell)
        if self._run is None:
            from maverick.telemetry.run_span import RunSpan  # OpenTelemetry is loaded on use

            self._began = entry.at
            start, agent = self._start, self._start.agent[-1]
            attributes = {
                **self._labels,
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": agent,
                "maverick.run_id": start.run_id,
                "maverick.trace_id": start.trace_id,
            }
            self._run = RunSpan(self._instruments.tracer, f"invoke_agent {agent}", entry.at, attributes)

    def _tell(self) -> None:
        """Tell what was noted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        notes, self._notes = self._notes, []
        if self._run is None:
            return
        for entry, step in notes:
            if type(step) is RunTools:
                self._turn = step.turn
            if (teller := self._TELLERS.get(type(entry))) is not None:
                teller(self, self._run, entry, step)
        if self._cost:
            self._instruments.cost.add(self._cost, self._labels)
            self._cost = 0.0

    def _model_called(self, run: RunSpan, entry: ModelCalled, step: Step) -> None:  # noqa: ARG002 - one shape for all
        self._called = entry
        self._turns += entry.attempt == 1 and not entry.compaction

    def _model_replied(self, run: RunSpan, entry: ModelReplied, step: Step) -> None:  # noqa: ARG002 - one shape for all
        called, self._called = self._called, None
        if called is None:
            return
        response = entry.response
        usage = response.usage
        attributes: dict[str, Any] = {
            **self._labels,
            "maverick.turn": called.turn,
            "maverick.attempt": called.attempt,
            "gen_ai.response.finish_reasons": (response.stop_reason.value,),
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        }
        if usage.cost_usd is not None:
            attributes["maverick.cost_usd"] = usage.cost_usd
            self._cost += usage.cost_usd
        run.add_call(self._call_name, called.at, entry.at, attributes)
        self._instruments.duration.record(max(entry.at - called.at, 0.0), self._labels)
        self._input_tokens += usage.input_tokens
        self._output_tokens += usage.output_tokens

    def _model_failed(self, run: RunSpan, entry: ModelFailed, step: Step) -> None:  # noqa: ARG002 - one shape for all
        called, self._called = self._called, None
        if called is not None:
            self._tell_failed_call(run, called, entry.at, type(entry.error).__name__)

    def _tell_failed_call(self, run: RunSpan, called: ModelCalled, at: float, error: str) -> None:
        turn = {"maverick.turn": called.turn, "maverick.attempt": called.attempt}
        run.add_call(self._call_name, called.at, at, {**self._labels, **turn}, error)
        labels = {**self._labels, "error.type": error}
        self._instruments.duration.record(max(at - called.at, 0.0), labels)

    def _tools_started(self, run: RunSpan, entry: ToolsStarted, step: Step) -> None:
        if isinstance(step, RunTools):
            for planned in step.calls:
                self._tool(run, entry.turn, planned, entry.at)

    def _tool_finished(self, run: RunSpan, entry: ToolFinished, step: Step) -> None:  # noqa: ARG002 - one shape for all
        tool = self._tools.pop((self._turn, entry.index), None)
        if tool is not None:
            outcome = entry.outcome
            run.end_tool(tool, entry.at, None if outcome is ToolOutcome.FINISHED else outcome.value)

    def _tool(self, run: RunSpan, turn: int, planned: PlannedCall, at: float) -> Span:
        """The span of a tool call, which begins now if it has not."""
        tool = self._tools.get((turn, planned.index))
        if tool is None:
            call = planned.call
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.tool_name,
                "gen_ai.tool.call.id": call.id,
            }
            tool = run.start_tool(f"execute_tool {call.tool_name}", at, attributes)
            self._tools[turn, planned.index] = tool
        return tool

    def _measure(self, seconds: float, reason: str) -> None:
        """Measure the run as a whole: to do so for each call would cost more than all else together."""
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self._start.agent[-1]}
        instruments, labels = self._instruments, {**self._labels, **agent}
        instruments.tokens.record(self._input_tokens, {**labels, "gen_ai.token.type": "input"})
        instruments.tokens.record(self._output_tokens, {**labels, "gen_ai.token.type": "output"})
        ended = {**labels, "maverick.terminate_reason": reason}
        instruments.turns.record(self._turns, ended)
        instruments.run_duration.record(max(seconds, 0.0), ended)
        self._input_tokens = self._output_tokens = self._turns = 0

    _TELLERS: ClassVar[dict[type[Any], Callable[[RunTracer, RunSpan, Any, Step], None]]] = {
        ModelCalled: _model_called,
        ModelReplied: _model_replied,
        ModelFailed: _model_failed,
        ToolsStarted: _tools_started,
        ToolFinished: _tool_finished,
    }
