"""The conversation on the screen: draws the lines of its layout that are in sight, and no others."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from maverick.tui.block import Block, ToolUse
from maverick.tui.conversation import ConversationModel
from maverick.tui.keys import CONVERSATION, bindings
from maverick.tui.layout import ConversationLayout
from maverick.tui.line import Ink, Line


class ConversationView(ScrollView, can_focus=True):
    """Draws a conversation, with a cursor on one of its lines. At the last line it follows what comes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(CONVERSATION)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"ink--{ink.value}" for ink in Ink),
        "ink--cursor",
        "ink--found",
    }

    class Searched(Message):
        """A search was made, or went on.

        Args:
            match: Which match the cursor is at, from 1; 0 when there is none.
            matches: How many there are.
        """

        def __init__(self, match: int, matches: int) -> None:
            super().__init__()
            self.match = match
            self.matches = matches

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self.cursor = 0
        """The line the cursor is on."""
        self.thinking = True
        """Whether thinking is shown."""
        self._model = ConversationModel()
        self._layout = ConversationLayout(self._model)
        self._drawn: object = None
        self._follows = True
        self._wanted = ""
        self._unfolded: list[ToolUse] = []

    @property
    def block(self) -> Block | None:
        """What is at the cursor."""
        return self._layout.block_at(self.cursor)

    def show(self, model: ConversationModel) -> None:
        """Show a conversation, from its end."""
        if model is not self._model:
            self._model, self._layout, self._follows = model, ConversationLayout(model), True
            self.draw()

    def draw(self) -> None:
        """Draw what has changed since the last time, if anything has; what the cursor is on stays where it is."""
        width = self.scrollable_content_region.width
        state = (id(self._model), self._model.revision, width, self.thinking)
        if state == self._drawn or width <= 0:
            return
        self._drawn = state
        mark, below = self._layout.bookmark(self.cursor), self.cursor - round(self.scroll_y)
        self._layout.update(width, thinking=self.thinking)
        last = max(self._layout.height - 1, 0)
        self.virtual_size = Size(width, self._layout.height)
        line = None if self._follows or mark is None else self._layout.line_at(mark)
        if line is None:
            self.cursor = last
            self.scroll_end(animate=False, immediate=True)
        elif line != self.cursor:
            self.cursor = min(line, last)
            self.scroll_to(y=self.cursor - below, animate=False, immediate=True)
        self.refresh()

    def search(self, wanted: str) -> None:
        """Find a text, unfolding what has it, and go to the nearest place; an empty one ends the search."""
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
        """Go to another place that has the text: the next, the one before, or the one nearest above."""
        places = self._layout.find(self._wanted) if self._wanted else []
        if not places:
            self.post_message(self.Searched(0, 0))
            return
        here = sum(place <= self.cursor for place in places) - 1
        if step < 0 and here >= 0 and places[here] != self.cursor:
            step += 1  # the one before is the nearest above
        index = (here + step) % len(places)
        self._go_to(places[index])
        self.post_message(self.Searched(index + 1, len(places)))

    def fold_all(self) -> None:
        """Fold all tool calls, or unfold them if they are."""
        tools = [block for block in self._model.blocks if isinstance(block, ToolUse)]
        folded = any(not tool.folded for tool in tools)
        for tool in tools:
            self._model.fold(tool, folded=folded)
        self.draw()

    def action_fold(self) -> None:
        """Fold or unfold the tool call at the cursor."""
        block = self.block
        if isinstance(block, ToolUse):
            self._follows = False
            self._model.fold(block, folded=not block.folded)
            self.draw()
            self._go_to(self._layout.top_of(block))

    def action_up(self) -> None:
        """Go up a line."""
        self._go_to(self.cursor - 1)

    def action_down(self) -> None:
        """Go down a line."""
        self._go_to(self.cursor + 1)

    def action_page_up(self) -> None:
        """Go up a page."""
        self._go_to(self.cursor - max(self.size.height - 1, 1))

    def action_page_down(self) -> None:
        """Go down a page."""
        self._go_to(self.cursor + max(self.size.height - 1, 1))

    def action_home(self) -> None:
        """Go to the beginning."""
        self._go_to(0)

    def action_end(self) -> None:
        """Go to the end."""
        self._go_to(self._layout.height - 1)

    def on_click(self, event: Click) -> None:
        """Go to the line; a tool call's first line folds and unfolds it."""
        line = event.y + round(self.scroll_y)
        if 0 <= line < self._layout.height:
            self._go_to(line)
            if self._layout.place(line).line == 0:
                self.action_fold()

    def on_resize(self) -> None:
        """Lay out anew."""
        self.draw()

    def notify_style_update(self) -> None:
        """Draw in the new colours."""
        super().notify_style_update()
        self._drawn = None

    def render_line(self, y: int) -> Strip:
        """One line of what is in sight."""
        line, width = y + self.scroll_offset.y, self.size.width
        over = Style.null()
        if line == self.cursor and (self.has_focus or self._wanted):
            over = self.get_component_rich_style("ink--cursor", partial=True)
        shown = self._segments(self._layout.line(line), over) if line < self._layout.height else []
        return Strip(shown).crop_extend(0, width, self.rich_style + over)

    def _segments(self, line: Line, over: Style) -> list[Segment]:
        segments = []
        found = self.get_component_rich_style("ink--found", partial=True)
        for span in line.spans:
            style = self.get_component_rich_style(f"ink--{span.ink.value}") + over
            segments += _marked(span.text, style, self._wanted, found)
        return segments

    def _go_to(self, line: int) -> None:
        last = max(self._layout.height - 1, 0)
        self.cursor = min(max(line, 0), last)
        self._follows = self.cursor == last
        top, height = round(self.scroll_y), max(self.size.height, 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, immediate=True)
        self.refresh()


def _marked(text: str, style: Style, wanted: str, found: Style) -> list[Segment]:
    """The text in its style, with what is searched for marked."""
    lower = text.casefold()
    if not wanted or len(lower) != len(text):  # some characters have a lower case of another length
        return [Segment(text, style)]
    segments, begin = [], 0
    while (at := lower.find(wanted.casefold(), begin)) >= 0:
        end = at + len(wanted)
        segments += [Segment(text[begin:at], style), Segment(text[at:end], style + found)]
        begin = end
    return [*segments, Segment(text[begin:], style)]
