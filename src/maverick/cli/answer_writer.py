"""Writes an answer as it streams: Markdown is rendered on a terminal, and goes as it is into a pipe."""

from __future__ import annotations

import os
import re
import shutil
import time
from functools import cached_property
from typing import TYPE_CHECKING

from maverick.cli.formatting import terminal_width, width_of
from maverick.cli.screen import Screen
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
