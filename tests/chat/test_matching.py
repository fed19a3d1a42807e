"""Tasks are found by the likeness of their titles."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from chat.utterance import TODAY
from maverick.chat.matching import find_matches
from maverick.chat.tables import Task

TITLES = ["Buy milk", "Buy oat milk", "Call Mum", "Finish the quarterly report", "Café with José", "Pay rent"]


def tasks(*titles: str, **values: Any) -> list[Task]:
    return [Task(id=n, user_id="ana", title=title, **values) for n, title in enumerate(titles, start=1)]


@pytest.mark.requirement("CHAT-MATCHING")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Buy milk", ["Buy milk"]),
        ("buy MILK!", ["Buy milk"]),
        ("milk", ["Buy milk", "Buy oat milk"]),
        ("oat", ["Buy oat milk"]),
        ("the oat milk task", ["Buy oat milk"]),
        ("call mum", ["Call Mum"]),
        ("cal mum", ["Call Mum"]),
        ("report", ["Finish the quarterly report"]),
        ("quartely report", ["Finish the quarterly report"]),
        ("cafe jose", ["Café with José"]),
        ("the rent", ["Pay rent"]),
        ("rent a boat", []),
        ("xyz", []),
        ("1", []),
        ("", []),
        ("!!!", []),
        ("%", []),
    ],
)
def test_a_task_is_found_by_its_words(query: str, found: list[str]) -> None:
    assert [task.title for task in find_matches(query, tasks(*TITLES), TODAY)] == found


@pytest.mark.requirement("CHAT-MATCHING")
def test_tasks_of_one_title_are_told_apart_by_their_date_and_priority() -> None:
    one, other = tasks("Buy milk", "Buy milk")
    one.due_date, other.priority = date(2026, 3, 5), "High"

    assert find_matches("buy milk", [one, other], TODAY) == [one, other]
    assert find_matches("buy milk due tomorrow", [one, other], TODAY) == [one]
    assert find_matches("high priority milk", [one, other], TODAY) == [other]


@pytest.mark.requirement("CHAT-MATCHING")
def test_of_tasks_that_nothing_tells_apart_the_first_is_meant() -> None:
    one, other = tasks("Buy milk", "Buy milk")

    assert find_matches("milk", [one, other], TODAY) == [one]
