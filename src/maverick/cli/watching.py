"""A run on the screen from its start to its end, unless somebody stops it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

from maverick.cli.progress import Progress
from maverick.cli.runs.spectator import Spectator
from maverick.cli.stop_signals import on_stop_signals
from maverick.loop import AgentResult
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import Listener
from maverick.runtime.event_stream import EventStream

Start: TypeAlias = Callable[[AbortSignal, Listener], Coroutine[Any, Any, AgentResult[Any]]]
"""Starts a run that stops when the signal is aborted, and tells the listener what happens."""


async def watch(spectator: Spectator, start: Start) -> AgentResult[Any]:
    """Show a run to its end; Ctrl-C and signals that ask the process to end stop it, and Ctrl-C twice kills it.

    Its events are shown outside of it: what fails here, as when nobody reads the output, stops the run.
    """
    stop = AbortSignal()
    with on_stop_signals(stop.abort) as spectator.signals:
        async with EventStream(partial(start, stop)) as events:
            async with _sign_of_life(spectator):
                async for event in events:
                    spectator.show(event)
            return await events.result


@asynccontextmanager
async def _sign_of_life(spectator: Spectator) -> AsyncIterator[None]:
    console = spectator.console
    if console.as_json or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    async with Progress(sys.stderr, lambda: not console.screen.mid_line, lambda: console.width) as progress:
        spectator.progress = progress
        try:
            yield
        finally:
            spectator.progress = None
