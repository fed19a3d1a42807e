"""The lines of what somebody says, while they say it."""

from __future__ import annotations

from maverick.tui.block import Speaker, Words
from maverick.tui.line import Ink, Line, Span
from maverick.tui.markdown import markdown_lines
from maverick.tui.markdown_tokens import LONGEST
from maverick.tui.plain_text import plain
from maverick.tui.section import Sections
from maverick.tui.wrapping import WrappedText

_MOST_OF_A_PERSON = 20_000
"""Characters of what a person said that are shown."""
_INKS = {Speaker.USER: Ink.USER, Speaker.ANSWER: Ink.ANSWER, Speaker.THOUGHT: Ink.THOUGHT}
_MARKS = {Speaker.USER: "› ", Speaker.ANSWER: "", Speaker.THOUGHT: ""}


class SpokenLines:
    """Lays words out as they come. Of an answer, each section that is whole is shown as the Markdown it is.

    Args:
        words: What is said.
        width: How many cells a line has.
        indent: What every line begins with.
        apart: Whether a blank line comes first.
    """

    __slots__ = ("_ended", "_indent", "_read", "_sections", "_settled", "_tail", "_width", "_words", "lines")

    def __init__(self, words: Words, width: int, indent: str, *, apart: bool) -> None:
        self.lines = [Line()] if apart else []
        """The lines so far."""
        self._words = words
        self._indent = indent
        self._width = max(width - len(indent) - len(_MARKS[words.speaker]), 1)
        self._settled = len(self.lines)
        """How many lines stay as they are."""
        self._sections = Sections()
        self._tail = WrappedText(self._width)
        """What is not settled, as it came."""
        self._read = 0
        self._ended = False

    def update(self) -> None:
        """Take in what was said since the last time."""
        if self._ended:
            return
        self._ended = self._words.is_whole
        text = plain(self._shown("".join(self._words.pieces[self._read :])))
        self._read = len(self._words.pieces)
        is_answer = self._words.speaker is Speaker.ANSWER
        whole = self._sections.append(text) if is_answer else []
        for section in whole:
            self._settle(section)
            self._settled += 1
            self.lines.append(Line())
        if whole:
            self._tail, text = WrappedText(self._width), self._sections.rest
        self._grow(text)
        if is_answer and self._ended and len(self._sections.rest) <= LONGEST:
            self._settle(self._sections.rest)

    def _shown(self, said: str) -> str:
        """What is laid out of new words: a person may have handed over a whole book, and has it."""
        if self._words.speaker is not Speaker.USER or len(said) <= _MOST_OF_A_PERSON:
            return said
        left = len(said) - _MOST_OF_A_PERSON
        return f"{said[:_MOST_OF_A_PERSON]}…\n({left:,} more characters, which are not shown)"

    def _settle(self, section: str) -> None:
        """Show a section as what it is, in place of what came of it so far."""
        del self.lines[self._settled :]
        lead = Span(self._indent, Ink.ANSWER)
        self.lines += (Line((lead, *line.spans)) for line in markdown_lines(section, self._width))
        self._settled = len(self.lines)

    def _grow(self, text: str) -> None:
        """Show more of what is not settled: its last line anew, and those that follow."""
        known = len(self._tail.lines) - 1
        self._tail.append(text)
        ink, mark = _INKS[self._words.speaker], _MARKS[self._words.speaker]
        del self.lines[self._settled + known :]
        for index, line in enumerate(self._tail.lines[known:], known):
            lead = self._indent + (" " * len(mark) if index else mark)
            self.lines.append(Line((Span(lead, ink), Span(line, ink))))
