"""Text as lines of the screen's width, in styles whose colours come from the screen."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from enum import StrEnum

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from maverick.tui.markdown import render_markdown
from maverick.tui.plain_text import plain


class LineStyle(StrEnum):
    """The styles of lines; those of Markdown have Rich's names."""

    PLAIN = ""
    USER = "user"
    THINKING = "thinking"
    TOOL = "tool"
    DIM = "dim"
    GOOD = "good"
    BAD = "bad"
    ASKING = "asking"
    ADDED = "added"
    REMOVED = "removed"
    HUNK = "hunk"


class Renderer:
    """Makes lines of text.

    Args:
        styles: The look of each style, by name.
        dark: Whether the background is dark.
    """

    def __init__(self, styles: Mapping[str, Style] | None = None, *, dark: bool = True) -> None:
        self._console = Console(
            file=io.StringIO(),
            theme=Theme(styles),
            force_terminal=True,
            color_system="truecolor",
            legacy_windows=False,
            _environ={},
        )
        self._code_theme = "ansi_dark" if dark else "ansi_light"

    def wrap(self, text: str, width: int, style: LineStyle = LineStyle.PLAIN) -> list[Text]:
        """The lines of a text."""
        return list(Text(plain(text), style).wrap(self._console, max(width, 1), overflow="fold"))

    def markdown(self, text: str, width: int) -> list[Text]:
        """The lines of a Markdown text; one that cannot be shown as Markdown is shown as it was written."""
        lines = render_markdown(plain(text), width, self._console, self._code_theme)
        return self.wrap(text.strip("\n"), width) if lines is None else lines

    def segments(self, line: Text) -> Iterable[Segment]:
        """A line as Textual draws it."""
        base = self._console.get_style(line.style, default="none")
        return Segment.apply_style(line.render(self._console), base)
