"""Tasks to add: what a sentence that asks for them says of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from maverick.chat.offline.dates import find_date, take_timing, without_old_date
from maverick.chat.offline.wording import (
    COUNTS,
    DEED,
    QUOTED,
    begins_with_deed,
    pattern,
    quoted,
    several,
    take_priority,
    title_of,
    without_list,
)
from maverick.providers.offline import RequestedCall


@dataclass(frozen=True, slots=True)
class Heard:
    """A request and its context."""

    text: str
    """The request, without politeness."""
    answered: str
    """The answer before it."""
    today: date


Reader: TypeAlias = Callable[[Heard, re.Match[str]], list[RequestedCall] | None]
"""Turns a sentence that matches a pattern into tool calls; ``None`` if it means something else after all."""


def add(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add, or several that are each in quotation marks."""
    what = _BEFORE_ITEM.sub("", match["what"] or "")
    shared = _SHARED.search(what)
    whole = what[: shared.start()] if shared else what
    listed = without_list(_SEPARATE.sub("", whole))
    is_apart = shared or _SEPARATE.search(whole)
    for items in (several(title_of(listed)), _DEEDS.split(title_of(listed))):
        if _are_several(items, heard.today) or (is_apart and len(items) > 1):
            texts = [f"{item} {shared['values'] if shared else ''}" for item in items]
            return _all_added(texts, heard.today, are_apart=_APART.search(whole) is not None)
    each = re.split(r",?\s+and\s+(?=['\"“‘])", what)
    if len(each) > 1 and all(len(quoted(part)) == 1 for part in each):
        return _all_added(each, heard.today)
    if len(quoted(what)) > 1 and not title_of(QUOTED.sub("", what).replace(" and ", " ").replace(",", " ")):
        return [RequestedCall("add_task", {"title": title}) for title in quoted(what)]
    return [_added(what, heard.today)]


def _all_added(items: Sequence[str], today: date, *, are_apart: bool = False) -> list[RequestedCall]:
    """A task for each; a date behind the last may be for all, or for that one, so nothing is added unless they are apart."""
    calls = [_added(item, today) for item in items]
    dated = ["due_date" in call.arguments for call in calls]
    return calls if are_apart or any(dated[:-1]) or not dated[-1] else [RequestedCall("add_task", {})]


def _are_several(items: Sequence[str], today: date) -> bool:
    """Whether each is a task of its own: three things to get, or deeds, or each with its own date."""
    if any(_NO_ITEM.search(item) for item in items):
        return False
    if len(items) > 2 and all(_is_thing(item, today) for item in items):
        return True
    if len(items) < 2 or any(quoted(item) for item in items):
        return False
    timings = [take_timing(item, today) for item in items]
    return not any(_REFERS_BACK.search(item) for item in items) and (
        all(timing.due and timing.rest for timing in timings)
        or all(begins_with_deed(item) and " " in item for item in items)
    )


_BEFORE_ITEM = pattern(
    r"^(?:(?:also|please|pls|me|for me|another one|an? (?:task|reminder|to-?do)(?= (?:for|on|by)\b))[ ,:]+)+(?=\S)"
)
_APART = pattern(r"\band also\b|\bplus\b")
_SEPARATE = pattern(
    r",? (?:as|in) (?:(?:two|three|four|five) )?(?:separate|different|two|three|individual) (?:tasks|items|ones)\W*$"
)
_SHARED = pattern(
    r",? (?:both|all|each)(?: of them)?(?:,? (?:with|are|as))? (?P<values>(?:for |by |on |due |at )?[\w -]{3,30})$"
)
"""What is said of all the tasks before it: "…, both tomorrow"."""
_DEEDS = pattern(rf"(?:,? and|,|;)(?: also)? (?={DEED})")
_HEADER = pattern(
    r"(?:an?|one|the|other|another|two|three|four|five|six|\d|some|a few|several|couple|these|this|following|me|for|new|more|tasks?|to-?dos?|items?|(?:some)?things?|reminders?|please|pls|also|with|of|due|for me|to do)?"
)


