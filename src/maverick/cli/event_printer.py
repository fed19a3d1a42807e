"""Prints the events of a run: the answer as it streams, and a remark on everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from maverick.cli.answer_writer import AnswerWriter
from maverick.cli.screen import Screen, shortened, shown_call
from maverick.loop import AgentResult, TerminateReason, events
from maverick.loop.prefix import PrefixReason
from maverick.model.untrusted import unmarked
from maverick.tui.figures import duration


class EventPrinter:
    """Shows the events of a run.

    Only the run's own text is its answer; what its subagents do is printed as remarks. ``running`` has the names
    of tool calls that began before the first event, by run and id. An answer that is ``plain`` is not Markdown, and is shown
    as it is.
    """

    def __init__(
        self,
        screen: Screen,
        running: Mapping[tuple[str, str], str] | None = None,
        *,
        plain: bool = False,
        explain: Callable[[Exception], str] = str,
    ) -> None:
        self.answered = False
        """Whether any of the answer has been printed."""
        self._screen = screen
        self._explain = explain
        self._answer = AnswerWriter(screen, rendered=False if plain else None)
        self._path: tuple[str, ...] = ()  # the run's own, which its first event has
        self._running = dict(running or {})
        self._errors: dict[str, str] = {}  # by run: what failed last

    def show(self, event: events.AgentActivityEvent) -> None:
        """Show one event."""
        self._path = self._path or event.agent
        match event:
            case events.ContentChunk(content=text):
                if event.agent == self._path:
                    self.write(text)
            case events.ToolCallStart(tool_call=call):
                self._running[event.run_id, call.id] = call.tool_name
                self._remark(event, f"· {shown_call(call.tool_name, call.arguments)}")
            case events.ToolCallEnd(tool_call_id=call_id, result=result):
                name = self._running.pop((event.run_id, call_id), "tool")
                self._remark(event, f"· {name} → {shortened(unmarked(result))}")
            case events.ErrorEvent(error=error):
                self._errors[event.run_id] = self._explain(error)
            case events.RetryScheduled(delay=delay):
                failed = shortened(self._errors.pop(event.run_id, "The model call failed."))
                self._remark(event, f"({failed} Retrying in about {duration(delay)}.)")
            case _:
                for line in _remarks_on(event):
                    self._remark(event, line)

    def write(self, answer: str) -> None:
        """Show some of the answer."""
        self.answered = True
        self._answer.write(answer)

    def finish(self) -> None:
        """End the answer's last line, since something else follows."""
        self._answer.finish()

    def conclude(self, result: AgentResult) -> None:
        """Show how the run ended."""
        self.finish()
        if result.terminate_reason is TerminateReason.ABORTED:
            self._screen.remark("(stopped)")
        elif not result.success:
            self._screen.complain(f"maverick: {self._explain(result.errors[0])}")

    def _remark(self, event: events.AgentActivityEvent, text: str) -> None:
        self.finish()
        depth = 1 + len(event.agent) - len(self._path)
        self._screen.remark("  " * depth + text)


def _remarks_on(event: events.AgentActivityEvent) -> Iterator[str]:
    """What is said of an event that needs nothing but itself to be told; nothing of many."""
    match event:
        case events.ServerToolUsed(use=use):
            yield f"· {shortened(str(use))}"
        case events.SourcesCited(citations=citations):
            for number, citation in enumerate(citations, 1):
                yield f"[{number}] {citation}"
        case events.ApprovalGiven(approved=approved, by=by, reason=reason):
            why = f": {shortened(reason)}" if reason else ""
            yield f"({'approved' if approved else 'denied'} by {by or 'the user'}{why})"
        case events.MessageAdded(content=text):
            yield f"(a person wrote: {shortened(text)})"
        case events.Compacted():
            yield "(the conversation was compacted)"
        # Of a compaction that is told already.
        case events.PrefixChanged(reason=reason, tokens=tokens) if (
            tokens and reason is not PrefixReason.CONDENSED
        ):
            yield f"({reason}: about {tokens:,} tokens not cached)"
        case events.RunResumed():
            yield "(resumed)"
