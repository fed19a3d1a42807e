"""A sentence from which values are read one after the other; what was read is not read again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from maverick.providers.offline.arithmetic import find_expression
from maverick.providers.offline.words import STOP_WORDS, split_words, stem

LONGEST = 20_000
"""Characters of the longest text that is read for tools: nobody says more in one sentence."""

# A pattern that tries the same characters again and again takes forever in a long text: hence a place where each has to
# begin, or to end, and repeats that give nothing back.
QUOTED = r"\"([^\"]+)\"|“([^“”]+)”|«([^«»]+)»|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)"
"""A text in quotation marks."""
_QUOTED = re.compile(QUOTED)
_NUMBER = re.compile(r"(?<![\w.])-?\d++(?:,\d{3})*+(?:\.\d++)?+(?![\w]*-\d)")
_DATE = re.compile(
    r"\b(?:on|by|at|for|until|before|since)?\s*\b("
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?"
    r"|\d{1,2}\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:\s+\d{4})?"
    r"|today|tonight|tomorrow|yesterday"
    r"|(?:next\s+)?(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"(?:\bto\s+)?(?<![\w.+-])([\w.+-]++@[\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
_URL = re.compile(r"(https?://[^\s<>\"']*[^\s<>\"'.,;:!?)])")
_FILE = r"((?:[\w.~-]*/)+[\w.-]*\w|[\w-]+\.[a-z][a-z0-9]{0,4})"
_PATH = re.compile(rf"(?<!\S){_FILE}(?=[\s,;:!?.]|$)")
_QUOTED_PATH = re.compile(rf"(?<!\w)['\"`“«]{_FILE}['\"`”»](?!\w)")
_NAME = re.compile(r"(?<!^)(?<![.!?]\s)\b([A-Z][\w’'-]*(?:[ -][A-Z][\w’'-]*)*)")
_UNIT = r"[a-zA-Z°µ][\w°µ/²³]*"
_MEASURED = re.compile(rf"\d\s*({_UNIT})")
_WANTED_UNIT = re.compile(rf"\b(?:to|into|in|as)\s+({_UNIT})|how many\s+({_UNIT})", re.IGNORECASE)
_TOKEN = re.compile(r"\S+")
_CONNECTORS = frozenset(split_words("in of for to about from is are on at with saying that"))
_EDGE = " \t\n.,;:!?"


class Sentence:
    """What a person said, as a source of values."""

    def __init__(self, text: str) -> None:
        self._whole = text
        self._text = text

    def quoted(self) -> str | None:
        """The next text in quotation marks."""
        return self._take(_QUOTED)

    def all_quoted(self) -> list[str]:
        """All that is in quotation marks."""
        return self._take_all(_QUOTED)

    def number(self) -> float | None:
        """The next number."""
        found = self._take(_NUMBER)
        return None if found is None else _value(found)

    def numbers(self) -> list[float]:
        """All numbers."""
        return [_value(found) for found in self._take_all(_NUMBER)]

    def date(self) -> str | None:
        """A date, or a word for one, as it was written."""
        return self._take(_DATE)

    def email(self) -> str | None:
        """An e-mail address."""
        return self._take(_EMAIL)

    def url(self) -> str | None:
        """A web address."""
        return self._take(_URL)

    def path(self) -> str | None:
        """Something that looks like a file; if there are two, the one that is nothing else."""
        return self._take(_QUOTED_PATH) or self._take(_PATH)

    def expression(self) -> str | None:
        """Arithmetic."""
        return find_expression(self._text)

    def place(self) -> str | None:
        """A name after a word like "in", or else any name within the sentence."""
        return self._take(_AFTER_PLACE_WORD) or self._take(_NAME)

    def measured_unit(self) -> str | None:
        """The unit after a number."""
        return self._peek(_MEASURED)

    def wanted_unit(self) -> str | None:
        """The unit that is asked for."""
        return self._peek(_WANTED_UNIT)

    def after(self, word: str) -> str | None:
        """The phrase after a word such as "to" or "from", up to the next such word or the end."""
        return self._take(re.compile(rf"\b{word}\s++(.+?)(?=\s(?:{_STOPPERS})\b|[,;.!?\n]|$)", re.IGNORECASE))

    def labelled(self, name: str) -> str | None:
        """What stands after a name: ``city: Brest``, ``city=Brest`` or ``city "Brest"``."""
        spaced = rf"\b{re.escape(name).replace('_', '[_ ]')}"
        quoted, plain = rf"{spaced}(?:\s*[:=]\s*|\s+)(?:{QUOTED})", rf"{spaced}\s*[:=]\s*([^,;\n]+)"
        return self._take(re.compile(f"{quoted}|{plain}", re.IGNORECASE))

    def counted(self, name: str) -> float | None:
        """The number beside a name: ``limit 5`` or ``5 results``."""
        noun = re.escape(name.rpartition("_")[2])
        if len(noun) < 3:
            return None
        beside = rf"\b{noun}\s+(?:of\s+|to\s+)?(-?\d+(?:\.\d+)?)\b|\b(\d+)\s+{noun}s?\b"
        found = self._take(re.compile(beside, re.IGNORECASE))
        return None if found is None else float(found)

    def choice(self, values: Iterable[str]) -> str | None:
        """The first of the values that is mentioned."""
        spoken = {stem(word) for word in split_words(self._text)}
        for value in values:
            wanted = [stem(word) for word in split_words(value)]
            if wanted and spoken.issuperset(wanted):
                return value
        return None

    def rest(self, vocabulary: frozenset[str]) -> str | None:
        """What is left once the words that only name the task are gone: "buy milk" of "add a task to buy milk".

        Args:
            vocabulary: The stems of the words that name the task.
        """
        tokens = list(_TOKEN.finditer(self._text))
        start = _task_words_before([token.group() for token in tokens], vocabulary)
        end = len(tokens) - _task_words_after([token.group() for token in tokens[start:]], vocabulary)
        if start >= end:
            return None
        return self._text[tokens[start].start() : tokens[end - 1].end()].strip(_EDGE) or None

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.search(self._text)
        if found is None:
            return None
        self._text = f"{self._text[: found.start()]} {self._text[found.end() :]}"
        return _group(found).strip()

    def _take_all(self, pattern: re.Pattern[str]) -> list[str]:
        found = [_group(each).strip() for each in pattern.finditer(self._text)]
        self._text = pattern.sub(" ", self._text)
        return found

    def _peek(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.search(self._whole)
        return None if found is None else _group(found).strip()


_STOPPERS = "in|at|on|from|to|for|with|by|and|saying|that|please"
_PLACE_NAME = r"(?!(?:the|a|an|my|this)\b)[^\W\d_][^\s,;.!?]*(?:(?: (?:de|la|le|du|of|am|upon|sur))*[ -][A-Z][^\s,;.!?]*)*"
_AFTER_PLACE_WORD = re.compile(rf"\b(?:in|at|near|for|around|of)\s+({_PLACE_NAME})")


def _task_words_before(tokens: Sequence[str], vocabulary: frozenset[str]) -> int:
    """How many words at the beginning only name the task; "add a task to" ends with its "to"."""
    named = False
    for index, token in enumerate(tokens):
        bare = token.strip(_EDGE).lower()
        names_task = _names_task(bare, vocabulary)
        if not names_task and bare and bare not in STOP_WORDS and bare not in _CONNECTORS:
            return index
        if named and (bare in _CONNECTORS or token.endswith(":")):
            return index + 1
        named = named or names_task
    return len(tokens)


def _task_words_after(tokens: Sequence[str], vocabulary: frozenset[str]) -> int:
    """How many words at the end only name the task; "to my list" does when the list does."""
    count = 0
    for token in reversed(tokens):
        bare = token.strip(_EDGE).lower()
        if not _names_task(bare, vocabulary) and not (count and bare in STOP_WORDS):
            break
        count += 1
    return count


def _names_task(word: str, vocabulary: frozenset[str]) -> bool:
    return any(stem(each) in vocabulary for each in split_words(word))


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _group(found: re.Match[str]) -> str:
    return next((group for group in found.groups() if group is not None), found.group())
