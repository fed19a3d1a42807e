"""Judges the sentences of a model: which are for people, and which claim something that only a tool can know.

A sentence is kept as it is, or left out as a whole: one with a hole in it would not be a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from maverick.chat.plain_words import is_plain, normalized

_BREAK = re.compile(r"\n|(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)*]))[ \t]+(?=[^\sa-z])")
_NO_END = re.compile(
    r"(?:^\W*\d{1,3}|\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|vs|approx|[A-Z]|(?i:(?:task|item|record|entry) n[or])))\.$"
)
"""A full stop that does not end a sentence: after a number at the head of a line, an abbreviation, an initial."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]"
)
_EMOJI = (
    "\U0001f000-\U0001faff\u2194-\u21aa\u2300-\u23ff\u2460-\u24ff\u2580-\u27bf\u2b00-\u2bff\u20e3"
    "\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299\U000e0020-\U000e007f"
)
_EDGE_EMOJI = re.compile(
    rf"^(?:[{_EMOJI}][\u200d\ufe0f\s]*)+|\s*(?:[{_EMOJI}][\u200d\ufe0f\s]*)+(?=[.,!?…:;]|$)"
)

_MARKUP = re.compile(
    r"^[ \t]*(?:#{1,6}|>+)[ \t]+|(?<![\w*])\*{1,3}(?=[\w\"'“‘(])|(?<=[\w.,!?:;\"'”’)])\*{1,3}(?![\w*])"
)
"""The marks of a heading, a quotation and emphasis."""
_BULLET = re.compile(r"^[ \t]*[*+•][ \t]+(?=\S)")

