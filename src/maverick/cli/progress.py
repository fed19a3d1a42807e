"""A progress line while a run prints nothing: what it waits for and for how long."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self, TextIO

from maverick.cli.formatting import fitted, terminal_width
from maverick.cli.screen import Screen, shortened
from maverick.loop import events
from maverick.tui.figures import duration
from maverick.tui.plain_text import printable

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_BETWEEN_FRAMES = 0.1
_PATIENCE = 0.6
"""Seconds of silence before it shows itself: what is quick needs no sign."""


@asynccontextmanager
async def progress_line(screen: Screen) -> AsyncIterator[Progress | None]:
    """The progress line of this process for the length of an ``async with`` block; none unless a person watches."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    async with Progress(sys.stderr, lambda: not screen.mid_line) as progress:
        yield progress


class Progress:
    """Draws itself while nothing else is written, for the length of an ``async with`` block.

    Args:
        terminal: The terminal to draw on.
        is_free: Whether the line may be drawn on, since nothing unfinished is on it.
    """

    def __init__(self, terminal: TextIO, is_free: Callable[[], bool]) -> None:
        self._terminal = terminal
        self._is_free = is_free
        self.paused = False
        """Whether it stays away, since a person is asked something."""
        self._doing, self._detail = "starting", ""
        self._since = self._quiet_since = time.monotonic()
        self._drawn = False
        self._ticking: asyncio.Task[None] | None = None

    def follow(self, event: events.AgentActivityEvent) -> None:
        """Take the line away, since the event is about to be shown, and know from it what the run does next."""
        self.clear()
        match event:
            case events.TurnStart() | events.RetryScheduled() | events.ToolCallEnd():
                doing = "waiting for the model"
            case events.Thinking():
                doing = "thinking"
            case events.ContentChunk():
                doing = "writing"
            case events.ToolCallStart(tool_call=call):
                doing = call.tool_name
            case events.ApprovalRequested(tool_call=call):
                doing = f"waiting for approval of {call.tool_name}"
            case _:
                return
        if doing != self._doing or isinstance(event, events.ToolCallStart):
            self.doing(doing)

    def doing(self, what: str) -> None:
        """Set what the run does from now on."""
        self._doing, self._detail, self._since = what, "", time.monotonic()

    def note(self, detail: str) -> None:
        """Say how far it is."""
        self._detail = detail

    def clear(self) -> None:
        """Take the line away, since something is about to be written."""
        self._quiet_since = time.monotonic()
        if self._drawn:
            self._terminal.write("\r\033[K")
            self._terminal.flush()
            self._drawn = False

    async def __aenter__(self) -> Self:
        self._ticking = asyncio.ensure_future(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.wait([self._ticking])
        self.clear()

    async def _tick(self) -> None:
        frame = 0
        while True:
            await asyncio.sleep(_BETWEEN_FRAMES)
            now = time.monotonic()
            if now - self._quiet_since >= _PATIENCE and self._is_free() and not self.paused:
                frame = (frame + 1) % len(_FRAMES)
                said = f"{_FRAMES[frame]} {self._doing} ({duration(now - self._since)}) {self._detail}"
                line = fitted(shortened(printable(said)), terminal_width() - 1)
                self._terminal.write(f"\r\033[K\033[2m{line}\033[0m")
                self._terminal.flush()
                self._drawn = True
