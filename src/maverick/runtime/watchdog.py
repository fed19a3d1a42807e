"""Says which tool blocks the event loop, while it does.

While the event loop is blocked no limit can be enforced. Nothing can be done about it from outside, but the tool can be
named. One thread for the whole process pings the event loops on which tools run, four times a second, and sleeps while
there are none.

A tool may also hold the GIL, in a thread or not, as a regular expression does. Then no thread runs, this one included;
it reports that as soon as it can.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from maverick.model import Tool, ToolCall
from maverick.runtime.run import Run
from maverick.telemetry import log

_TICK = 0.25
_BLOCKED = 1.0
"""Seconds without a sign of life after which something is said; then after twice as long, and so on."""
_SHARE = 0.8
"""How much of the time in which no thread ran a call has to have lasted, for it may have held the lock."""
_IDLE_TICKS = 20
"""How long the thread keeps ticking without tools, so that it is not woken for each of many short calls."""


class _Running(Struct, frozen=True, gc=False):
    """A tool call that runs."""

    call: ToolCall
    run: Run[Any]
    began: float


class _Pulse:
    """A sign of life that an event loop was asked for."""

    __slots__ = ("answered", "patience", "sent")

    def __init__(self, sent: float) -> None:
        self.sent = sent
        self.answered = False
        self.patience = _BLOCKED

    def answer(self) -> None:
        """Called by the event loop."""
        self.answered = True


class Watchdog:
    """Watches the event loops on which tools run."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again: the copy that a fork makes has no threads."""
        self._calls: dict[asyncio.Task[Any], _Running] = {}
        self._left: deque[tuple[_Running, float]] = deque(maxlen=100)
        self._pulses: dict[asyncio.AbstractEventLoop, _Pulse] = {}
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._ticked = 0.0

    def enter(self, task: asyncio.Task[Any], call: ToolCall, run: Run[Any]) -> None:
        """Name this call from here on if the event loop is blocked in its task."""
        self._calls[task] = _Running(call, run, time.monotonic())
        if not self._wake.is_set():
            self._ticked = time.monotonic()
            self._wake.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="maverick-watchdog", daemon=True)
                self._thread.start()

    def leave(self, task: asyncio.Task[Any]) -> None:
        """The call is over."""
        if (running := self._calls.pop(task, None)) is not None:
            self._left.append((running, time.monotonic()))

    def runs_with(self, tools: Iterable[Tool]) -> list[Run[Any]]:
        """The runs that wait for a call of one of these tools, on this event loop."""
        loop, meant = asyncio.get_running_loop(), {id(tool) for tool in tools}
        return [
            running.run
            for task, running in list(self._calls.items())
            if task.get_loop() is loop and id(running.run.toolset.tools[running.call.tool_name]) in meant
        ]

    def _watch(self) -> None:
        idle = 0
        while True:
            self._wake.wait()
            time.sleep(_TICK)
            idle = 0 if self._calls else idle + 1
            if idle >= _IDLE_TICKS:
                idle = 0
                self._wake.clear()
                if self._calls:  # it has come in between
                    self._wake.set()
            self._tick(time.monotonic())

    def _tick(self, now: float) -> None:
        held = now - self._ticked - _TICK
        self._ticked = now
        calls = list(self._calls.items())
        if held >= _BLOCKED:
            self._pulses.clear()
            ended = [*self._left, *((running, now) for _, running in calls)]
            _report([running for running, end in ended if end - running.began >= _SHARE * held], held)
        self._left.clear()
        loops = {task.get_loop() for task, _ in calls}
        for gone in self._pulses.keys() - loops:
            del self._pulses[gone]
        for loop in loops:
            self._feel(loop, now)

    def _feel(self, loop: asyncio.AbstractEventLoop, now: float) -> None:
        pulse = self._pulses.get(loop)
        if pulse is None or pulse.answered:
            self._pulses[loop] = pulse = _Pulse(now)
            try:
                loop.call_soon_threadsafe(pulse.answer)
            except RuntimeError:  # it was closed
                del self._pulses[loop]
        elif now - pulse.sent >= pulse.patience:
            pulse.patience *= 2
            here = {task: call for task, call in list(self._calls.items()) if task.get_loop() is loop}
            current = asyncio.current_task(loop)
            _report([here[current]] if current in here else here.values(), now - pulse.sent)


def _report(suspects: Iterable[_Running], seconds: float) -> None:
    """Name those who may have blocked the event loop: one if it is known, else all that ran."""
    named = list(suspects)
    for running in named:
        tool = running.call.tool_name
        fields = {"tool": tool, "tool_call_id": running.call.id, "suspects": len(named)}
        log(
            logging.WARNING,
            "tool_blocks_event_loop",
            running.run.ids | fields | {"seconds": round(seconds, 1)},
            text=f"The tool {tool!r} {'has' if len(named) == 1 else 'may have'} blocked the event loop for {seconds:.1f} s, "
            "and every other run with it. Write it without async, so that it runs in a thread, or await what takes long.",
        )


watchdog = Watchdog()
"""The one of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=watchdog.reset)
