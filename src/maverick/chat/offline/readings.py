"""Turns a sentence that matches a pattern into tool calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from maverick.chat.matching import KNOWN_TASKS
from maverick.chat.offline import additions
from maverick.chat.offline.additions import Heard, Reader
from maverick.chat.offline.dates import find_date, take_timing
from maverick.chat.offline.mentions import mark
from maverick.chat.offline.wording import pattern, quoted, reference, take_priority, title_of
from maverick.providers.offline import RequestedCall

# Looking --------------------------------------------------------------------------------------------------------------

_ABOUT_TASKS = pattern(
    r"\b(?:tasks?|to-?dos?|list|due|left|overdue|late|open|urgent|pending|remaining|unfinished|incomplete|ones|plate|agenda|"
    r"finish(?:ed)?|done|complete[d]?|to do|everything|all|prio|priority|things|next)\b|\bwhat i have\b"
    r"|\bhave (?:i |anything )?(?:\w+ )?(?:(?:for|on) )?(?:today|tomorrow|this week|next week|tonight|\w+day)\b"
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
    is_asked = re.match(r"(?:finish|complete|close)\b", said, re.IGNORECASE) and not quoted(said)
    return bool(is_asked) and find_date(said, today) is not None


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


def delete(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to delete, whatever else is said: the tool asks before it does."""
    named = mark(match["task"], heard.answered, KNOWN_TASKS.get(), heard.today).mentions
    is_clear = len(named) == 1 and named[0].is_clear and len(named[0].tasks) == 1
    task = named[0].tasks[0].title if is_clear else _task(heard, match["task"])
    return [RequestedCall("delete_task", {"task": task})]


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
    "add": additions.add,
    "add_listed": additions.add_listed,
    "add_placed": additions.add_placed,
    "add_put": additions.add_put,
    "add_deed": additions.add_deed,
    "add_several": additions.add_several,
    "add_whole": additions.add_whole,
    "complete": complete,
    "complete_all": plainly("change_all_tasks", operation="complete_all"),
    "complete_which": plainly("complete_task"),
    "delete": delete,
    "delete_all": plainly("change_all_tasks", operation="delete_all"),
    "delete_done": plainly("change_all_tasks", operation="delete_completed"),
    "delete_which": plainly("delete_task"),
    "list": list_tasks,
    "look_up": look_up,
    "rename": rename,
    "reopen": about("update_task", completed=False),
    "reopen_all": plainly("change_all_tasks", operation="reopen_all"),
    "reschedule": reschedule,
    "schedule": additions.schedule,
    "undo": plainly("undo_last_change"),
    "undo_change": undo_change,
}
"""What reads each kind of sentence of the grammar."""
