"""Finds the task that is meant by the similarity of its title to what was said, never by an id."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from difflib import SequenceMatcher

from maverick.chat.phrases import label
from maverick.chat.tables import Task

_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "a an the my our your that this it one task tasks todo item about for to of with on called named",
    )
)
"""Words that do not distinguish tasks."""
_SIMILAR_WORD = 0.82
"""How similar a misspelt word has to be."""
_SIMILAR_TITLE = 0.72
"""How similar a whole title has to be when it does not contain all words."""


def find_matches(query: str, tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks that may be meant, in the order given; only one if it is clear which.

    An exact title wins over titles that contain all the words, and those over similar titles. Of tasks that look the
    same, the first is meant.
    """
    asked = _plain(query)
    if not asked:
        return []
    exact = [task for task in tasks if _plain(task.title) == asked]
    if len(exact) > 1:
        return _distinct(exact, today)
    if exact:
        return exact
    words = _words(query)
    found = [task for task in tasks if _has_all(words, _words(label(task, today)))]
    if not found:
        found = [task for task in tasks if _similarity(asked, _plain(task.title)) >= _SIMILAR_TITLE]
    return _distinct(found, today)


def _distinct(tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks, without those that look the same as an earlier one."""
    return list({label(task, today): task for task in reversed(tasks)}.values())[::-1]


def _has_all(asked: Sequence[str], there: Sequence[str]) -> bool:
    return bool(asked) and all(any(_same(word, other) for other in there) for word in asked)


def _same(one: str, other: str) -> bool:
    if one == other or (
        len(one) > 3 and (other.startswith(one) or (len(other) > 3 and one.startswith(other)))
    ):
        return True
    return min(len(one), len(other)) > 3 and _similarity(one, other) >= _SIMILAR_WORD


def _similarity(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _words(text: str) -> list[str]:
    words = _plain(text).split()
    telling = [word for word in words if word not in _FILLERS]
    return telling or words


def _plain(text: str) -> str:
    """A text without case, accents and punctuation."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", bare.replace("'", "").replace("’", "")))