def add_listed(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """Tasks behind a colon: what stands before it is said of all of them, as in "for Tuesday, high priority: …"."""
    header, colon, rest = match["what"].partition(": ")
    if not colon or quoted(match["what"]):
        return None
    priority, left = take_priority(without_list(header))
    timing = take_timing(left, heard.today)
    words = timing.rest.split()
    are_many = any(
        re.match(r"(?:tasks|things|items|todos|to-dos|these|following|reminders)\b", word, re.IGNORECASE)
        for word in words
    )
    is_said = match.group() != match["what"] or priority or timing.due or len(words) > 1 or are_many
    if not is_said or not all(word and _HEADER.fullmatch(word.strip(",")) for word in words):
        return None
    items = several(rest)
    items = items if are_many or _are_several(items, heard.today) else [rest]
    level = f", {priority} priority" if priority else ""
    when = f" by {timing.due.isoformat()} {timing.note}" if timing.due else ""
    return [_added(f"{item}{level}{when}", heard.today) for item in items]


_REFERS_BACK = pattern(r"\b(?:it|them|him|her|there|that)\b")
_NO_ITEM = pattern(
    r"^(?:for|with|from|about|in) |\([^)]*$|^[^(]*\)|:|^(?:no|not|or|maybe|actually|wait|sorry)\b"
)


def _is_thing(text: str, today: date) -> bool:
    """Whether it is a thing to get, and not a deed, a date or a priority."""
    is_short = len(text.split()) < 4 and not quoted(text) and not begins_with_deed(text)
    return is_short and take_priority(text)[0] is None and find_date(text, today) is None


def add_several(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """Several tasks to add, perhaps all for the same day."""
    when = match.groupdict().get("when") or ""
    items = [re.sub(r"^(?:please )?add ", "", item) for item in several(match["what"])]
    said = match.group().split()[0].lower()
    if said in COUNTS and len(items) != COUNTS.index(said) + 1:
        return None
    return [_added(f"{item} {when}", heard.today) for item in items]


def add_placed(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add that is "put down for Sunday"; one that is on the list is moved."""
    if not match["when"] or _REFERS_BACK.search(match["what"]):
        return None
    call = _added(f"{match['what']} {match['when']}", heard.today)
    return [call] if {"due_date", "priority"} & {*call.arguments} and "title" in call.arguments else None


def add_put(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add that is "put in": a deed or an appointment. What is put somewhere is a thing."""
    timing = take_timing(match["what"], heard.today)
    is_task = begins_with_deed(timing.rest) and not _SOMEWHERE.match(timing.rest)
    is_dated = timing.due and not (_SOMEWHERE.search(match.group()) or _REFERS_BACK.search(timing.rest))
    return add(heard, match) if is_task or is_dated or _APPOINTMENT.match(timing.rest) else None


_SOMEWHERE = pattern(
    r"\b(?!pencil |slot )\w+ (?:in|on(?! (?:the )?(?:\d|\w+day))|into|onto|under|to|at(?! \d)|up|out|away|back|off|down|together)\b"
)
_APPOINTMENT = pattern(
    r"me an? (?:new )?task\b|(?:an? |the |my )?(?:\w+ )?(?:appointment|meeting|lunch|dinner|call|visit|lesson|class|interview|viewing|haircut|reminder)\b"
)


def schedule(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add, if it says when."""
    call = _added(match["what"], heard.today)
    return [call] if "due_date" in call.arguments else None


def add_deed(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add, if it is something to do and says when."""
    is_clear = begins_with_deed(match["what"]) and not _NO_DEED.search(match["what"])
    calls = add(heard, match) if is_clear else None
    return calls if calls and all({"due_date", "priority"} & {*call.arguments} for call in calls) else None


_NO_DEED = pattern(
    r"^(?:bring|change|check|clear|close|finish|move|open|set(?! up| aside)|update|make (?:the|my))\b|\byou\b|\b(?:less|more) (?:urgent|important)\b"
)
"""What begins as requests about tasks do, or is said to us: "call you tomorrow"."""


def add_whole(heard: Heard, _match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add that begins like a request: "remind Anna to call"."""
    return [_added(heard.text, heard.today)]


_REASON = pattern(
    r",? (?:because|cause|cos|otherwise|so that)\b.+$|, (?:since|as|they're|they are|it's|he's|she's|we're|i'm|there's|(?:we|i|there|(?:his|her|their|our|the|my) \w+)"
    r" (?:is|are|was|were|has|have|will|wants?|needs?|said|says|asked|told|keeps?|runs?)|(?:he|she|they|it) (?!can|could|may|might|must|should)\w+)\b(?!.*\b(?:urgent|important|prio)).+$|, no (?:excuses|matter what|kidding)\b.*$"
)
"""Why something is to be done."""


def _added(what: str, today: date) -> RequestedCall:
    what = _MUST_BE.sub(" ", re.sub(r" (?:on|in|to) there\b", "", what))
    inside = quoted(what)
    priority, rest = take_priority(QUOTED.sub("", what) if inside else what)
    rest = rest if inside else without_old_date(_without_reason(rest, today))
    timing = take_timing(without_list(rest), today)
    if inside and not _AROUND_TITLE.fullmatch(timing.rest):  # the quotation is only a part of the title
        priority, rest = take_priority(what)
        timing = take_timing(without_list(rest), today)
        inside = []
    level = None if inside or priority else _LEVEL_LAST.search(timing.rest)
    if level:
        priority, timing = level[1].capitalize(), timing._replace(rest=timing.rest[: level.start()])
    title = inside[0] if inside else title_of(_DANGLING.sub("", timing.rest))
    arguments = {
        "title": "" if _REFERS.fullmatch(title) else title,
        "priority": priority,
        "due_date": timing.due and timing.due.isoformat(),
        "description": timing.note,
    }
    return RequestedCall("add_task", {name: value for name, value in arguments.items() if value})


def _without_reason(what: str, today: date) -> str:
    """What is to be done, without why; a date for it may be in the reason: "…, so it has to go out by the 17th"."""
    reason = _REASON.search(what)
    pinned = _PINNED.search(reason[0]) if reason else None
    day = find_date(pinned[0], today) if pinned else None
    return f"{_REASON.sub('', what)}{f' by {day.isoformat()}' if day else ''}"


_LEVEL_LAST = pattern(r"(?<=\w\w)(?<!\bto)(?<!\bon)(?<!\bis)(?<!\bas)(?<!\bvery)(?<!\btoo),? (high|low)$")
_MUST_BE = pattern(
    r",? (?:and )?(?:it |this |that )?(?:has to|must|needs to|should) be(?: (?:done|finished|ready|sent|paid)(?= (?:by|on|before)\b)|(?= (?:by|before)\b))"
    r"|, (?:that's|that is|which is|it's|it is|(?:i )?need it)(?= (?:due|by|on|until|to(?:day|morrow|night)|(?:the )?\d|\w+day\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w* \d))"
)
_PINNED = pattern(r"\b(?:it|that|this|they) (?:has to|have to|must|needs? to|should|is due|are due)\b.+$")
_DANGLING = pattern(
    r"(?:[\s,]+(?:and|but|due|on|by|at|for|it's|is|with(?: an?)?(?: due date| deadline)?(?: of)?))+$"
)
_AROUND_TITLE = pattern(
    r"(?:[\s,.:;?!-]|\b(?:an?|the|my|new|task|item|todo|reminder|called|named|titled|saying|to|on|in|down|for|list|there|please|thanks|and|with|deadline|"
    r"due|date|of|by|it's|is|no|without|any|yet|rush|hurry|me)\b)*"
)
"""What may stand around a title in quotation marks."""
_REFERS = pattern(
    r"(?:(?:it|that|this|them|these|one|an?|(?:the )?same|some ?things?(?: for me| else| new)?)?(?: ?(?:again|more|too|thing))?)"
    r"|(?:buy|get|order|grab|find) (?:an?(?: new)? one|another(?: one)?|(?:some )?more|some|new ones|it|them)"
)
