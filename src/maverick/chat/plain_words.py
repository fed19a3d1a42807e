"""Tells the words of people from those of programs.

A model may say anything, and no list of technical terms would be complete. So it is decided the other way round: a
sentence is plain if each of its words is made of letters, with a capital at its head at most; a number only where it
counts something or tells a time, a date or a price; and no sign but those that sentences have. Only of the words that
look like all others a list says which are technical. What the user said themselves, they may be told.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_JOINERS = re.compile("[\u200c\u200d]")
"""Needed in some scripts and between emoji, and invisible within a word of another."""
_GAP = re.compile(
    r"—|–(?!\d)|…|\.{2,}|(?<=[^\x00-\x7f])[,;:!?()。、「」『』]|[,;:!?()。、「」『』](?=[^\x00-\x7f])"
)
"""Stands between words without a space."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_OPENING, _CLOSING = "\"'“‘„«(¿¡", "\"'”’»).,!?:;।"
_BETWEEN_WORDS = frozenset("-–&")
_SIGNS = frozenset("+×÷=>−*/")
"""Stand between the numbers of a sum, the keys that are pressed together, the entries of a menu."""
_LONGEST_WORD = 60
_LETTERS = re.compile(r"[^\W\d_]+(?:['’/-][^\W\d_]+)*")
_PART = re.compile(r"['’/-]")
_SPELT_SO = _set(
    "AD AI AM ASAP ATM BBC BBQ BC BCE BTW CD CEO CV DHL DIY DVD EU FAQ FYI GP GPS HR IKEA LED NASA NHS OK PDF PIN PM PS RSVP SIM TV UK UN UPS US USA "
    "USB VAT VIP CO2 GHz H2O MHz kHz kW kWh °C °F iPad iPhone LinkedIn PayPal PhD WhatsApp YouTube"
)
_NAME = re.compile(
    r"(?!(?:AND|ASCII|CLI|CRUD|CSV|DEBUG|DROP|EOF|FALSE|FATAL|FROM|GET|HEAD|INFO|INTO|JOIN|LIKE|NONE|NOT|NULL|ORM|PATCH|POST|PUT|RAM|RPC|SET|SSE|TABLE|TRUE"
    r"|TTL|UTF|WARN|WHERE|E[A-Z]{4}.*|SIG[A-Z]+|\w*(?:Error|Exception|Warning|Iteration|Interrupt|Exit))$)(?:[A-Za-z]+(?:['’/-][A-Za-z]+)*|[A-Z]\d)"
)
"""A name with capitals, as of a brand, that is not a program's."""
_WITH_POINTS = frozenset(("a.m", "p.m", "e.g", "i.e"))
_STANDS_ALONE = re.compile(
    r"\d{1,2}[:.]\d{2}(?:[ap]m)?|\d{1,2}[ap]m|\d{1,2}(?:st|nd|rd|th)|\d{1,3}%|[$€£]\d{1,4}(?:[.,]\d{2})?"
    r"|\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{4}-\d{2}-\d{2}|\d{1,2}-[a-z]{3,}",
    re.IGNORECASE,
)
"""A time, a place in an order, a share, a price, a date, a length such as ``5-minute``."""
_SMALL = re.compile(r"\d{1,2}(?:[.,]\d{1,2}|[-–]\d{1,2})?")
_LARGE = re.compile(r"\d{3,4}|\d{1,3}(?:,\d{3})+")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_HEAD = re.compile(r"\d{1,2}[.)]|[-•]")
"""Begins a line of a list."""
_MONTHS = _set(
    "january february march april may june july august september october november december jan feb mar apr jun jul "
    "aug sep sept oct nov dec"
)
_LABELS = _set("code entry item line no nr number port ref reference row status task ticket version")
"""A number after one of these names something."""
_LEADS = _set(
    "about after are around at before between by chapter equals from is makes page plus than till times to until was"
)
"""A small number may follow, and end the sentence."""
_DATES_LEAD = _MONTHS | _set("by from in of since until")
_COUNTS_NOTHING = _set(
    "again and are as back because but for from has have if in is it on or so that the this to was were when with "
    "yours"
)
_COUNTED = _set(
    "books calories days degrees dollars euros grams hours kilometers kilometres meters metres miles minutes months "
    "pages people pounds seconds steps times weeks words years"
)
"""What people count in hundreds; a large number before anything else may be a code."""

