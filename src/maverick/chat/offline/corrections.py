"""What is said of the change that was just made: another value for it, another title, or that it was a mistake."""

from __future__ import annotations

import re
from calendar import month_name
from datetime import date
from typing import Any

from maverick.chat.matching import KNOWN_TASKS
from maverick.chat.offline.dates import take_all, take_timing, without_old_date
from maverick.chat.offline.grammar import is_question, read_sentence, small_talk
from maverick.chat.offline.mentions import mark
from maverick.chat.offline.titles import retitled
from maverick.chat.offline.wording import begins_with_deed, pattern, plain_end, plain_request, take_priority
from maverick.providers.offline import RequestedCall

ABOUT = re.compile(
    r"(?:(?:Got it! Added|Updated!|Great! I've marked|Which day shall I move) '(?P<task>[^']+|.+?)' (?:to|now|as)\b"
    r"|'(?P<undated>.+?)' has no due date\. Which)"
)
"""Answers that were about one task."""
TO_COME = " now"
"""The end of an answer that is not given yet: there is nothing to undo in it."""
_HEAD = (
    r"(?:actually|no(?! (?:due|date|deadline|rush|hurry|idea|prob|problem|worries|way|priority)\b)|nope|nah|oops|whoops|oh|ah|dear|bother|shoot|crap|gosh|argh|damn|ugh|wait|forgive me|excuse me|i (?:do )?apologi[sz]e|hang on|hold on|stop|sorry|(?:my )?apologies|pardon|my (?:bad|mistake)|correction|typo|"
    r"better|rather|well|silly me|hm+|uh|um|on second thoughts?|you know what|i(?:'m| am) (?:wrong|mistaken)|(?:the )?wrong(?: (?:day|date|one|time|name|priority|task))?|not that(?: one)?)"
)
HESITATION = pattern(
    rf"^(?:(?:{_HEAD}|(?:i )?(?:should(?:'ve| have) (?:said|mentioned|added)|forgot to (?:say|mention)|meant?|said|wanted)|make that|scratch that)\b[,.!:… ]+)+"
)
_TAKEN_BACK = pattern(
    rf"(?:{_HEAD}\b[,.!… ]*)*"
    r"(?:(?:scrap|scratch|forget|ignore|disregard|undo)(?: about)? (?:that|it|this)(?: last| previous)?(?: change| one| thing| bit| request| task)?"
    r"|(?:scrap|scratch|forget|ignore|cancel|drop|revert|reverse|undo) (?:the|my|that|this) (?:last|previous)(?: change| one| thing| bit| request)?"
    r"|cancel that|(?:just |only )?kidding|never ?mind(?: that| it)?|(?:i(?:'ve| have)? )?changed my mind|(?:i )?take (?:that|it) back|go back"
    r"|(?:that's |there's |it's )?(?:no need|no longer (?:needed|necessary)|not (?:needed|necessary))(?: for (?:that|it))?"
    r"|(?:leave|keep) (?:it|that) (?:as is|(?:as|how|where|the way) (?:it|that) (?:is|was)|as before)"
    r"|(?:don't|do not)(?: (?:add|do|change|move|mark|rename|complete|save)(?: (?:it|that|this|anything))?)?"
    r"|(?:delete|remove|take) (?:it|that)(?: off)?(?: the list)? again)"
    r"(?:[,.!… ]+(?:please|then|thanks|sorry|for now|actually|after all|any ?more|yet|instead))*"
    r"(?:[.!… ]*|(?:\s*[,.;:!–-]+\s*|\s+(?=because\b|since\b|cause\b|i\b|it\b|we\b))(?P<rest>\w.*))"
)
_CHANGED_MIND = pattern(
    rf"(?:(?:{_HEAD}|or|please)\b[,.! ]*)*(?:no|wait|just kidding|leave it|keep it|not)(?:[,.! ]+(?:please|thanks|actually|sorry|yet))*[.! ]*"
)
_TO_WHAT = pattern(
    r"^(?:(?:(?:can|could) (?:it|that|this)(?: one)? be(?: due)?|(?:just )?(?:make|change|set|move|push|mark|give|leave|keep|put|bring|lower|raise|bump|drop)(?: (?:it|that|this|them)(?: back| up| down)?|(?= to\b))|go back|back|keep|leave|let's (?:say|do|make it)|(?:it |that )?(?:should|was supposed to|has to|must|needs to) (?:be|have been)(?: done| finished| ready| sent| paid)?)"
    r"(?: to| for| on| by| as| at| a)? |(?:it's|its|it is|that's|is)(?: for| on| due)? |(?:the )?(?:due(?: date)?|deadline|date)(?: is| by| on)?[: ]+|(?:(?:all|both)(?: of them)?(?: are)? )?(?:for|on|by|to|due|until|as)(?: on| by)? )"
)
_IS_FINE = pattern(
    r",? (?:if (?:possible|i can|you can)|ideally|at the latest|i meant?|as (?:the |a )?(?:deadline|due date|date)|then|(?:is|was|would be|will be) (?:fine|enough|ok|okay|better|best|good)|will do|works)(?: for (?:it|that|me))?$"
)
_BESIDE = pattern(r"(?:the |a |one )?(?P<unit>day|week) (?:after|later|(?P<before>before|earlier|sooner))")
_GRADE = pattern(r"^(high|medium|normal|low)$")
_REGRET = frozenset(re.findall(r"\S+", "oops whoops wrong incorrect mistake bad not isn't wasn't"))
_REGRETTING = _REGRET | frozenset(
    re.findall(
        r"\S+",
        "oh ah dear bother damn my apologies sorry pardon no that that's it it's is was the a one i what meant said wanted "
        "actually yet right correct done hang on wait",
    )
)
"""The words in which a change is said to have been a mistake, and nothing more."""
_NOT_SO = pattern(
    r"\W*(?:it|that|they|i|we)(?:'s| is| was| have| has|'ve| did| are)?(?:n't| not)\b(?: (?:actually|quite|really))?(?: (?:complete|done|finished|ready|right|so|true|(?:bought|paid|read|sent|\w+ed) yet))?(?: yet)?(?:,? (?:sorry|though))?\W*|(?:i|we)(?:'ve| have)? (?:only |just )*(?:started|begun)\b.*"
)
STILL_NEEDED = pattern(r"\W*(?:i|we) (?:do |still |will )*(?:need|want) (?:it|that|them|this|that one)\b.*")
_CHANGED = re.compile(
    r"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)' (?:to your list\. Anything|now has|as complete\.|from your tasks\.)"
)
_ADDED = re.compile(r"Got it! Added (?P<titles>'.+') to your list\. Anything else\?")


