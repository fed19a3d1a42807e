"""Finds the tasks that are meant by their words, in whatever form people say them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from contextvars import ContextVar
from datetime import date
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

from maverick.chat.phrases import label

if TYPE_CHECKING:  # the offline model uses the verbs without a database
    from maverick.chat.tables import Task

_FORMS = (
    "bring brought, build built, buy bought, choose chose chosen, cut cut, do did done, draw drew drawn, drive drove driven, "
    "eat ate eaten, feed fed, find found, get got gotten, give gave given, go went gone, hang hung, leave left, make made, "
    "meet met, pay paid payed, read read, ride rode ridden, ring rang rung, run ran run, say said, see saw seen, sell sold, send sent, speak spoke spoken, "
    "sweep swept, take took taken, teach taught, tell told, throw threw thrown, tidy tidied, try tried, wear wore worn, "
    "write wrote written"
)
BASE_FORMS = {form: base for base, *forms in map(str.split, _FORMS.split(",")) for form in forms}
"""The verb of each past form that does not begin like it."""
_DEEDS = (
    "call phone ring telephone speak talk, email mail write message send, buy purchase get grab pick fetch, pay transfer settle, "
    "finish complete submit hand deliver wrap send ship turn, book reserve, water give"
)
_SAME_DEEDS = [*map(str.split, _DEEDS.split(","))]
"""Verbs in which people say that the same was done."""
_ARTICLES = frozenset(("a", "an", "the", "my", "our", "your", "some"))
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "a an the teh my our your that this it one task tasks todo item about regarding for to of with on called named thing things stuff",
    )
)
"""Words that do not distinguish tasks."""
_EXCEPT = re.compile(r"\b(?:not|but|except|never|without)\b", re.IGNORECASE)
"""Words that turn a request round: then only the very title counts."""
_AND = re.compile(r"\s*[,;&]\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_TITLES = re.compile(r"'(.+?)'(?=,| and |$)")
KNOWN_TASKS: ContextVar[Sequence[Task]] = ContextVar("known_tasks", default=())
"""The tasks of the user who is answered, for a model that reads no lists."""
_NUMBERS = {
    word: str(n) for n, word in enumerate(("one", "two", "three", "four", "five", "six", "seven"), start=1)
}
_SIMILAR_WORD = 0.82
"""How similar a misspelt word has to be."""
_INCIDENTAL = frozenset(
    re.findall(
        r"\w+",
        "already finally just now today yesterday morning afternoon evening night last again too all is are was were been has have",
    )
)
"""Words that may stand beside a title, to say that it is done and when."""


def same_title(title: str, tasks: Sequence[Task]) -> Task | None:
    """The first task that has this title, whatever its case, punctuation and articles."""
    return next((task for task in tasks if _bare(task.title) == _bare(title)), None)


def _bare(title: str) -> list[str]:
    return [word for word in _plain(title).split() if word not in _ARTICLES]


def find_named(query: str, tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks whose title has all the words, in the order given; an exact title wins."""
    asked, words = _plain(query), _words(query)
    exact = [task for task in tasks if asked and _plain(task.title) == asked]
    if len(exact) == 1:
        return exact
    return _distinct(
        exact
        or [
            task
            for task in tasks
            if not all(map(str.isdigit, words))
            and _has_all(words, _words(label(task, today)))
            and _shared(words, _words(task.title))
        ],
        today,
    )


