"""The grammar of the offline task model: sentences about task lists, and what each asks for.

It is small and knows nothing else. Patterns are tried in order; the first that fits decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from maverick.chat.offline.dates import find_date, take_date
from maverick.chat.offline.wording import (
    plain_request,
    quoted,
    reference,
    several,
    take_priority,
    title_of,
)
from maverick.providers.offline.rules import Wish

_DONE = r"(?:done|complete|completed|finished|ready)"
_ALL = r"(?:all|everything|every (?:task|single task|one)|all of (?:them|it)|each task|the whole list|(?:my|the) (?:whole |entire )?list)"
_REMOVE = r"(?:delete|remove|erase|drop|discard|scrap|clear(?: out| up)?|get rid of|wipe|throw away|forget(?: about)?|cancel|trash)"


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said, with what helps to understand it."""

    text: str
    """The request, without politeness."""
    answered: str
    """The answer before it."""
    today: date


Reader = Callable[[Heard, re.Match[str]], list[Wish] | None]


@dataclass(frozen=True, slots=True)
class _Sentence:
    pattern: re.Pattern[str]
    read: Reader


def understand(said: str, answered: str, today: date) -> list[Wish] | None:
    """The tool calls a request asks for, or ``None`` when it is not about tasks."""
    text = plain_request(said)
    parts = _parts(text)
    if len(parts) > 1:
        wishes = [_one(part, answered, today) for part in parts]
        if all(wishes):
            return [wish for found in wishes for wish in found or ()]
    return _one(text, answered, today)


def _one(text: str, answered: str, today: date) -> list[Wish] | None:
    heard = Heard(plain_request(text), answered, today)
    for sentence in _SENTENCES:
        match = sentence.pattern.fullmatch(heard.text)
        if match is not None and (wishes := sentence.read(heard, match)) is not None:
            return wishes
    return None


_JOINT = re.compile(
    r"(?:[,;.]\s*|\s+)(?:and|then|and then|also)\s+(?=(?:add|delete|remove|complete|mark|tick|show|list|rename|undo|remind)\b)",
    re.IGNORECASE,
)


def _parts(text: str) -> list[str]:
    """The requests in a sentence, if it has several; quotation marks keep words together."""
    return [text] if quoted(text) and _JOINT.search("".join(quoted(text))) else _JOINT.split(text)


# Adding ---------------------------------------------------------------------------------------------------------------


