"""The span of a run, and the spans in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from opentelemetry.context import attach
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.util.types import AttributeValue

_Attributes: TypeAlias = Mapping[str, AttributeValue]


class RunSpan:
    """The span of a run. It belongs into the span that is current when it begins.

    Args:
        tracer: What starts it.
        name: Its name.
        at: When it began, in seconds.
        attributes: Its attributes.
    """

    __slots__ = ("_context", "_span", "_tracer")

    def __init__(self, tracer: Tracer, name: str, at: float, attributes: _Attributes) -> None:
        self._span = tracer.start_span(name, attributes=attributes, start_time=_nanoseconds(at))
        self._context = set_span_in_context(self._span)
        self._tracer = tracer

    def add_call(
        self, name: str, began: float, ended: float, attributes: _Attributes, error: str | None = None
    ) -> None:
        """Tell of a model call that is over; it failed if there is an error."""
        _end(self._start(name, attributes, SpanKind.CLIENT, began), ended, error)

    def start_tool(self, name: str, at: float, attributes: _Attributes) -> Span:
        """Start the span of a tool call."""
        return self._start(name, attributes, SpanKind.INTERNAL, at)

    def enter(self, tool: Span) -> None:
        """Make the span of a tool call the current one for the rest of the task."""
        attach(set_span_in_context(tool, self._context))

    def end_tool(self, tool: Span, at: float, error: str | None = None) -> None:
        """End the span of a tool call; it failed if there is an error."""
        _end(tool, at, error)

    def end(self, at: float, attributes: _Attributes, error: str | None = None) -> None:
        """End the span of the run; it failed if there is an error."""
        self._span.set_attributes(attributes)
        _end(self._span, at, error)

    def _start(self, name: str, attributes: _Attributes, kind: SpanKind, at: float) -> Span:
        return self._tracer.start_span(name, self._context, kind, attributes, start_time=_nanoseconds(at))


def _end(span: Span, at: float, error: str | None) -> None:
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(StatusCode.ERROR, error)
    span.end(_nanoseconds(at))


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
