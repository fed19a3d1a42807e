"""Finds the task, its priority and its title in a request."""

from __future__ import annotations

import re
from calendar import day_name
from collections.abc import Sequence
from difflib import get_close_matches

QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?:(?<=\s)|^)['‘](.+?)['’](?=[\s,.!?:;]|$)")
_PRIORITY = re.compile(
    r",?\s*(?:-\s*)?\b(?:(?:with|at|of|as|a|an|and|it's|it is|this is|that's|which is|very)\s+)*"
    r"(?:(?:priority|prio)\s*(?:is|:|=|of)?\s*(?P<after>high|medium|normal|low)"
    r"|(?P<before>high|highest|top|medium|normal|low|lowest)[\s-]+(?:priority|prio|importance)"
    r"|(?P<mild>not (?:urgent|important))|(?P<urgent>very urgent|urgent|important|asap))\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^(?:(?:please|pls|plz|kindly|just|ok(?:ay)?|so|well|and|now|then|also|actually|oh|hey|hi|hello|maverick|finally|yesterday)[,!\s]+)*"
    r"(?:(?:can|could|would|will|may) (?:you|i|we)\s+|(?:you|we|i) (?:can|may|could)\s+|i(?:'d| would) like (?:you )?to\s+|"
    r"i want (?:you )?to\s+|let(?:'s| us| me)\s+|go ahead and\s+)?(?:(?:please|pls|kindly|just|now|also)\s+)*",
    re.IGNORECASE,
)
_POLITE_END = re.compile(
    r"(?:[,.!?\s]+(?:please|pls|plz|for me|thanks|thank you|now|instead|mate|then|too|as well))+$",
    re.IGNORECASE,
)
_END = re.compile(r"[\s.!?…]+$")
_APOSTROPHES = {
    word.replace("'", ""): word
    for word in ("don't", "didn't", "haven't", "isn't", "can't", "won't", "i'm", "i've", "that's", "what's")
}
_NO_APOSTROPHE = re.compile(rf"\b(?:{'|'.join(_APOSTROPHES)})\b", re.IGNORECASE)
_WHEN_FIRST = re.compile(
    r"^(?P<when>(?:tonight|tomorrow|today|this (?:evening|afternoon|weekend|week)|next \w+|on \w+day)(?: morning| evening)?),? "
    r"(?P<rest>(?:i|we|please|remind|add)\b.+)$",
    re.IGNORECASE,
)
"""A date before what is asked for: "tomorrow I need to …"."""
_LIST_END = re.compile(
    r"\s+(?:to|on|onto|in|into|from|off)\s+(?:my|the|teh|our)\s+(?:\w+\s+)?(?:list|lists|tasks|todos?|to-dos?|to-do list|todo list)$",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"^(?:(?:the|a|an|my|that|this)\s+)?(?:(?:task|item|todo|to-do|reminder)s?\b\s*)?(?:(?:called|named|about|titled|(?:for me )?to|for|saying)\s+)?",
    re.IGNORECASE,
)
_TASK_END = re.compile(r"\s+(?:task|item|todo|one|reminder)$", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?:it|that|this|them|that one|this one|the task|the last one|that task|this task)", re.IGNORECASE
)
_LAST = re.compile(r"the last(?: one| task)?", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL = re.compile(
    rf"(?:the )?(?:(?P<word>{'|'.join(_ORDINALS)})|(?:number|no\.?|task|item|#)\s*(?P<number>\d{{1,3}})|(?P<nth>\d{{1,3}})(?:st|nd|rd|th)?)"
    r"(?: one| task| item)?",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"^(\d+)\. [☐✓] (.*?)(?: \((?:[^()]*priority|(?:overdue since|due) [^()]*)+\))?$", re.MULTILINE
)


_DEED = re.compile(
    r"(?:(?:go|start|finish|learn|try)\s+(?:to\s+)?)?(?:apply|arrange|ask|bake|book|bring|brush|build|buy|call|cancel|cash|change|check|"
    r"choose|clean|clear|collect|contact|cook|cut|decide|decorate|deliver|discuss|do|download|draft|draw|drink|drop|dust|eat|"
    r"email|empty|exercise|feed|file|fill|find|finish|fix|fold|follow|get|give|go|grab|hang|help|hire|install|invite|iron|learn|"
    r"mail|make|measure|meditate|meet|message|mop|mow|open|order|organi[sz]e|pack|paint|pay|phone|pick|plan|plant|play|post|"
    r"practi[cs]e|prepare|print|read|register|renew|repair|replace|reply|research|return|review|ride|ring|run|scan|sell|send|set|sew|"
    r"shop|sign|sort|speak|start|stretch|study|submit|sweep|swim|take|talk|test|text|throw|tidy|train|translate|try|tune|update|"
    r"upload|vacuum|visit|walk|wash|watch|water|weed|work|wrap|write)\b(?!\?| (?:it|that|this|them)\b)",
    re.IGNORECASE,
)
"""How things to do begin."""
_DAY_NAMES = ("tomorrow", *map(str.lower, day_name))


def begins_with_deed(text: str) -> bool:
    """Whether a text begins as things to do begin: "call the bank"."""
    return _DEED.match(text) is not None


def corrected(text: str, commands: Sequence[str]) -> str:
    """A text whose first word is put right if it is a misspelt command."""
    first, _, rest = text.partition(" ")
    meant = get_close_matches(first.lower(), commands, n=1, cutoff=0.8)
    return f"{meant[0]} {rest}" if meant else text


def with_days(text: str) -> str:
    """A text whose misspelt days are put right."""
    return re.sub(r"\b[a-z]{6,}\b", lambda found: _day(found[0]), text, flags=re.IGNORECASE)


def _day(word: str) -> str:
    meant = get_close_matches(word.lower(), _DAY_NAMES, n=1, cutoff=0.85)
    return meant[0] if meant and word.lower() != meant[0] else word


def without_pictures(text: str) -> str:
    """A text without emoji at its end."""
    return re.sub(r"[^\w'\"”’)%€$£]+$", "", text)


def plain_end(text: str) -> str:
    """A text without politeness and punctuation behind it."""
    text = re.sub(r"\s+", " ", text.replace("’", "'")).strip()
    return _END.sub("", _POLITE_END.sub("", _END.sub("", text)))


def plain_request(text: str) -> str:
    """A request without politeness around it and punctuation behind it."""
    text = _POLITE.sub("", plain_end(text), count=1).strip()
    text = _NO_APOSTROPHE.sub(lambda found: _APOSTROPHES[found[0].lower()], text)
    return _WHEN_FIRST.sub(r"\g<rest> \g<when>", text)


def quoted(text: str) -> list[str]:
    """What stands in quotation marks."""
    return [next(filter(None, found)) for found in QUOTED.findall(text)]


def take_priority(text: str) -> tuple[str | None, str]:
    """The priority a text names, and the text without it."""
    found = _PRIORITY.search(text)
    if found is None:
        return None, text
    rest = f"{text[: found.start()].rstrip(' ,:(')} {text[found.end() :].lstrip(' ,:)')}".strip()
    word = (found["after"] or found["before"] or "").lower()
    if found["urgent"] or word in ("high", "highest", "top"):
        return "High", rest
    return ("Low" if found["mild"] or word in ("low", "lowest") else "Medium"), rest


def without_list(text: str) -> str:
    """A text without "to my list" and the like at its end."""
    return _LIST_END.sub("", text).strip()


def title_of(text: str) -> str:
    """What a task is called, without the words around the title."""
    return _unquoted(_CALLED.sub("", without_list(text), count=1).strip(" ,:;-"))


def reference(text: str, answered: str) -> str:
    """The title a task is referred to by: by its words, by a pronoun, or by its place in what was just shown."""
    text = without_list(text.strip(" ,:;"))
    if _PRONOUN.fullmatch(text) and (mentioned := _mentioned(answered)):
        return mentioned
    if (place := ordinal(text, (shown := listed(answered)))) is not None:
        return shown[place]
    if len(inside := quoted(text)) == 1:
        return inside[0]
    return _TASK_END.sub("", _CALLED.sub("", text, count=1)).strip(" ,:;") or text


def listed(answered: str) -> list[str]:
    """The titles of a numbered list of tasks."""
    return [found[1] for found in _LISTED.findall(answered)]


def ordinal(text: str, shown: Sequence[str]) -> int | None:
    """Which of the things that were shown is meant by "the second one" and the like."""
    if _LAST.fullmatch(text) and shown:
        return len(shown) - 1
    found = _ORDINAL.fullmatch(text.strip())
    if found is None:
        return None
    word = (found["word"] or "").lower()
    place = _ORDINALS.index(word) if word else int(found["number"] or found["nth"]) - 1
    return place if 0 <= place < len(shown) else None


def several(text: str) -> list[str]:
    """The parts of an enumeration."""
    return [part for part in re.split(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+", text.strip(" .")) if part]


def _mentioned(answered: str) -> str:
    """The task an answer was about."""
    found = re.findall(r"'(.+?)'(?=[\s.?!:,]|$)", answered)
    titles = [title for title in found if not title.startswith("yes ")]
    return titles[0] if titles else (listed(answered) or [""])[-1]


def _unquoted(text: str) -> str:
    inside = quoted(text)
    return inside[0] if len(inside) == 1 and len(inside[0]) + 2 == len(text) else text
