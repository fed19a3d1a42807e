"""The sections of an answer: parts of a Markdown text that mean the same with or without what is around them."""

from __future__ import annotations

import re

_FENCE = re.compile(r" *(`{3,}|~{3,})(.*)")


class Sections:
    """A text that grows, cut into sections as they become whole.

    A section ends at a blank line that is in no fenced code, if what comes after it is not indented: that would
    belong to a list above it.
    """

    __slots__ = ("_fence", "_is_blank", "_line", "_lines")

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line = ""
        """The last line, which may still grow."""
        self._fence = ""
        """What the fenced code around the last line began with, if there is any."""
        self._is_blank = False
        """Whether the line before the last one is blank."""

    @property
    def rest(self) -> str:
        """The section that is not whole yet."""
        return "\n".join([*self._lines, self._line])

    def append(self, text: str) -> list[str]:
        """Add text; returns the sections that are now whole."""
        *lines, last = (self._line + text).split("\n")
        whole = []
        for line in lines:
            whole += self._before(line)
            self._take(line)
        self._line = ""
        whole += self._before(last)
        self._line = last
        return whole

    def _before(self, line: str) -> list[str]:
        """The section that ends where a line begins, if one does."""
        if not self._is_blank or self._fence or not line or line[0] == " ":
            return []
        whole, self._lines, self._is_blank = "\n".join(self._lines), [], False
        return [whole] if whole.strip() else []

    def _take(self, line: str) -> None:
        self._lines.append(line)
        self._is_blank = not line.strip()
        fence = _FENCE.fullmatch(line)
        if fence is None:
            return
        mark, info = fence.groups()
        if not self._fence:
            self._fence = mark if "`" not in info else ""
        elif mark.startswith(self._fence) and not info.strip():
            self._fence = ""
