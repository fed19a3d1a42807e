"""Tells what a model may say from what only a tool can know: what is on the list, and what was done to it.

There are two grades. A claim that is recognised is left out. No list of words would find all of them, so what may be one,
judged by what the user's message lets one expect, is kept, and the reply then ends with what is true.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from maverick.chat.matching import BASE_FORMS
from maverick.chat.offline.wording import DEED
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
_DID = re.compile(
    rf"\b(?:i|we)(?:'ve| have|'d| had)?(?: (?:just|already|now|also|successfully|went ahead and|then))* {_DONE}\b"
    r"|\b(?:i|we)(?:'ve| have| just)(?: (?:just|already|now|also))* (?:put|set|made|taken|got)\b"
    r"|^(?:i|we)(?: (?:just|already|now|also|then))* (?:brought|cut|dealt|did|got rid|knocked|made|put|set|struck|threw|took|wrote)\b"
)
"""Says that the assistant did something."""
_CERTAIN = re.compile(
    rf"\b(?:was|were|been|got|gotten|is now|are now|'s now|it's|they're) (?:\w+ly )?(?:just )?{_DONE}\b"
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
_POLITE = re.compile(
    r"(?:(?:hello|hi|hey|oh|ah|aw|well|and|of course|sure)(?: there| again)?,? )*(?:hello|hi|hey|yo|good (?:morning|afternoon|evening|night|day)|welcome(?: back)?"
    r"|(?:good)?bye(?: for now)?|see you(?: soon| later| tomorrow| then| around)?|talk (?:to you )?(?:soon|later)|take (?:care|your time)|sleep well|good luck"
    r"|(?:have|enjoy) (?:an?|your|the) (?:(?:good|great|lovely|nice|wonderful|restful|relaxing|quiet|rest of your) )*(?:day|morning|afternoon|evening|night|weekend|week|time|one)"
    r"|(?:(?:the )?same to )?you too|you're (?:very |most )?welcome|you are welcome|no (?:problem|worries)(?: at all)?|my pleasure|any ?time"
    r"|thank you(?: so much| very much)?|thanks(?: a lot)?|cheers|i'm (?:doing )?(?:well|fine|good|great)(?:,? thank(?:s| you)(?: for asking)?)?|doing well,? thanks(?: for asking)?"
    r"|how (?:can|may) i help(?: you)?(?: today)?|what can i (?:do for|help) you(?: with)?(?: today)?|what would you like to do(?: today)?"
    r"|how(?: are you(?: doing)?| about you)(?: today)?|what's (?:up|on your mind)|(?:it's )?(?:nice|good|lovely) to (?:meet|see|hear from) you(?: too| again)?"
    r"|happy to (?:help|chat)|i'm here(?: if you need me)?|merry christmas|happy (?:new year|birthday|holidays)(?: to you)?)(?:,? (?:then|too|there|friend|everyone))?"
)
"""A whole sentence that is a courtesy; a closed list, since words alone may say "you have nothing to do today"."""
_GREETED = re.compile(
    r"(?:(?:hi|hello|hey|yo|hiya|howdy|good (?:morning|afternoon|evening|night|day)|morning|evening|(?:good)?bye|see (?:you|ya)(?: later| soon| tomorrow)?|cya|good ?night"
    r"|thanks?(?: you)?(?: so much| very much| a lot| a bunch)?|thx|ty|cheers|merry christmas|happy new year|how are you(?: doing)?(?: today)?|how's it going|what's up"
    r"|nice to meet you|have a (?:good|great|nice|lovely) (?:day|one|evening|night|weekend)|there|maverick|again|you)[ ,.!?]*)+"
)
_ASKING = frozenset(
    re.findall(
        r"[\w']+",
        "a about add and any are be by call called can change complete could date day deadline delete describe description detail details do due "
        "exactly for full give have how i i'd i'm is it it's its kind label like list mark me mean meant more move my name new number of okay ok on "
        "one ones or please priority question remind rename remove right say schedule shall should so sorry specific sure task tasks tell that the "
        "them then they thing this title titles to update was what what's when where which who whom will with word wording words would write you your",
    )
)
_WILLING = re.compile(
    r"sure(?: thing)?|ok(?:ay)?|of course|gladly|certainly|happy to help(?: with that)?|no problem|i'd like to help"
)
_DETAIL = re.compile(
    r"\b(?:which|when|call(?:ed)?|titles?|name|mean|say|remind|dates?|day|deadline|details?|specific|wording|add|delete|remove|rename)\b"
)
"""What is missing from a request is asked for with one of these words, and none but those above."""
_STOPS = re.compile(r"[.!?…\n]+")
_SHORT = 5
_SHORT_QUESTION = 14
_GREETING = 80
"""Characters of the longest greeting: a longer text of such words could take very long to look at."""
_REFUSES = re.compile(
    r"\b(?:can't|cannot|unable|not able|not (?:sure|certain)|afraid|sorry|beyond me|i (?:don't(?! (?:see|find|have))|never|only|have no)|got cut off)\b"
)

_PRIVATE = re.compile(
    r"\byour (?:data|list|tasks)\b.*\b(?:private|nobody else|no one else|on this (?:computer|machine|device)"
    r"|only (?:shown|visible|seen|you can)|only to you)\b"
)
"""Tells who can see the list, and not what is on it."""
_ABOUT_TASKS = re.compile(rf"\b(?:{_TASKS}|lists?)\b|[☐☑✓✔✅]")

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
_OF_ITSELF = re.compile(r"^(?:i'm (?:an?|your|the|only|just) |i (?:like|keep|look after|only|always) )")
"""Tells what the assistant is for."""
_ASIDE = re.compile(r"\b(?:you|who|that|which)(?:'ve|'d| have| had| ever| \w+ly)* \w+")
"""A verb that tells what the user or somebody else does, or describes a noun."""
_EVENT = re.compile(
    rf"\b{_PAST}\b|(?<=\w )now\b|\b(?:any ?more|no more(?! than)|no longer|from here on|as of|at present|already|remains?)\b"
    r"|^(?:nothing|everything|all(?= of them| your| the|$)|both|only|none|the rest|two|three|four)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:it|that|they|there)(?:'s| is|'re| are) (?:on|off|out|back|there|set|one)\b"
)
"""Tells what happened, or how things stand."""


_ARTICLES = frozenset(
    ("a", "about", "an", "and", "at", "for", "from", "in", "my", "of", "on", "the", "to", "up", "with")
)
_ADVISES = re.compile(
    r"\b(?:should|would|could|can|may|might|i'd|try|start|begin|tackle|focus|pick|choose|do|go|get|give|take|suggest|recommend|before|then|first|next|after"
    r"|easy|easiest|quick\w*|hard\w*|short\w*|long\w*|best|most|least|because|since|together|group|later|wait)\b"
)
"""Advises, or gives a reason for an advice."""
_COUNTS = re.compile(r"\b(?:only|all|just) (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten) of\b")
_DUE = re.compile(r"\b(?:over)?due\b", re.IGNORECASE)


def is_claim(
    sentence: str, *, elsewhere: bool = False, in_talk: bool = False, in_general: bool = False
) -> bool:
    """Whether a sentence says that something was or will be done, or what is on the list.

    Tools other than the task tools may have acted ``elsewhere``, which the model may talk about. ``in_talk`` about
    something else than tasks, only what the assistant did, or what is said of tasks, is a claim; where it is asked
    how things work ``in_general``, only what it did.
    """
    said = normalized(sentence).casefold().replace("’", "'").strip()
    plain = _NEGATED.sub(" ", _QUOTED.sub("''", said)).strip()
    if _DID.search(plain):
        return not elsewhere or _ABOUT_TASKS.search(said) is not None
    if in_general or ((elsewhere or in_talk) and not _ABOUT_TASKS.search(said)):
        return False
    if _CERTAIN.search(plain):
        return True
    is_likely = _LIKELY.search(_HARMLESS.sub(" ", plain).rstrip(" .!…*"))
    return bool(is_likely) and not any(each.search(plain) for each in (_ASKS, _OFFERS, _PRIVATE))


def is_polite(text: str) -> bool:
    """Whether a text is nothing but courtesies, each from a closed list."""
    sentences = [_plain(each).strip("?") for each in _STOPS.split(text)]
    return all(_POLITE.fullmatch(each) for each in sentences if each)


def greets(said: str) -> bool:
    """Whether a message is nothing but a greeting, thanks or a goodbye."""
    return len(said) <= _GREETING and _GREETED.fullmatch(_plain(said)) is not None


def asks_back(text: str) -> bool:
    """Whether a text does nothing but ask for a detail, and takes nothing for done."""
    questions = re.findall(r"[^.!?…\n]*[.!?…\n]*", text.strip())[:-1]
    if len(questions) > 1 and _WILLING.fullmatch(_plain(questions[0])):
        del questions[0]
    return bool(questions) and all(map(_asks_for_detail, questions))


def _asks_for_detail(question: str) -> bool:
    words = _WORD.findall(_plain(question))
    is_of_these = len(words) <= _SHORT_QUESTION and _ASKING.issuperset(words)
    return question.endswith("?") and is_of_these and _DETAIL.search(" ".join(words)) is not None


def is_refusal(sentence: str) -> bool:
    """Whether a sentence says what cannot be done, or is not known."""
    return _REFUSES.search(_plain(sentence)) is not None


def is_statement(sentence: str, *, of_task: bool = False) -> bool:
    """Whether a sentence says that something is so, and does not ask, offer or greet.

    In one ``of_task``, only what the assistant itself could do is an offer: "you can forget about the milk" is not.
    """
    said = _plain(sentence)
    offers = _OFFERS_ITSELF if of_task else _OFFERS
    return not said.endswith("?") and not offers.search(said) and not (is_courtesy(said) or is_polite(said))


def tells_deed(sentence: str) -> bool:
    """Whether a sentence tells what the assistant has done, or that the user was obeyed."""
    return _DEED.search(_QUOTED.sub("''", _plain(sentence))) is not None


def is_advice(sentence: str, titles: AbstractSet[str], *, are_dated: bool) -> bool:
    """Whether a sentence advises about tasks that were just listed: it names one, tells nothing new, and quotes no other title."""
    said = _plain(sentence)
    if not _ADVISES.search(said) or _COUNTS.search(said) or not (are_dated or not _DUE.search(sentence)):
        return False
    quoted = {each.strip("'‘’\"“”").casefold() for each in _QUOTED.findall(sentence)}
    tells = tells_event(sentence) or tells_plans(sentence) or tells_deed(sentence)
    words = {*_WORD.findall(said)}
    names = any(words.intersection(_WORD.findall(title)) - _ARTICLES for title in titles)
    return names and quoted <= titles and not tells and is_english(sentence)


def tells_plans(sentence: str) -> bool:
    """Whether a sentence tells what the user has to do."""
    plain = _HARMLESS.sub("well", _QUOTED.sub("''", _plain(sentence)))
    return bool(_PLANS.search(plain)) and not _OFFERS.search(plain) and not _OF_ITSELF.match(plain)


def tells_event(sentence: str) -> bool:
    """Whether a sentence tells what happened, or how things stand."""
    return _EVENT.search(_ASIDE.sub("", _plain(sentence))) is not None


def _plain(sentence: str) -> str:
    return normalized(sentence).casefold().replace("’", "'").strip(" \t\n-.,!…*")


def is_courtesy(said: str) -> bool:
    """Whether a text is a greeting, thanks or praise."""
    words = _WORD.findall(_plain(said))
    return len(words) <= _SHORT and _COURTESY.issuperset(words)


def is_english(sentence: str) -> bool:
    """Whether a sentence is in English, by the small words without which hardly anything is said; names do not count."""
    words = _WORD.findall(sentence.replace("’", "'"))
    if sum(map(len, words)) < _FEW:
        return True
    small = [word for word in words[1:] if word.islower()] + [word.casefold() for word in words[:1]]
    own = sum(
        2 * (word in _ENGLISH or word.removesuffix("s") in _ENGLISH) or word in _SHARED for word in small
    )
    foreign = sum(2 * (word in _FOREIGN or not word.isascii()) for word in small)
    if own or foreign or len(words) > _FEW:
        return own > foreign
    return any(map(_ENGLISH_SOUND.search, small))