def taken_back(said: str) -> str | None:
    """What is said besides taking something back, as the reason or instead of it; ``None`` if nothing is."""
    found = _TAKEN_BACK.fullmatch(said.strip())
    return None if found is None else found["rest"] or ""


def is_taken_back(said: str) -> bool:
    """Whether something that was said just before is taken back: "no, forget it"."""
    return taken_back(said) == "" or _CHANGED_MIND.fullmatch(said.strip()) is not None


def titles_changed(answered: str) -> list[list[str]]:
    """The tasks that an answer says were changed: a list for each call, which has a line of its own unless it adds."""
    made: list[list[str]] = []
    for line in answered.splitlines():
        if added := _ADDED.match(line):
            made += [[title] for title in re.findall(r"'(.+?)'(?=, '| and '|$)", added["titles"])]
        elif titles := _CHANGED.findall(line):
            made.append(titles)
    return made


def follow_up(said: str, answered: str, today: date) -> list[RequestedCall] | None:
    """What is said of the task that the answer before was about."""
    about = ABOUT.match(answered)
    if about is None or is_question(said):
        return None
    if not answered.endswith(TO_COME) and _is_regretted(said, answered):
        return [RequestedCall("undo_last_change", {})]
    titles = [title for call in titles_changed(answered) for title in call]
    if change := revised(said, answered, today):
        return change
    more = _MORE.fullmatch(said.strip(" .!"))
    what = plain_end(more["what"] or more["too"]) if more else ""
    again = {"Got": "add", "Great": "complete"}.get(answered.partition(" ")[0].rstrip("!"))
    is_name = titles and _NAME.fullmatch(what) and begins_with_deed(titles[-1])
    if what and again and not is_name and read_sentence(what, answered, today) is None:
        return read_sentence(f"{again} {what}", "", today)
    return _retitled(said, about["task"] or about["undated"], answered, today) if len(titles) < 2 else None


