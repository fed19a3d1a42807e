"""Tells what a model may say from what only a tool can know: what is on the list, and what was done to it.

There are two grades. A claim that is recognised is left out. No list of words would find all of them, so what may be one,
judged by what the user's message lets one expect, is kept, and the reply then ends with what is true.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from enum import IntEnum

from maverick.chat.matching import BASE_FORMS
from maverick.chat.offline.wording import DEED, begins_with_deed
from maverick.chat.plain_words import normalized

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
    r"|reverting|archiving|confirming|putting|setting|tracking|looking(?! after| forward)|fetching|processing)"
)
_HARMLESS = re.compile(
    rf"\bwell done\b|\bbefore (?:\w+ ){{1,3}}(?:is|are|gets?) {_DONE}\b|\b(?:to|gets?|getting|be|being)(?: \w+)? {_DONE}\b"
)
_CERTAIN = re.compile(
    rf"\b(?:i|we)(?:'ve| have|'d| had)?(?: (?:just|already|now|also|successfully|went ahead and|then))* {_DONE}\b"
    r"|\b(?:i|we)(?:'ve| have| just)(?: (?:just|already|now|also))* (?:put|set|made|taken|got)\b"
    r"|^(?:i|we)(?: (?:just|already|now|also|then))* (?:brought|cut|dealt|did|got rid|knocked|made|put|set|struck|threw|took|wrote)\b"
    rf"|\b(?:was|were|been|got|gotten|is now|are now|'s now|it's|they're) (?:\w+ly )?(?:just )?{_DONE}\b"
    r"|\b(?:i|we)(?:'ll| will| shall|'m going to| am going to|'m about to| am about to)"
    r" (?!be\b|ask|find|help|keep|leave|wait|need|try|do my best|gladly|happily|not\b)(?<!' and i'll )(?<!' and i will )"
    rf"|\b(?:i'm|i am|we're|we are) (?:now |currently )?{_DOING}\b|^{_DOING}\b(?!.*\b(?:is|are|can|makes?|helps?|takes?|gives?|works?|feels?)\b)"
    rf"|\bwill (?:now |soon )?be {_DONE}\b"
    r"|\blet me(?! know| try| think| explain| put it)\b|\bsuccess(?:fully|ful)?\b|\ball set\b|\btaken care of\b|\bconsider it\b"
    r"|[☐☑✓✔✅☒✗]|\[[ xX]\]|\breply ['‘\"“]|(?<!ask you )\bto confirm\b|\bconfirm with\b"
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
    r"|\bis (?:now )?(?:due|overdue|complete|open|empty|high|low|off|back|away|history|live|official|in place|in effect)\b"
    r"|\b(?:all|both|they)(?: \w+)? are in\b"
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
    r"\b(?:(?:i|we) (?:can|could|would|may|might|can't|cannot)|i'm (?:not able|unable|afraid)|(?:want|like) me to|if you|tell me|let me know|should i|shall i|such as|for example)\b"
)
_COURTESY = frozenset(
    re.findall(
        r"[\w']+",
        "absolutely afternoon anytime all am a amazing and at awesome bless bye care certainly cheers congratulations cool course day "
        "dear enjoy evening excellent exactly fair fantastic fine fun glad good goodbye great haha happy hello help here hey hi hm hmm "
        "hooray how hurray i i'm idea indeed interesting is it kind later lovely luck me morning much my nice night no nothing of oh ok okay "
        "perfect phew please pleasure point problem question right see sleep so soon sorry sounds splendid super sure thank thanks "
        "take that that's then there thing to too true very welcome well what wonderful worries wow yay yes you you're your yum",
    )
)
"""A short sentence of these words alone says nothing of what was done."""
_SHORT = 5
_BRIEF = 6
_REFUSES = re.compile(
    r"\b(?:can't|cannot|unable|not able|afraid|sorry|beyond me|i (?:don't(?! (?:see|find|have))|never|only|have no))\b"
)
_UNABLE = re.compile(
    r"(?:(?:sorry|i'm afraid|unfortunately|no)[, ]+)*i (?:can't|cannot|am not able to|am unable to)"
    r" (?!see|find|delete|remove|add|move|mark|complete|change|tell|undo|list)"
)
"""Says what the assistant is not for."""

_DETAIL = re.compile(
    r"\b(?:what|which|when|where|who|whom|how|why)\b|\b(?:do|did) you mean\b|\bis (?:it|that)\b|\b(?:could|can) you\b"
    r"|\b(?:shall|should|may|can) i\b|\bme to\b|\bor\b"
)
"""A question for what is missing, or whether to begin."""
_ROUTINE = re.compile(
    r"\b(?:anything|what|something) (?:else|more)\b|\bwhat's next\b|\b(?:can|may) i (?:help|do)\b|^\W*(?:what \w+|\w+ who|\w+)\?$"
    r"|\b(?:updated|remaining|undo (?:it|that|this)|restore|since|now that|empty|again|back|too|as well|next|first|besides|more|a due date|new list|what's left|open ones|the (?:rest|last|other|same|two|three|four|five|six))\b"
    r"|\b(?:two|three|four|five|\d+) (?:\w+ )?(?:ones|tasks|of)\b"
)
"""A question that asks for nothing, such as "Milk? What milk?", or takes something for done, or for known."""
_ANSWERS = re.compile(r"(?:^|[.!?…]\s+)(?:yes|yep|yeah|yup|no|nope|nothing|none|not yet|done|both|already)\b")
_PRIVATE = re.compile(
    r"\byour (?:data|list|tasks)\b.*\b(?:private|nobody else|no one else|on this (?:computer|machine|device)"
    r"|only (?:shown|visible|seen|you can)|only to you)\b"
)
"""Tells who can see the list, and not what is on it."""
_ABOUT_TASKS = re.compile(rf"\b(?:{_TASKS}|lists?)\b|[☐☑✓✔✅]")

_ITEM = re.compile(r"(?:-|\d+[.)]) ")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ENGLISH = (
    frozenset(
        re.findall(
            r"[\w']+",
            "about after and any are at be because been before but by can can't could does don't every first for from have how "
            "i'd i'll i'm i've isn't it it's its just let's like may might more much never not of off one only other our out "
            "over people should some such than that that's the their them then there these they thing this those time to too two "
            "three up very were what when where which while who why with without won't would yes you'll you've",
        )
    )
    | (_COURTESY - {"a", "am", "i", "is", "me", "no", "so"})
    | BASE_FORMS.keys()
    | frozenset(BASE_FORMS.values())
    | frozenset(re.findall("[a-z]{3,}", DEED))
)
"""Words without which hardly anything is said in English, and the verbs of things to do."""
_SHARED = frozenset(("an", "had", "has", "his", "if", "in", "is", "on", "or", "she", "was", "we"))
"""English words that other languages have as well."""
SMALL_WORDS = _ENGLISH | _SHARED | _COURTESY
"""Words that say nothing of what a sentence is about."""
_FOREIGN = frozenset(
    re.findall(
        r"[\w']+",
        "c'est da das de deine dem den der des det di du een ein eine el em en est et foi ha habe har hat heb het ich il ist j'ai "
        "je la las le les lo los mein meine mich mir na nicht noch nog nu och per que se sind sua ta tu tua um una und une van ve "
        "wat wie wurde ya zu",
    )
)
_ENGLISH_SOUND = re.compile(r"th|wh|sh|ck|ght|oo|ee|ful|ing\b|ed\b|ly\b|y\b")
"""How hardly any word of another language is spelt; tells of a sentence with nothing but names and nouns."""
_FEW = 3

_PAST = (
    r"(?!(?:need|feed|bed|red|speed|indeed|bored|excited|interested|loved|married|organi[sz]ed|relaxed|stressed|tired|used|worried|left|made (?:from|of))\b)"
    rf"(?:\w{{2,}}ed|{'|'.join(sorted(BASE_FORMS.keys() - {'cut', 'read', 'run'}))}|came|fell|flew|kept|lost|stood|struck|(?<=\w )(?:put|set))"
)
_DEED = re.compile(
    rf"\b(?:i|we)(?:'ve| have|'d| had)?(?: (?:just|already|now|also|then|\w+ly))* (?!(?:agreed|hoped|meant|wanted)\b){_PAST}\b"
    r"|\bas (?:requested|instructed|promised|ordered|(?:you )?(?:asked|wished|wanted|said))|\byou (?:asked|wished)"
    r"|\b(?:glad|happy|pleased|proud) (?:that )?(?:i|to (?:say|report|announce|inform))\b|\byour (?:wish|request|command)|\bi'm on it\b|\bjob done\b|\bmission accomplished\b|\bthe deed\b"
    r"|^(?:\w+ed|gone|made|put|swept|taken|undone)(?: (?:\w+ )?(?:away|clean|for|in|it|off|out|so|to|under|up)\b|,|$)"
)
"""Tells what the assistant has done, or that the user was obeyed."""
_PLANS = re.compile(
    rf"\b(?:your|the|this|that|no|any|all|{_NUMBER}|more|fewer|less|new|next|free) (?:\w+ )?(?:tasks?|to-?dos?|items?|reminders?|entr(?:y|ies)|lists?|chores?|plate|schedule|calendar"
    r"|agenda|week|deadlines?|appointments?|pile)\b|\b(?:overdue|priority|pencilled|scheduled)\b"
    r"|\bnothing (?:\w+ )?(?:urgent|due|planned|overdue|pending|on|for)\b|\byour (?:\w*day|evening) is\b|\b(?:waiting for|awaits?|behind) you\b"
    r"|\byou(?:'ll find| own|(?:'ve| have)(?: got)? (?:no|nothing|\d|two|three|four|five|six|seven)|'re (?:all|down|free))\b"
    r"|\b(?:nothing|nada|zilch|zip|none|only|just|everything|all)\b.*\b(?:left|pending|remains?|remaining|outstanding|to do|agenda|as it was)\b"
)
"""Tells of the user's plans."""
_YOURS = re.compile(r"\byour?\b")
_OF_ITSELF = re.compile(r"^(?:i'm (?:an?|your|the|only|just) |i (?:like|keep|look after|only|always) )")
"""Tells what the assistant is for."""
_ASIDE = re.compile(r"\b(?:you|who|that|which)(?:'ve|'d| have| had| ever| \w+ly)* \w+")
"""A verb that tells what the user or somebody else does, or describes a noun."""
_FEELING = re.compile(
    r"i'm (?:so |very )?(?:glad|happy|sorry|afraid|sure)\b|i (?:hope|wish|bet|think|know)\b"
)
_EVENT = re.compile(
    rf"\b{_PAST}\b|(?<=\w )now\b|\b(?:any ?more|no more(?! than)|no longer|from here on|as of|at present|already|remains?)\b"
    r"|^(?:nothing|everything|all(?= of them| your| the|$)|both|only|none|the rest|two|three|four)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:it|that|they|there)(?:'s| is|'re| are) (?:on|off|out|back|there|set|one)\b"
)
"""Tells what happened, or how things stand."""
_TALK = re.compile(
    r"^(?:(?:all right|oh|ah|well|yes|no|and|so|but|then|sure|first|also|maybe|perhaps|just|please|ha+)\b[ ,!]*)*"
    r"(?:i'm|i am|i hope|i wish|i know|i think|i like|i love|i enjoy|i understand|i'd|i do|i (?:do|did|could|have)n't|i have no|i never|i always|i try|i only|i believe|i bet"
    r"|i can't|i'll (?:be|leave)|i appreciate|glad|happy|sorry|congratulations|thank|thanks|you (?:are|can|could|deserve|did|know|look|may|might|must|need|say|should|sound|want|will)|you're|you've|have|take|be|let's|try"
    r"|enjoy|of course|rest|remember|step|talk|see you|good luck|that's|that (?:feels|must|sounds)|this|sounds|any time|well (?:done|played)|how|what)\b"
)
"""Begins what is said of feelings and abilities."""


