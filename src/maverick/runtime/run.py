"""One run in progress: its loop, its ids, and those who watch it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias

from typing_extensions import TypeVar

from maverick.loop.entries import Entry, RunStarted, ToolFinished
from maverick.loop.event_mapper import EventMapper
from maverick.loop.events import AgentActivityEvent
from maverick.loop.machine import AgentLoop
from maverick.loop.result import AgentResult
from maverick.loop.steps import Finish, RunTools, Step
from maverick.model import LLMClient, TextDelta, ThinkingDelta
from maverick.runtime.event_log import ids_of, log_failure
from maverick.runtime.keeper import RunKeeper
from maverick.runtime.run_clock import RunClock
from maverick.runtime.toolset import Toolset
from maverick.runtime.tracing import RunTracer
from maverick.runtime.worker import Predecessor

T = TypeVar("T", default=str)

Listener: TypeAlias = Callable[[AgentActivityEvent], object]


class Run(Generic[T]):
    """What the driver knows of a run.

    Args:
        start: The entry it begins with.
        loop: The pure loop it drives.
        client: The model it calls.
        toolset: The tools it may run.
        listeners: Who is told what happens.
        keeper: What writes it down, if it is to be resumed one day.
        clock: Tells when things happen in it.
        predecessor: Who worked on it before, if somebody did.
        tracer: What tells OpenTelemetry of it, if somebody asked for that.
    """

    __slots__ = (
        "_mapper",
        "client",
        "clock",
        "keeper",
        "listeners",
        "loop",
        "predecessor",
        "start",
        "toolset",
        "tracer",
    )

    def __init__(
        self,
        start: RunStarted,
        loop: AgentLoop[T],
        client: LLMClient,
        toolset: Toolset,
        listeners: Sequence[Listener],
        keeper: RunKeeper | None,
        clock: RunClock,
        predecessor: Predecessor | None = None,
        tracer: RunTracer | None = None,
    ) -> None:
        self.start = start
        self.loop = loop
        self.client = client
        self.toolset = toolset
        self.keeper = keeper
        self.clock = clock
        self.predecessor = predecessor
        self.tracer = tracer
        self.listeners = listeners
        self._mapper = EventMapper(loop, start.run_id, start.trace_id, start.agent) if listeners else None

    @property
    def ids(self) -> dict[str, Any]:
        """What ties a log line to this run."""
        return {
            "run_id": self.start.run_id,
            "trace_id": self.start.trace_id,
            "agent": "/".join(self.start.agent),
        }

    @property
    def watched(self) -> bool:
        """Whether anybody listens, so that the answer is worth streaming."""
        return self._mapper is not None

    async def record(self, entry: Entry) -> Step:
        """Write down what happened, tell those who watch, and say what to do next.

        Raises:
            JournalError: It could not be written down; nothing that follows from it may be done.
        """
        keeper = self.keeper
        if keeper is not None:
            await keeper.keep(entry)
        step = self.loop.feed(entry)
        if keeper is not None:
            if isinstance(step, Finish):
                await keeper.finish(step.result)
            elif isinstance(entry, ToolFinished) and isinstance(step, RunTools):
                keeper.write_soon()
        if self.tracer is not None:
            self.tracer.observe(entry, step)
        if self._mapper is not None:
            for event in self._mapper.events_of(entry):
                self._emit(event)
        return step

    def recall(self, entry: Entry) -> Step:
        """Take in what is already written down; those who watch were told of it when it happened."""
        step = self.loop.feed(entry)
        if self._mapper is not None:
            for _ in self._mapper.events_of(entry):
                pass
        return step

    def leave(self, result: AgentResult[T]) -> AgentResult[T]:
        """Tell those who watch that the run is parked, or had ended before, with what there is of its result."""
        now = self.clock.now()
        if self.tracer is not None:
            self.tracer.end(now, result)
        if self._mapper is not None:
            self._emit(self._mapper.end(result, now))
        return result

    def hear(self, delta: TextDelta | ThinkingDelta, at: float) -> None:
        """Tell those who watch of a piece of the answer."""
        if self._mapper is not None:
            event = self._mapper.delta(delta, at)
            if event is not None:
                self._emit(event)

    def _emit(self, event: AgentActivityEvent) -> None:
        for listener in self.listeners:
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - a broken observer must not break what it observes
                log_failure(logging.ERROR, f"A listener failed on {event.type}", error, ids_of(event))