def _add(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    return [_added(match["what"] or "", heard.today)]


def _add_several(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    return [_added(part, heard.today) for part in several(match["what"])]


def _scheduled(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    wish = _added(match["what"], heard.today)
    return [wish] if "due_date" in wish.arguments else None


def _added(what: str, today: date) -> Wish:
    arguments: dict[str, Any] = {}
    inside = quoted(what)
    priority, rest = take_priority(what.replace(inside[0], "") if inside else what)
    due, rest = take_date(rest, today)
    if title := inside[0] if inside else title_of(rest):
        arguments["title"] = title
    if priority is not None:
        arguments["priority"] = priority
    if due is not None:
        arguments["due_date"] = due.isoformat()
    return Wish("add_task", arguments)


# Looking --------------------------------------------------------------------------------------------------------------

_ABOUT_TASKS = re.compile(
    r"\b(?:tasks?|to-?dos?|list|due|left|overdue|late|open|urgent|pending|remaining|unfinished|incomplete|ones|plate|agenda|"
    r"finish(?:ed)?|done|complete[d]?|to do|everything|priority|things)\b|\bhave (?:i |anything )?(?:\w+ )?(?:for )?(?:today|tomorrow|this week|next week|tonight)\b"
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


def _list(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
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
    return [Wish("list_tasks", arguments)]


_AGENDA = re.compile(r"\b(?:do i have|have i|anything)\b", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(?:open|pending|left|remaining|unfinished|incomplete|outstanding|still|not (?:yet )?(?:done|complete|finished)|have to do|(?:need|should|must) (?:to )?do|to do(?! list)$|isn't done|aren't done)\b",
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


def _complete(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    return [Wish("complete_task", {"task": _task(heard, match["task"])})]


def _reopen(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    return [Wish("update_task", {"task": _task(heard, match["task"]), "completed": False})]


def _delete(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    return [Wish("delete_task", {"task": _task(heard, match["task"])})]


def _rename(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    return [Wish("update_task", {"task": _task(heard, match["task"]), "title": title_of(match["title"])})]


def _rename_quoted(_heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    names = quoted(match.group())
    return [Wish("update_task", {"task": names[0], "title": names[1]})] if len(names) == 2 else None


def _prioritise(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    priority, _ = take_priority(f"{match['priority']} priority")
    if re.search(r"urgent|important|asap", match["priority"], re.IGNORECASE):
        priority = "Low" if match["priority"].lower().startswith("not") else "High"
    return [Wish("update_task", {"task": _task(heard, match["task"]), "priority": priority})]


def _reschedule(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    due, rest = take_date(f"on {match['when']}", heard.today)
    if due is None or rest:
        return None
    return [Wish("update_task", {"task": _task(heard, match["task"]), "due_date": due.isoformat()})]


def _undate(heard: Heard, match: re.Match[str]) -> list[Wish] | None:
    return [Wish("update_task", {"task": _task(heard, match["task"]), "due_date": "none"})]


def _bulk(operation: str) -> Reader:
    return lambda _heard, _match: [Wish("change_all_tasks", {"operation": operation})]


def _undo(_heard: Heard, _match: re.Match[str]) -> list[Wish] | None:
    return [Wish("undo_last_change", {})]


_PRIORITY_WORD = r"(?P<priority>not urgent|not important|very urgent|urgent|important|highest|high|top|medium|normal|lowest|low)(?:[ -](?:priority|prio|importance))?"
_TASKS = r"(?:tasks?|items?|todos?|to-dos?|things|ones)"


def _sentences(*rows: tuple[str, Reader]) -> tuple[_Sentence, ...]:
    return tuple(_Sentence(re.compile(pattern, re.IGNORECASE), read) for pattern, read in rows)


_SENTENCES = _sentences(
    # Undoing.
    (r"(?:.*\b)?undo\b.*", _undo),
    (r"(?:oops|sorry|wait|no)?[,\s]*(?:take (?:that|it) back|(?:revert|reverse|roll back|take back) (?:it|that|this|the last .*|my last .*)|bring (?:it|that) back)", _undo),
    # Many at once.
    (rf"{_REMOVE} (?:all (?:of )?)?(?:my |the )?(?:already )?(?:{_DONE}|ticked|closed)(?: {_TASKS})?(?: .*list)?", _bulk("delete_completed")),
    (rf"{_REMOVE} (?:all|everything)(?: (?:the )?{_TASKS})? (?:that|which|i)(?:'s| is| are|'ve| have)? .*{_DONE}.*", _bulk("delete_completed")),
    (rf"{_REMOVE} {_ALL}(?: (?:of )?(?:my|the))?(?: {_TASKS})?(?: (?:from|on|off) .*list)?", _bulk("delete_all")),
    (r"(?:empty|reset|start over with) (?:my|the) list", _bulk("delete_all")),
    (rf"(?:mark|set|tick|check|cross)(?: off)? {_ALL}(?: (?:of )?(?:my|the))?(?: (?:open |pending )?{_TASKS})?(?: off)?(?: (?:as|to) {_DONE}| {_DONE})?", _bulk("complete_all")),
    (rf"(?:complete|finish) {_ALL}(?: (?:of )?(?:my|the))?(?: (?:open |pending )?{_TASKS})?", _bulk("complete_all")),
    (rf"i(?:'ve| have)? (?:did|done|finished|completed) {_ALL}(?: (?:my|the))?(?: {_TASKS})?", _bulk("complete_all")),
    (rf"(?:re-?open|unmark|uncheck) {_ALL}(?: (?:of )?(?:my|the))?(?: {_TASKS})?", _bulk("reopen_all")),
    # One task: its values.
    (r"(?:remove|clear|delete|drop|unset) (?:the )?(?:due date|deadline|date) (?:of|from|for|on) (?P<task>.+)", _undate),
    (r"(?P<task>.+?) has no (?:due date|deadline)(?: any ?more)?", _undate),
    (r"rename (?P<task>.+?) (?:to|as|into) (?P<title>.+)", _rename),
    (r"(?:change|set|update|edit) (?:the )?(?:title|name) of (?P<task>.+?) to (?P<title>.+)", _rename),
    (r"(?:change|update|edit) .+ (?:to|into) .+", _rename_quoted),
    (rf"(?:set|change|raise|lower|bump|update) (?:the )?priority (?:of|for|on) (?P<task>.+?) to {_PRIORITY_WORD}", _prioritise),
    (rf"(?:make|set|mark|bump|change|give) (?P<task>.+?) (?:to |as |a )?{_PRIORITY_WORD}", _prioritise),
    (rf"(?P<task>(?!what|which|who|how|when|where|is\b|are\b).+?) (?:is|are) (?:now )?(?:a )?{_PRIORITY_WORD}", _prioritise),
    (r"(?:set|change|update|move) (?:the )?(?:due date|deadline|date) (?:of|for|on) (?P<task>.+?) to (?P<when>.+)", _reschedule),
    (r"(?:move|postpone|push|reschedule|delay|shift|defer|bring forward|put off) (?P<task>.+?) (?:back |forward |out )?(?:to|until|till|for|by) (?P<when>.+)", _reschedule),
    (r"(?:set|make|change) (?P<task>.+?) (?:to be )?due (?:on |by |to )?(?P<when>.+)", _reschedule),
    (r"(?P<task>(?!what|which|anything|is\b|are\b|add\b|create\b|new\b|show\b|list\b|tasks?\b).+?) (?:is|are) due (?:on |by )?(?P<when>.+)", _reschedule),
    # One task: done or not.
    (r"(?:re-?open|unmark|uncheck|untick|unfinish|uncomplete) (?P<task>.+)", _reopen),
    (rf"(?:mark|set) (?P<task>.+?) (?:back )?(?:as|to) (?:not (?:yet )?{_DONE}|un{_DONE}|undone|incomplete|open|pending|unfinished)", _reopen),
    (rf"(?P<task>.+?) (?:isn't|is not|wasn't|is still not|is un|hasn't been)\s*{_DONE}(?: yet| after all)?", _reopen),
    (rf"(?:.+[,;]\s*(?:so |and |please )?)?(?:mark|set|tick|check|flag|cross) (?P<task>.+?) (?:off )?(?:as |to |off as |off |)?(?:be )?{_DONE}", _complete),
    (r"(?:tick|check|cross|strike|mark)(?: off| out)? (?P<task>.+?)(?: off| out)", _complete),
    (r"(?:tick off|check off|cross off|cross out|strike off|mark off|tick|complete|close|finish(?: up)?) (?P<task>.+)", _complete),
    (r"(?:i(?:'m| am|'ve| have| just| have just|'ve just)?\s+)?(?:already )?(?:done|finished|completed|did) (?:with |doing )?(?P<task>.+)", _complete),
    (rf"(?P<task>(?!what|which|who|how|is\b|are\b|anything|show\b|list\b).+?) (?:is|are|has been|was) (?:now |all |already )?{_DONE}", _complete),
    # One task: away with it.
    (r"take (?P<task>.+?) off(?: (?:my|the) .*list| the list)?", _delete),
    (r"i (?:don't|do not|no longer) (?:need|want|have) (?:to (?:do )?)?(?P<task>.+?)(?: any ?more| any longer)?", _delete),
    (rf"{_REMOVE} (?P<task>.+)", _delete),
    # Looking.
    (r"(?:my )?(?:tasks?|to-?dos?|list|to-?do list)(?: (?:due|for|with|without) .+)?", _list),
    (r"(?:show|list|display|view|see|print|read|give|tell|find)(?: me)?(?: all| again)?\b.*", _list),
    (r"(?:what|which|how many|when)\b.*", _list),
    (r"(?:is there |are there |do i have |have i (?:got )?|did i )?(?:any|anything|any ?thing|something)\b.*", _list),
    (r"(?:let me see|i want to see|i'd like to see|can i see|may i see)\b.*", _list),
    (rf"(?:all |my )?(?:open|pending|completed|finished|done|overdue|urgent|high[ -]priority|low[ -]priority|medium[ -]priority|remaining|late)\b.*{_TASKS}", _list),
    # Adding.
    (r"(?:add|create|make|new)(?: these| the following| the| some| several| a few| \w+)? (?:new )?(?:tasks|todos|items|things)(?: to (?:my|the) list)?\s*[:,-]\s*(?P<what>.+)", _add_several),
    (r"(?:i(?:'d like| would like| want| need) to )?(?:add|create|insert|enter|jot down|write down|note down|note|put down|record|save)(?: that)?(?: i (?:must|need to|have to|should))?\b[\s:]*(?P<what>.*)", _add),
    (r"(?:make|set up|start|open) (?P<what>(?:me )?(?:a|an|another)\b.*\b(?:task|todo|to-do|reminder)\b.+)", _add),
    (r"(?:a |another )?(?:new )?(?:task|to-?do|to do|item|reminder)\s*(?::|,|-|called|named)?\s*(?P<what>.+)", _add),
    (r"(?:a )?new (?P<what>.+)", _add),
    (r"(?:put|place|stick) (?P<what>.+ (?:on|onto|in|into|to) (?:my|the|our) .+)", _add),
    (r"(?:remind me|remember|don't (?:let me )?forget|do not (?:let me )?forget|make sure|help me remember)(?: to| about| that i (?:must|need to|have to|should))? (?P<what>.+)", _add),
    (r"(?:i|we) (?:really |also |still )?(?:need to|have to|must|should|gotta|ought to|got to|'ve got to|have got to) (?!know|ask|see\b)(?P<what>.+)", _add),
    (r"(?:schedule|plan|book) (?P<what>.+)", _scheduled),
)  # fmt: skip
