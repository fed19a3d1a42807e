"""What a model says of its own doing, and of the list: only tools know that, so it is not taken from a model."""

from __future__ import annotations

import re

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
    rf"|\b(?:was|were|been|got|gotten|is now|are now|'s now|it's|they're) (?:\w+ly )?(?:just )?{_DONE}\b"
    r"|\b(?:i|we)(?:'ll| will| shall|'m going to| am going to|'m about to| am about to)"
    r" (?!be\b|help|leave|wait|need|try|do my best|gladly|happily|not\b)"
    rf"|\b(?:i'm|i am|we're|we are) (?:now |currently )?{_DOING}\b|^{_DOING}\b"
    rf"|\bwill (?:now |soon )?be {_DONE}\b"
    r"|\blet me(?! know)\b|\bsuccess(?:fully|ful)?\b|\ball set\b|\btaken care of\b|\bconsider it\b"
    r"|[☐☑✓✔✅☒✗]|\[[ xX]\]|\breply ['‘\"“]|\bto confirm\b|\bconfirm with\b"
    r"|\breally want to\b|\b(?:are you|you're|you are) sure\b|\bbig action\b"
)
"""Says that something was done, is being done or is about to be, or asks for a confirmation in place of a tool."""
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
"""Says so of the list too, unless the sentence is a question or an offer."""
_ASKS = re.compile(
    r"^(?:and |so |or |but |ok(?:ay)?,? |sure,? |well,? )*(?:what|which|who|when|where|why|how|do|does|did|is|are|was|were|have"
    r"|has|can|could|would|will|should|shall|may|any|anything)\b.*\?\W*$"
)
_OFFERS = re.compile(
    r"\b(?:can|could|would|may|might|able to|if|once|when|whenever|want me to|like me to|help you|should i|shall i|please"
    r"|for example|such as|try|say|tell me|ask me|let me know)\b"
)
_ABOUT_TASKS = re.compile(rf"\b(?:{_TASKS}|lists?)\b|[☐☑✓✔✅]")


def is_claim(sentence: str, *, elsewhere: bool = False) -> bool:
    """Whether a sentence says that something was or will be done, or what is on the list.

    Args:
        sentence: What a model wrote.
        elsewhere: Whether tools besides those for tasks have acted, of which a model may speak.
    """
    said = sentence.casefold().replace("’", "'").strip()
    plain = _NEGATED.sub(" ", _QUOTED.sub("''", said)).strip()
    if not _CERTAIN.search(plain) and (
        not _LIKELY.search(_HARMLESS.sub(" ", plain).rstrip(" .!…*"))
        or _ASKS.search(plain)
        or _OFFERS.search(plain)
    ):
        return False
    return not elsewhere or _ABOUT_TASKS.search(said) is not None
