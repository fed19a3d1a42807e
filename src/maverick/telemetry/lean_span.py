"""Spans for the SDK's own tracer that cost a tenth of its own.

Most of what a span of the SDK costs is its readiness to be changed: locks, checked and bounded attributes, room for
events and links. A model call or a tool call is told of when all is known about it, and almost never changed. So these
spans hold what they were given, become one of the SDK's the moment somebody wants to change them, and else are handed
to the span processors as they are. What is exported is the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from opentelemetry.sdk.trace import (
    ReadableSpan,
    SpanLimits,
    SpanProcessor,
    SynchronousMultiSpanProcessor,
    Tracer,
)
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, Sampler
from opentelemetry.trace import INVALID_SPAN, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.util.types import Attributes, AttributeValue

_FOLLOWS_PARENT = "localParentSampled:AlwaysOnSampler,localParentNotSampled:AlwaysOffSampler}"
_ENOUGH_ATTRIBUTES = 32
_UNSET = Status(StatusCode.UNSET)
_PLAIN_PROCESSORS = (SpanProcessor, BatchSpanProcessor, SimpleSpanProcessor)

_Attributes: TypeAlias = Mapping[str, AttributeValue]

_changing = threading.Lock()
"""Held while a span becomes one of the SDK's, or ends: rare, or short, so that one lock does for all spans."""


class LeanSpans:
    """The spans in a span of the SDK.

    Args:
        tracer: The tracer that started it.
        parent: The span.
        limits: What the spans in it are bounded by, once they are changed.
    """

    __slots__ = (
        "_flags",
        "_new_id",
        "_state",
        "_trace_id",
        "info",
        "limits",
        "parent",
        "processor",
        "resource",
        "scope",
        "start",
        "tracer",
    )

    def __init__(self, tracer: Tracer, parent: ReadableSpan, limits: SpanLimits) -> None:
        context: SpanContext = parent.context
        self.tracer = tracer
        self.limits = limits
        self.parent = context
        self.resource = parent.resource
        self.scope = parent.instrumentation_scope
        self.info = tracer.instrumentation_info
        self.processor = tracer.span_processor
        self.start = partial(LeanSpan, self)
        """Starts a span."""
        self._new_id = tracer.id_generator.generate_span_id
        self._trace_id, self._flags, self._state = context.trace_id, context.trace_flags, context.trace_state

    def new_context(self) -> SpanContext:
        """What identifies another span."""
        return SpanContext(self._trace_id, self._new_id(), False, self._flags, self._state)

    def add(
        self,
        name: str,
        attributes: _Attributes,
        kind: SpanKind,
        start_time: int,
        end_time: int,
        context: SpanContext | None = None,
    ) -> None:
        """Hand a span that is over to the span processors."""
        self.processor.on_end(
            ReadableSpan(
                name,
                context or self.new_context(),
                self.parent,
                self.resource,
                attributes,
                (),
                (),
                kind,
                self.info,
                _UNSET,
                start_time,
                end_time,
                self.scope,
            )
        )


