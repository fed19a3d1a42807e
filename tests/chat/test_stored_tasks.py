"""What the offline assistant does to the stored tasks: what was asked for, or nothing."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert
from sqlmodel import select

from chat.parlour import Parlour
from maverick.chat import AgentContext
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
ROWS = [
    Task(user_id="", title=title, completed=title == DONE, **values).model_dump(exclude={"id"})
    for title, values in TASKS.items()
]

Change = tuple[str, ...]
Tasks = dict[int, Task]


def sentences(part: str) -> list[tuple[list[str], list[Change]]]:
    """Conversations, and the changes they ask for; a bar stands between values that are equally right."""
    lines = (Path(__file__).parent / "utterances" / f"{part}.jsonl").read_text().splitlines()
    return [
        (each["say"], [tuple(map(str, change)) for change in each["changes"]])
        for each in map(json.loads, lines)
    ]


def given(parlour: Parlour, *users: str) -> dict[str, Tasks]:
    """The tasks of new users, in one statement: there are hundreds of users."""
    with parlour.database.session() as session:
        session.connection().execute(
            insert(Task), [{**row, "user_id": user} for user in users for row in ROWS]
        )
        session.commit()
    return stored(parlour)


def stored(parlour: Parlour) -> dict[str, Tasks]:
    """The tasks of all users."""
    found: dict[str, Tasks] = defaultdict(dict)
    with parlour.database.session() as session:
        for task in session.exec(select(Task)):
            found[task.user_id][task.id or 0] = task
    return found


async def said_after(parlour: Parlour, user: str, messages: list[str]) -> str:
    """What is answered to the last of some messages."""
    history: list[dict[str, str]] = []
    for message in messages:
        context = AgentContext.from_request(user, "talk", history)
        answer = (await parlour.runner.run(context, message)).response
        history += [{"role": "user", "content": message}, {"role": "assistant", "content": answer}]
    return answer


def changes(before: Tasks, after: Tasks) -> list[Change]:
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
    said = {f"user {number}": each for number, each in enumerate(sentences(part))}
    before = given(parlour, *said)

    answers = {user: await said_after(parlour, user, messages) for user, (messages, _) in said.items()}

    after = stored(parlour)
    for user, (messages, wanted) in said.items():
        made, answer = changes(before[user], after[user]), answers[user]
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


async def test_a_list_says_when_on_its_day_and_how_often_a_task_is_to_be_done(parlour: Parlour) -> None:
    await parlour.say("remind me to feed the cat tomorrow at 7am every day")

    listed = await parlour.say("show my list")
    await parlour.say("mark the first one as done")

    assert "feed the cat (due tomorrow, every day at 7am)" in listed.response
    assert [task.completed for task in parlour.tasks()] == [True]


async def test_no_to_anything_else_is_no_thanks(parlour: Parlour) -> None:
    await parlour.say("add eggs")

    assert (await parlour.say("no")).response == "All right."
