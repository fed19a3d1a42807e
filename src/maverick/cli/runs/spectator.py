"""Shows a run that is driven from the command line, and what can be done when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maverick.cli.changes import Changes
from maverick.cli.exit_codes import LIMIT, SIGNALLED, TIMED_OUT
from maverick.cli.json_text import event_fields, result_fields
from maverick.cli.live_view import LiveView
from maverick.cli.outcome import exit_code, summary
from maverick.cli.progress import Progress
from maverick.cli.runs.console import Console
from maverick.cli.runs.pending import pending_in, pending_lines
from maverick.loop import AgentResult, RunConfig, TerminateReason
from maverick.loop.events import (
    AgentActivityEvent,
    ApprovalRequested,
    ContentChunk,
    RunEnd,
    ToolCallStart,
    TurnStart,
)
from maverick.loop.result import RESUMABLE
from maverick.model import ToolContext


class Spectator:
    """Tells a run as it happens: in words for a person, or in JSON.

    Args:
        console: Where.
        changes: What is different about the run's agent, which is said again when the run is resumed.
        agents: The file or module of the agent, if it was named.
        limits: The limits that the run has.
        run_id: The run, if it has its id already.
        streams: Whether the words of the answer are shown as they come, or only those of the last turn when it is over.
        kept: Whether the run can be resumed.
    """

    def __init__(
        self,
        console: Console,
        changes: Changes,
        agents: str | None,
        limits: RunConfig,
        run_id: str = "",
        *,
        streams: bool = True,
        kept: bool = True,
    ) -> None:
        self.console = console
        self.progress: Progress | None = None
        """A sign of life on the terminal, if there is one."""
        self.signals: Sequence[int] = ()
        """The signals that asked for the run to stop, once they have come."""
        self.reasons: dict[str, str] = {}
        """Why a person is asked, by the id of the tool call."""
        self._changes = changes
        self._agents = agents
        self._limits = limits
        self._run_id = run_id
        self._streams = streams
        self._kept = kept
        self._view = LiveView(console.screen)
        self._over = False

    def show(self, event: AgentActivityEvent) -> None:
        """Tell one event."""
        self._run_id = self._run_id or event.run_id
        if self.console.as_json:
            self.console.write(event_fields(event))
            self._over = isinstance(event, RunEnd) and event.run_id == self._run_id
            return
        if self.progress is not None:
            self.progress.clear()
            _announce(self.progress, event)
        if isinstance(event, ApprovalRequested):
            self.reasons[event.tool_call.id] = event.reason
        if self._streams or not isinstance(event, ContentChunk):
            self._view.show(event)

    def hear(self, _: ToolContext, said: str) -> None:
        """Take in what a command of the run says while it is at work: its last line is how far it is."""
        if self.progress is not None:
            self.progress.note(said.rstrip().rpartition("\n")[2])

    async def conclude(self, result: AgentResult[Any]) -> int:
        """Tell how the run ended and how it goes on, if it can; returns the exit code."""
        if not self.console.as_json:
            self._say_how_it_ended(result)
            if exit_code(result) in (LIMIT, TIMED_OUT):
                self._changes = self._changes.raised(result, self._limits)
                how = "Raise the limit and go on with"
            else:
                how = "Go on with"
            await self.leave(summary(result), how, resumable=result.terminate_reason in RESUMABLE)
        elif not self._over:  # a run that had its answer before gives it without an event
            self.console.write({"type": "run_end", "run_id": self._run_id, "result": result_fields(result)})
        if self.signals and result.terminate_reason is TerminateReason.ABORTED:
            return SIGNALLED + self.signals[0]
        return exit_code(result)

    async def leave(self, summary: str, how: str = "Go on with", *, resumable: bool = True) -> None:
        """Say in a line where the run stands, and what to type for it to go on."""
        if self.console.as_json:
            return
        screen = self.console.screen
        screen.remark(f"{self._run_id}: {summary}")
        if resumable and self._kept:
            for line in pending_lines(self.console, await pending_in(self.console.journal, self._run_id)):
                screen.remark(line)
            command = self.console.command("resume", self._run_id, *self._changes.words(self._agents))
            screen.remark(f"{how}: {command}")

    def _say_how_it_ended(self, result: AgentResult[Any]) -> None:
        if not self._view.answered:
            self.console.screen.say(result.raw_content)
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL and self._kept:
            self.console.screen.end_line()
        else:
            self._view.conclude(result)


def _announce(progress: Progress, event: AgentActivityEvent) -> None:
    match event:
        case TurnStart():
            progress.doing("thinking")
        case ToolCallStart(tool_call=call):
            progress.doing(call.tool_name)
