"""The lines of a message, section by section: while it is streamed, only its last section is laid out again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rich.text import Text

from maverick.tui.block import Block, LineStyle, Speaker, Words
from maverick.tui.plain_text import plain
from maverick.tui.renderer import LONGEST, Renderer

INDENT = 2
"""Cells by which each level of subagents is indented."""
_LONGEST_PROMPT = 20_000
"""Characters of a user's message that are shown."""
_STYLES = {
    Speaker.USER: LineStyle.USER,
    Speaker.ANSWER: LineStyle.PLAIN,
    Speaker.THOUGHT: LineStyle.THINKING,
}
_FENCE = re.compile(r" *(`{3,}|~{3,})(.*)")


class Part:
    """Some lines of a block. Until they come into view, they are not laid out, and their number is an estimate."""

    __slots__ = ("_lines", "_make", "block", "height", "index", "number", "source")

    def __init__(self, block: Block, source: str, height: int, make: Callable[[], list[Text]]) -> None:
        self.block = block
        self.source = source
        self.height = height
        self.index = 0
        """Its place among all parts of the conversation."""
        self.number = 0
        """Its place among the parts of its block."""
        self._make = make
        self._lines: list[Text] | None = None

    @property
    def lines(self) -> list[Text]:
        """Its lines."""
        if self._lines is None:
            self._lines = self._make()
            self.height = len(self._lines)
        return self._lines


class Section(NamedTuple):
    """A part of a message that can be shown by itself."""

    text: str
    is_whole: bool = True
    """Whether it is all of a section of Markdown, and not a piece of one that is too long."""
    continues: bool = False
    """Whether the section before it continues in this one."""


class Sections:
    """A text that grows, cut into sections.

    A section of Markdown ends at a blank line outside of fenced code, unless the next line is indented: that would
    belong to a list. Any section ends when it is too long.
    """

    __slots__ = ("_continues", "_fence", "_is_blank", "_line", "_markdown", "_text")

    def __init__(self, *, markdown: bool) -> None:
        self._markdown = markdown
        self._text = ""
        """The lines of the last section, without the last one."""
        self._line = ""
        """The last line, which may still grow."""
        self._fence = ""
        """The fence of the code around the last line, if it is in any."""
        self._is_blank = False
        """Whether the line before the last one is blank."""
        self._continues = False

    @property
    def rest(self) -> Section:
        """The section that may still grow."""
        return Section(self._text + self._line, not self._continues, self._continues)

    def append(self, text: str) -> Iterator[Section]:
        """Add text, and yield the sections that are now complete."""
        *lines, last = (self._line + text).split("\n")
        self._line = ""
        for line in lines:
            yield from self._end_before(line)
            self._text += line + "\n"
            self._is_blank = not line.strip()
            self._note_fence(line)
            yield from self._cut()
        yield from self._end_before(last)
        self._line = last
        yield from self._cut()

    def _end_before(self, line: str) -> Iterator[Section]:
        """The section that ends where a line begins, if one does."""
        if self._markdown and self._is_blank and not self._fence and line and line[0] != " ":
            section = self.rest
            self._text, self._is_blank, self._continues = "", False, False
            if section.text.strip():
                yield section

    def _cut(self) -> Iterator[Section]:
        """The beginning of a section that has become too long."""
        while len(self._text) + len(self._line) > LONGEST:
            text = self._text + self._line
            at = text.rfind("\n", 0, LONGEST) + 1 or text.rfind(" ", 0, LONGEST) + 1 or LONGEST
            yield Section(text[:at], False, self._continues)
            rest, self._continues = text[at:], True
            in_text = max(len(self._text) - at, 0)
            self._text, self._line = rest[:in_text], rest[in_text:]

    def _note_fence(self, line: str) -> None:
        fence = _FENCE.fullmatch(line)
        if fence is None:
            return
        mark, info = fence.groups()
        if not self._fence:
            self._fence = mark if "`" not in info else ""
        elif mark.startswith(self._fence) and not info.strip():
            self._fence = ""


class MessageLines:
    """Lays a message out as it is streamed. Each section of an answer is shown as Markdown once it is complete."""

    __slots__ = ("_apart", "_complete", "_parts", "_read", "_renderer", "_sections", "_width", "_words")

    def __init__(self, words: Words, width: int, renderer: Renderer, *, apart: bool) -> None:
        self._words = words
        self._width = width
        self._renderer = renderer
        self._apart = apart
        self._sections = Sections(markdown=words.speaker is Speaker.ANSWER)
        self._parts: list[Part] = []
        self._complete = 0
        """How many parts stay as they are."""
        self._read = 0
        """How many pieces of the message were read."""

    def update(self) -> list[Part]:
        """Take in what was added since the last time; returns the parts of the message."""
        if self._words.is_whole and not self._read and len(text := self._words.text) <= LONGEST:
            # One of many messages that may never come into view: even its sections can wait.
            return [Part(self._words, text, self._estimate(text), self._all_lines)]
        self._read_on()
        return self._parts[:]

    def _all_lines(self) -> list[Text]:
        self._read_on()
        return [line for part in self._parts for line in part.lines]

    def _read_on(self) -> None:
        text = self._shown("".join(self._words.pieces[self._read :]))
        self._read = len(self._words.pieces)
        del self._parts[self._complete :]
        for section in self._sections.append(plain(text)):
            self._parts.append(self._part(section))
        self._complete = len(self._parts)
        rest = self._sections.rest
        if rest.text.strip() or not self._parts:
            self._parts.append(self._part(rest._replace(is_whole=rest.is_whole and self._words.is_whole)))

    def _shown(self, text: str) -> str:
        """What is shown of a text: a user's prompt may be a whole book."""
        if self._words.speaker is not Speaker.USER or len(text) <= _LONGEST_PROMPT:
            return text
        left = len(text) - _LONGEST_PROMPT
        return f"{text[:_LONGEST_PROMPT]}…\n({left:,} more characters are not shown)"

    def _part(self, section: Section) -> Part:
        is_first = not self._parts and not section.continues
        apart = not section.continues and (self._apart or not is_first)
        estimate = self._estimate(section.text)
        return Part(self._words, section.text, estimate, lambda: self._lines(section, is_first, apart))

    def _estimate(self, text: str) -> int:
        return 2 + text.count("\n") + len(text) // self._width

    def _lines(self, section: Section, is_first: bool, apart: bool) -> list[Text]:
        speaker, indent = self._words.speaker, INDENT * self._words.depth
        width = self._width - indent
        if speaker is Speaker.ANSWER and section.is_whole:
            lines = self._renderer.markdown(section.text, width)
        else:
            mark = 2 if speaker is Speaker.USER else 0
            text = section.text.removesuffix("\n")
            lines = self._renderer.wrap(text, width - mark, _STYLES[speaker])
            for index, line in enumerate(lines[:] if mark else ()):
                lead = "› " if is_first and index == 0 else "  "
                lines[index] = Text.assemble((lead, LineStyle.USER), line)
        for line in lines:
            line.pad_left(indent)
        return [Text(), *lines] if apart else lines