_MORE = pattern(
    r"(?:oh,? )?(?:and|also|plus|and also) (?P<what>(?!\d+$).+)|(?P<too>(?!(?:me|it|i|not|same|th[aio]\w+)\b)[\w' ]+?),? (?:too|as well)(?:,? please)?"
)


def _is_regretted(said: str, answered: str) -> bool:
    """Whether a change is said to have been a mistake, or what it says not to be so."""
    words = set(re.findall(r"[\w']+", said.lower()))
    is_done = answered.startswith("Great!")
    if words <= _REGRETTING and words & _REGRET:
        return ("done" not in words or is_done) and words != {"not", "yet"}
    return is_done and _NOT_SO.fullmatch(HESITATION.sub("", said)) is not None


_YES_OR_NO = pattern(r"(?:(?:yes|yeah|yep|yup|no|nope|nah|ok|okay|sure|please|thanks)[,.! ]*)+")


def _retitled(said: str, task: str, answered: str, today: date) -> list[RequestedCall] | None:
    """Another title for the task."""
    plain = plain_end(said)
    if small_talk(said) is not None or _YES_OR_NO.fullmatch(plain) or read_sentence(plain, "", today):
        return None
    correction = plain_request(HESITATION.sub("", plain))
    timing = take_timing(take_priority(correction)[1], today)
    is_plain = HESITATION.match(plain) or not (timing.due or take_priority(correction)[0])
    is_named = is_plain and (answered.startswith("Got it!") or "a new title" in answered)
    if not is_named and not answered.endswith(TO_COME):
        return None
    title = retitled(task, plain, correction, is_correction=HESITATION.match(plain) is not None)
    return [RequestedCall("update_task", {"task": task, "title": title})] if title else None


def revised(said: str, answered: str, today: date) -> list[RequestedCall] | None:
    """Another date or priority for what was just changed, unless it is done: what is done is not due any more."""
    about = ABOUT.match(answered)
    if about is None or answered.startswith("Great!"):
        return None
    titles = [title for call in titles_changed(answered) for title in call] or [
        about["task"] or about["undated"]
    ]
    if len(titles) > 1 and len(re.findall(r"\bdue\b", answered)) not in (0, len(titles)):
        return None  # only some of them have a date: which of them are meant?
    correction = plain_request(HESITATION.sub("", plain_end(said)))
    if _EVENT.match(correction) and begins_with_deed(titles[0]) and not HESITATION.match(said):
        return None
    change: dict[str, Any] = {}
    for clause in _CLAUSE.split(without_old_date(correction)):
        if values := _values(clause, today):
            change |= values
        elif not change or not _WHY.fullmatch(clause):
            return None
    return [RequestedCall("update_task", {"task": title, **change}) for title in titles]


def _values(clause: str, today: date) -> dict[str, Any] | None:
    """The values that a clause consists of; ``None`` if it says anything else."""
    wanted = _IS_FINE.sub("", _TO_WHAT.sub("", plain_request(HESITATION.sub("", clause))))
    if beside := _BESIDE.fullmatch(wanted):
        days = (7 if beside["unit"].lower() == "week" else 1) * (-1 if beside["before"] else 1)
        return {"postpone_days": days}
    priority, rest = take_priority(_GRADE.sub(r"\1 priority", wanted))
    rest = re.sub(r"^(?=\d{1,2}(?:st|nd|rd|th)\b)", "the ", re.sub(r"^and ", "", rest))
    timing = take_timing(f"on {rest}" if rest else "", today)
    if re.sub(r"^on$", "", timing.rest):
        return None
    values = {
        "priority": priority,
        "due_date": timing.due and timing.due.isoformat(),
        "description": timing.note,
    }
    return {name: value for name, value in values.items() if value}


