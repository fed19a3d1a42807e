"""The lines of a conversation. Only what comes into view is laid out, and only what has changed is laid out again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from rich.text import Text

from maverick.tui.block import Block, LineStyle, Remark, Speaker, ToolUse, TurnMark, Words
from maverick.tui.conversation import ConversationModel
from maverick.tui.message_lines import INDENT, MessageLines, Part
from maverick.tui.plain_text import plain
from maverick.tui.renderer import Renderer
from maverick.tui.tool_lines import tool_lines

_MOST_MATCHES = 1_000
"""Lines that a search finds, the last ones of the conversation: all of them have to be laid out."""
_SHORT = 200
"""Parts of a conversation that is laid out at once, with a hundred characters each: no estimates, a steady scrollbar."""


class Place(NamedTuple):
    """Where a line comes from, so that it is found again after an update."""

    part: Part
    line: int


@dataclass(slots=True)
class _Laid:
    """A block's parts as they were when it had a certain revision."""

    block: Block
    revision: int = -1
    parts: list[Part] = field(default_factory=list)
    message: MessageLines | None = None
    """What makes the parts, if the block is a message."""


class ConversationLayout:
    """Lays a conversation out."""

    def __init__(self, model: ConversationModel, renderer: Renderer | None = None) -> None:
        self._model = model
        self._renderer = renderer or Renderer()
        self._width = 0
        self._thinking = True
        self._laid: list[_Laid] = []
        self._parts: list[Part] = []
        self._tops: list[int] = [0]
        """The first line of each part, and the line after the last part."""

    @property
    def height(self) -> int:
        """How many lines there are; an estimate for those that were not in view."""
        return self._tops[-1]

    def update(self, width: int, *, thinking: bool = True) -> None:
        """Take in what has changed, for lines of so many cells, with the model's thinking or without it."""
        if (width, thinking) != (self._width, self._thinking):
            self._width, self._thinking, self._laid = width, thinking, []
        kept, blocks = self._unchanged(), self._model.blocks
        known = {id(one.block): one for one in self._laid[kept:]}
        del self._laid[kept:]
        begin = next((one.parts[-1].index + 1 for one in reversed(self._laid) if one.parts), 0)
        del self._parts[begin:]
        for block in blocks[kept:]:
            one = known.get(id(block)) or _Laid(block)
            if one.revision != block.revision:
                self._lay_out(one, self._laid[-1].block if self._laid else None)
            self._laid.append(one)
            for number, part in enumerate(one.parts):
                part.number, part.index = number, len(self._parts)
                self._parts.append(part)
        is_short = (
            len(self._parts) <= _SHORT and sum(len(part.source) for part in self._parts) <= _SHORT * 100
        )
        for part in self._parts[begin:] if is_short else ():
            _ = part.lines
        self._measure(begin)

    def settle(self, y: int, above: int, below: int) -> int:
        """Lay out the lines around a line, so that their number is exact; returns where that line is now."""
        if not 0 <= y < self.height:
            return y
        place = self.place(y)
        first = last = place.part.index
        down, up = place.line + below - len(place.part.lines), above - place.line
        while down > 0 and last + 1 < len(self._parts):
            last += 1
            down -= len(self._parts[last].lines)
        while up > 0 and first > 0:
            first -= 1
            up -= len(self._parts[first].lines)
        self._measure(first)
        return self._line_of(place)

    def line(self, y: int) -> Text:
        """A line, counted from the top."""
        place = self.place(y)
        lines = place.part.lines
        return lines[place.line] if place.line < len(lines) else Text()

    def place(self, y: int) -> Place:
        """The part a line belongs to, and which of its lines it is."""
        index = bisect_right(self._tops, y) - 1
        return Place(self._parts[index], y - self._tops[index])

    def _line_of(self, place: Place) -> int:
        """Where a place is after something else was laid out."""
        return self._tops[place.part.index] + min(place.line, max(place.part.height - 1, 0))

    def block_at(self, y: int) -> Block | None:
        """The block a line belongs to, if there is such a line."""
        return self.place(y).part.block if 0 <= y < self.height else None

    def top_of(self, block: Block) -> int:
        """The first line of a block."""
        laid = next(one for one in self._laid if one.block is block)
        return self._tops[laid.parts[0].index]

    def bookmark(self, y: int) -> Place | None:
        """What is at a line, if there is such a line."""
        return self.place(y) if 0 <= y < self.height else None

    def line_at(self, place: Place) -> int | None:
        """Where a bookmark is after an update; ``None`` if its block is gone."""
        part, line = place
        if part.index < len(self._parts) and self._parts[part.index] is part:
            return self._line_of(place)
        parts = next((one.parts for one in self._laid if one.block is part.block), None)
        if not parts:
            return None
        now = parts[min(part.number, len(parts) - 1)]
        line = line * len(now.lines) // max(part.height, 1)
        self._measure(now.index)
        return self._tops[now.index] + line

    def find(self, wanted: str) -> list[int]:
        """The lines that have a text in them, ignoring case."""
        wanted = wanted.casefold()
        words = wanted.split()
        found: list[Place] = []
        for part in reversed(self._parts):
            source = part.source.casefold()
            if all(word in source for word in words):  # what is shown has no marks of Markdown between words
                lines = [index for index, line in enumerate(part.lines) if wanted in line.plain.casefold()]
                found += (Place(part, index) for index in reversed(lines))
            if len(found) >= _MOST_MATCHES:
                break
        self._measure(0)
        return [self._line_of(place) for place in reversed(found)]

    def _unchanged(self) -> int:
        """How many blocks at the beginning are as they were."""
        blocks = self._model.blocks
        for index, (one, block) in enumerate(zip(self._laid, blocks, strict=False)):
            if one.block is not block or one.revision != block.revision:
                return index
        return min(len(self._laid), len(blocks))

    def _measure(self, begin: int) -> None:
        """Count the lines from a part on."""
        heights = (part.height for part in self._parts[begin:])
        self._tops[begin:] = accumulate(heights, initial=self._tops[begin] if begin else 0)

    def _lay_out(self, one: _Laid, before: Block | None) -> None:
        block, one.revision = one.block, one.block.revision
        if isinstance(block, Words):
            if block.speaker is Speaker.THOUGHT and not self._thinking:
                one.parts = []
                return
            apart = block.depth == 0 and before is not None and not isinstance(before, TurnMark)
            one.message = one.message or MessageLines(block, self._width, self._renderer, apart=apart)
            one.parts = one.message.update()
        else:
            height = 2 if isinstance(block, TurnMark) else 1
            one.parts = [Part(block, block.text, height, lambda: self._lines(block))]
            if isinstance(block, ToolUse) and not block.folded:
                one.parts[0].height += block.text.count("\n")

    def _lines(self, block: Block) -> list[Text]:
        indent = INDENT * block.depth
        lines = list(self._block_lines(block, self._width - indent))
        for line in lines:
            line.pad_left(indent)
        return lines

    def _block_lines(self, block: Block, width: int) -> Iterable[Text]:
        if isinstance(block, ToolUse):
            yield from tool_lines(block, width, self._renderer)
        elif isinstance(block, TurnMark):
            title = f"── turn {block.turn} "
            yield Text()
            yield Text(title + "─" * max(width - len(title), 0), LineStyle.DIM)
        elif isinstance(block, Remark):
            for index, line in enumerate(self._renderer.wrap(plain(block.words), width - 2, block.style)):
                yield Text.assemble(("  " if index else "· ", block.style), line)
