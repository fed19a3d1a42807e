"""The sentences of the contract: what the user reads when something was done, failed, or has to be confirmed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the offline model uses these phrases without a database
    from maverick.chat.tables import Task

RESPONSE_LENGTH = 500
"""About how many characters an answer may have."""

TROUBLE = "I'm having a bit of trouble right now. Please try again."
TOO_MUCH = "That's more than I can do in one go. Could you ask me for fewer things at once?"
OUT_OF_TIME = "I ran out of time before I was done. Please check your list before you ask again."
STOPPED = "I stopped, as you asked."
UNSEEN = "(Your list was not read or changed.)"
"""Ends a reply that no tool stands behind, whatever a model says in it."""
UNSEEN_FOR_THIS = "(Your list was not read or changed for this.)"
"""Follows words that no tool stands behind, before what a task tool did."""
NOTHING_DONE = f"Could you provide more details about what you would like me to do? {UNSEEN}"
NO_EXCEPTION = "This spares none of them."
ONE_AT_A_TIME = "Let's take these one at a time."
DECLINED = "All right, I'll leave everything as it is."
NOTHING_TO_UNDO = "There is nothing to undo."
CUT_SHORT = "I had a bit of trouble after that. Please check your list before you ask again."
BREAKDOWNS = (TROUBLE, TOO_MUCH, OUT_OF_TIME, STOPPED, CUT_SHORT)
"""The replies when the agent could not finish."""
GOT_IT = "Got it! Added "
CONFIRM_DELETE = "yes delete"
"""What a user replies to have a task deleted."""

OPEN_QUESTION = re.compile(r"Reply '[^']+' to confirm\.$|Confirm with '[^']+'\.$")
"""Ends a reply that waits for a confirmation."""

_SHORT = 60
_BRIEF = 24
_TIMING = 40
"""A longer note of a task is not about its time."""
_SHOWN_OPTIONS = 5
_NOTED = "\nNoted: "
_NAMES_ROOM = 280
"""Room for the titles of several tasks."""
_LIST_ROOM = RESPONSE_LENGTH - 60
"""Room for the lines of a list; the rest is for its heading and for saying how many are not shown."""


def unbacked(words: str, disclaimer: str = UNSEEN) -> str:
    """Words that no tool stands behind, with the paragraph that says so."""
    return f"{words}\n\n{disclaimer}" if words and disclaimer else words or disclaimer


def added(*titles: str, noted: Sequence[str] = ()) -> str:
    """A task was added, or several; then what was understood besides their titles."""
    more = f"{_NOTED}{', '.join(_fitting(noted, _NAMES_ROOM // 2))}." if noted else ""
    return f"{GOT_IT}{_and(_named(titles))} to your list. Anything else?{more}"


def noted(task: Task, today: date) -> list[str]:
    """A new task with its due date, its priority and the rest, if it has any, so that the user can check them."""
    notes = _facts(task, today) + ([shortened(task.description)] if task.description else [])
    return [f"{shortened(task.title)}{_in_brackets(notes)}"] if notes else []


def noted_in(message: str) -> list[str]:
    """What was understood besides the title, as a message about one added task says."""
    _, found, notes = message.partition(_NOTED)
    return [notes.removesuffix(".")] if found else []


def already_there(task: Task, today: date) -> str:
    """A task was to be added that is on the list."""
    return (
        f"'{task.title}'{_notes(task, today)} is already on your list. "
        "Tell me what to change about it, or give the new one another name."
    )


def completed(title: str) -> str:
    """A task was marked as complete."""
    return f"Great! I've marked '{title}' as complete."


def already_completed(title: str) -> str:
    """A task was complete before."""
    return f"'{title}' is already complete."


def deleted(*titles: str) -> str:
    """A task was removed, or several."""
    return f"I've removed {_and(_named(titles))} from your tasks."


def updated(title: str, changes: Sequence[str]) -> str:
    """A task has other values now."""
    return f"Updated! '{title}' now has {_and(changes)}."


def unchanged(title: str, values: Sequence[str]) -> str:
    """A task has these values already."""
    return f"'{title}' already has {_and(values)}."


def has_no_date(title: str) -> str:
    """A task cannot be postponed that has no due date."""
    return f"'{title}' has no due date. Which day shall it be due?"


def in_short(verb: str, title: str) -> str:
    """What was done to a task, where there is little room."""
    return f"{verb} '{title if len(title) <= _BRIEF else f'{title[: _BRIEF - 1].rstrip()}…'}'"


def all_in_short(deeds: Sequence[str]) -> str:
    """All that was done, where there is little room."""
    return f"Done: {_and(deeds)}."


def not_found(query: str, guess: str | None = None) -> str:
    """No task matches; perhaps another one is meant."""
    question = f" Did you mean '{guess}'?" if guess else ""
    return f"I couldn't find a task about '{shortened(query)}' in your list.{question}"


def ambiguous(query: str, choices: Sequence[str]) -> str:
    """Several tasks match."""
    shown = [f"'{shortened(choice)}'" for choice in choices[:_SHOWN_OPTIONS]]
    more = [f"{len(choices) - _SHOWN_OPTIONS} more"] if len(choices) > _SHOWN_OPTIONS else []
    return f"I found multiple tasks about '{shortened(query)}'. Which one: {_or([*shown, *more])}?"


def missing(what: str) -> str:
    """A detail is missing."""
    return f"Could you provide more details about {what}?"


def confirm_delete(*titles: str) -> str:
    """The question before a task is deleted, or several."""
    return f"Do you really want to delete {_and(_named(titles))}? Reply '{CONFIRM_DELETE}' to confirm."


def one_at_a_time(later: Sequence[str]) -> str:
    """Only one action can be confirmed at a time; the others, as ``Delete 'milk'``, have to be asked for again."""
    others = _and(_fitting([f"{action[:1].lower()}{action[1:]}" for action in later], _NAMES_ROOM))
    return f"{ONE_AT_A_TIME} Ask me again afterwards to {others}." if others else ONE_AT_A_TIME


def confirm_bulk(phrase: str, kept: Sequence[str] = (), no_longer_kept: Sequence[str] = ()) -> str:
    """The question before many tasks are changed at once, with those that are not, and those that were not to be before."""
    also = f"This now includes {_and(_named(no_longer_kept))}. " if no_longer_kept else ""
    but = (
        f"I'll leave {_and(_named(kept))} as {'it' if len(kept) == 1 else 'they'} {_is(kept)}. "
        if kept
        else ""
    )
    return f"{also}{but}That's a big action. Confirm with '{phrase}'."


def bulk_done(verb: str, count: int) -> str:
    """Many tasks were changed at once."""
    return f"Done! I've {verb} {counted(count)}."


def nothing_left() -> str:
    """All tasks were excepted from an action on many."""
    return "That leaves nothing to do: everything is as it was."


def nothing_to_do(what: str) -> str:
    """No task to apply the action to."""
    return f"You have no {what}, so there is nothing to do."


def undone(titles: Sequence[str], removed: Sequence[str], *, returned: bool) -> str:
    """The last change was undone: tasks are as before, or back on the list, or off it again."""
    if removed:
        return f"I've undone that: {_several(removed)} {_is(removed)} off your list again."
    return f"I've undone that: {_several(titles)} {_is(titles)} {'back on your list' if returned else 'as before'}."


def other_change(title: str) -> str:
    """The last change was not to the task that was named."""
    return f"My last change was to '{shortened(title)}'. Say 'undo' if you want me to undo that one."


def redone(titles: Sequence[str]) -> str:
    """The change that was undone last was made again."""
    return f"I've made that change again: {_several(titles)}."


def fitted(message: str, count: int, room: int) -> str:
    """As many lines of a list of ``count`` tasks as fit into ``room`` characters."""
    lines = message.split("\n")
    if len(message) <= room or len(lines) == 1:
        return message
    if lines[-1].startswith("…"):
        lines.pop()
    rest = len(f"…and {count} more.")
    while len(lines) > 1 and len("\n".join(lines)) + 1 + rest > room:
        lines.pop()
    return "\n".join((*lines, f"…and {count - len(lines)} more."))


def listed(tasks: Sequence[Task], what: str, today: date) -> str:
    """A numbered list with a box before each task."""
    if not tasks:
        return f"You have no {what}."
    lines: list[str] = []
    room = _LIST_ROOM
    for number, task in enumerate(tasks, start=1):
        notes = [*_facts(task, today), *_timing(task)]
        line = f"{number}. {'✓' if task.completed else '☐'} {shortened(task.title)}{_in_brackets(notes)}"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"…and {len(tasks) - len(lines)} more.")
            break
        lines.append(line)
    return "\n".join(lines)


def _timing(task: Task) -> list[str]:
    """When on its day, or how often, a task is to be done, where that is kept as its note."""
    note = task.description or ""
    return [note] if task.due_date and 0 < len(note) <= _TIMING and not re.search(r"[()\n]", note) else []


def options(tasks: Sequence[Task], today: date) -> list[str]:
    """Tasks to choose from: by title, with their differences if they have the same title."""
    titles = [task.title for task in tasks]
    return [task.title if titles.count(task.title) == 1 else label(task, today) for task in tasks]


def label(task: Task, today: date) -> str:
    """A task's title with its priority and due date, which distinguish it from others with the same title."""
    return f"{task.title}{_notes(task, today)}"


