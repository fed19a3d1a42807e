"""The conversation on the screen: draws the lines of its layout that are in view, and no others."""

from __future__ import annotations

import re
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from maverick.tui.block import Block, LineStyle, ToolUse
from maverick.tui.conversation import ConversationModel
from maverick.tui.keys import CONVERSATION, bindings
from maverick.tui.layout import ConversationLayout
from maverick.tui.renderer import Renderer

_STYLES = {
    **{style.value: f"line--{style.value}" for style in LineStyle if style},
    "markdown.h1": "line--title",
    **{f"markdown.h{level}": "line--heading" for level in range(2, 7)},
    "markdown.code": "line--code",
    "markdown.code_block": "line--code",
    "markdown.link": "line--link",
    "markdown.link_url": "line--dim",
    "markdown.block_quote": "line--quote",
    "markdown.item.bullet": "line--dim",
    "markdown.item.number": "line--dim",
    "markdown.hr": "line--dim",
    "markdown.table.border": "line--dim",
    "markdown.table.header": "line--strong",
}
"""The name of each style for Rich, and for the style sheet."""
_CURSOR, _MATCH = "line--cursor", "line--match"


class ConversationView(ScrollView, can_focus=True):
    """Draws a conversation, with a cursor on one of its lines. At the last line it follows new output."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(CONVERSATION)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *_STYLES.values(),
        _CURSOR,
        _MATCH,
    }

    class Searched(Message):
        """A search was made: which match the cursor is at, from 1, and how many there are."""

        def __init__(self, match: int, matches: int) -> None:
            super().__init__()
            self.match = match
            self.matches = matches

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self.cursor = 0
        """The line the cursor is on."""
        self.thinking = True
        """Whether the model's thinking is shown."""
        self._model = ConversationModel()
        self._styles: dict[str, Style] = {}
        self._renderer = Renderer()
        self._layout = ConversationLayout(self._model, self._renderer)
        self._drawn: object = None
        self._follows = True
        self._wanted = ""
        self._unfolded: list[ToolUse] = []

    @property
    def block(self) -> Block | None:
        """The block under the cursor."""
        return self._layout.block_at(self.cursor)

    def show(self, model: ConversationModel) -> None:
        """Show a conversation, from its end."""
        if model is not self._model:
            self._model, self._layout, self._follows = model, ConversationLayout(model, self._renderer), True
            self.draw()

    def draw(self) -> None:
        """Draw what has changed since the last time; the line of the cursor stays where it is."""
        width = self.scrollable_content_region.width
        state = (id(self._model), self._model.revision, width, self.size.height, self.thinking)
        if state == self._drawn or width <= 0:
            return
        if self._drawn is None:
            self._load_styles()
        self._drawn = state
        mark, row = self._layout.bookmark(self.cursor), self.cursor - round(self.scroll_y)
        self._layout.update(width, thinking=self.thinking)
        line = None if self._follows or mark is None else self._layout.line_at(mark)
        if line is None:
            self._go_to(self._layout.height - 1)
        else:
            self._go_to(line, row)

    def search(self, wanted: str) -> None:
        """Find a text, expanding the tool calls that have it, and go to the nearest match; an empty one ends it."""
        self._wanted = wanted
        before = {id(tool) for tool in self._unfolded}
        found = [
            block
            for block in self._model.blocks
            if wanted
            and isinstance(block, ToolUse)
            and (block.folded or id(block) in before)
            and wanted.casefold() in block.text.casefold()
        ]
        still = {id(tool) for tool in found}
        for tool in self._unfolded:
            self._model.fold(tool, folded=id(tool) not in still)
        for tool in found:
            self._model.fold(tool, folded=False)
        self._unfolded = found
        self.draw()
        self.find_next(0)
        self.refresh()

    def find_next(self, step: int) -> None:
        """Go to another match: the next (1), the previous one (-1), or the nearest above (0)."""
        mark = self._layout.bookmark(self.cursor)
        matches = self._layout.find(self._wanted) if self._wanted else []
        if not matches:
            self.post_message(self.Searched(0, 0))
            return
        cursor = mark and self._layout.line_at(mark)
        here = sum(match <= (cursor or 0) for match in matches) - 1
        if step < 0 and here >= 0 and matches[here] != cursor:
            step += 1  # the previous one is the nearest above
        index = (here + step) % len(matches)
        self._go_to(matches[index])
        self.post_message(self.Searched(index + 1, len(matches)))

    def fold_all(self) -> None:
        """Collapse all tool calls, or expand them if they are collapsed."""
        tools = [block for block in self._model.blocks if isinstance(block, ToolUse)]
        folded = any(not tool.folded for tool in tools)
        for tool in tools:
            self._model.fold(tool, folded=folded)
        self.draw()

    def action_fold(self) -> None:
        """Collapse or expand the tool call under the cursor."""
        block = self.block
        if isinstance(block, ToolUse):
            self._follows = False
            self._model.fold(block, folded=not block.folded)
            self.draw()
            self._go_to(self._layout.top_of(block))

    def action_move(self, lines: int) -> None:
        """Move the cursor up or down."""
        self._go_to(self.cursor + lines)

    def action_page(self, pages: int) -> None:
        """Move the cursor up or down by pages."""
        self._go_to(self.cursor + pages * max(self.size.height - 1, 1))

    def action_home(self) -> None:
        """Go to the beginning."""
        self._go_to(0)

    def action_end(self) -> None:
        """Go to the end."""
        self._go_to(self._layout.height - 1)

    def on_click(self, event: Click) -> None:
        """Go to a line; a click on the first line of a tool call collapses or expands it."""
        line = event.y + round(self.scroll_y)
        if 0 <= line < self._layout.height:
            self._go_to(line)
            if self._layout.place(line).line == 0:
                self.action_fold()

    def on_resize(self) -> None:
        """Lay out anew."""
        self.draw()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Lay out what comes into view, whether keys, the wheel or the scrollbar have moved it there."""
        super().watch_scroll_y(old_value, new_value)
        top, cursor = round(new_value), self._layout.bookmark(self.cursor)
        now = self._layout.settle(top, 0, self.size.height)
        if cursor is not None:
            self.cursor = self._layout.line_at(cursor) or 0
        self._set_height()
        if now != top:
            self.scroll_to(y=now, animate=False, immediate=True)

    def notify_style_update(self) -> None:
        """Draw in the new styles."""
        super().notify_style_update()
        self._drawn = None

    def render_line(self, y: int) -> Strip:
        """One line of what is in view."""
        at, over = y + self.scroll_offset.y, Style.null()
        if at == self.cursor and (self.has_focus or self._wanted):
            over = self.get_component_rich_style(_CURSOR, partial=True)
        if at >= self._layout.height:
            return Strip.blank(self.size.width, self.rich_style)
        line = self._layout.line(at)
        if self._wanted:
            line = line.copy()
            match = self.get_component_rich_style(_MATCH, partial=True)
            line.highlight_regex(re.compile(re.escape(self._wanted), re.IGNORECASE), match)
        segments = Segment.apply_style(self._renderer.segments(line), self.rich_style, over)
        return Strip(segments).crop_extend(0, self.size.width, self.rich_style + over)

    def _load_styles(self) -> None:
        """Take the styles over from the style sheet; if they have changed, everything is laid out again."""
        styles = {name: self.get_component_rich_style(part) for name, part in _STYLES.items()}
        if styles != self._styles:
            self._styles = styles
            self._renderer = Renderer(styles, dark=self.app.current_theme.dark)
            self._layout = ConversationLayout(self._model, self._renderer)

    def _set_height(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self._layout.height)

    def _go_to(self, line: int, row: int | None = None) -> None:
        """Put the cursor on a line, shown in a row of the view; by default, the view moves as little as it has to."""
        height = max(self.size.height, 1)
        line = min(max(line, 0), max(self._layout.height - 1, 0))
        if row is None:
            row = min(max(line - round(self.scroll_y), 0), height - 1)
        is_last = line == self._layout.height - 1
        line = self._layout.settle(line, row, height - row)
        self.cursor = max(self._layout.height - 1, 0) if is_last else line
        self._follows = self.cursor == max(self._layout.height - 1, 0)
        self._set_height()
        self.scroll_to(y=self.cursor - row, animate=False, immediate=True)
        self.refresh()