class LeanSpan(Span):
    """A span that becomes one of the SDK's when it is changed.

    Args:
        spans: The spans it is one of.
        name: Its name.
        attributes: Its attributes.
        kind: Its kind.
        start_time: When it began, in nanoseconds.
    """

    __slots__ = ("_attributes", "_context", "_ended", "_full", "_kind", "_name", "_spans", "_start_time")

    def __init__(
        self, spans: LeanSpans, name: str, attributes: _Attributes, kind: SpanKind, start_time: int
    ) -> None:
        self._spans = spans
        self._name = name
        self._attributes = attributes
        self._kind = kind
        self._start_time = start_time
        self._context: SpanContext | None = None
        self._full: SdkSpan | None = None
        self._ended = False

    def get_span_context(self) -> SpanContext:
        """What identifies it; made when it is first asked for, since most spans have nothing in them."""
        with _changing:
            return self._identify()

    def is_recording(self) -> bool:
        """Whether it can still be changed."""
        return not self._ended

    def end(self, end_time: int | None = None) -> None:
        """End it, and hand it to the span processors."""
        with _changing:
            if self._ended:
                return
            self._ended = True
            context = self._identify()
        if end_time is None:
            end_time = time.time_ns()
        if self._full is not None:
            self._full.end(end_time)
            return
        self._spans.add(self._name, self._attributes, self._kind, self._start_time, end_time, context)

    def _identify(self) -> SpanContext:
        if self._context is None:
            self._context = self._spans.new_context()
        return self._context

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        """Add an attribute."""
        self._changeable().set_attribute(key, value)

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        """Add attributes."""
        self._changeable().set_attributes(attributes)

    def add_event(self, name: str, attributes: Attributes = None, timestamp: int | None = None) -> None:
        """Add an event."""
        self._changeable().add_event(name, attributes, timestamp)

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        """Add a link to another span."""
        self._changeable().add_link(context, attributes)

    def update_name(self, name: str) -> None:
        """Give it another name."""
        self._changeable().update_name(name)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Say whether what it stands for went well."""
        self._changeable().set_status(status, description)

    def record_exception(
        self,
        exception: BaseException,
        attributes: Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """Add an exception, as an event."""
        self._changeable().record_exception(exception, attributes, timestamp, escaped)

    def _changeable(self) -> Span:
        """A span of the SDK in this one's place; once it has ended, one that takes no notice."""
        with _changing:
            if self._ended:
                return INVALID_SPAN
            if self._full is None:
                self._full = self._make_full()
            return self._full

    def _make_full(self) -> SdkSpan:
        spans = self._spans
        full = _FullSpan(
            self._name,
            self._identify(),
            spans.parent,
            spans.tracer.sampler,
            resource=spans.resource,
            attributes=self._attributes,
            kind=self._kind,
            span_processor=spans.processor,
            instrumentation_info=spans.info,
            limits=spans.limits,
            instrumentation_scope=spans.scope,
        )
        full.start(self._start_time)
        return full


class _FullSpan(SdkSpan):
    """The SDK's span, which itself refuses to be made by others than its tracer."""


def lean_spans(tracer: object, parent: Span) -> LeanSpans | None:
    """The spans in a span, leanly; ``None`` if that might make a difference.

    It makes none if the tracer is the SDK's, its sampler has the spans of a trace follow their parent, its limits are
    wide enough for any span of ours, and no span processor wants to be told when a span begins.
    """
    if not isinstance(tracer, Tracer) or not isinstance(parent, ReadableSpan):
        return None
    limits = getattr(tracer, "_span_limits", None)
    if (
        parent.context.trace_flags.sampled
        and _follows_parent(tracer.sampler)
        and isinstance(limits, SpanLimits)
        and _is_wide(limits)
        and _is_told_of_ends_only(tracer.span_processor)
    ):
        return LeanSpans(tracer, parent, limits)
    return None


def _follows_parent(sampler: Sampler) -> bool:
    if isinstance(sampler, ParentBased):
        description: str = sampler.get_description()  # type: ignore[no-untyped-call]
        return description.endswith(_FOLLOWS_PARENT)
    return sampler is ALWAYS_ON


def _is_wide(limits: SpanLimits) -> bool:
    if limits.max_span_attribute_length is not None:
        return False
    return limits.max_span_attributes is None or limits.max_span_attributes >= _ENOUGH_ATTRIBUTES


def _is_told_of_ends_only(processor: SpanProcessor) -> bool:
    if type(processor) is SynchronousMultiSpanProcessor:
        return all(map(_is_told_of_ends_only, processor._span_processors))  # noqa: SLF001 - has no other way to ask
    return all(
        getattr(type(processor), hook, None) in {getattr(plain, hook, None) for plain in _PLAIN_PROCESSORS}
        for hook in ("on_start", "_on_ending")
    )
