"""Words and what they are about: enough of English to compare a request with a tool's description."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SUFFIXES = ("ations", "ation", "ators", "ator", "ates", "ate", "ings", "ing", "ions", "ion", "ers", "er")
_ENDINGS = ("ies", "ed", "es", "s", "e", "y")


def split_words(text: str) -> list[str]:
    """The words of a text in lower case; ``snake_case`` and ``camelCase`` names come apart."""
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", text))]


STOP_WORDS = frozenset(
    split_words(
        """
        a about after all also am an and any anything are as at be been before but by can could did do does
        doing for from get give given had has have he her here him his how i if in into is it its just know
        let like made make many may me might more much my need no not now of off on once one only or our out
        over please return returns say says she should show so some such tell than that the their them then
        there these they this those to too up us use used uses using very want was we well were what when
        where which while who whose why will with would yes you your
        """
    )
)


def stem(word: str) -> str:
    """A word without its ending, so that ``calculate``, ``calculator`` and ``calculation`` are one."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word.removesuffix(suffix)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def topics(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about."""
    return frozenset(stem(word) for word in split_words(text) if word not in STOP_WORDS and word.isalpha())