def find_matches(query: str, tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks that may be meant, in the order given; only one if it is clear which.

    Titles that have all the words win over those that are all in the words ("bought the stamps" means "stamps"), and those
    over misspelt titles. Of tasks that look the same, the first is meant.
    """
    found = find_named(query, tasks, today)
    if found or _EXCEPT.search(query):
        return found
    words = _words(query)
    found = [task for task in tasks if _is_said_by(words, _words(task.title))]
    return _distinct(found or [task for task in tasks if _is_misspelt(words, _words(task.title))], today)


def _is_said_by(words: Sequence[str], title: Sequence[str]) -> bool:
    """Whether the words are a title, after what was done with it: "almond milk" is not "milk", but "bought milk" is."""
    extra = [word for word in words[1:] if word not in _INCIDENTAL and not _shared([word], title)]
    return not extra and _has_all(title, words)


def _is_misspelt(words: Sequence[str], title: Sequence[str]) -> bool:
    return len(words) == len(title) and all(map(_is_similar, words, title))


def _is_similar(one: str, other: str) -> bool:
    if _same(one, other):
        return True
    is_part = one.startswith(other) or other.startswith(one)
    return (
        (one + other).isalpha()
        and min(len(one), len(other)) > 2
        and (is_part or sorted(one) == sorted(other))
    )


def find_each(query: str, tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks of an enumeration such as "the milk and the rent"; none unless each part means exactly one of them."""
    if _EXCEPT.search(query):
        return []
    parts = _TITLES.findall(query) or _AND.split(query)
    found = [find_matches(part, tasks, today) for part in parts if part]
    each = {task.id: task for matches in found for task in matches}
    return list(each.values()) if len(each) == len(found) and all(len(m) == 1 for m in found) else []


def is_about(query: str, title: str) -> bool:
    """Whether a title has all the words."""
    return _has_all(_words(query), _words(title))


def nearest(query: str, tasks: Sequence[Task]) -> Task | None:
    """The task that shares most words with what was asked for, if one does and no other shares as many."""
    words = _words(query)
    shared = sorted(((_shared(words, _words(task.title)), n) for n, task in enumerate(tasks)), reverse=True)
    if not shared or not shared[0][0] or (len(shared) > 1 and shared[1][0] == shared[0][0]):
        return None
    return tasks[shared[0][1]]


def _shared(asked: Sequence[str], there: Sequence[str]) -> int:
    """How many of the words are there."""
    return sum(any(_same(word, other) for other in there) for word in asked)


def _distinct(tasks: Sequence[Task], today: date) -> list[Task]:
    """The tasks, without those that look the same as an earlier one."""
    return list({label(task, today): task for task in reversed(tasks)}.values())[::-1]


def _has_all(asked: Sequence[str], there: Sequence[str]) -> bool:
    return bool(asked) and all(any(_same(word, other) for other in there) for word in asked)


@lru_cache(maxsize=4096)
def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    if not (one + other).isalpha() or one.endswith(other) or other.endswith(one):
        return False  # numbers are exact, and "unlock" is not "lock"
    if min(len(one), len(other)) < 4:
        return False
    is_part = other.startswith(one) or one.startswith(other)
    return is_part or SequenceMatcher(None, one, other, autojunk=False).ratio() >= _SIMILAR_WORD


def meaningful(title: str) -> list[str]:
    """The words that tell a task from others."""
    return [plain_word(word) for word in _words(title)]


@lru_cache(maxsize=4096)  # the same few words in every title and sentence
def plain_word(word: str) -> str:
    """A word as it is compared with others, without case and accents."""
    plain = _plain(word.replace("-", "").removesuffix("'s").removesuffix("’s")).replace(" ", "")
    return _NUMBERS.get(plain, plain)


def is_same_word(said: str, word: str) -> bool:
    """Whether a word that was said is one of a title: in another form, or misspelt."""
    if said in _FILLERS or (said != word and said.endswith(("ed", "ing")) and not word.endswith(said[-2:])):
        return said == word
    # Nearly all words end here: a long list is to take no time.
    if said[:1] != word[:1] or abs(len(said) - len(word)) > 4:
        return False
    is_swapped = len(said) > 3 and said[0] == word[0] and sorted(said) == sorted(word)
    return is_swapped or _same(said, word)


def is_same_deed(said: str, verb: str) -> bool:
    """Whether a verb that was said means the one of a title: "reserved the flights" is "book flights"."""
    return is_same_word(said, verb) or any(
        verb in group and any(is_same_word(said, each) for each in group) for group in _SAME_DEEDS
    )


@lru_cache(maxsize=1024)
def _words(text: str) -> Sequence[str]:
    words = [BASE_FORMS.get(word, word) for word in _plain(text).split()]
    words = ["call" if word in ("ring", "phone", "phoned") else word for word in words]
    telling = [word for word in words if word not in _FILLERS]
    return telling or words


def _plain(text: str) -> str:
    """A text without case, accents and punctuation."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", bare.replace("'", "").replace("’", "")))
