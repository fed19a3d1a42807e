"""Unified differences in a text: which lines are of one, and what each of them does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", re.MULTILINE)


class DiffLine(StrEnum):
    """What a line of a difference does."""

    ADDED = "added"
    REMOVED = "removed"
    HUNK = "hunk"
    FILE = "file"
    CONTEXT = "context"


def is_diff(text: str) -> bool:
    """Whether a text has a difference in it."""
    return "@@ -" in text and _HUNK.search(text) is not None


def read_diff(lines: Iterable[str]) -> Iterator[DiffLine | None]:
    """What each line does; nothing for those that are of no difference.

    A hunk says how many lines it has, so that a removed line that looks like the head of a file is not taken for one.
    """
    old = new = 0
    for line in lines:
        if old > 0 or new > 0:
            old -= not line.startswith("+")
            new -= not line.startswith("-")
            yield {"+": DiffLine.ADDED, "-": DiffLine.REMOVED}.get(line[:1], DiffLine.CONTEXT)
        elif hunk := _HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in hunk.groups())
            yield DiffLine.HUNK
        else:
            yield DiffLine.FILE if line.startswith(("--- ", "+++ ")) else None
