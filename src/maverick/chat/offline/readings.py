"""Turns a sentence that matches a pattern into tool calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

from maverick.chat.offline.dates import find_date, take_timing
from maverick.chat.offline.wording import (
    QUOTED,
    begins_with_deed,
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
    what = match["what"] or ""
    items = several(title_of(what))
    if len(items) > 2 and all(_is_thing(item, heard.today) for item in items):
        return [_added(item, heard.today) for item in items]
    if len(quoted(what)) > 1 and not title_of(QUOTED.sub("", what).replace(" and ", " ").replace(",", " ")):
        return [RequestedCall("add_task", {"title": title}) for title in quoted(what)]
    return [_added(what, heard.today)]


def _is_thing(text: str, today: date) -> bool:
    """Whether it is a thing to get, and not a deed, a date or a priority."""
    is_short = len(text.split()) < 4 and not quoted(text) and not begins_with_deed(text)
    return is_short and take_priority(text)[0] is None and find_date(text, today) is None


def add_several(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """Several tasks to add, perhaps all for the same day."""
    when = match.groupdict().get("when") or ""
    return [_added(f"{part} {when}", heard.today) for part in several(match["what"])]


def schedule(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add, if it says when."""
    call = _added(match["what"], heard.today)
    return [call] if "due_date" in call.arguments else None


def add_deed(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to add, if it is something to do and says when."""
    return schedule(heard, match) if begins_with_deed(match["what"]) else None


def _added(what: str, today: date) -> RequestedCall:
    what = re.sub(r" (?:on|in|to) there\b", "", what)
    inside = quoted(what)
    priority, rest = take_priority(QUOTED.sub("", what) if inside else what)
    timing = take_timing(without_list(rest), today)
    if inside and title_of(timing.rest):  # the quotation is only a part of the title
        priority, rest = take_priority(what)
        timing = take_timing(without_list(rest), today)
        inside = []
    arguments = {
        "title": inside[0] if inside else title_of(timing.rest),
        "priority": priority,
        "due_date": timing.due and timing.due.isoformat(),
        "description": timing.note,
    }
    return RequestedCall("add_task", {name: value for name, value in arguments.items() if value})


# Looking --------------------------------------------------------------------------------------------------------------

_ABOUT_TASKS = re.compile(
    r"\b(?:tasks?|to-?dos?|list|due|left|overdue|late|open|urgent|pending|remaining|unfinished|incomplete|ones|plate|agenda|"
    r"finish(?:ed)?|done|complete[d]?|to do|everything|priority|things|next)\b|\bhave (?:i |anything )?(?:\w+ )?(?:for )?(?:today|tomorrow|this week|next week|tonight)\b"
    r"|\banything (?:for )?(?:today|tomorrow|this week|next week)\b",
    re.IGNORECASE,
)
_SPANS = (
    ("overdue", r"\b(?:overdue|late|missed)\b"),
    ("none", r"\b(?:without|no|lack(?:s|ing)?|missing)(?: an?| any)? (?:due date|deadline|date)s?\b"),
    ("this_week", r"\bthis week\b"),
    ("next_week", r"\bnext week\b"),
    ("today", r"\b(?:today|tonight)\b"),
    ("tomorrow", r"\btomorrow\b"),
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
    if due is None and (day := find_date(rest, heard.today)) is not None:
        due = day.isoformat()
    if due is not None:
        arguments["due"] = due
    if "due" in arguments and _AGENDA.search(asked):
        arguments.pop("status", None)
    return [RequestedCall("list_tasks", arguments)]


_AGENDA = re.compile(r"\b(?:do i have|have i|anything)\b", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(?:open|pending|left|remaining|unfinished|incomplete|outstanding|still|next(?! week)|not (?:yet )?(?:done|complete|finished)|have to do|(?:need|should|must) (?:to )?do|to do(?! list)$|isn't done|aren't done)\b",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"\b(?:done|finish(?:ed)?|completed?|ticked|closed)\b", re.IGNORECASE)


def _status(asked: str) -> str | None:
    if _OPEN.search(asked):
        return "open"
    return "completed" if _CLOSED.search(asked) else None


# Changing -------------------------------------------------------------------------------------------------------------


def _task(heard: Heard, text: str) -> str:
    return reference(text, heard.answered)


def complete(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task that is done."""
    return [RequestedCall("complete_task", {"task": _task(heard, match["task"])})]


def complete_statement(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task that was done, as in "the flights are booked": what was done tells one task from another."""
    verb = re.sub("^called$", "call", match["done"])  # "called" is also how titles are introduced
    return [RequestedCall("complete_task", {"task": f"{verb} {reference(match['task'], heard.answered)}"})]


def reopen(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task that is not done after all."""
    return [RequestedCall("update_task", {"task": _task(heard, match["task"]), "completed": False})]


def delete(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task to delete."""
    return [RequestedCall("delete_task", {"task": _task(heard, match["task"])})]


def rename(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task, and its new title."""
    return [
        RequestedCall("update_task", {"task": _task(heard, match["task"]), "title": title_of(match["title"])})
    ]


def rename_quoted(_heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task and its new title, if both are in quotation marks."""
    names = quoted(match.group())
    return [RequestedCall("update_task", {"task": names[0], "title": names[1]})] if len(names) == 2 else None


def prioritise(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task, and how important it is."""
    priority, _ = take_priority(f"{match['priority']} priority")
    if match["priority"].lower() in ("lower", "raise"):
        priority = "Low" if match["priority"].lower() == "lower" else "High"
    if re.search(r"urgent|important|asap", match["priority"], re.IGNORECASE):
        priority = "Low" if match["priority"].lower().startswith("not") else "High"
    return [RequestedCall("update_task", {"task": _task(heard, match["task"]), "priority": priority})]


def reschedule(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task and its new date, if it is one."""
    timing = take_timing(f"on {match['when']}", heard.today)
    if timing.due is None or timing.rest:
        return None
    change = {"task": _task(heard, match["task"]), "due_date": timing.due.isoformat()}
    return [RequestedCall("update_task", {**change, "description": timing.note} if timing.note else change)]


def undate(heard: Heard, match: re.Match[str]) -> list[RequestedCall] | None:
    """A task without a due date from now on."""
    return [RequestedCall("update_task", {"task": _task(heard, match["task"]), "due_date": "none"})]


def unsaid(tool_name: str) -> Reader:
    """A request that does not say which task it is about; the tool asks."""
    return lambda _heard, _match: [RequestedCall(tool_name, {})]


def bulk(operation: str) -> Reader:
    """An operation on many tasks."""
    return lambda _heard, _match: [RequestedCall("change_all_tasks", {"operation": operation})]


def undo(_heard: Heard, _match: re.Match[str]) -> list[RequestedCall] | None:
    """Undo the last change."""
    return [RequestedCall("undo_last_change", {})]
