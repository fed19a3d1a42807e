"""Shows a run that is driven from the command line, and what can be done when it is over."""

from __future__ import annotations

from typing import Any

from maverick.cli.exit_codes import FAILURE, INTERRUPTED, SUCCESS, WAITING
from maverick.cli.figures import counted, duration, money
from maverick.cli.json_text import event_fields, result_fields
from maverick.cli.live_view import LiveView
from maverick.cli.runs.console import Console
from maverick.cli.runs.pending import pending_in, pending_lines
from maverick.loop import AgentResult, TerminateReason
from maverick.loop.events import AgentActivityEvent, RunEnd
from maverick.loop.machine import RESUMABLE


class Spectator:
    """Tells a run as it happens: in words for a person, or in JSON.

    Args:
        console: Where.
        agents: The file or module that has the run's agent.
        run_id: The run, if it has its id already.
    """

    def __init__(self, console: Console, agents: str, run_id: str = "") -> None:
        self.console = console
        self._agents = agents
        self._run_id = run_id
        self._view = LiveView(console.screen)
        self._over = False

    def show(self, event: AgentActivityEvent) -> None:
        """Tell one event."""
        self._run_id = self._run_id or event.run_id
        if self.console.as_json:
            self.console.write(event_fields(event))
            self._over = isinstance(event, RunEnd) and event.run_id == self._run_id
        else:
            self._view.show(event)

    async def conclude(self, result: AgentResult[Any]) -> int:
        """Tell how the run ended and how it goes on, if it can; returns the exit code."""
        if not self.console.as_json:
            self._say_how_it_ended(result)
            await self.leave(_summary(result), resumable=result.terminate_reason in RESUMABLE)
        elif not self._over:  # a run that had its answer before gives it without an event
            self.console.write({"type": "run_end", "run_id": self._run_id, "result": result_fields(result)})
        return _exit_code(result)

    async def leave(self, summary: str, *, resumable: bool = True) -> None:
        """Say in a line where the run stands, and what to type for it to go on."""
        if self.console.as_json:
            return
        screen = self.console.screen
        screen.remark(f"{self._run_id}: {summary}")
        if resumable:
            for line in pending_lines(self.console, await pending_in(self.console.journal, self._run_id)):
                screen.remark(line)
            screen.remark(
                f"Go on with: {self.console.command('resume', self._run_id, '--agents', self._agents)}"
            )

    def _say_how_it_ended(self, result: AgentResult[Any]) -> None:
        if not self._view.answered:
            self.console.screen.say(result.raw_content)
        if result.terminate_reason is TerminateReason.AWAITING_APPROVAL:
            self.console.screen.end_line()
        else:
            self._view.conclude(result)


def _summary(result: AgentResult[Any]) -> str:
    usage = result.usage
    return ", ".join(
        (
            result.terminate_reason.value,
            counted(result.turn_count, "turn"),
            counted(usage.total_tokens, "token"),
            f"cost {money(usage.total_cost_usd)}",
            duration(usage.duration_ms / 1000),
        )
    )


def _exit_code(result: AgentResult[Any]) -> int:
    if result.success:
        return SUCCESS
    codes = {TerminateReason.ABORTED: INTERRUPTED, TerminateReason.AWAITING_APPROVAL: WAITING}
    return codes.get(result.terminate_reason, FAILURE)