_COUNTS = re.compile(r"\b(?:only|all|just) (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten) of\b")
_DUE = re.compile(r"\b(?:over)?due\b", re.IGNORECASE)


class Expected(IntEnum):
    """What the user's message lets one expect of an answer without a tool call."""

    ANYTHING = 1
    """It asks for words, or about something in the world."""
    TALK = 2
    """It is a greeting or a remark: nothing has happened."""
    ACTION = 3
    """It may ask for something to be done, in whatever words."""


def is_claim(sentence: str, *, elsewhere: bool = False, expected: Expected = Expected.ACTION) -> bool:
    """Whether a sentence says that something was or will be done, or what is on the list.

    Tools other than the task tools may have acted ``elsewhere``, which the model may talk about.
    """
    said = normalized(sentence).casefold().replace("’", "'").strip()
    plain = _NEGATED.sub(" ", _QUOTED.sub("''", said)).strip()
    is_certain = _CERTAIN.search(plain) is not None
    if not is_certain and (
        not _LIKELY.search(_HARMLESS.sub(" ", plain).rstrip(" .!…*"))
        or _ASKS.search(plain)
        or _OFFERS.search(plain)
        or _PRIVATE.search(plain)
    ):
        return False
    is_told = expected is Expected.ANYTHING and not is_certain and len(plain.split()) > _SHORT
    return not (elsewhere or is_told) or _ABOUT_TASKS.search(said) is not None


