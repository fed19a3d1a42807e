"""Logs, traces and metrics. Nothing is set up, sent, or costs anything, until somebody asks for it."""

from __future__ import annotations

from maverick.telemetry.instruments import (
    Instruments,
    current_trace_id,
    instrument,
    instruments,
    uninstrument,
)
from maverick.telemetry.logs import FIELDS, JsonFormatter, configure_logging, log, logger

__all__ = [
    "FIELDS",
    "Instruments",
    "JsonFormatter",
    "configure_logging",
    "current_trace_id",
    "instrument",
    "instruments",
    "log",
    "logger",
    "uninstrument",
]
