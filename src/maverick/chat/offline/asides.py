"""The request in a message that says more: why, for whom, how sorry one is to ask.

Only what is certainly an aside is left aside: it mentions no other task, takes nothing back, makes no condition, and has no
date, priority or request of its own. People who dictate leave out full stops, so a clause also ends where another begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations, pairwise
from typing import NamedTuple

from maverick.chat.matching import BASE_FORMS, KNOWN_TASKS, find_matches, is_same_word, meaningful
from maverick.chat.offline import cues
from maverick.chat.offline.dates import find_date, take_all
from maverick.chat.offline.mentions import mark
from maverick.chat.offline.wording import DEED, pattern, quoted, take_priority, without_chatter
from maverick.providers.offline import RequestedCall


class Core(NamedTuple):
    """A part of a message that may be all that it asks for."""

    text: str
    asides: Sequence[str]
    task: str = ""
    """The title of the task that the asides are about."""


_LINK = r"(?:(?:so|and|but|then|also|now|please|just|oh yeah|ok|okay)[, ]+)"
_VERB = r"(?:add|put|stick|pop|note|write down|mark|tick|check|cross|count|consider|make|set|move|push|shift|change|update|bump|rename|delete|remove|drop|give)"
_ASKS = (
    rf"{_LINK}*(?:(?:can|could|would|will) you\b(?! (?:not|never)\b)|(?<!\btold )(?<!\bsaid )(?<!\bsays )(?<!\bheard )you (?:can|may|could)\b|if you could\b|remind me\b|i(?:'d| would) like you to\b)"
    rf"|{_LINK}+{_VERB}\b|{_VERB} (?:it|that|this|them|both)\b|{_LINK}+(?:high|low|medium|top) prio"
)
_TELLS = (
    r"(?:(?:and|but|because|since|cos|cause) )*(?:i|i'm|i've|i'll|i'd|we|we're|we've|he|he's|she|she's|they|they're|there's|there is|nobody|no one|everyone|who|"
    rf"my (?:\w+ ){{1,3}}?(?:is|are|was|has|had|will|says|said|did|does|wants|\w+ed|{'|'.join(BASE_FORMS)}))\b(?! (?:can|could|need|must|should) (?:you|i)\b)"
)
_EXCLAIMS = r"(?:(?:and|but|so) )?(?:thank (?:god|goodness|heavens|the lord|you)|bless|hooray|hurray|phew|yay|honestly|oh dear|you know what|oh yeah)\b"
_OPENING = pattern(rf"[,;:.!?…–-]+\s+|\s+(?=(?:{_ASKS}|{_TELLS}|{_EXCLAIMS}))")
_RUNS_ON = rf"\s+(?:{_TELLS}|{_EXCLAIMS})"
_REQUEST = pattern(rf"{_LINK}*(?:{_ASKS}|{_VERB}\b|(?:please|kindly)\b)")
_GOES_ON = pattern(
    r".*(?:\b(?:so|and|but|then|also|now|please|just|well|oh|ok|okay|you|i|we|he|she|they|can|could|would|will|may|must|should|to|not|never|gonna|wanna|"
    r"before|after|when|if|while|because|since|as|that|what|how|why|where|which|than|an?|the|my|our|your|his|her|of|for|with|in|at|by|from|about)|n't)"
)
"""What no clause ends with."""
_DOWN = pattern(
    rf"{_LINK}*(?:(?:can|could|would|will) you )?(?:please )?(?:add|put|stick|pop|note) (?:it|that|this)\b"
)
"""Asks for what was told before it."""
_SET_THAT = pattern(
    rf"{_LINK}*(?:(?:can|could|would|will) you )?(?:please )?(?:(?:set|update|change|fix|adjust|put|use|take) (?:the|that|its|this) (?:due )?(?:date|deadline|day)(?: (?:on|for|to|of|in) (?:it|that|this|there))?|(?:fix|shift|change|move|update|correct) (?:it|that|this))[.!?]*"
)
"""Asks for the date that was told before it."""
_CLAUSE = pattern(
    r"(?:(?:and|but|so|because|since|as|cos|cause|though|well|oh|right|hello there|before|that) )*"
    r"(?:(?:i|we|he|she|they|there|nobody|no one|everyone|who|it|that|this)(?:'\w+)? \w"
    rf"|(?:my|our|his|her|their|the|an?|this) (?:[\w'-]+ ){{1,5}}?(?:is|are|was|were|has|have|had|will|wants|says?|said|\w+ed|{'|'.join(BASE_FORMS)})\b"
    rf"|\w+(?: \w+){{0,4}}(?:'s| (?:is|are|was|were|has|have|had|will|says?|said|\w+ed|{'|'.join(BASE_FORMS)}))\b)"
)
_CHAT = pattern(
    rf"{_LINK}*(?:thank (?:god|goodness|heavens|you)\b.*|bless \w+|(?:there's |it's )?(?:not|no) (?:a )?(?:big deal|hurry|rush|stress|worries)(?: at all| whatsoever| though)?|(?:hello|hi|hey|good) \w+|(?:my )?(?:dear|love|darling|mate|friend)|"
    r"lol|haha|hooray|hurray|phew|yay|right|honestly(?: who cares)?|who cares|oh dear|you know what|oh yeah|sorry|"
    r"if (?:it|that)(?:'s| is)?(?: not|n't)? (?:too much (?:trouble|bother)|possible|ok(?:ay)?|all right)|if (?:you )?(?:don't mind|may))"
)
_RISK = pattern(
    r"\b(?:if|unless|once|until|till|when|whether|maybe|perhaps|might|probably|think|guess|suppose|hopefully|or|actually|wait|meant?|instead|except|only|also|another|too|as well|"
    r"rather|never ?mind|forget it|undo|cancel|not (?:the|on|for|to|until|yet|that|this|it|now|today|tomorrow|\w+day)|half|almost|nearly|partly|still|yet|every|each|daily|weekly|monthly|deadline|due|"
    rf"add|remind|delete|remove|mark|tick|rename|list|do it|leave it|keep it)\b|\b(?:and|then) {DEED}|\bdon't(?! (?:mind|know))|^(?:no|nope)\b|§|\bat \d|\b(?:told|said|asked|says|heard)$"
)
_UNDONE = (cues.NOT, cues.GUARD, cues.TO_COME)
_IF_YOU = pattern(r"\bif you (?:could|would)\b")
_OBLIGED = pattern(
    r"\b(?:need|have|has|got|ought|supposed|want|going|promised)(?: \w+)? to\b(?! (?:run|go|rush|dash|leave|hurry|be)\b)|\b(?:must|should|gotta)\b"
)


def cores(said: str, today: date) -> Iterator[Core]:
    """The parts of a message that may be its request, the longest first."""
    parts = _parts(said)
    if quoted(said) or len(parts) > 9:
        return
    for first, last in sorted(combinations(range(len(parts) + 1), 2), key=lambda ends: ends[0] - ends[1]):
        asides = [*parts[:first], *parts[last:]]
        is_told = _OBLIGED.search(parts[first]) and last - first > 1 and _DOWN.match(parts[first + 1])
        if asides and (is_told or _REQUEST.match(without_chatter(parts[first]))):
            text = _joined(parts[first:last])
            is_set = _SET_THAT.fullmatch(text) and not cues.PLAN.match(_joined(asides))
            if is_set and len(days := take_all(_joined(asides), today)[0]) == 1:
                text = f"move it to {days[0]}"
            yield Core(text, asides, _topic(asides, today))
    if all(_CLAUSE.match(part) or _REQUEST.match(part) or _mentioned(part, today) for part in parts):
        yield Core(_joined(parts), ())


def _parts(said: str) -> list[str]:
    """The clauses of a message, without those that only say something nice."""
    parts: list[str] = []
    places = [0, *(found.end() for found in _OPENING.finditer(said)), len(said)]
    for start, end in pairwise(places):
        part = said[start:end].strip()
        if parts and _GOES_ON.fullmatch(parts[-1]):
            part = f"{parts.pop()} {part}"
        parts.append(part)
    return [
        part for part in parts if without_chatter(f"{part} ") and not _CHAT.fullmatch(part.rstrip(" ,.!?"))
    ]


def _joined(parts: Sequence[str]) -> str:
    """Parts of a message, with a comma where there was nothing between them."""
    return re.sub(r"(?<=[.!?,;:]),(?= )", "", ", ".join(parts))


def _topic(asides: Sequence[str], today: date) -> str:
    named = {title for part in asides for title in _mentioned(part, today)}
    return named.pop() if len(named) == 1 else ""


def _mentioned(text: str, today: date) -> set[str]:
    mentions = mark(text, "", KNOWN_TASKS.get(), today).mentions
    return {task.title for mention in mentions for task in mention.tasks}


def is_lost(calls: Sequence[RequestedCall]) -> bool:
    """Whether a new task has no title, or one is named that is not on the list: the name may be elsewhere."""
    names = [str(call.arguments["task"]) for call in calls if "task" in call.arguments]
    return RequestedCall("add_task", {}) in calls or any(
        not find_matches(name, KNOWN_TASKS.get(), date.min) for name in names
    )


def is_all(core: Core, calls: Sequence[RequestedCall], said: str, today: date) -> bool:
    """Whether nothing but these calls is asked for."""
    names = [str(call.arguments["task"]) for call in calls if "task" in call.arguments]
    changed = {title for name in names for title in re.findall(r"'(.+?)'(?= and |$)", name) or [name]}
    new = [str(call.arguments.get("title", "")) for call in calls if call.tool_name == "add_task"]
    is_done = any(call.tool_name == "complete_task" for call in calls)
    return (
        all(new)
        and _mentioned(said, today) <= changed <= {task.title for task in KNOWN_TASKS.get()}
        and not (is_done and any(doubt.search(_IF_YOU.sub("", said)) for doubt in _UNDONE))
        # "tell Anna I am late" is one title.
        and not any(re.search(re.escape(title) + _RUNS_ON, said, re.IGNORECASE) for title in new)
        and not any(is_echo(title, part) for title in new for part in core.asides)
        and all(_is_aside(part, core, calls, today) for part in core.asides)
    )


def is_echo(title: str, aside: str) -> bool:
    """Whether a title is one word of what was said before it: "I need to book a table, so put the booking on Monday"."""
    stem = title.casefold().removesuffix("ing")
    return " " not in title and any(is_same_word(stem, word) for word in meaningful(aside))


def _is_aside(part: str, core: Core, calls: Sequence[RequestedCall], today: date) -> bool:
    is_done = any(call.tool_name == "complete_task" for call in calls)
    is_dated = all({"due_date", "postpone_days"} & {*call.arguments} for call in calls)
    is_reason = core.text.lower().startswith("so ")
    return (
        _CLAUSE.match(without_chatter(part)) is not None
        and not _RISK.search(part)
        and (is_reason or not _OBLIGED.search(part))
        and (is_dated or is_done or find_date(part, today) is None)
        and take_priority(part)[0] is None
    )
