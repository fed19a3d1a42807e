"""A run as OpenTelemetry spans and metrics, following the conventions for generative AI.

A span for the run, one for each model call and one for each tool call; a subagent's run is a span in the tool call that
started it. They hold names, ids and figures, never what was said (promise P9).

This module imports OpenTelemetry, so it is loaded only when runs are traced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.context import attach
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

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
from maverick.model import Response, Usage
from maverick.telemetry import Instruments

_VENDORS = {"claude": "anthropic", "claude-sdk": "anthropic", "claude-code": "anthropic"}
"""What the conventions call the providers that they have other names for."""


class RunTracer:
    """Makes the spans and metrics of one run. Its span is a child of the span that is current when it begins."""

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
        self._run: Span | None = None
        self._began = 0.0
        self._called: ModelCalled | None = None
        self._tools: dict[int, Span] = {}
        """The spans of the tool calls that run, by their place in the turn."""
        self._turns = 0
        self._usage = Usage()

    def observe(self, entry: Entry, step: Step, *, goes_on: bool = False) -> None:
        """Trace an entry and what the loop answered to it; ``goes_on`` if words for the run keep it from ending."""
        if self._run is None:
            self._run = self._begin(entry.at)
        match entry:
            case ModelCalled():
                self._called = entry
                self._turns += entry.attempt == 1 and not entry.compaction
            case ModelReplied(response=response) if self._called is not None:
                self._end_call(self._called, entry.at, _figures(response))
                self._count(response.usage)
            case ModelFailed(error=error) if self._called is not None:
                self._end_call(self._called, entry.at, {}, type(error).__name__)
            case ToolsStarted() if isinstance(step, RunTools):
                for planned in step.calls:
                    self._tool(planned, entry.at)
            case ToolFinished(index=index, outcome=outcome) if index in self._tools:
                error_type = None if outcome is ToolOutcome.FINISHED else outcome.value
                _end(self._tools.pop(index), entry.at, error_type)
        if isinstance(step, Finish) and not goes_on:
            self.end(entry.at, step.result)

    def enter(self, planned: PlannedCall, at: float) -> None:
        """Make the span of a tool call the current one of the task that runs it."""
        if self._run is not None:
            attach(set_span_in_context(self._tool(planned, at)))

    def end(self, at: float, result: AgentResult[Any], reason: str = "") -> None:
        """End the span of a run that is over, waits for a person or was handed over (``reason``)."""
        run, self._run = self._run, None
        if run is None:
            return
        reason = reason or result.terminate_reason.value
        if self._called is not None:
            self._end_call(self._called, at, {}, reason)
        for tool in self._tools.values():
            _end(tool, at, reason)
        self._tools = {}
        self._measure(at - self._began, reason)
        run.set_attributes(
            {
                "gen_ai.usage.input_tokens": result.usage.input_tokens,
                "gen_ai.usage.output_tokens": result.usage.output_tokens,
                "maverick.turns": result.turn_count,
                "maverick.terminate_reason": reason,
            }
        )
        if result.usage.total_cost_usd is not None:
            run.set_attribute("maverick.cost_usd", result.usage.total_cost_usd)
        _end(run, at, None if result.success else reason)

    def _begin(self, at: float) -> Span:
        self._began = at
        start, agent = self._start, self._start.agent[-1]
        attributes = {
            **self._labels,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "maverick.run_id": start.run_id,
            "maverick.trace_id": start.trace_id,
        }
        name = f"invoke_agent {agent}"
        return self._instruments.tracer.start_span(name, attributes=attributes, start_time=_nanoseconds(at))

    def _child(self, name: str, kind: SpanKind, at: float, attributes: Mapping[str, AttributeValue]) -> Span:
        context = None if self._run is None else set_span_in_context(self._run)
        return self._instruments.tracer.start_span(
            name, context, kind, attributes, start_time=_nanoseconds(at)
        )

    def _end_call(
        self, called: ModelCalled, at: float, figures: Mapping[str, AttributeValue], error: str | None = None
    ) -> None:
        self._called = None
        call = {"maverick.turn": called.turn, "maverick.attempt": called.attempt}
        span = self._child(self._call_name, SpanKind.CLIENT, called.at, {**self._labels, **call, **figures})
        _end(span, at, error)
        labels = self._labels if error is None else {**self._labels, "error.type": error}
        self._instruments.duration.record(max(at - called.at, 0.0), labels)

    def _count(self, usage: Usage) -> None:
        self._usage += usage
        if usage.cost_usd:
            self._instruments.cost.add(usage.cost_usd, self._labels)

    def _tool(self, planned: PlannedCall, at: float) -> Span:
        """The span of a tool call, which begins now if it has not."""
        tool = self._tools.get(planned.index)
        if tool is None:
            call = planned.call
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.tool_name,
                "gen_ai.tool.call.id": call.id,
            }
            name = f"execute_tool {call.tool_name}"
            tool = self._tools[planned.index] = self._child(name, SpanKind.INTERNAL, at, attributes)
        return tool

    def _measure(self, seconds: float, reason: str) -> None:
        """Record the metrics of the run as a whole."""
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self._start.agent[-1]}
        instruments, labels, used = self._instruments, {**self._labels, **agent}, self._usage
        instruments.tokens.record(used.input_tokens, {**labels, "gen_ai.token.type": "input"})
        instruments.tokens.record(used.output_tokens, {**labels, "gen_ai.token.type": "output"})
        ended = {**labels, "maverick.terminate_reason": reason}
        instruments.turns.record(self._turns, ended)
        instruments.run_duration.record(max(seconds, 0.0), ended)
        self._usage, self._turns = Usage(), 0


def _figures(response: Response) -> dict[str, AttributeValue]:
    usage = response.usage
    figures: dict[str, AttributeValue] = {
        "gen_ai.response.finish_reasons": (response.stop_reason.value,),
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
    }
    return figures if usage.cost_usd is None else {**figures, "maverick.cost_usd": usage.cost_usd}


def _end(span: Span, at: float, error: str | None) -> None:
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(StatusCode.ERROR, error)
    span.end(_nanoseconds(at))


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
