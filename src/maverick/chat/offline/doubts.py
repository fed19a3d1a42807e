"""What speaks against a reading: a title that can hardly be one, or something that was said and that nothing was made of.

A change is made only if nothing does; else it is asked back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

from maverick.chat.matching import KNOWN_TASKS, is_about
from maverick.chat.offline.dates import find_date, take_all
from maverick.chat.offline.wording import begins_with_deed, pattern, quoted, take_priority
from maverick.providers.offline import RequestedCall

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
_NO_TITLE: Mapping[str, str] = {
    "more than one sentence": r"(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bMrs)[.!?] +\w|[,;]| - |: (?:i|we)\b|->|→|=|: ?add\b",
    "a quotation and more": r"(?:^|\s)['\"“‘][^'\"”’]+['\"”’] +\w|\( *\)",
    "words about the list": r"\b(?:tasks?|to-?dos?|reminders?|deadline|due|priority|prio|urgent|my list|the list|(?:to|on|in) list)\b|[-,(] ?(?:high|medium|low)\b|\b(?:high|low)\b",
    "an entry by its place": r"^(?:(?:new|next|another|first|last|this) )*(?:one|1|entry)(?: ?[:,]| -) |^(?:first|second|third|last|other|same) (?:one|task|item|thing)$"
    r"|^(?:note|description|comment|details?) (?:to|for) |^new line\b",
    "a request": r"\b(?:please|pls|plz|forget to|remind (?:to )?me|and (?:add|put|stop|don't|do not|let|tell|then)|(?:mark|make|set|move) (?:it|that|them)|(?:can|could|would|will) you)\b"
    r"|^(?:(?:put|pop|pencil|slot) (?:in|down)|add|need|wanna)\b|^\w+ me\b",
    "a command": r"^(?:make|set|mark|move|push|change|give|put|bump) (?:no\.? ?|nr\.? ?|number |#)?\d+\b|^(?:show|list|display|insert|include|(?:make|create|start|enter|new) (?:an? )?(?:new )?(?:entry|item|note|one))\b"
    r"|^(?:make|create|set|write|start|put|have|open)\b.*: |\bto do\b|\bfor me\b"
    r"|\b(?:put|add|write|note|jot|stick|pop|log|make|mark|get|keep) (?:that|it|this|them)\b|\b(?:only|all)$"
    r"|\b(?:two|three|four|five|six|few|couple of|\d) (?:\w+ )?(?:things|jobs|chores|errands|tasks)\b",
    "talk": r"\b(?:ug+h+|a+rgh+|omg|um|uh|maybe|perhaps|preferably|ideally|instead of|unless|because|or)\b"
    r"|^(?:admit|confess|say|be (?:nice|fine|honest))\b|^(?:fine|ok(?:ay)?|good|great|best|better|enough|right|wrong|bad|nice)$"
    r"|, (?:no|not|but|actually|wait|sorry)\b|\bif (?:i|it|it's|you|we|they|not|possible|needed|there)\b|^there(?:'s| is| are)\b|\b(?:that|it|what|here)'s\b|\b(\w+) \1\b",
    "somebody says": r"\bi\b|^(?:you|me)\b|\b(?:need|have|got) to\b|\bgotta\b|^(?:his|her|their|its|your)\b",
    "the beginning is missing": r"^(?:on|at|in|before|after|until|during|and|or|but|to|of|is|are|not|what|when|which|who|how|why|if|whether|also|both|it|them|every|each|another|\d+(?:st|nd|rd|th) to)\b",
    "the end is missing": r"\b(?:next|this|after|before|until|around|to|the|a|an|of|from|at|for|by|with|my|or|not|really|very|too|as well|again|(?-i:it)|them|both|(?:by|until|since) last)$|^(?:go|run|leave)(?:,|$)",
    "it says nothing": r"^(?:something|anything|stuff|thing)\b|^(?:\w+ )?things?$|^usual$|^\w+ (?-i:it|them)\b|^\w+ (?:those|these)$|\b(?-i:it) \w+s\b|\b(?:new|another|other|different) one\b"
    r"|^\w+ one$|^(?!\w*[aeiouy])[a-z]{3,}(?:'s)?$",
    "a date": rf"\b(?:today|tonight|tomorrow|starting|(?<!\bmy )(?<!\bour )(?<!\bhis )(?<!\bher ){_WEEKDAY})\b(?!'s)|\b(?:next|this) (?:week|month)\b|^(?:(?:next|this) )?{_WEEKDAY}:|[-,(] ?(?:mon|tue|wed|thu|fri|sat|sun)\b"
    r"|\bthe \d{1,2}(?:st|nd|rd|th)\b(?! (?:birthday|anniversary|floor|century|edition)\b)|\b(?:before|until|by|since) then\b|\bat the latest\b"
    r"|\b(?:on|by|until|till|before) the (?:\w+teenth|\w+tieth|\w+t[yh][- ]\w+|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth)\b"
    r"|\bsame (?:day|time|date|priority)\b|^day (?:before|after)\b|\b(?:hours?|days?|minutes?|weeks?) (?:before|earlier)$",
    "a day of a month": rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}|\b{_MONTH} \d{{1,2}}\b|\b(?:by|until|before|mid|early|late)[ -]{_MONTH}",
    "how often, or how long": r"^(?:days?|weeks?|months?|hours?|minutes?)\b|\bwithin \d|\b(?:every|each) \w|\b(?:once|twice|times) an? (?:day|week|month|year)\b",
    "a time": r"\b\d{1,2}(?:[:.]\d\d)? ?[ap]m\b|\bin (?:an?|one|two|three|four|five|six|\d+) (?:days?|weeks?|months?|hours?)\b|\b(?:by|at|before|until|till|around) \d{1,2}$|\bnite\b|\b(?:tues|weds|thurs)\b|(?<=\w) \d{1,2}(?:st|nd|rd|th)$|\b[ap]m$|^\d{1,2}(?:[:.]\d\d)? ?[ap]m\b|\bat (?:half|quarter)\b|(?<![£$€\d.])\b\d{1,2}[.:]\d{2}$|\b(?:eod|cob)\b|\b\d{1,2}-\d{1,2}$",
}
"""What a title does not have, by what that says of it."""
_NOT_IN_TITLES = frozenset(
    re.findall(
        r"[\w']+",
        "actually add already also always am anyway apparently are assistant asking been better both btw but called can can't comes completely "
        "could did didn't doing doesn't don't dont each easy else ever every excuses finally forget forgetting forgot getting going "
        "guess haha happen happens has hasn't he hello hey hi i'd i'll i'm i've if it's just kinda kindly let let's literally lol mate mean means "
        "meant much must named need never no not nothing now okay ones oops possible probably rather really rename reminded reminder "
        "reminding rly rush says separate she should showing so somebody something somehow soon sorry sounds still "
        "supposed than thanks that that's then there there's these they thing things thinking tho though thx titled told too totally "
        "very want wanna was wasn't we we're well were what what's whats when whenever while won't would wouldn't yeah yes yesterday yet you're",
    )
)
"""Words of those who ask for something, which are not in the titles that people give; a whole title in quotes may have them."""
_IS_NO_TITLE = [pattern(each) for each in _NO_TITLE.values()]
_WHETHER = pattern(r"^((?:check|see|ask(?: \w+)?|find out)) (?:if|whether)(?= \w)")
_IS = pattern(r"\b(?:is|are|was|were|has|will)\b")
_SUBORDINATE = pattern(r"\b(?:if|whether|who|what|that|where|when|how|why|which|while|before|after|until)\b")
_ADDING = pattern(r"\bto-?do:|\b(?:add|put|create|new|note|write|jot|stick|pop|throw|chuck|schedule)\b")
_DATED = pattern(
    rf"\b(?:(?:on|by) (?:{_WEEKDAY}|the \d{{1,2}}(?:st|nd|rd|th))|tomorrow|(?:day|week|days|weeks) (?:before|after))\b"
)
_TWO_TIMES = pattern(r"\bat \d.*\bat \d")
_MOVED = pattern(r"\b(?:to|till|until|for|by) (?:the )?(?:\d|\w+day\b|tomorrow|next)")
_COUNTING = pattern(r"\b\d[.)](?= )|\b\d (?:more |new )?(?:things|tasks|items|todos|reminders|jobs)\b")
_OFTEN = pattern(r"\b(?:every|each|daily|weekly|monthly)\b")
_GRADED = pattern(
    r"\b(?:prio\w*|urgent\w*|asap|(?:very|really|super|so) important|(?:on|as|it|that|make \w+) (?:high|low))\b"
)


def is_doubtful(call: RequestedCall, said: str) -> bool:
    """Whether a task gets a title that can hardly be one, or a date that can be read in two ways, or is there already."""
    title = str(call.arguments.get("title", ""))
    if not title or title in quoted(said):
        return False
    is_misdated = _TWO_TIMES.search(str(call.arguments.get("description", ""))) or (
        _DATED.search(title)
        if "due_date" in call.arguments
        else re.search(r"\d/\d", str(call.arguments.get("description", "")))
    )
    is_new = call.tool_name != "add_task" or (_ADDING.search(said) and not title.startswith("the "))
    is_there = not is_new and any(
        is_about(title, task.title) for task in KNOWN_TASKS.get() if not task.completed
    )
    is_told = _IS.search(title) and not (begins_with_deed(title) and _SUBORDINATE.search(title))
    title = _WHETHER.sub(r"\1", title)
    is_chatty = not _NOT_IN_TITLES.isdisjoint(re.findall(r"[\w']+", title.lower().replace("’", "'")))
    return bool(
        is_misdated or is_there or is_told or is_chatty or any(each.search(title) for each in _IS_NO_TITLE)
    )


def is_left_out(calls: Sequence[RequestedCall], said: str, today: date, begin: int = 0) -> bool:
    """Whether a task is added without a date, a priority or a number, or changed without a date, that was said with it.

    A number before the sentence that asks for it, which has its ``begin`` here, is of something else.
    """
    given = {name for call in calls for name in call.arguments}
    added = [call.arguments for call in calls if call.tool_name == "add_task"]
    if not added:
        is_regraded = (
            len(calls) == 1 and "priority" in given and not given & {"due_date", "title", "postpone_days"}
        )
        return is_regraded and _MOVED.search(said) is not None and find_date(said, today) is not None
    numbers = _numbers(_COUNTING.sub("", take_all(take_priority(said[begin:])[1], today)[2]))
    for call in calls:
        said = said.replace(str(call.arguments.get("title", "")), "")
        numbers -= _numbers(" ".join(map(str, call.arguments.values())))
    is_once = not any(_OFTEN.search(str(each.get("description", ""))) for each in added)
    is_nameless = len(calls) > 1 and any(each and "title" not in each for each in added)
    if (
        numbers
        or is_nameless
        or (is_once and _OFTEN.search(said))
        or (not given & {"due_date", "postpone_days"} and find_date(said, today))
    ):
        return True
    return "priority" not in given and _GRADED.search(said) is not None


def _numbers(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"\d+", text)}