_HIGH = r"(?:four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty(?:-\w+)?)"
"""Numbers beyond those of the first few things."""
_TERMS = re.compile(
    " (?:"  # noqa: S608 - a pattern
    + "|".join(
        (
            r"u?ids?|uuids?|guids?|identifiers?",
            r"\w*(?<!t)errors?|errno|\w*exceptions?(?! of)|tracebacks?|stack ?traces?|timeouts?|deadlock\w*",
            r"seg(?:mentation )?faults?|core dumped|connection re\w+|bad gateway|bad request|rate limit\w*|exit codes?",
            r"https?|status codes?|urls?|uris?|apis?|sdks?|mcp|llms?|tcp|dns|ssl|tls|oauth|jwts?|cpus?|localhost|sockets?",
            r"json|xml|yaml|html|sql|\w*sqlite\w*|mysql|sqlalchemy|postgres\w*|databases?|queries|query|schemas?|payloads?",
            r"(?:primary|foreign)[ -]keys?|drop table|insert into|delete from \w+|update \w+ set|select all from",
            r"select (?:[\w']+ ){1,8}from (?:tasks|users|messages|conversations)",
            r"null|undefined|nan|nonetype|booleans?|integers?|regex\w*|std(?:out|err|in)|k?wargs|args|timestamps?|metadata",
            r"backends?|servers?|endpoints?|parameters?|runtimes?|middleware|async(?:io)?|webhooks?|config|debug\w*|syntax",
            r"(?:unique|key|check|null) constraints?|index out of range|context (?:window|length)|functions? return\w*",
            r"return(?:s|ed) (?:true|false|none)|tokens? limit|max(?:imum)? tokens",
            r"(?:stack|buffer) overflow|cache miss\w*|latency|recursion|upstream|prompt injection|hallucinated|tokens? expired",
            r"status (?:two|three|four|five) hundred|(?:failed|exited|ended) with code \w+|system messages?|unexpected token",
            rf"(?:task|item|entry|record|row) (?:number )?{_HIGH}",
            r"caches?|cached|invalidated|(?:exponential )?backoff|npm|pip install|\d{3} (?:forbidden|unauthorized|conflict|gone|timeout)",
            r"mutex(?:es)?|roll(?:ed|ing)? ?back|invok(?:e|ed|ing)|(?:left|inner|outer) join\w*|import [a-z]+(?= $)|\d{3} ok",
            r"(?:arguments?|parameters?|values?) (?:was|were|is|are) (?:invalid|missing|null)|(?:was|is|got|returned) none(?! of)",
            r"idempoten\w*|(?:de)?seriali[sz]\w*|system prompts?|(?:tool|function)[ -]?calls?|called the tool",
        )
    )
    + r")(?= )"
)
"""Technical, though of letters alone."""
_ID_TOLD = re.compile(
    r" (?:its|the|your|task|user) (?:task |user )?ids? (?:of|for|is|are) | ids? (?:is |one |two |three |\d)| (?:its|task) (?:key|number|code) is \d"
)
"""Tells an id, which no question makes plain."""
_REPORT = re.compile(
    r"(?!.* (?:a|an|he|i|it|my|our|she|that|the|they|this|we|you|your) )(?: [\w'-]+){0,4}?"
    r" (?:(?:failed|denied|exceeded|expired|unavailable|unauthori[sz]ed|forbidden|mismatch|panic|failure|rejection|timed out) "
    r"|not found |not callable |(?:invalid|illegal|missing|unknown|unhandled|unexpected|duplicate|undefined) (?:.+ )?(?:argument|field|column|key|value|input|type|rejection)s? "
    r"|no such (?:file|host|table|column) .*|broken pipe |out of memory |division by zero |cannot read .*|too many requests )"
)
"""How programs report a failure: in a few words, without any that people would say it with."""
_STOP = re.compile(r"[.!?]\s")
_UNIT = 4
"""Letters of the longest unit, such as ``kcal``."""
_FACT = re.compile(
    r"\d{1,4}|\d+⁄\d+|\d+(?:[.,]\d+)?(?:[GKMkgmlLx%°]|[cmk]m|mg|kg|ml|kcal|km/h|mph|°[CF])?(?:[23]|\d+)?|\d{1,2}:\d{2}:\d{2}|[cmk]?m[23]|[$€£]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[$€£]?\d+\.\d+|\d{1,4}[-–/]\d{1,4}|\d{1,3}°[CF]?|[IVXLCDM]+"
)
_CODE = re.compile(r"[45]\d\d")
"""A fact only where it counts something, or where the user has numbers too: by itself it is the code of a failure."""
_TOLD_BY_PROGRAM = _set("a an got is returned returns said says sent status the was with")
"""Before such a number, unless it counts something that people count."""
_NO_PROSE = re.compile(r"(?:^|[^\w\s.,!?])\s*[\w-]*[\"'”’]\s*:|^\W*\w+: .*; ?\w+: |;\s*$|^(?: {4}|\t)\S")
"""A name with its value, the end of a statement, an indented line."""


