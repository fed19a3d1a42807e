"""The lines that a conversation takes on a screen: which there are, and what each of them shows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from maverick.tui.block import Block, Remark, Speaker, Tone, ToolUse, TurnMark, Words
from maverick.tui.conversation import ConversationModel
from maverick.tui.line import Ink, Line, Span
from maverick.tui.plain_text import plain
from maverick.tui.spoken_lines import SpokenLines
from maverick.tui.tool_lines import tool_lines
from maverick.tui.wrapping import wrapped

_INDENT = 2
_TONES = {Tone.PLAIN: Ink.FAINT, Tone.GOOD: Ink.GOOD, Tone.BAD: Ink.BAD, Tone.ASKING: Ink.ASKING}


class Place(NamedTuple):
    """Where a line comes from."""

    block: int
    line: int


class Bookmark(NamedTuple):
    """A line, so that it is found again when everything is laid out anew."""

    block: Block
    line: int
    lines: int
    """How many lines the block had."""


@dataclass(slots=True)
class _Laid:
    """A block's lines as they were when it had a certain revision."""

    block: Block
    revision: int = -1
    lines: list[Line] = field(default_factory=list)
    spoken: SpokenLines | None = None
    """What makes the lines, if the block is words."""


class ConversationLayout:
    """Lays a conversation out, and again only what has changed.

    Args:
        model: The conversation.
    """

    def __init__(self, model: ConversationModel) -> None:
        self._model = model
        self._width = 0
        self._thinking = True
        self._laid: list[_Laid] = []
        self._tops: list[int] = []
        self.height = 0
        """How many lines there are."""

    def update(self, width: int, *, thinking: bool = True) -> None:
        """Bring the lines up to date.

        Args:
            width: How many cells a line has.
            thinking: Whether the model's thinking is shown.
        """
        if (width, thinking) != (self._width, self._thinking):
            self._width, self._thinking, self._laid = width, thinking, []
        blocks, laid = self._model.blocks, self._laid
        kept = next(
            (
                index
                for index, (one, block) in enumerate(zip(laid, blocks, strict=False))
                if one.block is not block
            ),
            min(len(laid), len(blocks)),
        )
        del laid[kept:]
        laid += [_Laid(block) for block in blocks[kept:]]
        self._tops, top = [], 0
        for index, one in enumerate(laid):
            if one.revision != one.block.revision:
                self._lay(one, laid[index - 1].block if index else None)
            self._tops.append(top)
            top += len(one.lines)
        self.height = top

    def line(self, y: int) -> Line:
        """A line, counted from the top."""
        place = self.place(y)
        return self._laid[place.block].lines[place.line]

    def place(self, y: int) -> Place:
        """The block a line is of, and which of its lines it is."""
        index = bisect_right(self._tops, y) - 1
        return Place(index, y - self._tops[index])

    def block_at(self, y: int) -> Block | None:
        """The block a line is of, if there is such a line."""
        return self._laid[self.place(y).block].block if 0 <= y < self.height else None

    def top_of(self, block: Block) -> int:
        """The first line of a block."""
        return next(top for top, one in zip(self._tops, self._laid, strict=True) if one.block is block)

    def bookmark(self, y: int) -> Bookmark | None:
        """What is at a line, if there is such a line."""
        if not 0 <= y < self.height:
            return None
        place = self.place(y)
        one = self._laid[place.block]
        return Bookmark(one.block, place.line, len(one.lines))

    def line_at(self, mark: Bookmark) -> int | None:
        """Where what was at a line is now; nowhere if its block is gone."""
        for top, one in zip(self._tops, self._laid, strict=True):
            if one.block is mark.block:
                return top + mark.line * len(one.lines) // mark.lines
        return None

    def find(self, wanted: str) -> list[int]:
        """The lines that have a text in them, upper and lower case being the same."""
        wanted = wanted.casefold()
        return [
            top + index
            for top, one in zip(self._tops, self._laid, strict=True)
            for index, line in enumerate(one.lines)
            if wanted in line.text.casefold()
        ]

    def _lay(self, one: _Laid, before: Block | None) -> None:
        block, indent = one.block, " " * (_INDENT * one.block.depth)
        if isinstance(block, Words):
            if block.speaker is Speaker.THOUGHT and not self._thinking:
                one.lines = []
            else:
                one.spoken = one.spoken or self._spoken(block, indent, before)
                one.spoken.update()
                one.lines = one.spoken.lines
        else:
            one.lines = [line.indented(indent) for line in self._lines_of(block, self._width - len(indent))]
        one.revision = block.revision

    def _spoken(self, words: Words, indent: str, before: Block | None) -> SpokenLines:
        apart = words.depth == 0 and before is not None and not isinstance(before, TurnMark)
        return SpokenLines(words, self._width, indent, apart=apart)

    def _lines_of(self, block: Block, width: int) -> Iterator[Line]:
        if isinstance(block, ToolUse):
            yield from tool_lines(block, width)
        elif isinstance(block, TurnMark):
            title = f"── turn {block.turn} "
            yield Line()
            yield Line((Span(title + "─" * max(width - len(title), 0), Ink.FAINT),))
        elif isinstance(block, Remark):
            for index, text in enumerate(wrapped(plain(block.words), width - 2)):
                yield Line(
                    (Span("  " if index else "· ", _TONES[block.tone]), Span(text, _TONES[block.tone]))
                )
