"""Finds the task, its priority and its title in a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache


def pattern(text: str) -> re.Pattern[str]:
    """A pattern that ignores case, as everything here does: people type as they like."""
    return re.compile(text, re.IGNORECASE)


QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?:(?<=\s)|^)['‘](.+?)['’](?=[\s,.!?:;]|$)")
_PRIORITY = pattern(
    r",?\s*(?:-\s*)?\b(?P<said>(?:(?:with|at|of|as|a|an|and|it's|it is|this is|that's|which is|(?:make|put|set|mark|give) (?:it|that)|very|really|super|so|quite|pretty|kinda|rather|extremely)\s+)*)"
    r"(?:(?:priority|prio)\s*(?:is|:|=|of)?\s*(?P<after>high|medium|normal|low)"
    r"|(?P<before>high|highest|top|medium|normal|low|lowest)[\s-]+(?:priority|prio|importance)"
    r"|(?P<grade>p[0-4])|(?P<mild>not (?:(?:that|so|very|really|all that|particularly) )?(?:urgent|important)(?: at all)?)|(?P<urgent>urgent|important|asap|as soon as possible))\b"
)
_LEVEL_ALONE = pattern(r"(?:^|,|\(|\s[-–])\s*(high|low)\s*(?=$|,|\)|and\b)\)?")
_CHATTER = pattern(
    r"^(?:(?:(?:yes|yeah),? (?:hello|hi|please)|(?:hey|ok(?:ay)?|yo|hi|hello),? (?:siri|google|alexa|assistant|computer|buddy|bro|mate|dude|man|love)|for (?:god|heaven|christ|pete)'?s sake|let me see|please(?: to)?|pls|plz|kindly|yo|omg|ffs|kk?|just|ok(?:ay)?|so|well|and|now|then|also|actually|oh|hey|hi|hiya|hello|good (?:morning|afternoon|evening|day)|dear(?: (?:assistant|friend|maverick))?|maverick|while you're at it|you know what|let's see|if (?:it|that)(?:'s| is)(?:n't| not) (?:too much (?:trouble|bother)|a problem)|if (?:it|that) isn't (?:too much (?:trouble|bother)|a problem)|if (?:you don't mind|possible|i may)|i hope you don't mind|sorry to (?:bother|trouble) you|"
    r"finally|yesterday|probably|plus|hm+|uh|um|ah|ugh|oops|whoops|yeah|yep|(?:thanks|thx|thank you|great|perfect|cool|nice|awesome)(?=[,!.])|btw|by the way|before i forget|basically|sorry|right|alright|all right|(?:oh )?(?:dear|bother|damn)|no(?=[,!.]))[,!.…\s]+)+"
)
_ASKING = pattern(
    r"^(?:may i ask|(?:may|could|can) i (?:trouble|ask|get) you to|(?:would|could) you be so (?:kind|good) (?:as )?to|(?:can|could|would|will|may) (?:you|i|we)(?: (?:please|just|maybe|perhaps|quickly|also|kindly))*|you (?:can|may|could)|you(?= (?:add|put|write|remind|note|mark|delete)\b)|i(?:'d| would| should) like (?:you to|to(?! finish| complete| close))|"
    r"i(?:'d| would) like that you|would it be possible to|i want (?:you(?: to)?|that you|to(?! finish| complete| close))|i need you to|let(?:'s| us| me)(?! finish| complete| close| do\b)|go ahead and|(?:i was wondering|i wonder|(?:it )?would be (?:(?:very|really|so) )?(?:great|nice|good)|i(?: would|'d| should) be (?:very )?grateful|i'd (?:appreciate|love) it) if you(?: could| would)?|possibly|if you (?:could|would)(?: please| just)*)\s+"
)
_MIND = pattern(r"^(?:(?:would|do) you )?mind (?P<stem>\w+)ing ")
_POLITE_END = pattern(
    r"(?:[,.!?\s]+(?:(?:please|pls|plz|thanks|thx)(?: x+)?|(?:there's |there is |it's )?no (?:rush|hurry|stress|pressure)(?: (?:at all|whatsoever|on (?:it|that|this)|though))?|(?:new|another) (?:task|todo)|tho|though|for me|at the (?:very )?latest|(?:please and )?thank(?:s| you)(?: (?:ever )?(?:so|very) much| a lot| in advance)?(?:,? you(?:'re| are) (?:the best|great|a star))?|(?<!from )now|instead|mate|then|too|as well|already|finally|at last|actually|to be (?:safe|sure)|just in case|sorry|yay|ug+h+|a+rgh+|omg|hooray|phew|woo ?hoo|haha|lol|btw|by the way|thankfully|(?:would|will|could|can) you|if you (?:can|could|would|don't mind)|dear|love|you know|cheers|god bless(?: you)?|ideally|preferably|if possible|before i forget(?: again)?|(?:don't|do not) let me forget(?: it| that| this)?|ok(?:ay)?(?= thank)|(?:and |so )?that(?:'s| is| will be|'ll be) (?:all|it|everything)(?: for (?:now|today))?))+$"
)
_END = re.compile(r"[\s.!?…]+$")
_LIST_END = pattern(
    r"(?:^|\s+)(?:to|on|onto|in|into|from|off)\s+(?:my|the|teh|our)\s+(?:\w+\s+){0,2}(?:list|lists|tasks|todos?|to-dos?|to-do list|todo list|calendar|diary|agenda|planner)$"
)
_LIST_INSIDE = pattern(
    r"(?:^|\s)(?:to|on|onto|in|into) (?:(?:my|the|our) )?(?:to[- ]?do |task )?list(?: of tasks)?:?(?= \S)(?! (?:of|for the)\b)"
)
_CALLED = pattern(
    r"^(?:(?:title|name|what)\s*:\s*)?(?:(?:the|a|an|one|my|that|this)\s+(?=\D))?(?:(?:(?:new|recurring|repeating|regular|quick|little)\s+)*(?:task|(?:action )?item|entry|todo|to-do|to do|reminder|note(?= (?:for me )?to (?!(?:the|my|our|his|her)\b)))s?\b[\s,:]*)?(?:(?:called|named|about|titled|(?:for me )?to|for|saying|(?:that )?says)\s+)?(?:(?:that )?(?:i|we)(?:'ve got| have| have got)\s+(?=an?\b|the\b|my\b)(?:an? )?)?(?:(?:that )?(?:(?:i|we)(?:'ve| have)? )?(?:got to|have to|need to|gotta|must(?: to)?|should)\s+)?(?:(?:remember|not forget) to\s+)?(?:(?:like|just|really|actually)\s+)?"
)
_TASK_NOUN = pattern(r"[,:;.]|(?:task|item|todo|to-do|reminder|thing|one|stuff|and|for|by|due|on|to)s?\b")
_VALUE_OF = pattern(
    r"^(?:the |my )?(?:due date|deadline|date) (?:of|for|on) |(?:'s)? (?:due date|deadline|date)$"
)
"""What "the deadline of the report" has besides the task."""
_TASK_END = pattern(r"\s+(?:task|item|todo|one|reminder)$")
_PRONOUN = pattern(r"(?:it|that|this|that one|this one|the task|the last one|that task|this task)")
_PLURAL = pattern(
    r"(?:(?:all|both|each)(?: of)? )?(?:them|these|those|the (?:two|three|four))(?: tasks| ones)?|both|all (?:two|three|four)"
)
_FIRST_FEW = pattern(r"(?:the )?(?P<end>first|last) (?P<count>two|three|four|five|[2-9])(?: ones| tasks)?")
COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_LAST = pattern(r"the last(?: one| task)?")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
NUMBERED = "|".join((*ORDINALS, *COUNTS))
_ORDINAL = pattern(
    rf"(?:the )?(?:(?P<word>{'|'.join(ORDINALS)})|(?:number|no\.?|task|item|#)\s*(?P<number>\d{{1,3}}|{'|'.join(COUNTS)})|(?P<nth>\d{{1,3}})(?:st|nd|rd|th)?)"
    r"(?: one| task| item)?"
)
_LISTED = re.compile(
    r"^(\d+)\. [☐✓] (.*?)(?: \((?:[^()]*priority|(?:overdue since|due) [^()]*|, )+\))?$", re.MULTILINE
)


DEED = (
    r"(?:(?:go|start|finish|learn|try)\s+(?:to\s+)?)?(?:apply|assemble|attend|back up|balance|borrow|hoover|dye|enrol|enter|fetch|hand in|hem|host|join|knit|lend|look|man|mend|oil|"
    r"pump|prep|prune|put (?:up|away|together|out|(?:the|my|our) \w+ (?:out|away|up|back))|pull|rake|restock|refill|reserve|rearrange|rent|rinse|schedule|service|sharpen|ship|shovel|show|swap|switch|transfer|treat|trim|unpack|wind|wipe|worm|arrange|ask|bake|book|bring|brush|build|buy|call|cancel|cash|change|check|"
    r"charge|chase|chop|confirm|choose|defrost|descale|fit|label|reconcile|clean|clear|collect|contact|cook|cut|decide|decorate|deliver|discuss|do|download|draft|draw|drink|drop|dust|eat|"
    r"email|empty|exercise|feed|file|fill|find|finish|fix|fold|follow|get|give|go|grab|hang|help|hire|install|invite|iron|learn|"
    r"mail|make|measure|meditate|meet|message|mop|mow|open|order|organi[sz]e|pack|paint|pay|phone|pick|plan|plant|play|post|"
    r"practi[cs]e|prepare|print|read|register|renew|repair|replace|reply|research|return|review|ride|ring|run|scan|sell|send|set|sew|"
    r"shop|sign|sort|speak|start|stretch|study|submit|sweep|swim|take|talk|test|text|throw|tidy|train|translate|try|tune|update|"
    r"upload|claim|dig|donate|drive|exchange|forward|harvest|inspect|notify|photograph|polish|proofread|recycle|redeem|rehearse|rewrite|scrub|set aside|sow|top up|unblock|redo|apologi[sz]e|vote|weigh|wish|vacuum|visit|walk|wash|watch|water|weed|work|wrap|write)\b(?!\?| (?:it|that|this|them|me)\b)"
)
"""How things to do begin."""
_DEED = pattern(DEED)


def begins_with_deed(text: str) -> bool:
    """Whether a text begins as things to do begin: "call the bank"."""
    return _DEED.match(text) is not None


def without_pictures(text: str) -> str:
    """A text without emoji at its end."""
    return re.sub(r"[^\w'\"”’)%€$£]+$", "", text)


@lru_cache(maxsize=1024)  # each way to read a text asks for it again
def plain_end(text: str) -> str:
    """A text without politeness and punctuation behind it."""
    text = re.sub(r"\s+", " ", text.replace("’", "'")).strip()
    return _END.sub("", _POLITE_END.sub("", _END.sub("", text)))


@lru_cache(maxsize=1024)
def plain_request(text: str) -> str:
    """A request without politeness around it and punctuation behind it."""
    text, before = plain_end(text), ""
    while text != before:
        before, text = text, _ASKING.sub("", without_chatter(text))
    return _MIND.sub(_minded, text, count=1)


def without_chatter(text: str) -> str:
    """A text without the words that people say before they ask for something: "um, yeah so"."""
    return _CHATTER.sub("", text)


def _minded(found: re.Match[str]) -> str:
    """What is asked for by "would you mind moving"."""
    stem = found["stem"]
    return f"{stem[:-1] if stem[-2:] in ('tt', 'pp') else f'{stem}e' if stem[-1] in 'tvg' else stem} "


def quoted(text: str) -> list[str]:
    """What stands in quotation marks."""
    return [next(filter(None, found)) for found in QUOTED.findall(text)]


def take_priority(text: str) -> tuple[str | None, str]:
    """The priority a text names, and the text without it."""
    found = next((each for each in _PRIORITY.finditer(text) if not _is_adjective(text, each)), None)
    if found is None:
        alone = _LEVEL_ALONE.search(text)
        return (
            (alone[1].capitalize(), _LEVEL_ALONE.sub(" ", text, count=1).strip()) if alone else (None, text)
        )
    rest = f"{text[: found.start()].rstrip(' ,:(')} {text[found.end() :].lstrip(' ,:!)')}".strip()
    word = (found["after"] or found["before"] or found["grade"] or "").lower()
    if found["urgent"] or word in ("high", "highest", "top", "p0", "p1"):
        return "High", rest
    return ("Low" if found["mild"] or word in ("low", "lowest", "p3", "p4") else "Medium"), rest


def _is_adjective(text: str, found: re.Match[str]) -> bool:
    """Whether a word of priority belongs to the title: "send the important letter"."""
    before, after = text[: found.start()].strip(), text[found.end() :].strip(" !.)")
    is_inside = bool(before and after) and not _TASK_NOUN.match(after)
    is_word = bool(found["urgent"] or found["mild"] or found["grade"])
    return is_inside and is_word and found["said"].strip() in ("", "a", "an")


def without_list(text: str) -> str:
    """A text without "to my list" and the like."""
    return _LIST_END.sub("", _LIST_INSIDE.sub(" ", text)).strip(" :")


def title_of(text: str) -> str:
    """What a task is called, without the words around the title."""
    return _unquoted(_CALLED.sub("", without_list(text), count=1).strip(" ,:;-("))


def reference(text: str, answered: str) -> str:
    """The title a task is referred to by: by its words, by a pronoun, or by its place in what was just shown."""
    text = _VALUE_OF.sub("", without_list(text.strip(" ,:;")))
    text = re.sub(r"^both (?:of )?(?=.+ and )", "", text, flags=re.IGNORECASE)
    if chosen := places(text, (shown := listed(answered))):
        return _enumerated([shown[place] for place in chosen])
    if (_PRONOUN.fullmatch(text) or _PLURAL.fullmatch(text)) and (titles := mentioned(answered)):
        return _enumerated(titles) if _is_how_many(text, len(titles)) else ""
    if len(inside := quoted(text)) == 1:
        return inside[0]
    return _TASK_END.sub("", _CALLED.sub("", text, count=1)).strip(" ,:;") or text


def _is_how_many(text: str, number: int) -> bool:
    """Whether a pronoun can stand for so many."""
    if _PRONOUN.fullmatch(text):
        return number == 1
    said = {"both": 2, "two": 2, "three": 3, "four": 4}
    return all(number == said[word] for word in re.findall(r"\w+", text.lower()) if word in said)


def _enumerated(titles: Sequence[str]) -> str:
    return titles[0] if len(titles) == 1 else " and ".join(f"'{title}'" for title in titles)


def places(text: str, shown: Sequence[str]) -> list[int]:
    """Which of the things that were shown are meant by "the first two" or "2 and 3"."""
    if (few := _FIRST_FEW.fullmatch(text)) is not None:
        said = few["count"].lower()
        count = int(said) if said.isdigit() else COUNTS.index(said) + 1
        places = range(len(shown))
        return list(places[:count] if few["end"].lower() == "first" else places[-count:])
    text = re.sub(r"^(?:the )?(?:numbers|tasks|items|nos\.?) (?=\d)", "", text, flags=re.IGNORECASE)
    found = [ordinal(part, shown) for part in several(text)]
    return [place for place in found if place is not None] if None not in found else []


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
    number = (found["number"] or found["nth"] or "").lower()
    place = ORDINALS.index(word) if word else COUNTS.index(number) if number in COUNTS else int(number) - 1
    return place if 0 <= place < len(shown) else None


def several(text: str) -> list[str]:
    """The parts of an enumeration."""
    return [part for part in re.split(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+", text.strip(" .")) if part]


def mentioned(answered: str) -> list[str]:
    """The tasks an answer was about."""
    found = re.findall(r"(?<!\w)'(.+?)'(?=[\s.?!:,]|$)", answered)
    return list(dict.fromkeys(title for title in found if not title.startswith("yes "))) or listed(answered)


def _unquoted(text: str) -> str:
    inside = quoted(text)
    return inside[0] if len(inside) == 1 and len(inside[0]) + 2 == len(text) else text
