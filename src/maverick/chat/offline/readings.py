"""Turns a sentence that matches a pattern into tool calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeAlias

from maverick.chat.matching import KNOWN_TASKS
from maverick.chat.offline.dates import COUNTS, find_date, take_timing, without_old_date
from maverick.chat.offline.wording import (
    DEED,
    QUOTED,
    begins_with_deed,
    pattern,
    quoted,
    reference,
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


# Adding ---------------------------------------------------------------------------------------------------------------


def add(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add, or several that are each in quotation marks."""
    what = _BEFORE_ITEM.sub("", match["what"] or "")
    shared = _SHARED.search(what)
    whole = what[: shared.start()] if shared else what
    listed = without_list(_SEPARATE.sub("", whole))
    is_apart = shared or _SEPARATE.search(whole)
    for items in (several(title_of(listed)), _DEEDS.split(title_of(listed))):
        if _are_several(items, heard.today) or (is_apart and len(items) > 1):
            return _all_added([f"{item} {shared['values'] if shared else ''}" for item in items], heard.today)
    each = re.split(r",?\s+and\s+(?=['\"“‘])", what)
    if len(each) > 1 and all(len(quoted(part)) == 1 for part in each):
        return _all_added(each, heard.today)
    if len(quoted(what)) > 1 and not title_of(QUOTED.sub("", what).replace(" and ", " ").replace(",", " ")):
        return [RequestedCall("add_task", {"title": title}) for title in quoted(what)]
    return [_added(what, heard.today)]


