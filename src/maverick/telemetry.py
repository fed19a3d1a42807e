"""Logs, traces and metrics. Nothing is set up, sent or costs anything until a program asks for it."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, TextIO

from maverick.exceptions import ConfigError

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import TracerProvider

logger = logging.getLogger("maverick")
logger.addHandler(logging.NullHandler())

FIELDS = "maverick"
"""The attribute of a log record that holds its structured fields."""

_TOKEN_BUCKETS: list[float] = [4**power for power in range(14)]
_SECOND_BUCKETS = [0.01 * 2**power for power in range(14)]
_RUN_SECOND_BUCKETS = [0.01 * 4**power for power in range(11)]
_TURN_BUCKETS: list[float] = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]


def log(
    level: int, message: str, fields: dict[str, Any], *, text: str = "", error: BaseException | None = None
) -> None:
    """Write one structured line, if this level is enabled.

    Args:
        level: The level of the standard library.
        message: What happened, as a name that programs look for.
        fields: Ids and figures.
        text: What happened and what to do about it, for people; it takes the place of the name in plain logs.
        error: An error whose traceback belongs to it. Its message is left out: it may quote what was said, or a key.
    """
    if logger.isEnabledFor(level):
        found = None if error is None else _without_message(error)
        extra = {FIELDS: {"event": message, **fields} if text else fields}
        logger.log(level, text or message, exc_info=found, extra=extra)


def _without_message(error: BaseException, depth: int = 10) -> BaseException:
    """A stand-in for an error, with its type and its traceback, and those of its causes."""
    kind = type(error)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    stand_in: BaseException = type(kind.__name__, (Exception,), names)()
    stand_in.__traceback__ = error.__traceback__
    if depth and error.__cause__ is not None:
        stand_in.__cause__ = _without_message(error.__cause__, depth - 1)
    elif depth and error.__context__ is not None and not error.__suppress_context__:
        stand_in.__context__ = _without_message(error.__context__, depth - 1)
    return stand_in


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, message, and the record's own fields, run and trace ids among them."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line of JSON."""
        fields = dict(getattr(record, FIELDS, {}))
        text = record.getMessage()
        event = fields.pop("event", text)
        line: dict[str, Any] = {
            "time": record.created,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": event,
            **({} if event == text else {"text": text}),
            **fields,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def configure_logging(level: int | str = logging.INFO, *, stream: TextIO | None = None) -> logging.Handler:
    """Write Maverick's logs as JSON lines to a stream, by default standard error."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    logger.setLevel(level)
    return handler


class Instruments:
    """A tracer, and the metrics: those of the conventions for generative AI, and turns, duration and cost of runs."""

    def __init__(
        self, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        from opentelemetry import metrics, trace

        self.tracer = trace.get_tracer("maverick", tracer_provider=tracer_provider)
        meter = metrics.get_meter("maverick", meter_provider=meter_provider)

        def histogram(name: str, unit: str, buckets: list[float], description: str) -> Histogram:
            return meter.create_histogram(
                name, unit, description, explicit_bucket_boundaries_advisory=buckets
            )

        self.tokens = histogram(
            "gen_ai.client.token.usage", "{token}", _TOKEN_BUCKETS, "Tokens of a model call."
        )
        self.duration = histogram(
            "gen_ai.client.operation.duration", "s", _SECOND_BUCKETS, "How long a model call took."
        )
        self.turns = histogram("maverick.run.turns", "{turn}", _TURN_BUCKETS, "Turns of a run.")
        took = "How long a run took, from its start or its resumption to its end."
        self.run_duration = histogram("maverick.run.duration", "s", _RUN_SECOND_BUCKETS, took)
        self.cost = meter.create_counter(
            "maverick.cost", unit="{USD}", description="What model calls cost, as far as prices are known."
        )


_instruments: Instruments | None = None


def instrument(
    *, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
) -> None:
    """Trace and measure every run that begins from now on, by the GenAI conventions of OpenTelemetry.

    Spans hold names, ids and figures, never what was said.

    Args:
        tracer_provider: Where spans go; by default where the process has set OpenTelemetry up to send them.
        meter_provider: Where metrics go; by default the same.

    Raises:
        ConfigError: OpenTelemetry is not installed.
    """
    global _instruments  # noqa: PLW0603 - one switch for the whole process, as OpenTelemetry's own
    try:
        _instruments = Instruments(tracer_provider, meter_provider)
    except ImportError as error:
        raise ConfigError(
            "Traces need OpenTelemetry, which is not installed. Run: pip install 'maverick-agents[otel]'"
        ) from error


def uninstrument() -> None:
    """Trace no run that begins from now on."""
    global _instruments  # noqa: PLW0603 - see instrument()
    _instruments = None


def instruments() -> Instruments | None:
    """What to trace and measure with, if runs are traced."""
    return _instruments


def current_trace_id() -> str | None:
    """The id of the OpenTelemetry trace that the caller is in, if runs are traced and there is one."""
    if _instruments is None:
        return None
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    return format(context.trace_id, "032x") if context.is_valid else None
