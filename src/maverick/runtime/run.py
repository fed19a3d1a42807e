"""One run in progress: its loop, its ids, its clock, its listeners, and how long it waits for people."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Generic, Protocol

from msgspec.structs import replace
from typing_extensions import TypeVar

from maverick.journal.records import Words
from maverick.loop.entries import Entry, ModelCalled, RunStarted, ToolFinished
from maverick.loop.event_mapper import EventMapper
from maverick.loop.events import AgentActivityEvent
from maverick.loop.machine import AgentLoop
from maverick.loop.result import AgentResult, TerminateReason
from maverick.loop.steps import CallModel, Finish, RunTools, Step
from maverick.loop.tool_round import PlannedCall
from maverick.model import LLMClient, Opaque, TextDelta, ThinkingDelta, ToolContext
from maverick.runtime.event_log import Listener, ids_of, log_event, log_failure
from maverick.runtime.interruption import AbortSignal
from maverick.runtime.run_writer import RunWriter
from maverick.runtime.toolset import Toolset
from maverick.runtime.worker import Predecessor

if TYPE_CHECKING:
    from maverick.runtime.tracing import RunTracer

T = TypeVar("T", default=str)


class Clock(Protocol):
    """Something that ends what takes too long."""

    def stop_clock(self) -> None:
        """Count no time from here on."""
        ...

    def start_clock(self) -> None:
        """Count time again."""
        ...


class Waiting:
    """Whether a run waits for a person, itself or in a subagent; a ``with`` block is such a wait, and blocks may overlap.

    A process that ends meanwhile takes its wait with it: the time up to the entry ``Resumed`` does not count either.
    """

    def __init__(self) -> None:
        self.caller: Waiting | None = None
        """That of the run that called this one as a subagent, and waits with it."""
        self.has_waited = False
        """Whether there is time to :meth:`take`."""
        self._open = 0
        self._since = self._untold = 0.0
        self._clocks: list[Clock] = []

    def __enter__(self) -> None:
        if self.caller is not None:
            self.caller.__enter__()
        self._open += 1
        if self._open == 1:
            self.has_waited = True
            self._since = time.monotonic()
            for clock in self._clocks:
                clock.stop_clock()

    def __exit__(self, *exc_info: object) -> None:
        self._open -= 1
        if not self._open:
            self._untold += time.monotonic() - self._since
            for clock in self._clocks:
                clock.start_clock()
        if self.caller is not None:
            self.caller.__exit__()

    @property
    def is_open(self) -> bool:
        """Whether a person is being waited for."""
        return self._open > 0

    def add(self, clock: Clock) -> None:
        """Stop a clock while the run waits, too."""
        self._clocks.append(clock)
        if self._open:
            clock.stop_clock()

    def leave_clocks(self) -> None:
        """Stop none of them any more: the run is over."""
        self._clocks.clear()

    def take(self) -> float:
        """The seconds that the run has waited since this was last asked."""
        if self._open:
            now = time.monotonic()
            self._untold += now - self._since
            self._since = now
        self.has_waited = self.is_open
        untold, self._untold = self._untold, 0.0
        return untold


class RunClock:
    """Tells when things happen in a run.

    The clock of a computer is set, by its owner or by the network, and leaps when the computer has slept. Times that
    follow it would end a run by its limit, or give it hours more. Here only the beginning is read from it, so that the
    times are ones a person can read; they never go back, and limits count the time that the run really had. If the wall
    clock was set back since the newest time of a resumed run, it begins ``after`` that.
    """

    __slots__ = ("_ahead",)

    def __init__(self, after: float = 0.0) -> None:
        self._ahead = max(time.time(), after) - time.monotonic()

    def now(self) -> float:
        """What the clock shows, in seconds since the epoch."""
        return self._ahead + time.monotonic()


class Run(Generic[T]):
    """What the driver knows of a run."""

    def __init__(
        self,
        start: RunStarted,
        loop: AgentLoop[T],
        client: LLMClient,
        toolset: Toolset,
        listeners: Sequence[Listener],
        writer: RunWriter | None,
        clock: RunClock,
        predecessor: Predecessor | None = None,
        tracer: RunTracer | None = None,
        deps: object = None,
    ) -> None:
        self.start = start
        self.loop = loop
        self.client = client
        self.toolset = toolset
        self.writer = writer
        self.clock = clock
        self.predecessor = predecessor
        self.tracer = tracer
        self.deps = deps
        self.listeners = listeners
        self.handover: AbortSignal | None = None
        """What hands it over, and the runs of its subagents with it."""
        self.waiting = Waiting()
        """Whether it waits for a person."""
        self._is_typed = loop.definition.output_config is not None and any(
            listener is not log_event for listener in listeners
        )
        self._mapper = EventMapper(loop, start.run_id, start.trace_id, start.agent) if listeners else None
        self.watched = self._mapper is not None
        """Whether there are listeners, so that the answer is worth streaming."""

    @property
    def ids(self) -> dict[str, Any]:
        """What ties a log line to this run."""
        return {
            "run_id": self.start.run_id,
            "trace_id": self.start.trace_id,
            "agent": "/".join(self.start.agent),
        }

    def context(
        self, turn: int, deadline: float | None, planned: PlannedCall | None = None, session: object = None
    ) -> ToolContext[Any]:
        """What a tool, a hook or a validator may know of the run, and of the call it is about."""
        start = self.start
        key = f"{start.run_id}/{turn}"
        return ToolContext(
            run_id=start.run_id,
            trace_id=start.trace_id,
            agent=start.agent,
            turn=turn,
            call_id="" if planned is None else planned.call.id,
            idempotency_key=key if planned is None else f"{key}/{planned.index}",
            deadline=inf if deadline is None else deadline,
            user_id=start.user_id,
            session=session,
            deps=self.deps,
        )

    async def record(self, entry: Entry) -> Step:
        """Record what happened, tell the listeners, and say what to do next.

        Words for the run that wait in its journal come first: before the model is called, they are recorded in place of
        the call; and a run does not end with its answer, but continues with them.

        Raises:
            JournalError: It could not be written; nothing that follows from it may be done.
        """
        if self.waiting.has_waited:
            entry = replace(entry, waited=self.waiting.take())
        writer, words = self.writer, None
        if writer is not None:
            call = self.loop.step if type(entry) is ModelCalled else None
            words = await writer.write(entry, listens=isinstance(call, CallModel) and call.listens)
            if words is not None:
                return await self._take_in(writer, words)
        step = self.loop.feed(entry)
        if writer is not None:
            if isinstance(step, Finish):
                words = await writer.finish(step.result, listens=step.listens)
            elif isinstance(entry, ToolFinished) and isinstance(step, RunTools):
                writer.write_soon()
        goes_on = words is not None
        if self.tracer is not None:
            self.tracer.observe(entry, step, goes_on=goes_on)
        if self._mapper is not None:
            for event in self._mapper.events_of(entry, goes_on=goes_on):
                self._emit(event)
        return step if words is None or writer is None else await self._take_in(writer, words)

    async def _take_in(self, writer: RunWriter, words: Words) -> Step:
        """Record words for the run, and say what to do next."""
        said = replace(words.said, at=self.clock.now())
        await writer.take_in(words.number, said)
        return await self.record(said)

    def recall(self, entry: Entry) -> Step:
        """Feed an entry that the journal has already; the listeners were told of it when it happened."""
        step = self.loop.feed(entry)
        if self._mapper is not None:
            for _ in self._mapper.events_of(entry):
                pass
        return step

    def leave(self, result: AgentResult[T]) -> AgentResult[T]:
        """Tell the listeners that the run is parked, or had ended before, with what there is of its result."""
        now = self.clock.now()
        if self.tracer is not None:
            self.tracer.end(now, result)
        if self._mapper is not None:
            self._emit(self._mapper.end(result, now))
        return result

    async def hand_over(self) -> None:
        """Write what has happened; the listeners are told the rest where the run is resumed."""
        if self.writer is not None:
            await self.writer.hand_over()
        if self.tracer is not None:
            so_far = self.loop.outcome(TerminateReason.ABORTED)
            self.tracer.end(self.clock.now(), so_far, "handed_over")

    def hear(self, delta: TextDelta | ThinkingDelta | Opaque, at: float) -> None:
        """Tell the listeners of a piece of the answer."""
        if self._mapper is not None:
            event = self._mapper.delta(delta, at)
            if event is not None:
                self._emit(event)
            if self._is_typed and type(delta) is TextDelta:
                draft = self._mapper.partial_output(delta.text, at)
                if draft is not None:
                    self._emit(draft)

    def _emit(self, event: AgentActivityEvent) -> None:
        for listener in self.listeners:
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - a broken observer must not break what it observes
                log_failure(logging.ERROR, f"A listener failed on {event.type}", error, ids_of(event))
