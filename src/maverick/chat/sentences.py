"""Takes the text of a model apart into sentences, and tells which of them are for people.

A sentence is kept as it is, or left out as a whole: one with a hole in it would not be a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from maverick.chat.plain_words import is_plain

_BREAK = re.compile(r"\n|(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)*]))[ \t]+(?=[^\sa-z])")
_NO_END = re.compile(
    r"(?:^\W*\d{1,3}|\b(?:Dr|Mr|Mrs|Ms|Mt|Nr|Prof|St|No|Vol|vol|vs|approx|i\.e|e\.g|[A-Z]|(?i:(?:task|item|record|entry) n[or])))\.$"
)
"""A full stop that does not end a sentence: after a number at the head of a line, an abbreviation, an initial."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe0f\ufeff\ud800-\udfff]"
)
_AS_USUAL = str.maketrans({"\u2028": "\n", "\u2029": "\n", "‼": "!", "⁉": "?"})
_EMOJI = (
    "\U0001f000-\U0001faff\u2194-\u21aa\u2300-\u23ff\u2460-\u24ff\u2580-\u27bf\u2b00-\u2bff\u20e3"
    "\u2122\u2139\u3030\u303d\u3297\u3299\U000e0020-\U000e007f"
)
_SYMBOL = re.compile(f"[{_EMOJI}]")
_EDGE_EMOJI = re.compile(rf"^(?:[{_EMOJI}][\u200d\s]*)+|\s*(?:[{_EMOJI}][\u200d\s]*)+(?=[.,!?…:;]|$)")

_MARKUP = re.compile(
    r"^[ \t]*(?:#{1,6}|>+)[ \t]+|(?<![\w*])\*{1,3}(?=[\w\"'“‘(])|(?<=[\w.,!?:;\"'”’)])\*{1,3}(?![\w*])"
)
"""The marks of a heading, a quotation and emphasis."""
_BULLET = re.compile(r"^[ \t]*[*+•][ \t]+(?=\S)")


def visible(text: str) -> str:
    """A text without control characters, such as those that command a terminal."""
    return _INVISIBLE.sub("", text.translate(_AS_USUAL))


def split_off(text: str) -> str | None:
    """The first sentence of a text with the space after it; ``None`` if it is not complete."""
    for found in _BREAK.finditer(text):
        if found[0] == "\n" or not _NO_END.search(text[: found.start()]):
            return text[: found.end()]
    return None


def split(text: str) -> Iterator[str]:
    """The sentences of a text, each with the space after it."""
    while text:
        sentence = split_off(text) or text
        yield sentence
        text = text[len(sentence) :]


def unmarked(sentence: str) -> str:
    """A sentence without the marks of Markdown, which the user would read as they are."""
    return _BULLET.sub("- ", _MARKUP.sub("", sentence))


def readable(sentence: str, theirs: str, *, facts: bool = False) -> str:
    """A sentence as the user may read it; empty if it has technical terms that are not ``theirs``, or bare numbers for no ``facts``."""
    calm = _EDGE_EMOJI.sub("", sentence)
    if _SYMBOL.search(calm) or not any(map(str.isalnum, calm)) or not is_plain(calm, theirs, facts=facts):
        return ""
    return " ".join(calm.split())