def asks_back(text: str) -> bool:
    """Whether a text only asks the user for something; "anything else?" does not, nor does what answers first."""
    said = _QUOTED.sub("''", text.casefold())
    questions = re.findall(r"[^.!?…]*\?", said)
    seeks = [each for each in questions if _DETAIL.search(each) and not _ROUTINE.search(each)]
    return bool(seeks) and not _ANSWERS.search(said)


def agrees(text: str) -> bool:
    """Whether a text is a few words of consent, or an answer so short: "Sure, no problem.", "The first two."."""
    said = re.sub(r"[^.!?…]*\?", "", normalized(text).casefold().replace("’", "'"))
    return len(said.split()) <= _BRIEF and not _REFUSES.search(said)


def is_unable(text: str) -> bool:
    """Whether a text says that what was asked for is nothing for the assistant, as "I can't send emails"."""
    return _UNABLE.match(_plain(text)) is not None


def is_statement(sentence: str, *, of_task: bool = False) -> bool:
    """Whether a sentence says that something is so, and does not ask, offer or greet.

    In one ``of_task``, only what the assistant itself could do is an offer: "you can forget about the milk" is not.
    """
    said = _plain(sentence)
    offers = _OFFERS_ITSELF if of_task else _OFFERS
    return not said.endswith("?") and not offers.search(said) and not is_courtesy(said)


