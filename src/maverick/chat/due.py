"""When tasks are due: the spans people ask for, and dates in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from maverick.exceptions import InvalidInputError

DUE_SPANS = ("today", "tomorrow", "this_week", "next_week", "overdue", "none")
"""What a list of tasks can be narrowed to, besides a date."""


@dataclass(frozen=True, slots=True)
class Due:
    """A span of due dates, both ends included; or tasks that have no due date."""

    first: date | None = None
    last: date | None = None
    missing: bool = False

    @classmethod
    def of(cls, span: str, today: date) -> Due:
        """The span a word or an ISO date stands for.

        Raises:
            InvalidInputError: It is neither.
        """
        day, week = timedelta(days=1), timedelta(days=7)
        monday = today - timedelta(days=today.weekday())
        spans = {
            "today": cls(today, today),
            "tomorrow": cls(today + day, today + day),
            "this_week": cls(monday, monday + week - day),
            "next_week": cls(monday + week, monday + 2 * week - day),
            "overdue": cls(None, today - day),
            "none": cls(missing=True),
        }
        if span in spans:
            return spans[span]
        try:
            exactly = date.fromisoformat(span)
        except ValueError as error:
            choices = ", ".join(DUE_SPANS)
            raise InvalidInputError(
                f"due: expected one of {choices}, or a date such as 2026-03-31, got {span!r}.", field="due"
            ) from error
        return cls(exactly, exactly)


def in_words(day: date, today: date) -> str:
    """A date the way people say it: ``today``, ``tomorrow``, ``Friday``, ``March 5`` or ``March 5, 2027``."""
    distance = (day - today).days
    if distance in (-1, 0, 1):
        return ("yesterday", "today", "tomorrow")[distance + 1]
    if 1 < distance < 7:
        return f"{day:%A}"
    return f"{day:%B} {day.day}" if day.year == today.year else f"{day:%B} {day.day}, {day.year}"