_EVENT = pattern(r"(?:it's|its|it is) on\b")
"""What a deed is for may be on that day: "study for the test", "it's on the 11th"."""
_CLAUSE = pattern(
    r"\s*[,;.!–-]+\s+(?:(?:and|but|so|as|because|since)\s+)?|\s+(?:and|but|so|because|since|cause|cos)\s+"
)
_WHY = pattern(
    r"(?!.*\b(?:if|unless|add|also|delete|remove|remind|mark|maybe|perhaps|or)\b|.*\?)"
    r"(?:(?:he|she|they|it|it's|its|that|there|i|i'm|i've|we|we're|on \w+ (?:it|he|she|they|i|we)|(?:my|our|the|his|her) \w+|\w+day)\b.+|no (?:rush|hurry|excuses|worries))"
)
"""Why a value is as it is."""


_NAME = re.compile(r"[A-Z]\w*")
"""Perhaps another task, perhaps somebody else in the one before: "call Bob", "and Alice"."""


OBJECTS = pattern(
    r"\b(?:no|nope|nah|not|never|\w+n't|wrong|other|mean|meant|mistake|oops|wait|stop|hang on|why|huh|hmm+|forget|mind)\b"
)
_FOR_IT = pattern(
    r"\b(?:due|deadline|(?:ought|has|needs) to be \w+ by|(?:change|move|update|set|put|make) (?:it|that))\b"
)
_BETTER = pattern(
    r"\b(?:prefer|(?:would be|is|suits) (?:me )?better|i meant?|i confused|on reflection|should have said|(?:could|can|should) (?:it|that)(?: one)? be|need (?:it|that) (?:done )?(?:by|on))\b"
    r"|^(?:it|that)'s the \w+ after\b"
)
"""Says that another value is wanted for what was just changed."""
_CONDITION = pattern(
    r"\b(?:if (?!you|that is|it is|that's|it's|possible)|or|maybe|perhaps|also|every|each)\b"
)
_NOT_FOR_IT = pattern(r"\b(?:i|i'm|i'll|we|we're|can|could|might|if|or|maybe|perhaps|only|also)\b")
_MONTH_SAID = re.compile(rf"\bdue (?:date of )?({'|'.join(month_name[1:])}) \d")
_NUMBER_ALONE = pattern(r"^(?:the )?(\d{1,2})(?:st|nd|rd|th)?\W*$")
_DUE = re.compile(r"\(.*?\bdue (today|tomorrow|\w+day|\w+ \d{1,2})\b")
_SAME_DAY = pattern(r",? (?:on |for )?(?:the )?same (?:day|date)\b")


def redated(said: str, answered: str, today: date) -> list[RequestedCall]:
    """Another day or priority for what was just changed, said with a reason: "sorry, her train comes on Sunday"."""
    changed = [title for titles in titles_changed(answered) for title in titles]
    meant = HESITATION.sub("", said)
    if len(changed) != 1 or answered.startswith(("Great!", "I've")):
        return []
    month = _MONTH_SAID.search(answered)
    if meant != said and month:  # "no, 31" is of the same month
        meant = _NUMBER_ALONE.sub(rf"on {month[1]} \1", meant)
    first = re.split(r"(?<=\w)[.!]\s+", meant, maxsplit=1)[0] if meant != said else meant
    if "due_date" in (_values(first, today) or {}):
        meant = first  # and then why
    priority, rest = take_priority(meant)
    days = take_all(rest, today)[0]
    others = mark(meant, "", KNOWN_TASKS.get(), today).mentions
    if _BETTER.search(meant) and not (_CONDITION.search(meant) or others):
        is_plain = True
    else:
        is_other = meant == said or "due " not in answered or others
        is_else = OBJECTS.search(meant) or _NOT_FOR_IT.search(meant) or said.endswith("?")
        is_plain = bool(_FOR_IT.search(said) or not is_other) and not is_else and bool(days)
    values = {"due_date": days[0].isoformat()} if days else {}
    values |= {"priority": priority} if priority else {}
    is_clear = is_plain and len(days) < 2 and values
    return [RequestedCall("update_task", {"task": changed[0], **values})] if is_clear else []


def with_day(said: str, answered: str) -> str:
    """A message with the day of the answer before it in place of "the same day"."""
    due = _DUE.search(answered)
    return _SAME_DAY.sub(f" on {due[1]}", said) if due else said