def may_report(sentence: str, expected: Expected, *, any_language: bool = False) -> bool:
    """Whether a sentence may tell what was done, what happened or what is planned.

    In another language, any statement may, unless it was asked for in ``any_language``.
    """
    plain = _HARMLESS.sub("well", _QUOTED.sub("''", _plain(sentence)))
    if plain.endswith("?") or is_courtesy(plain):
        return plain.endswith("?") and tells_plans(sentence) and not _ASKS.search(plain)
    if _DEED.search(plain):
        return True
    if not any_language and not is_english(_QUOTED.sub("''", sentence), expected):
        return True
    if expected is not Expected.ANYTHING and not _FEELING.match(plain) and tells_event(plain):
        return True
    return tells_plans(sentence) and (expected is not Expected.ANYTHING or _YOURS.search(plain) is not None)


def is_advice(sentence: str, titles: AbstractSet[str], *, are_dated: bool) -> bool:
    """Whether a sentence may advise about tasks that were just listed: it tells nothing new, and quotes no other title."""
    if _COUNTS.search(_plain(sentence)) or not (are_dated or not _DUE.search(sentence)):
        return False
    quoted = {each.strip("'‘’\"“”").casefold() for each in _QUOTED.findall(sentence)}
    tells = tells_event(sentence) or tells_plans(sentence) or _DEED.search(_plain(sentence))
    return quoted <= titles and not tells


def tells_plans(sentence: str) -> bool:
    """Whether a sentence tells what the user has to do."""
    plain = _HARMLESS.sub("well", _QUOTED.sub("''", _plain(sentence)))
    return bool(_PLANS.search(plain)) and not _OFFERS.search(plain) and not _OF_ITSELF.match(plain)


def is_talk(sentence: str) -> bool:
    """Whether a sentence is about feelings and abilities, asks, offers or advises, or has no end."""
    plain = _QUOTED.sub("''", _plain(sentence))
    if not sentence.rstrip().endswith((".", "!", "…")) or _OFFERS.search(plain) or is_courtesy(plain):
        return True
    if _TALK.match(plain) or _OF_ITSELF.match(plain):
        return True
    return begins_with_deed(plain) and not tells_event(plain)


def tells_event(sentence: str) -> bool:
    """Whether a sentence tells what happened, or how things stand."""
    return _EVENT.search(_ASIDE.sub("", _plain(sentence))) is not None


def _plain(sentence: str) -> str:
    return normalized(sentence).casefold().replace("’", "'").strip(" \t\n-.,!…*")


def is_courtesy(said: str) -> bool:
    """Whether a text is a greeting, thanks or praise."""
    words = _WORD.findall(said)
    return len(words) <= _SHORT and _COURTESY.issuperset(words)


def is_english(sentence: str, expected: Expected = Expected.ACTION) -> bool:
    """Whether a sentence is in English, by the small words without which hardly anything is said; names do not count."""
    words = _WORD.findall(sentence.replace("’", "'"))
    if sum(map(len, words)) < _FEW or (expected is Expected.ANYTHING and _ITEM.match(sentence)):
        return True
    small = [word for word in words[1:] if word.islower()] + [word.casefold() for word in words[:1]]
    own = sum(
        2 * (word in _ENGLISH or word.removesuffix("s") in _ENGLISH) or word in _SHARED for word in small
    )
    foreign = sum(2 * (word in _FOREIGN or not word.isascii()) for word in small)
    if own or foreign or len(words) > _FEW:
        return own > foreign
    return any(map(_ENGLISH_SOUND.search, small))
