"""Text broken into lines of a terminal, where some characters take two cells and some none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, get_character_cell_size

from maverick.tui.line import Ink, Line, Span

_WORD_OR_GAP = re.compile(r"\S+|\s+")


class WrappedText:
    """Text that grows at its end. Only its last line is ever looked at again, however long it has become.

    Args:
        width: How many cells a line has.
    """

    __slots__ = ("_open", "lines", "width")

    def __init__(self, width: int) -> None:
        self.width = max(width, 1)
        self.lines: list[str] = [""]
        """The lines so far."""
        self._open = ""
        """The last line with the gap at its end, which counts again when more comes."""

    def append(self, text: str) -> None:
        """Add text that is harmless to show."""
        if not text:
            return
        paragraphs = (self._open + text).split("\n")
        self.lines.pop()
        for paragraph in paragraphs:
            broken = list(_broken(paragraph, self.width))
            self._open = broken[-1]
            self.lines += [line.rstrip() for line in broken]


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a whole text."""
    laid_out = WrappedText(width)
    laid_out.append(text)
    return laid_out.lines


def wrapped_line(line: Line, width: int) -> Iterator[Line]:
    """The lines that a line takes, each piece of text in its ink."""
    spans, (text, ink) = iter(line.spans), Span("", Ink.PLAIN)
    for broken in _broken(line.text, max(width, 1)):
        row, shown, left = [], len(broken.rstrip()), len(broken)
        while left:
            if not text:
                text, ink = next(spans)
            if part := text[:shown]:
                row.append(Span(part, ink))
            taken = min(len(text), left)
            text, shown, left = text[taken:], max(shown - taken, 0), left - taken
        yield Line(tuple(row))


def cut(text: str, width: int) -> str:
    """The text, or its beginning and an ellipsis if it is too wide."""
    if cell_len(text) <= width:
        return text
    return f"{_fitting(text, max(width - 1, 0))}…" if width > 0 else ""


def _broken(paragraph: str, width: int) -> Iterator[str]:
    """The lines of a text without line breaks, each with the gap that follows it."""
    if len(paragraph) <= width and paragraph.isascii():
        yield paragraph
        return
    line, used = "", 0
    for piece in _WORD_OR_GAP.findall(paragraph):
        size = cell_len(piece)
        if piece.isspace():
            line, used = line + piece, used + size
            continue
        if used and used + size > width:
            yield line
            line, used = "", 0
        if size > width:
            *full, piece = _torn(piece, width)  # noqa: PLW2901 - what is left of it
            yield from full
            size = cell_len(piece)
        line, used = line + piece, used + size
    yield line


def _torn(word: str, width: int) -> Iterator[str]:
    """A word that no line can hold, in parts that fit; of a character that is too wide, one a line."""
    begin = 0
    while begin < len(word):
        part = _fitting(word, width, begin) or word[begin]
        yield part
        begin += len(part)


def _fitting(text: str, width: int, begin: int = 0) -> str:
    """As much of a text as fits, from a place in it on."""
    if text.isascii():
        return text[begin : begin + width]
    used = 0
    for index in range(begin, len(text)):
        used += get_character_cell_size(text[index])
        if used > width:
            return text[begin:index]
    return text[begin:]
