"""Dates as people say them."""

from __future__ import annotations

from datetime import date

import pytest

from chat.utterance import TODAY
from maverick.chat.offline.dates import find_date, take_date
from maverick.chat.phrases import in_words
from maverick.chat.tasks import Due
from maverick.exceptions import InvalidInputError


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("today", "2026-03-04"),
        ("by tomorrow evening", "2026-03-05"),
        ("the day after tomorrow", "2026-03-06"),
        ("on Wednesday", "2026-03-11"),
        ("this Friday", "2026-03-06"),
        ("next Friday", "2026-03-13"),
        ("in 10 days", "2026-03-14"),
        ("in a week", "2026-03-11"),
        ("in two weeks", "2026-03-18"),
        ("next weekend", "2026-03-14"),
        ("March 3rd", "2027-03-03"),
        ("1 April 2028", "2028-04-01"),
        ("on the 2nd", "2026-04-02"),
        ("by the end of the month", "2026-03-31"),
        ("2026-12-24", "2026-12-24"),
        ("February 30", None),
        ("2026-13-45", None),
        ("some day", None),
    ],
)
def test_a_date_is_found_in_words(said: str, day: str | None) -> None:
    assert find_date(f"do it {said}", TODAY) == (None if day is None else date.fromisoformat(day))


def test_a_date_inside_a_title_belongs_to_the_title() -> None:
    assert take_date("watch Friday night lights", TODAY) == (None, "watch Friday night lights")
    assert take_date("read today's paper", TODAY) == (None, "read today's paper")


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2026-03-03", "yesterday"),
        ("2026-03-04", "today"),
        ("2026-03-05", "tomorrow"),
        ("2026-03-08", "Sunday"),
        ("2026-03-31", "March 31"),
        ("2027-01-02", "January 2, 2027"),
    ],
)
def test_a_date_is_said_as_people_say_it(day: str, words: str) -> None:
    assert in_words(date.fromisoformat(day), TODAY) == words


def test_a_span_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="due: expected one of today"):
        Due.of("soonish", TODAY)
