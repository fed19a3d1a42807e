"""A run as OpenTelemetry spans and metrics, by the conventions for generative AI.

A span for the run, one for each model call and one for each tool call; a subagent's run is a span in the tool call that
started it. They hold names, ids and figures, never what was said (promise P9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from maverick.loop.entries import (
    Entry,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    Resumed,
    RunStarted,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.result import AgentResult, ToolOutcome
from maverick.loop.steps import Finish, RunTools, Step
from maverick.telemetry import Instruments

if TYPE_CHECKING:
    from opentelemetry.context import Context

_VENDORS = {"claude": "anthropic", "claude-sdk": "anthropic", "claude-code": "anthropic"}
"""What the conventions call the providers that they have other names for."""


class RunTracer:
    """Tells OpenTelemetry of one run, entry by entry.

    Args:
        instruments: What to tell it with.
        start: The entry the run begins with.
        model: The model as its definition names it, ``provider:model``.
        parent: The context its span belongs into; by default the caller's.
    """

    __slots__ = (
        "_call",
        "_input",
        "_instruments",
        "_labels",
        "_model",
        "_output",
        "_parent",
        "_run",
        "_start",
        "_tools",
    )

    def __init__(
        self, instruments: Instruments, start: RunStarted, model: str, parent: Context | None = None
    ) -> None:
        provider, _, name = model.partition(":")
        self._instruments = instruments
        self._start = start
        self._parent = parent
        self._model = name or provider
        self._labels: dict[str, str | int] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _VENDORS.get(provider, provider),
            "gen_ai.request.model": self._model,
        }
        self._input = self._labels | {"gen_ai.token.type": "input"}
        self._output = self._labels | {"gen_ai.token.type": "output"}
        self._run: _OpenSpan | None = None
        self._call: _OpenSpan | None = None
        self._tools: dict[int, _OpenSpan] = {}

    def context_of(self, index: int) -> Context | None:
        """The context of a tool call that runs, for a subagent's run."""
        tool = self._tools.get(index)
        return None if tool is None else tool.context

    def observe(self, entry: Entry, step: Step) -> None:
        """Tell of an entry and of what the loop answered to it."""
        if (teller := self._TELLERS.get(type(entry))) is not None:
            teller(self, entry, step)
        if isinstance(step, Finish):
            self.end(entry.at, step.result)

    def end(self, at: float, result: AgentResult[Any]) -> None:
        """Tell that the run is over, or that it waits for a person."""
        for left in (self._call, *self._tools.values()):
            if left is not None:
                left.end(at, error=result.terminate_reason.value)
        self._call, self._tools = None, {}
        if self._run is not None:
            self._run.end(
                at,
                error=None if result.success else result.terminate_reason.value,
                attributes={
                    "gen_ai.usage.input_tokens": result.usage.input_tokens,
                    "gen_ai.usage.output_tokens": result.usage.output_tokens,
                    "maverick.turns": result.turn_count,
                    "maverick.terminate_reason": result.terminate_reason.value,
                    **_cost(result.usage.total_cost_usd),
                },
            )
            self._run = None

    def _begun(self, entry: RunStarted | Resumed, step: Step) -> None:  # noqa: ARG002 - one shape for all
        start = self._start
        attributes = self._labels | {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": start.agent[-1],
            "maverick.run_id": start.run_id,
            "maverick.trace_id": start.trace_id,
        }
        name = f"invoke_agent {start.agent[-1]}"
        self._run = _OpenSpan(self._instruments, name, entry.at, self._parent, attributes)

    def _model_called(self, entry: ModelCalled, step: Step) -> None:  # noqa: ARG002 - one shape for all
        if self._run is not None:
            attributes = {**self._labels, "maverick.turn": entry.turn, "maverick.attempt": entry.attempt}
            name = f"chat {self._model}"
            self._call = _OpenSpan(self._instruments, name, entry.at, self._run.context, attributes)

    def _model_replied(self, entry: ModelReplied, step: Step) -> None:  # noqa: ARG002 - one shape for all
        response, call = entry.response, self._call
        if call is None:
            return
        self._call = None
        usage = response.usage
        call.end(
            entry.at,
            attributes={
                "gen_ai.response.finish_reasons": (response.stop_reason.value,),
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
                "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
                **_cost(usage.cost_usd),
            },
        )
        self._instruments.duration.record(max(entry.at - call.began, 0.0), self._labels)
        self._instruments.tokens.record(usage.input_tokens, self._input)
        self._instruments.tokens.record(usage.output_tokens, self._output)
        if usage.cost_usd is not None:
            self._instruments.cost.add(usage.cost_usd, self._labels)

    def _model_failed(self, entry: ModelFailed, step: Step) -> None:  # noqa: ARG002 - one shape for all
        call, error = self._call, type(entry.error).__name__
        if call is not None:
            self._call = None
            call.end(entry.at, error=error)
            labels = self._labels | {"error.type": error}
            self._instruments.duration.record(max(entry.at - call.began, 0.0), labels)

    def _tools_started(self, entry: ToolsStarted, step: Step) -> None:
        if isinstance(step, RunTools) and self._run is not None:
            for planned in step.calls:
                call = planned.call
                attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call.tool_name,
                    "gen_ai.tool.call.id": call.id,
                }
                name = f"execute_tool {call.tool_name}"
                self._tools[planned.index] = _OpenSpan(
                    self._instruments, name, entry.at, self._run.context, attributes
                )

    def _tool_finished(self, entry: ToolFinished, step: Step) -> None:  # noqa: ARG002 - one shape for all
        tool = self._tools.pop(entry.index, None)
        if tool is not None:
            tool.end(entry.at, error=None if entry.outcome is ToolOutcome.FINISHED else entry.outcome.value)

    _TELLERS: ClassVar[dict[type[Any], Callable[[RunTracer, Any, Step], None]]] = {
        RunStarted: _begun,
        Resumed: _begun,
        ModelCalled: _model_called,
        ModelReplied: _model_replied,
        ModelFailed: _model_failed,
        ToolsStarted: _tools_started,
        ToolFinished: _tool_finished,
    }


class _OpenSpan:
    """A span that has begun; it goes by the clock of the entries."""

    __slots__ = ("_span", "began", "context")

    def __init__(
        self,
        instruments: Instruments,
        name: str,
        at: float,
        parent: Context | None,
        attributes: Mapping[str, str | int],
    ) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        kind = SpanKind.CLIENT if name.startswith("chat ") else SpanKind.INTERNAL
        self.began = at
        self._span = instruments.tracer.start_span(
            name, context=parent, kind=kind, attributes=attributes, start_time=_nanoseconds(at)
        )
        self.context = set_span_in_context(self._span, parent)

    def end(
        self, at: float, *, error: str | None = None, attributes: Mapping[str, Any] | None = None
    ) -> None:
        if attributes:
            self._span.set_attributes(attributes)
        if error is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attribute("error.type", error)
            self._span.set_status(StatusCode.ERROR, error)
        self._span.end(_nanoseconds(at))


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)


def _cost(dollars: float | None) -> dict[str, float]:
    return {} if dollars is None else {"maverick.cost_usd": dollars}
