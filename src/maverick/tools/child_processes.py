"""The processes that the tool calls of a run have started, and their end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType

from maverick.exceptions import ToolError
from maverick.loop.entries import RunStarted
from maverick.model import ToolCall
from maverick.telemetry import log
from maverick.tools.process_starts import Starter, current_starter, hear_of_starts
from maverick.tools.process_tree import Process, bury, children_of, end_trees, find_process, is_there, running
from maverick.tools.threads import run_in_background, run_in_thread

_MANY = 64
"""So many processes are remembered before it is looked which of them are gone."""


class ChildProcesses:
    """What the tool calls of one run have started. Entered for the length of the run, it ends what they leave.

    Args:
        start: How the run began; its ids are in the log line about processes that were left.
    """

    __slots__ = ("_cut_off", "_ending", "_outer", "_start", "_started", "_waiting")

    def __init__(self, start: RunStarted) -> None:
        self._start = start
        self._started: dict[Process, ToolCall] = {}
        self._waiting: dict[int, tuple[ToolCall, frozenset[int]]] = {}
        self._cut_off: set[str] = set()
        self._ending = threading.Lock()
        self._outer: tuple[Starter, ToolCall] | None = None

    async def __aenter__(self) -> None:
        self._outer = current_starter.get()
        if self._outer is not None:  # the run of a tool that runs agents is not that tool's to end
            current_starter.set(None)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._outer is not None:
            current_starter.set(self._outer)
        if self._waiting or any(map(is_there, list(self._started))):
            await run_in_thread(self._end, None)

    def watch(self, call: ToolCall) -> None:
        """Count what is started from here on, in this task and below it, as this call's."""
        hear_of_starts()
        current_starter.set((self, call))

    def cut_off(self, call: ToolCall) -> None:
        """End what a call has started, without waiting for it, and let it start nothing more."""
        self._cut_off.add(call.id)
        if self._waiting or any(starter is call for starter in list(self._started.values())):
            run_in_background(partial(self._end, call))

    def allow(self, call: ToolCall) -> None:
        """Let a call start a process.

        Raises:
            ToolError: It was cut off. Nobody waits for it any more, so nobody would end what it starts.
        """
        if call.id in self._cut_off:
            raise ToolError(f"The call of {call.tool_name} was cut off; it can start no more processes.")

    def add(self, call: ToolCall, pid: int) -> None:
        """Remember a process that a call has started; if the call was cut off meanwhile, end it."""
        self._remember(call, pid)
        if call.id in self._cut_off:
            run_in_background(partial(self._end, call))

    def _remember(self, call: ToolCall, pid: int) -> None:
        process = find_process(pid)
        if process is None:
            return
        if len(self._started) >= _MANY:
            for known in list(self._started):
                if not is_there(known):
                    self._started.pop(known, None)
        self._started[process] = call

    @contextmanager
    def waiting(self, call: ToolCall) -> Iterator[None]:
        """While this thread waits for a process of a call without knowing which it is: the child that is new to it."""
        self.allow(call)
        thread = threading.get_native_id()
        self._waiting[thread] = (call, children_of(thread))
        try:
            yield
        finally:
            del self._waiting[thread]

    def _end(self, call: ToolCall | None) -> None:
        """End what this call has started, or every call."""
        with self._ending:  # whoever comes second finds nothing left to do, but knows that it is done
            for thread, (starter, before) in list(self._waiting.items()):
                for pid in children_of(thread) - before:
                    self._remember(starter, pid)
            found = {p: c for p, c in list(self._started.items()) if call is None or c is call}
            self._report(found)
            ended = end_trees(found)
            for process in found:
                self._started.pop(process, None)
        run_in_background(partial(bury, ended))

    def _report(self, found: dict[Process, ToolCall]) -> None:
        left: dict[str, list[int]] = {}
        for process in sorted(running(found).keys() & found.keys()):
            left.setdefault(found[process].id, []).append(process.pid)
        names = {call.id: call.tool_name for call in found.values()}
        start = self._start
        ids = {"run_id": start.run_id, "trace_id": start.trace_id, "agent": "/".join(start.agent)}
        for call_id, pids in left.items():
            fields = {"tool": names[call_id], "tool_call_id": call_id, "pids": pids}
            log(logging.WARNING, "tool_left_processes", ids | fields)
