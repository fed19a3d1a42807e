"""What the offline assistant does to the stored tasks: what was asked for, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from chat.parlour import Parlour
from maverick.chat.database import owned_session
from maverick.chat.tables import Task

TASKS: dict[str, dict[str, Any]] = {
    "buy milk": {},
    "call the dentist": {"due_date": date(2026, 3, 5)},
    "finish the report": {"due_date": date(2026, 3, 6), "priority": "High"},
    "pay the rent": {"due_date": date(2026, 4, 1)},
    "water the plants": {},
    "book flights to Rome": {"priority": "Low"},
    "email Anna about the budget": {"due_date": date(2026, 3, 2)},
    "read chapter 4": {},
}
DONE = "read chapter 4"

Change = tuple[str, ...]


def sentences(part: str) -> list[tuple[list[str], list[Change]]]:
    """Conversations, and the changes they ask for; a bar stands between values that are equally right."""
    lines = (Path(__file__).parent / "utterances" / f"{part}.jsonl").read_text().splitlines()
    return [
        (each["say"], [tuple(map(str, change)) for change in each["changes"]])
        for each in map(json.loads, lines)
    ]


def given(parlour: Parlour, user: str) -> dict[int, Task]:
    """The tasks of a new user, in one statement: there are hundreds of users."""
    rows = [
        Task(user_id=user, title=title, completed=title == DONE, **values).model_dump(exclude={"id"})
        for title, values in TASKS.items()
    ]
    with owned_session(parlour.database.session, user, writes=True) as session:
        session.connection().execute(insert(Task), rows)
    return stored(parlour, user)


def stored(parlour: Parlour, user: str) -> dict[int, Task]:
    return {task.id: task for task in parlour.tasks(user) if task.id is not None}


def changes(before: dict[int, Task], after: dict[int, Task]) -> list[Change]:
    """What was added, deleted and changed."""
    found: list[Change] = [("delete", before[n].title) for n in before.keys() - after.keys()]
    new = [after[n] for n in after.keys() - before.keys()]
    found += [("add", task.title, str(task.due_date), task.priority) for task in new]
    for n in after.keys() & before.keys():
        was, now = before[n], after[n]
        if was.completed != now.completed:
            found.append(("done" if now.completed else "reopen", was.title))
        for name, key in (("title", "title"), ("due", "due_date"), ("priority", "priority")):
            if getattr(was, key) != getattr(now, key):
                found.append((name, was.title, str(getattr(now, key))))
    return found


def is_one_of(change: Change, wanted: list[Change]) -> bool:
    return any(
        len(change) == len(each)
        and all(has.casefold() in want.casefold().split("|") for has, want in zip(change, each, strict=True))
        for each in wanted
    )


@pytest.mark.requirement("CHAT-NO-WRONG-CHANGE")
@pytest.mark.parametrize("part", ["conversations", "everyday", "spoken", "adding"])
async def test_nothing_is_changed_that_was_not_asked_for(
    part: str, parlour: Parlour, record_property: Callable[[str, object], None]
) -> None:
    wrong, missed = [], []
    said = sentences(part)
    for number, (messages, wanted) in enumerate(said):
        user = f"user {number}"
        before = given(parlour, user)

        for message in messages:
            answer = (await parlour.say(message, user)).response

        made = changes(before, stored(parlour, user))
        if not all(is_one_of(change, wanted) for change in made):
            wrong.append((messages, made, answer))
        elif len(made) != len(wanted):
            missed.append((messages, made, answer))
    right = len(said) - len(wrong) - len(missed)
    record_property(f"right_{part}", f"{right} of {len(said)}, {len(wrong)} wrong changes")

    assert wrong == []
    assert right >= 0.85 * len(said), missed


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("what's on my plate today?", "1. ☐ email Anna about the budget (overdue since March 2)"),
        ("what's due before the weekend?", "finish the report (high priority, due Friday)"),
        ("do I still have to call the dentist tomorrow?", "1. ☐ call the dentist (due tomorrow)"),
        (
            "take out the trash every Monday at 7",
            "Noted: take out the trash (due Monday, at 7 every Monday).",
        ),
        ("add call the dentist", "'call the dentist' (due tomorrow) is already on your list."),
    ],
)
async def test_an_answer_says_what_was_understood(said: str, answer: str, parlour: Parlour) -> None:
    given(parlour, "ana")

    assert answer in (await parlour.say(said)).response