_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|(?:(?<=\W)|^)['‘][^'‘’]*['’](?=\W|$)")
_NEGATED = re.compile(
    r"\b(?:\w+n't|cannot|not|never|nothing|without)\b"
    r"(?:\s+(?:yet|been|be|was|is|has|have|actually|any|anything|it|them|that|to))*(?:\s+\w+)?"
)
_DONE = (
    r"(?:added|created|inserted|saved|noted|recorded|logged|scheduled|entered|jotted|deleted|removed|erased|cleared|wiped"
    r"|dropped|purged|discarded|trashed|scrapped|cancell?ed|completed|finished|done|marked|checked|ticked|crossed|updated"
    r"|changed|edited|modified|renamed|moved|rescheduled|postponed|prioriti[sz]ed|reopened|restored|undone|reverted|archived"
    r"|gone|handled|sorted|processed|executed|performed|confirmed|adjusted|assigned|bumped|raised|lowered|pushed|closed"
    r"|accomplished|eliminated|vanished|disappeared|registered|stored|filed|booked|applied|swapped|replaced|duplicated)"
)
_DOING = (
    r"(?:adding|creating|saving|noting|scheduling|deleting|removing|erasing|clearing|wiping|cancell?ing|completing|finishing"
    r"|marking|checking|ticking|crossing|updating|changing|editing|renaming|moving|rescheduling|reopening|restoring|undoing"
    r"|reverting|archiving|confirming|putting|setting|looking(?! after| forward)|fetching|processing)"
)
_HARMLESS = re.compile(rf"\bwell done\b|\b(?:to|gets?|getting|be|being)(?: \w+)? {_DONE}\b")
_CERTAIN = re.compile(
    rf"\b(?:i|we)(?:'ve| have|'d| had)?(?: (?:just|already|now|also|successfully|went ahead and|then))* {_DONE}\b"
    r"|\b(?:i|we)(?:'ve| have| just)(?: (?:just|already|now|also))* (?:put|set|made|taken|got)\b"
    r"|^(?:i|we)(?: (?:just|already|now|also|then))* (?:brought|cut|dealt|did|got rid|knocked|made|put|set|struck|threw|took|wrote)\b"
    rf"|\b(?:was|were|been|got|gotten|is now|are now|'s now|it's|they're) (?:\w+ly )?(?:just )?{_DONE}\b"
    r"|\b(?:i|we)(?:'ll| will| shall|'m going to| am going to|'m about to| am about to)"
    r" (?!be\b|help|leave|wait|need|try|do my best|gladly|happily|not\b)"
    rf"|\b(?:i'm|i am|we're|we are) (?:now |currently )?{_DOING}\b|^{_DOING}\b"
    rf"|\bwill (?:now |soon )?be {_DONE}\b"
    r"|\blet me(?! know)\b|\bsuccess(?:fully|ful)?\b|\ball set\b|\btaken care of\b|\bconsider it\b"
    r"|[☐☑✓✔✅☒✗]|\[[ xX]\]|\breply ['‘\"“]|\bto confirm\b|\bconfirm with\b"
    r"|\breally want to\b|\b(?:are you|you're|you are) sure\b|\bbig action\b"
)
"""Says that something was, is being or will be done, or asks for a confirmation in place of a tool."""
_NUMBER = r"(?:no|zero|only|just|\d+|one|two|three|four|five|six|seven|eight|nine|ten|a|several|many|some|these|the following)"
_TASKS = r"(?:tasks?|to-?dos?|items?|things|reminders?|entr(?:y|ies))"
_LIKELY = re.compile(
    rf"\b{_DONE}\b|\bno longer\b|\bcomplete$"
    rf"|\b(?:you|there)(?:'ve|'re|'s| have| are| is| still have| now have)?(?: got| now| still| currently)* {_NUMBER}\b.*\b{_TASKS}\b"
    rf"|\byour (?:\w+ )*(?:list|{_TASKS}|day|schedule) (?:\w+ )?(?:is|are|has|have|contains?|includes?|shows?|looks?|now)\b"
    r"|\byour (?:\w+ )*(?:list|tasks?|to-?dos?)\s*:|\bhere (?:is|are|'s) (?:your|the|all)\b"
    r"|\b(?:on|off|from|in|to) (?:your|the) (?:\w+ )*(?:list|tasks)\b"
    r"|\bis (?:now )?(?:due|overdue|complete|open|empty|high|low|off|back|away|history)\b"
)
"""Also says so, unless the sentence is a question or an offer."""
_ASKS = re.compile(
    r"^(?:and |so |or |but |ok(?:ay)?,? |sure,? |well,? )*(?:what|which|who|when|where|why|how|do|does|did|is|are|was|were|have"
    r"|has|can|could|would|will|should|shall|may|any|anything)\b.*\?\W*$"
)
_OFFERS = re.compile(
    r"\b(?:can|could|would|may|might|able to|if|once|when|whenever|want me to|like me to|help you|should i|shall i|please"
    r"|for example|such as|try|say|tell me|ask me|let me know)\b"
)
_OFFERS_ITSELF = re.compile(
    r"\b(?:(?:i|we) (?:can|could|would|may|might)|(?:want|like) me to|if you|tell me|let me know|should i|shall i|such as|for example)\b"
)
_FOR_WORDS = re.compile(
    r"(?:please |can you |could you |would you |just )*(?:tell|explain|describe|summari[sz]e|translate|write|draft|sing|recommend|suggest"
    r"|compare|define|spell|calculate|convert|imagine|help|teach|give me)\b"
)
_CONSENT = re.compile(
    r"(?:(?:oh|well|and|hm+|please)[, ]+)*(?:yes|yep|yeah|yup|sure|ok(?:ay)?|do (?:it|that|so|them)|go ahead|please do|both|all of|that one|the (?:first|second|third|last) one|confirm)\b"
)
_POLITE = re.compile(
    r"(?:absolutely|certainly|great|hello|hey|hi|hm|no problem|of course|ok(?:ay)?|oh|sorry|sure(?: thing)?|thanks?|thank you)"
)
_ABOUT_TASKS = re.compile(rf"\b(?:{_TASKS}|lists?)\b|[☐☑✓✔✅]")


def visible(text: str) -> str:
    """A text without control characters, such as those that command a terminal."""
    return _INVISIBLE.sub("", text.replace("\u2028", "\n").replace("\u2029", "\n"))


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


def readable(sentence: str, theirs: str) -> str:
    """A sentence as the user may read it; empty if it has technical terms that are not ``theirs``."""
    calm = _EDGE_EMOJI.sub("", sentence)
    if not any(character.isalnum() for character in calm) or not is_plain(calm, theirs):
        return ""
    return " ".join(calm.split())


def is_claim(sentence: str, *, elsewhere: bool = False) -> bool:
    """Whether a sentence says that something was or will be done, or what is on the list.

    Tools other than the task tools may have acted ``elsewhere``, which the model may talk about.
    """
    said = normalized(sentence).casefold().replace("’", "'").strip()
    plain = _NEGATED.sub(" ", _QUOTED.sub("''", said)).strip()
    if not _CERTAIN.search(plain) and (
        not _LIKELY.search(_HARMLESS.sub(" ", plain).rstrip(" .!…*"))
        or _ASKS.search(plain)
        or _OFFERS.search(plain)
    ):
        return False
    return not elsewhere or _ABOUT_TASKS.search(said) is not None


def is_statement(sentence: str, *, of_task: bool = False) -> bool:
    """Whether a sentence says that something is so, and does not ask, offer or greet.

    In one ``of_task``, only what the assistant itself could do is an offer: "you can forget about the milk" is none.
    """
    said = normalized(sentence).casefold().strip(" \t\n-.,!…*")
    offers = _OFFERS_ITSELF if of_task else _OFFERS
    return not said.endswith("?") and not offers.search(said) and not _POLITE.fullmatch(said)


def asks_for_words(said: str) -> bool:
    """Whether a user's message asks for nothing but words."""
    return _FOR_WORDS.match(normalized(said).casefold()) is not None


def is_consent(said: str) -> bool:
    """Whether a user's message does no more than agree to something, or choose."""
    return len(said.split()) < 7 and _CONSENT.match(normalized(said).casefold()) is not None
