"""Structured log lines."""

from __future__ import annotations

import json
import logging
from typing import Any, TextIO

logger = logging.getLogger("maverick")
logger.addHandler(logging.NullHandler())

FIELDS = "maverick"
"""The attribute of a log record that holds its structured fields."""


def log(level: int, message: str, fields: dict[str, Any]) -> None:
    """Write one structured line, if anybody listens at this level."""
    if logger.isEnabledFor(level):
        logger.log(level, message, extra={FIELDS: fields})


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, message, and the record's own fields, run and trace ids among them."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line of JSON."""
        line: dict[str, Any] = {
            "time": record.created,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
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