def in_words(day: date, today: date) -> str:
    """A date the way people say it: ``today``, ``tomorrow``, ``Friday``, ``March 5`` or ``March 5, 2027``."""
    distance = (day - today).days
    if distance in (-1, 0, 1):
        return ("yesterday", "today", "tomorrow")[distance + 1]
    if 1 < distance < 7:
        return f"{day:%A}"
    return f"{day:%B} {day.day}" if day.year == today.year else f"{day:%B} {day.day}, {day.year}"


def counted(count: int, noun: str = "task") -> str:
    """A number with its noun: ``1 task``, ``2 tasks``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shortened(text: str) -> str:
    """A text, shortened if it is long."""
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1].rstrip()}…"


def _notes(task: Task, today: date) -> str:
    return _in_brackets(_facts(task, today))


def _in_brackets(notes: Sequence[str]) -> str:
    return f" ({', '.join(notes)})" if notes else ""


def _facts(task: Task, today: date) -> list[str]:
    notes = [] if task.priority == "Medium" else [f"{task.priority.lower()} priority"]
    if task.due_date is not None:
        late = task.due_date < today and not task.completed
        notes.append(f"{'overdue since' if late else 'due'} {in_words(task.due_date, today)}")
    return notes


def _named(titles: Sequence[str]) -> list[str]:
    """The titles in quotation marks, as many as there is room for."""
    return _fitting([f"'{title}'" for title in titles], _NAMES_ROOM)


def _fitting(all_names: Sequence[str], room: int) -> list[str]:
    """As many names as there is room for, and how many more there are."""
    names = list(all_names)
    while len(names) > 1 and len(", ".join(names)) > room:
        names.pop()
    return [*names, f"{len(all_names) - len(names)} more"] if len(names) < len(all_names) else names


def _several(titles: Sequence[str]) -> str:
    return f"'{shortened(titles[0])}'" if len(titles) == 1 else counted(len(titles))


def _is(titles: Sequence[str]) -> str:
    return "is" if len(titles) == 1 else "are"


def _and(parts: Iterable[str]) -> str:
    return _joined(list(parts), "and")


def _or(parts: Iterable[str]) -> str:
    return _joined(list(parts), "or")


def _joined(parts: list[str], word: str) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"
