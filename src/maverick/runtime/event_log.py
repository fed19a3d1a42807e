"""Events as structured log lines: ids and figures, never what was said (promise P9)."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any, TypeAlias

from maverick.exceptions import InvalidInputError
from maverick.loop.events import (
    AgentActivityEvent,
    ContentChunk,
    ErrorEvent,
    RunEnd,
    Thinking,
    ToolCallStart,
    UsageUpdated,
)
from maverick.telemetry import log, logger

Listener: TypeAlias = Callable[[AgentActivityEvent], object]
"""Called with each event of a run."""

_FIGURES = (
    "turn_number",
    "tool_call_id",
    "outcome",
    "duration_ms",
    "attempt",
    "delay",
    "context_tokens",
    "tokens",
    "approved",
)


def listeners_of(on_activity: Listener | None) -> list[Listener]:
    """The listeners of a run: the caller's, and the log if it is enabled."""
    if on_activity is not None and not callable(on_activity):
        raise InvalidInputError(
            f"on_activity: expected a function that takes an event, such as print, got {on_activity!r}.",
            field="on_activity",
        )
    if inspect.iscoroutinefunction(on_activity) or inspect.iscoroutinefunction(
        getattr(on_activity, "__call__", None)  # noqa: B004 - an object whose __call__ is async
    ):
        raise InvalidInputError(
            "on_activity: expected a plain function; to await something for each event, use stream().",
            field="on_activity",
        )
    listeners: list[Listener] = [log_event] if logger.isEnabledFor(logging.INFO) else []
    return listeners if on_activity is None else [*listeners, on_activity]


def log_event(event: AgentActivityEvent) -> None:
    """Write an event to the log; pieces of an answer only at debug level."""
    level = logging.DEBUG if isinstance(event, ContentChunk | Thinking) else logging.INFO
    figures = {name: getattr(event, name) for name in _FIGURES if hasattr(event, name)}
    log(level, event.type, ids_of(event) | figures | _details(event))


def log_failure(level: int, message: str, error: BaseException, fields: dict[str, Any]) -> None:
    """Write down that code of the user's failed, with its traceback; not its message, which may quote what was said."""
    fields = {"error": type(error).__name__, **fields}
    about = ", ".join(f"{name}: {value}" for name, value in fields.items())
    log(level, message, fields, text=f"{message} ({about})", error=error)


def ids_of(event: AgentActivityEvent) -> dict[str, Any]:
    """What ties a log line to its run and to the request it serves."""
    return {"run_id": event.run_id, "trace_id": event.trace_id, "agent": "/".join(event.agent)}


def _details(event: AgentActivityEvent) -> dict[str, Any]:
    match event:
        case ToolCallStart(tool_call=call):
            return {"tool": call.tool_name, "tool_call_id": call.id}
        case ErrorEvent(error=error):
            return {"error": type(error).__name__, "kind": error.kind.value, "text": str(error)}
        case UsageUpdated(usage=usage):
            return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        case ContentChunk(content=text) | Thinking(content=text):
            return {"characters": len(text)}
        case RunEnd(result=result):
            return {
                "terminate_reason": result.terminate_reason.value,
                "turn_count": result.turn_count,
                "input_tokens": result.usage.input_tokens,
                "output_tokens": result.usage.output_tokens,
                "cost_usd": result.usage.total_cost_usd,
                "duration_ms": result.usage.duration_ms,
            }
    return {}
