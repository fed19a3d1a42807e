"""One run in progress: its loop, its ids, and those who watch it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeAlias

from typing_extensions import TypeVar

from maverick.loop.entries import Entry, RunStarted
from maverick.loop.events import AgentActivityEvent
from maverick.loop.machine import AgentLoop
from maverick.loop.narrator import Narrator
from maverick.loop.steps import Step
from maverick.model import LLMClient, TextDelta, ThinkingDelta
from maverick.runtime.event_log import ids_of
from maverick.runtime.toolset import Toolset
from maverick.telemetry import FIELDS, logger

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
        user_id: The verified user it acts for.
    """

    __slots__ = ("_narrator", "client", "listeners", "loop", "start", "toolset", "user_id")

    def __init__(
        self,
        start: RunStarted,
        loop: AgentLoop[T],
        client: LLMClient,
        toolset: Toolset,
        listeners: Sequence[Listener],
        user_id: str | None,
    ) -> None:
        self.start = start
        self.loop = loop
        self.client = client
        self.toolset = toolset
        self.user_id = user_id
        self.listeners = listeners
        self._narrator = Narrator(loop, start.run_id, start.trace_id, start.agent) if listeners else None

    @property
    def watched(self) -> bool:
        """Whether anybody listens, so that the answer is worth streaming."""
        return self._narrator is not None

    async def record(self, entry: Entry) -> Step:
        """Take in what happened, tell those who watch, and say what to do next."""
        step = self.loop.feed(entry)
        if self._narrator is not None:
            for event in self._narrator.tell(entry):
                self._emit(event)
        return step

    def hear(self, delta: TextDelta | ThinkingDelta, at: float) -> None:
        """Tell those who watch of a piece of the answer."""
        if self._narrator is not None:
            event = self._narrator.delta(delta, at)
            if event is not None:
                self._emit(event)

    def _emit(self, event: AgentActivityEvent) -> None:
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - a broken observer must not break what it observes; its error is logged
                logger.exception("A listener failed on %s", event.type, extra={FIELDS: ids_of(event)})