def normalized(text: str) -> str:
    """A text in the characters that are looked for: a full-width letter is that letter."""
    return unicodedata.normalize("NFKC", _JOINERS.sub("", text))


def words_of(said: str) -> str:
    """The words of a text, to look for words and phrases in: each between two spaces."""
    return f" {' '.join(filter(None, map(_core, _tokens(said))))} ".casefold()


def is_plain(sentence: str, theirs: str, *, facts: bool = False) -> bool:
    """Whether people talk like this, or the user did, whose words are ``theirs``; ``facts`` may be numbers by themselves."""
    if _NO_PROSE.search(normalized(sentence)):
        return False
    said = words_of(sentence)
    if _ID_TOLD.search(said) or any(f"{found[0]} " not in theirs for found in _TERMS.finditer(said)):
        return False
    reports = filter(_REPORT.match, map(words_of, _STOP.split(sentence)))
    if any(report not in theirs for report in reports):
        return False
    tokens = _tokens(sentence)
    if tokens and _HEAD.fullmatch(tokens[0]):
        del tokens[0]
    signs = _BETWEEN_WORDS | _SIGNS if facts else _BETWEEN_WORDS
    words = [_core(token) for token in tokens if token not in signs]
    has_numbers = any(map(str.isdigit, theirs))
    return all(
        not word
        or f" {word.casefold()} " in theirs
        or _is_word(word)
        or (facts and _NAME.fullmatch(word))
        or _is_number(words, place, facts=facts, any_fact=has_numbers)
        for place, word in enumerate(words)
    )


def _tokens(text: str) -> list[str]:
    spread = _GAP.sub(" ", normalized(text))
    return "".join(each for each in spread if not unicodedata.category(each).startswith("M")).split()


def _core(token: str) -> str:
    return token.lstrip(_OPENING).rstrip(_CLOSING)


def _is_word(word: str) -> bool:
    if word in _SPELT_SO or word.casefold() in _WITH_POINTS:
        return True
    if len(word) > _LONGEST_WORD or not _LETTERS.fullmatch(word):
        return False
    return all(part[1:] == part[1:].lower() for part in _PART.split(word))


def _is_number(words: Sequence[str], place: int, *, facts: bool, any_fact: bool) -> bool:
    """Whether a number counts what comes after it, tells a time or a date, or is a fact."""
    number = words[place]
    before = words[place - 1].casefold() if place else ""
    after = words[place + 1].casefold() if place + 1 < len(words) else ""
    if _STANDS_ALONE.fullmatch(number):
        return True
    if before in _LABELS:
        return False
    counts = after.replace("'", "").isalpha() and after not in _COUNTS_NOTHING
    is_measure = after in _COUNTED or len(after) <= _UNIT
    is_counting = counts and words[place + 1].islower() and (is_measure or before not in _TOLD_BY_PROGRAM)
    is_code = _CODE.fullmatch(number) and not (any_fact or is_counting)
    if facts and _FACT.fullmatch(number) and not is_code:
        return True
    if _YEAR.fullmatch(number) and (before in _DATES_LEAD or _SMALL.fullmatch(before)):
        return True
    if _SMALL.fullmatch(number):
        return counts or before in _LEADS | _MONTHS or after in _WITH_POINTS
    return after in _COUNTED and _LARGE.fullmatch(number) is not None
