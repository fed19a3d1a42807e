"""Prints the events of a run: the answer as it streams, and a remark on everything else.

Markdown is rendered on a terminal, and goes as it is into a pipe. A progress line says what the run waits for while it
prints nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Self, TextIO

from maverick.cli.formatting import fitted, terminal_width, width_of
from maverick.cli.screen import Screen, shortened, shown_call
from maverick.loop import AgentResult, TerminateReason, events
from maverick.loop.prefix import PrefixReason
from maverick.model.untrusted import unmarked
from maverick.tui.figures import duration
from maverick.tui.plain_text import printable

if TYPE_CHECKING:
    from rich.console import Console

_MARKUP = re.compile(r"[*_`]|\]\(|~~|^ {0,3}(?:#{1,6} |>|\||[-=]{3,}\s*$)", re.MULTILINE)
"""What plain text seldom has; text without it is written as it comes."""
_FENCE = r" {0,3}(```+|~~~+)"
_TABLE = r"(?m)^\s*\||^[ :-]*-[ :]*\|"
_ITEM = r"(?:[-*+]|\d+[.)]?)(?: |$)"
"""How an item of a list begins, as far as it may have come."""
_STYLE = r"\x1b\[[\d;]*m"
_PADDING = r" +((?:\x1b\[[\d;]*m)*)$"
_UNSETTLED = 6
"""How many of the last lines of a block are drawn again when more of it arrives."""
_LONGEST_BLOCK = 100_000
_PACE = 0.05
_COST = 8
"""How many times as long as the last drawing took is waited before the next."""
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_BETWEEN_FRAMES = 0.1
_PATIENCE = 0.6
"""Seconds of silence before it shows itself: what is quick needs no sign."""


class AnswerWriter:
    """Writes the text of an answer, block by block.

    What is complete stays as it is; only the last few lines of the block that is being written are drawn again, all
    at once, so that nothing flickers. ``rendered`` is whether Markdown is rendered; by default on a terminal.
    """

    def __init__(self, screen: Screen, *, rendered: bool | None = None) -> None:
        self._screen = screen
        self._rendered = screen.is_terminal if rendered is None else rendered
        self._begin()
        self._newlines = 0  # at the end of what has come: written before what follows, if anything does
        self._next_drawing = 0.0

    def _begin(self) -> None:
        self._block = ""
        self._is_marked = False  # whether the block has markup, and is drawn
        self._said = ""  # what of the block was written as it came, before its markup was seen
        self._settled = self._drawn = 0  # lines of the block that stay, and that are drawn again

    def write(self, text: str) -> None:
        """Write some more of the answer."""
        if not self._rendered:
            self._screen.say(text)
            return
        for piece in printable(text).splitlines(keepends=True):
            self._add(piece)
        if self._is_marked and time.monotonic() >= self._next_drawing:
            self._draw()

    def finish(self) -> None:
        """End what is being written, since something else follows."""
        self._end_block()
        self._newlines = 0

    def _add(self, piece: str) -> None:
        """Take a line, or the beginning or the end of one."""
        content = piece.rstrip("\n")
        if content:
            if self._newlines and self._ends_before(content):
                self._end_block()
                if self._newlines > 1:
                    self._screen.say("\n")
                self._newlines = 0
            self._block += "\n" * self._newlines + content
            self._newlines = 0
            if not self._is_marked and not self._finds_markup():
                self._screen.say(self._block[len(self._said) :])
                self._said = self._block
        self._newlines += len(piece) - len(content)

    def _finds_markup(self) -> bool:
        """Whether the block has markup in its last line; then the lines that were written as they came are drawn over."""
        line = self._block.rfind("\n") + 1
        if len(self._block) > _LONGEST_BLOCK or _MARKUP.search(self._block, line) is None:
            return False
        size = shutil.get_terminal_size((80, 24))
        rows = [max(width_of(line) - 1, 0) // size.columns + 1 for line in self._said.split("\n")]
        if sum(rows) >= size.lines:  # some of them have left the screen
            return False
        self._is_marked, self._drawn = True, sum(rows) - 1
        return True

    def _ends_before(self, following: str) -> bool:
        """Whether the block ends before a line that begins like this."""
        lines = self._block.split("\n")
        fences = [line for line in lines if re.match(_FENCE, line)]
        if len(fences) % 2:
            return False
        if fences and fences[-1] == lines[-1]:
            return True
        goes_on = following.startswith((" ", "\t")) or (
            re.match(_ITEM, following) and re.match(_ITEM, lines[0])
        )
        return self._newlines > 1 and not goes_on

    def _end_block(self) -> None:
        if self._is_marked:
            self._draw(is_whole=True)
        self._screen.end_line()
        self._begin()

    def _draw(self, *, is_whole: bool = False) -> None:
        """Draw the block, in place of those of its lines that may have changed."""
        began = time.monotonic()
        lines = self._lines()
        settled = len(lines) if is_whole else max(len(lines) - _UNSETTLED, self._settled)
        if not is_whole and re.search(_TABLE, self._block):
            settled = self._settled  # each row may change the widths of all columns
        live = lines[settled:][-_UNSETTLED:]
        up = f"\033[{self._drawn}A" if self._drawn else ""
        shown = [*lines[self._settled : settled], *live]
        self._screen.draw(f"{up}\r\033[J" + "".join(f"{line}\n" for line in shown))
        self._settled, self._drawn = settled, len(live)
        ended = time.monotonic()
        self._next_drawing = ended + max(_PACE, _COST * (ended - began))

    def _lines(self) -> list[str]:
        from rich.markdown import Markdown  # here, since it is slow to load, and many answers need none
        from rich.segment import Segments

        from maverick.tui.renderer import parse_markdown

        console = self._console
        console.width = terminal_width()
        markdown = Markdown("", code_theme="ansi_dark", hyperlinks=False)
        markdown.parsed = parse_markdown(self._block, console.width)
        # An address that was percent-encoded has control characters only now.
        parts = [part._replace(text=printable(part.text)) for part in console.render(markdown)]
        with console.capture() as drawn:
            console.print(Segments(parts))
        lines = [re.sub(_PADDING, r"\1", line) for line in drawn.get().split("\n")]
        is_empty = [not re.sub(_STYLE, "", line).strip() for line in lines]
        first = next((index for index, empty in enumerate(is_empty) if not empty), len(lines))
        last = next((index for index, empty in enumerate(reversed(is_empty)) if not empty), 0)
        return lines[first : len(lines) - last]

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(force_terminal=True, no_color=bool(os.environ.get("NO_COLOR")), highlight=False)


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


@asynccontextmanager
async def progress_line(screen: Screen) -> AsyncIterator[Progress | None]:
    """The progress line of this process for the length of an ``async with`` block; none unless a person watches."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    async with Progress(sys.stderr, lambda: not screen.mid_line) as progress:
        yield progress


class Progress:
    """Draws itself while nothing else is written and the line ``is_free``, for the length of an ``async with`` block."""

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
