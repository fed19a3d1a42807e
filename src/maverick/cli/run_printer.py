"""Prints a run that is driven from the command line, and what can be done when it is over."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeAlias

from maverick.cli import exit_codes
from maverick.cli.event_printer import EventPrinter, Progress, progress_line
from maverick.cli.formatting import event_fields, result_fields
from maverick.cli.run_options import RunOptions
from maverick.cli.runs.console import Console, pending_in, pending_lines
from maverick.cli.stop_signals import on_stop_signals
from maverick.exceptions import AuthenticationError
from maverick.loop import AgentResult, RunConfig, TerminateReason
from maverick.loop.events import AgentActivityEvent, ContentChunk, RunEnd
from maverick.loop.result import RESUMABLE
from maverick.model import ToolContext
from maverick.runtime import AbortSignal
from maverick.runtime.event_log import EventStream, Listener
from maverick.tui.figures import summary

_CODES: Mapping[TerminateReason, int] = {
    TerminateReason.COMPLETE: exit_codes.INVALID_OUTPUT,  # it came to its end, and yet has no success
    TerminateReason.MAX_TURNS: exit_codes.LIMIT,
    TerminateReason.MAX_TOTAL_TOKENS: exit_codes.LIMIT,
    TerminateReason.MAX_COST: exit_codes.LIMIT,
    TerminateReason.MAX_TOOL_CALLS: exit_codes.LIMIT,
    TerminateReason.MAX_TOKENS: exit_codes.LIMIT,
    TerminateReason.TIMEOUT: exit_codes.TIMED_OUT,
    TerminateReason.ABORTED: exit_codes.INTERRUPTED,
    TerminateReason.REFUSED: exit_codes.REFUSED,
    TerminateReason.AWAITING_APPROVAL: exit_codes.WAITING,
    TerminateReason.ERROR: exit_codes.FAILURE,
}


def exit_code(result: AgentResult[Any]) -> int:
    """What the command ends with."""
    if any(isinstance(error, AuthenticationError) for error in result.errors):
        return exit_codes.MISUSE  # the key is a setting, and the same again fails again
    return exit_codes.SUCCESS if result.success else _CODES[result.terminate_reason]


class RunPrinter:
    """Prints a run as it happens: as text for a user, or as JSON.

    The run's options, ``changes``, and the file or module of its ``agents`` are repeated in the command to resume it,
    if it is ``kept``. Unless it ``streams``, only the last turn's answer is printed, at the end. An answer that is
    ``plain`` is no Markdown, as what the offline model reports of tools is not.
    """

    def __init__(
        self,
        console: Console,
        changes: RunOptions,
        agents: str | None,
        limits: RunConfig,
        run_id: str = "",
        *,
        streams: bool = True,
        kept: bool = True,
        plain: bool = False,
    ) -> None:
        self.console = console
        self.progress: Progress | None = None
        """The progress line on the terminal, if there is one."""
        self.signals: Sequence[int] = ()
        """The signals that asked the run to stop."""
        self.changes = changes
        """The run's options."""
        self.kept = kept
        """Whether the run can be resumed."""
        self._agents = agents
        self._limits = limits
        self._run_id = run_id
        self._is_new = not run_id
        self._streams = streams
        self._view = EventPrinter(console.screen, plain=plain)
        self._over = False

    def show(self, event: AgentActivityEvent) -> None:
        """Print one event."""
        self._run_id = self._run_id or event.run_id
        if self.console.as_json:
            self.console.write(event_fields(event))
            self._over = isinstance(event, RunEnd) and event.run_id == self._run_id
            return
        if self.progress is not None:
            self.progress.follow(event)
        if self._streams or not isinstance(event, ContentChunk):
            self._view.show(event)

    def hear(self, _: ToolContext, said: str) -> None:
        """Show the last line of a running command's output as its progress."""
        if self.progress is not None:
            self.progress.note(said.rstrip().rpartition("\n")[2])

    async def conclude(self, result: AgentResult[Any]) -> int:
        """Print how the run ended and the command to resume it, if it can be resumed; returns the exit code."""
        if not self.console.as_json:
            self._print_end(result)
            if exit_code(result) in (exit_codes.LIMIT, exit_codes.TIMED_OUT):
                self.changes = self.changes.raised(result, self._limits)
                how = "Raise the limit and resume with"
            else:
                how = "Resume with"
            # A mistake at the start says itself what to do.
            if exit_code(result) != exit_codes.MISUSE or result.turn_count > 1 or not self._is_new:
                state = f"{result.terminate_reason.value}, {summary(result)}"
                await self.leave(state, how, resumable=result.terminate_reason in RESUMABLE)
        elif not self._over:  # a run that had its answer before gives it without an event
            self.console.write({"type": "run_end", "run_id": self._run_id, "result": result_fields(result)})
        if self.signals and result.terminate_reason is TerminateReason.ABORTED:
            return exit_codes.SIGNALLED + self.signals[0]
        return exit_code(result)

    async def leave(self, summary: str, how: str = "Resume with", *, resumable: bool = True) -> None:
        """Print the run's state, and the command to resume it."""
        if self.console.as_json:
            return
        screen = self.console.screen
        screen.remark(f"{self._run_id or 'not started'}: {summary}")
        if resumable and self.kept and self._run_id:
            pending = await pending_in(self.console.journal, self._run_id)
            decide_with = ("--resume", *RunOptions().words(self._agents)) if self._agents else ()
            for line in pending_lines(self.console, pending, decide_with):
                screen.remark(line)
            command = self.console.command("resume", self._run_id, *self.changes.words(self._agents))
            screen.remark(f"{how}: {command}")

    def _print_end(self, result: AgentResult[Any]) -> None:
        if not self._view.answered:
            (self._view.write if self._streams else self.console.screen.say)(result.raw_content)
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL and self.kept:
            self._view.finish()
        else:
            self._view.conclude(result)


Start: TypeAlias = Callable[[AbortSignal, Listener], Coroutine[Any, Any, AgentResult[Any]]]
"""Starts a run that stops when the signal is aborted, and tells the listener what happens."""


async def watch(printer: RunPrinter, start: Start) -> AgentResult[Any]:
    """Print a run to its end; Ctrl-C and termination signals stop it, and a second Ctrl-C kills it.

    Events are printed outside of the run: if printing fails, as when the pipe is closed, the run stops.
    """
    stop = AbortSignal()
    with on_stop_signals(stop.abort) as printer.signals:
        async with EventStream(partial(start, stop)) as events:
            async with (
                nullcontext() if printer.console.as_json else progress_line(printer.console.screen) as line
            ):
                printer.progress = line
                async for event in events:
                    printer.show(event)
            printer.progress = None
            return await events.result
