"""Tasks, without a model in between."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from maverick.chat.tables import now
from server.chat_server import Person


async def titles(person: Person) -> list[str]:
    return [task["title"] for task in (await person.get("/api/tasks"))["tasks"]]


@pytest.mark.requirement("SERVER-TASKS")
async def test_a_task_is_added_read_changed_and_deleted(ana: Person) -> None:
    body = {"title": "buy milk", "priority": "High", "due_date": "2030-01-02"}

    added = await ana.post("/api/tasks", body)
    path = f"/api/tasks/{added['id']}"
    read = await ana.get(path)
    changed = await ana.ask("PATCH", path, {"title": "buy bread", "completed": True, "due_date": None})
    deleted = await ana.ask("DELETE", path)
    gone = await ana.get(path)

    assert added.status == 201
    assert read.body == added.body
    assert (changed["title"], changed["completed"], changed["due_date"]) == ("buy bread", True, None)
    assert changed["priority"] == "High"
    assert deleted["title"] == "buy bread"
    assert gone.status == 404


@pytest.mark.requirement("SERVER-TASKS")
async def test_tasks_are_chosen_by_status_and_priority(ana: Person) -> None:
    await ana.post("/api/tasks", {"title": "open"})
    done = await ana.post("/api/tasks", {"title": "done", "priority": "Low"})
    await ana.ask("PATCH", f"/api/tasks/{done['id']}", {"completed": True})

    found = [
        [task["title"] for task in (await ana.get(f"/api/tasks?{query}"))["tasks"]]
        for query in ("", "status=open", "status=completed", "priority=Low", "priority=High")
    ]

    assert found == [["open", "done"], ["open"], ["done"], ["done"], []]


@pytest.mark.requirement("SERVER-TASKS", "SERVER-IDEMPOTENT")
async def test_a_task_is_added_once_however_often_it_is_sent(ana: Person) -> None:
    key = {"Idempotency-Key": "k"}

    added = [await ana.post("/api/tasks", {"title": "milk"}, headers=key) for _ in range(3)]
    other = await ana.post("/api/tasks", {"title": "bread"}, headers=key)

    assert added[0].body == added[1].body == added[2].body
    assert (other.status, other.code) == (422, "key_reused")
    assert await titles(ana) == ["milk"]


@pytest.mark.requirement("SERVER-TASKS")
async def test_changes_are_undone_one_by_one_however_they_were_made(ana: Person) -> None:
    await ana.say("Add task buy milk")
    task = (await ana.get("/api/tasks"))["tasks"][0]
    await ana.ask("DELETE", f"/api/tasks/{task['id']}")

    first = await ana.post("/api/undo")
    back = await titles(ana)
    second = await ana.post("/api/undo")
    gone = await titles(ana)
    third = await ana.post("/api/undo")

    assert (back, gone) == (["buy milk"], [])
    assert "back on your list" in first["message"]
    assert "off your list again" in second["message"]
    assert (third.status, third.code) == (409, "nothing_to_undo")


@pytest.mark.requirement("SERVER-TASKS")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body.title"),
        ({"title": ""}, "body.title"),
        ({"title": "x" * 256}, "body.title"),
        ({"title": "x", "description": "x" * 1001}, "body.description"),
        ({"title": "x", "priority": "Urgent"}, "body.priority"),
        ({"title": "x", "due_date": "tomorrow"}, "body.due_date"),
        ({"title": "x", "user_id": "user_bob"}, "body.user_id"),
    ],
)
async def test_a_task_that_can_not_be_is_refused_by_name(
    ana: Person, body: dict[str, Any], field: str
) -> None:
    refused = await ana.post("/api/tasks", body)

    assert (refused.status, refused.body["error"]["fields"]) == (422, [field])
    assert await titles(ana) == []


@pytest.mark.requirement("SERVER-TASKS")
async def test_what_was_undone_is_made_again_until_something_else_is_changed(ana: Person) -> None:
    for title in ("milk", "bread"):
        await ana.post("/api/tasks", {"title": title})
    seen = [await titles(ana)]
    for step in ("undo", "undo", "redo", "redo", "undo", "redo"):
        await ana.post(f"/api/{step}")
        seen.append(await titles(ana))
    nothing = await ana.post("/api/redo")
    await ana.post("/api/undo")
    await ana.post("/api/tasks", {"title": "eggs"})
    too_late = await ana.post("/api/redo")

    both = ["milk", "bread"]
    assert seen == [both, ["milk"], [], ["milk"], both, ["milk"], both]
    assert (nothing.code, too_late.code) == ("nothing_to_redo", "nothing_to_redo")
    assert await titles(ana) == ["milk", "eggs"]


@pytest.mark.requirement("SERVER-TASKS")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call Bob tomorrow, high priority", ("call Bob", "High", 1)),
        ("read a book", ("read a book", "Medium", None)),
        ("milk, eggs and bread", ("milk, eggs and bread", "Medium", None)),
    ],
)
async def test_a_task_is_added_as_a_person_writes_it(
    ana: Person, text: str, expected: tuple[str, str, int | None]
) -> None:
    today = now().date()

    added = await ana.post("/api/tasks/from-words", {"text": text, "today": today.isoformat()})

    title, priority, days = expected
    due = None if days is None else (today + timedelta(days=days)).isoformat()
    assert (added["title"], added["priority"], added["due_date"]) == (title, priority, due)


@pytest.mark.requirement("SERVER-TASKS")
@pytest.mark.parametrize("text", ["pay rent yesterday", "pay rent by last Monday", "pay rent two days ago"])
async def test_a_task_for_a_day_that_is_over_is_not_added_and_that_is_said(ana: Person, text: str) -> None:
    refused = await ana.post("/api/tasks/from-words", {"text": text})

    assert (refused.status, refused.code) == (422, "invalid")
    assert "which is over" in str(refused.body)


@pytest.mark.requirement("SERVER-TASKS")
@pytest.mark.parametrize("text", ["party on 31 february", "party on April 31st"])
async def test_a_task_for_a_day_that_there_is_not_is_not_added_and_that_is_said(
    ana: Person, text: str
) -> None:
    refused = await ana.post("/api/tasks/from-words", {"text": text})

    assert (refused.status, refused.code) == (422, "invalid")
    assert "There is no" in str(refused.body)
    assert (await ana.get("/api/tasks"))["tasks"] == []
