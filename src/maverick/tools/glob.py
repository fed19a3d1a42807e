"""Patterns with wildcards, matched in no more steps than the length of the pattern times that of the text.

A model may choose both.
"""

from __future__ import annotations

import re
from itertools import pairwise


class TextGlob:
    """A pattern for text: ``*`` stands for any text and ``?`` for one character."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        first, *rest = [
            "".join("." if sign == "?" else re.escape(sign) for sign in piece)
            for piece in re.split(r"\*+", pattern)
        ]
        # Each piece is taken where it first occurs and never tried again further on, so nothing is read twice.
        middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1])
        written = f"{first}{middle}.*{rest[-1]}" if rest else first
        self._compiled = re.compile(written, re.DOTALL | (re.IGNORECASE if ignore_case else 0))

    def matches(self, text: str) -> bool:
        """Whether the whole text is what the pattern describes."""
        return self._compiled.fullmatch(text) is not None


class PathGlob:
    """A pattern for paths: ``*`` and ``?`` stop at a slash, and ``**`` stands for any number of folders, or none."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        # Any number of folders, twice, is any number of folders.
        parts = [
            part for part, following in pairwise([*pattern.split("/"), ""]) if not part == following == "**"
        ]
        self._steps = [None if part == "**" else TextGlob(part, ignore_case=ignore_case) for part in parts]

    def matches(self, path: str) -> bool:
        """Whether the whole path is what the pattern describes."""
        reached = self._passing_folders({0})
        for name in path.split("/"):
            following: set[int] = set()
            for index in reached:
                if index < len(self._steps):
                    step = self._steps[index]
                    if step is None:
                        following.add(index)
                    elif step.matches(name):
                        following.add(index + 1)
            reached = self._passing_folders(following)
        return len(self._steps) in reached

    def _passing_folders(self, reached: set[int]) -> set[int]:
        """The places in the pattern that can be reached from these without another name: ``**`` may be nothing."""
        return reached | {
            index + 1 for index in reached if index < len(self._steps) and self._steps[index] is None
        }