def _all_added(items: Sequence[str], today: date) -> list[RequestedCall]:
    """A task for each; a date behind the last may be for all, or for that one, so nothing is added."""
    calls = [_added(item, today) for item in items]
    dated = ["due_date" in call.arguments for call in calls]
    return calls if any(dated[:-1]) or not dated[-1] else [RequestedCall("add_task", {})]


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
_SEPARATE = pattern(r",? (?:as|in) (?:separate|different|two|three|individual) (?:tasks|items|ones)\W*$")
_SHARED = pattern(
    r",? (?:both|all|each)(?: of them)?(?:,? (?:with|are|as))? (?P<values>(?:for |by |on |due |at )?[\w ]{3,30})$"
)
"""What is said of all the tasks before it: "…, both tomorrow"."""
_DEEDS = pattern(rf"(?:,? and|,|;)(?: also)? (?={DEED})")
_HEADER = pattern(
    r"(?:an?|one|the|other|another|two|three|four|five|six|\d|some|a few|several|these|this|following|new|more|tasks?|to-?dos?|items?|(?:some)?things?|reminders?|please|pls|also|with|of|for me|to do)?"
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
    return [
        _added(f"{item}{level} {f'by {timing.due.isoformat()}' if timing.due else ''}", heard.today)
        for item in items
    ]


_REFERS_BACK = pattern(r"\b(?:it|them|him|her|there|that)\b")
_NO_ITEM = pattern(r"\([^)]*$|^[^(]*\)|:|^(?:no|not|or|maybe|actually|wait|sorry)\b")


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
    r"^(?:bring|change|check|clear|close|finish|move|open|set(?! up)|update|make (?:the|my))\b|\byou\b|\b(?:less|more) (?:urgent|important)\b"
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


_MUST_BE = pattern(
    r",? (?:and )?(?:it |this |that )?(?:has to|must|needs to|should) be(?: (?:done|finished|ready|sent|paid)(?= (?:by|on|before)\b)|(?= (?:by|before)\b))"
)
_PINNED = pattern(r"\b(?:it|that|this|they) (?:has to|have to|must|needs? to|should|is due|are due)\b.+$")
_DANGLING = pattern(
    r"(?:[\s,]+(?:and|but|due|on|by|at|for|it's|is|with(?: an?)?(?: due date| deadline)?(?: of)?))+$"
)
_AROUND_TITLE = pattern(
    r"(?:[\s,.:;?!-]|\b(?:an?|the|my|new|task|item|todo|reminder|called|named|titled|saying|to|on|in|down|for|list|there|please|thanks|and|with|deadline|"
    r"due|date|of|by|it's|is|no|rush|hurry|me)\b)*"
)
"""What may stand around a title in quotation marks."""
_REFERS = pattern(
    r"(?:(?:it|that|this|them|these|one|an?|(?:the )?same|some ?things?(?: for me| else| new)?)?(?: ?(?:again|more|too|thing))?)"
    r"|(?:buy|get|order|grab|find) (?:an?(?: new)? one|another(?: one)?|(?:some )?more|some|new ones|it|them)"
)


# Looking --------------------------------------------------------------------------------------------------------------

_ABOUT_TASKS = pattern(
    r"\b(?:tasks?|to-?dos?|list|due|left|overdue|late|open|urgent|pending|remaining|unfinished|incomplete|ones|plate|agenda|"
    r"finish(?:ed)?|done|complete[d]?|to do|everything|all|priority|things|next)\b|\bhave (?:i |anything )?(?:\w+ )?(?:for )?(?:today|tomorrow|this week|next week|tonight)\b"
    r"|\banything (?:for )?(?:today|tomorrow|this week|next week)\b"
)
_SPANS = (
    ("overdue", r"\b(?:overdue|late|missed)\b"),
    ("none", r"\b(?:without|no|lack(?:s|ing)?|missing)(?: an?| any)? (?:due date|deadline|date)s?\b"),
    ("this_week", r"\bthis week\b"),
    ("next_week", r"\bnext week\b"),
    ("today", r"\b(?:today|tonight)\b"),
    ("tomorrow", r"\btomorrow\b"),
)


def look_up(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task that is asked about."""
    asked = re.sub(r"^(?:anything|something) ", "", match["task"])
    about = reference(take_timing(asked, heard.today).rest or asked, "")
    return None if _TOO_GENERAL.search(about) else [RequestedCall("list_tasks", {"about": about})]


_TOO_GENERAL = pattern(
    r"\b(?:anything|something|everything|tasks?|list|today|tomorrow|week|next|first|urgent|important|overdue|late|all|it|you|me)\b"
)


def list_tasks(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """Tasks to show, if that is what it is about."""
    asked = match.group()
    if not _ABOUT_TASKS.search(asked):
        return None
    arguments: dict[str, Any] = {}
    if (status := _status(asked)) is not None:
        arguments["status"] = status
    priority, rest = take_priority(asked)
    if priority is not None:
        arguments["priority"] = priority
    due = next((span for span, pattern in _SPANS if re.search(pattern, rest, re.IGNORECASE)), None)
    day = find_date(rest, heard.today)
    if day is not None and (until := _UNTIL.search(rest)):
        due = f"by {day - timedelta(days=1) if until['before'] else day}"
    elif due is None and day is not None:
        due = day.isoformat()
    if due is not None:
        arguments["due"] = due
    if "due" in arguments and _AGENDA.search(asked):
        arguments.pop("status", None)
    return [RequestedCall("list_tasks", arguments)]


_UNTIL = pattern(r"\b(?:(?P<before>before)|by|until|till)\b")
_AGENDA = pattern(r"\b(?:do i have|have i|anything)\b")
_OPEN = pattern(
    r"\b(?:open|pending|left|remaining|unfinished|incomplete|outstanding|still|next(?! week)|not (?:yet )?(?:done|complete|finished)|have to do|(?:need|should|must) (?:to )?do|to do(?! list)$|isn't done|aren't done)\b"
)
_CLOSED = pattern(r"\b(?:done|finish(?:ed)?|completed?|ticked|closed)\b")


def _status(asked: str) -> str | None:
    if _OPEN.search(asked):
        return "open"
    return "completed" if _CLOSED.search(asked) else None


# Changing -------------------------------------------------------------------------------------------------------------


def _task(heard: Heard, text: str) -> str:
    return reference(text, heard.answered)


def complete(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task that is done, unless "finish it by Friday" says when it is to be."""
    if _NOT_WHOLLY.search(match.group()) or _is_ahead(match.group(), heard.today):
        return None
    return [RequestedCall("complete_task", {"task": _task(heard, match["task"])})]


def _is_ahead(said: str, today: date) -> bool:
    """Whether an imperative is about a day to come: "finish the report tomorrow" is no news of it."""
    return (
        re.match(r"(?:finish|complete|close)\b", said, re.IGNORECASE) is not None
        and not quoted(said)
        and find_date(said, today) is not None
    )


_NOT_WHOLLY = pattern(
    r"\b(?:almost|nearly|half|halfway|partly|partially|mostly|most|part|some of|start(?:ed)?|began|begun|not|never|draft|if|until|unless|might|should|need(?:s|ed)?|imagine|hopefully|wish)\b|\d ?%"
)
"""Words that say that something is not done, or not all of it."""


def rename(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task, and its new title; a title on the list may itself have a "to" in it."""
    task, title = match["task"], match["title"]
    both = f"{task} to {title}"
    for known in KNOWN_TASKS.get():
        if both.casefold().startswith(f"{known.title} to ".casefold()):
            task, title = known.title, both[len(known.title) + 4 :]
    return [RequestedCall("update_task", {"task": _task(heard, task), "title": title_of(title)})]


def reschedule(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task and its new date, if it is one."""
    timing = take_timing(f"on {match['when']}", heard.today)
    if timing.due is None or timing.rest:
        return None
    change = {"task": _task(heard, match["task"]), "due_date": timing.due.isoformat()}
    return [RequestedCall("update_task", {**change, "description": timing.note} if timing.note else change)]


def about(tool_name: str, **change: Any) -> Reader:
    """A task that something is done with, whatever else is said."""
    return lambda heard, match: [RequestedCall(tool_name, {"task": _task(heard, match["task"]), **change})]


def undo_change(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """The last change, if it was to this task."""
    return [RequestedCall("undo_last_change", {"about": _task(heard, match["task"])})]


def plainly(tool_name: str, **arguments: Any) -> Reader:
    """A request that names no task: for many at once, or one that the tool has to ask back."""
    return lambda _heard, _match: [RequestedCall(tool_name, arguments)]


READERS: Mapping[str, Reader] = {
    "add": add,
    "add_listed": add_listed,
    "add_placed": add_placed,
    "add_put": add_put,
    "add_deed": add_deed,
    "add_several": add_several,
    "add_whole": add_whole,
    "complete": complete,
    "complete_all": plainly("change_all_tasks", operation="complete_all"),
    "complete_which": plainly("complete_task"),
    "delete": about("delete_task"),
    "delete_all": plainly("change_all_tasks", operation="delete_all"),
    "delete_done": plainly("change_all_tasks", operation="delete_completed"),
    "delete_which": plainly("delete_task"),
    "list": list_tasks,
    "look_up": look_up,
    "rename": rename,
    "reopen": about("update_task", completed=False),
    "reopen_all": plainly("change_all_tasks", operation="reopen_all"),
    "reschedule": reschedule,
    "schedule": schedule,
    "undo": plainly("undo_last_change"),
    "undo_change": undo_change,
}
"""What reads each kind of sentence of the grammar."""
