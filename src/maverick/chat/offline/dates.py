"""Finds dates in a sentence, as people say them, and removes them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

_DAYS = [day.lower() for day in calendar.day_name]
_MONTHS = [month.lower() for month in calendar.month_name[1:]]
_COUNTS = ("a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DAY = "|".join(_DAYS)
_MONTH = "|".join(rf"{month}|{month[:3]}" for month in _MONTHS)
_COUNT = "|".join((r"\d{1,3}", "an", "one", *_COUNTS))
_NTH = r"\d{1,2}(?:st|nd|rd|th)"
_BEFORE = r"(?:,?\s*\b(?:(?:which|that) is\s+)?(?:due|by|on|for|until|till|before|at)(?:\s+(?:by|on|at|before))?(?:\s+the)?\s+|,?\s*\b)"


@dataclass(frozen=True, slots=True)
class _Form:
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], date], date | None]


def find_date(text: str, today: date) -> date | None:
    """The first date in a text."""
    found = _first(text, today)
    return None if found is None else found[0]


def take_date(text: str, today: date) -> tuple[date | None, str]:
    """The date at the beginning or end of a text, and the text without it."""
    found = _first(text, today)
    if found is None:
        return None, text
    day, (start, end) = found
    before, after = text[:start].strip(" ,:"), text[end:].strip(" ,:")
    if before and after and not re.match(r"(?:with|and|priority|as|to|in)\b|,", text[end:].strip()):
        return None, text  # in the middle of a title it belongs to the title
    return day, f"{before} {after}".strip()


def _first(text: str, today: date) -> tuple[date, tuple[int, int]] | None:
    for form in _FORMS:
        for match in form.pattern.finditer(text):
            day = form.read(match, today)
            if day is not None:
                return day, match.span()
    return None


def _form(pattern: str, read: Callable[[re.Match[str], date], date | None]) -> _Form:
    return _Form(re.compile(rf"{_BEFORE}{pattern}\b(?!['’]s)", re.IGNORECASE), read)


def _in_days(number: int) -> Callable[[re.Match[str], date], date]:
    return lambda _, today: today + timedelta(days=number)


def _exact(match: re.Match[str], _: date) -> date | None:
    try:
        return date.fromisoformat(match["iso"])
    except ValueError:
        return None


def _counted(match: re.Match[str], today: date) -> date | None:
    word = match["count"].lower()
    number = int(word) if word.isdigit() else 1 if word in ("a", "an", "one") else _COUNTS.index(word) + 1
    return today + timedelta(days=number * (7 if match["unit"].lower().startswith("week") else 1))


def _weekday(match: re.Match[str], today: date) -> date:
    wanted = _DAYS.index(match["day"].lower())
    if (match["which"] or "").lower() == "next":
        return today - timedelta(days=today.weekday()) + timedelta(days=7 + wanted)
    return today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)


def _weekend(match: re.Match[str], today: date) -> date:
    saturday = today + timedelta(days=(5 - today.weekday()) % 7)
    return saturday + timedelta(days=7) if match["which"].lower() == "next" else saturday


def _month_day(match: re.Match[str], today: date) -> date | None:
    month = next(n for n, name in enumerate(_MONTHS, start=1) if name.startswith(match["month"].lower()[:3]))
    day = int(re.sub(r"\D", "", match["number"]))
    year = match.groupdict().get("year")
    try:
        found = date(int(year) if year else today.year, month, day)
    except ValueError:
        return None
    return found if year or found >= today else found.replace(year=found.year + 1)


def _day_of_month(match: re.Match[str], today: date) -> date | None:
    day = int(re.sub(r"\D", "", match["number"]))
    for month in (today.month, today.month % 12 + 1):
        year = today.year + (month < today.month)
        if day <= calendar.monthrange(year, month)[1] and date(year, month, day) >= today:
            return date(year, month, day)
    return None


def _end_of_month(_: re.Match[str], today: date) -> date:
    return today.replace(day=calendar.monthrange(today.year, today.month)[1])


_FORMS = (
    _form(r"(?P<iso>\d{4}-\d{2}-\d{2})", _exact),
    _form(
        rf"(?P<number>\d{{1,2}}(?:st|nd|rd|th)?) (?:of )?(?P<month>{_MONTH})(?:,? (?P<year>\d{{4}}))?",
        _month_day,
    ),
    _form(
        rf"(?P<month>{_MONTH}) (?:the )?(?P<number>\d{{1,2}}(?:st|nd|rd|th)?)(?:,? (?P<year>\d{{4}}))?",
        _month_day,
    ),
    _form(r"(?:the )?day after tomorrow", _in_days(2)),
    _form(r"tomorrow(?: (?:morning|afternoon|evening|night))?", _in_days(1)),
    _form(r"(?:today|tonight|this (?:morning|afternoon|evening))", _in_days(0)),
    _form(rf"in (?P<count>{_COUNT}) (?P<unit>days?|weeks?)(?: time)?", _counted),
    _form(r"(?:a week from now|next week)", _in_days(7)),
    _form(r"(?P<which>this|next|the) weekend", _weekend),
    _form(
        rf"(?:(?P<which>this|next|coming) )?(?P<day>{_DAY})(?: (?:morning|afternoon|evening|night))?",
        _weekday,
    ),
    _form(r"(?:the )?end of (?:the |this )?month", _end_of_month),
    _form(rf"(?:on|by|until|till) the (?P<number>{_NTH})", _day_of_month),
)
"""The forms of a date, the more telling ones first."""
