"""Those who watch a run: listeners, a stream of its events, and the log, which never has what was said (promise P9)."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

from maverick.loop import events
from maverick.loop.events import AgentActivityEvent
from maverick.misuse import refuse
from maverick.telemetry import log, logger

R = TypeVar("R")

Listener: TypeAlias = Callable[[AgentActivityEvent], object]
"""Called with each event of a run."""

_FIGURES = (
    "turn_number", "tool_call_id", "outcome", "duration_ms", "attempt", "delay", "context_tokens", "tokens",
    "approved",
)  # fmt: skip


def listeners_of(on_activity: Listener | None) -> list[Listener]:
    """The listeners of a run: the caller's, and the log if it is enabled."""
    listeners: list[Listener] = [log_event] if logger.isEnabledFor(logging.INFO) else []
    if on_activity is None:
        return listeners
    if not callable(on_activity):
        refuse("on_activity", f"expected a function that takes an event, such as print, got {on_activity!r}.")
    if is_async(on_activity):
        refuse("on_activity", "expected a plain function; to await something for each event, use stream().")
    return [*listeners, on_activity]


def is_async(function: object) -> bool:
    """Whether calling it makes a coroutine: a function, or an object whose ``__call__`` is one."""
    called = getattr(function, "__call__", None)  # noqa: B004 - it may be async
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def log_event(event: AgentActivityEvent) -> None:
    """Write an event to the log; pieces of an answer only at debug level."""
    level = logging.DEBUG if isinstance(event, events.ContentChunk | events.Thinking) else logging.INFO
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
        case events.ToolCallStart(tool_call=call):
            return {"tool": call.tool_name, "tool_call_id": call.id}
        case events.ErrorEvent(error=error):
            return {"error": type(error).__name__, "kind": error.kind.value, "text": str(error)}
        case events.UsageUpdated(usage=usage):
            return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        case events.ContentChunk(content=text) | events.Thinking(content=text):
            return {"characters": len(text)}
        case events.RunEnd(result=result):
            return {
                "terminate_reason": result.terminate_reason.value,
                "turn_count": result.turn_count,
                "input_tokens": result.usage.input_tokens,
                "output_tokens": result.usage.output_tokens,
                "cost_usd": result.usage.total_cost_usd,
                "duration_ms": result.usage.duration_ms,
            }
    return {}


class EventStream(Generic[R]):
    """Starts a run and iterates over its events; leaving the ``async with`` block stops the run."""

    def __init__(self, start: Callable[[Listener], Coroutine[Any, Any, R]]) -> None:
        self._start = start
        self._events: deque[AgentActivityEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        self.result = asyncio.ensure_future(self._start(self._put))
        """What the run returns, once its last event was read."""
        self.result.add_done_callback(self._wake)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.result.cancel()
        await asyncio.wait([self.result])

    async def __aiter__(self) -> AsyncIterator[AgentActivityEvent]:
        events = self._events
        while True:
            while events:
                yield events.popleft()
            if self.result.done():
                return
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def _put(self, event: AgentActivityEvent) -> None:
        self._events.append(event)
        self._wake()

    def _wake(self, _: object = None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
