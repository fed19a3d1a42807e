"""Finds dates in a sentence, as people say them, and removes them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

_DAYS = [day.lower() for day in calendar.day_name]
_MONTHS = [month.lower() for month in calendar.month_name[1:]]
_COUNTS = ("a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DAY = "|".join(_DAYS)
_MONTH = "|".join(rf"{month}|{month[:3]}" for month in _MONTHS)
_COUNT = "|".join((r"\d{1,3}", "an", "one", *_COUNTS))
_NTH = r"\d{1,2}(?:st|nd|rd|th)"
_REPEATED = re.compile(
    r"(?:^|,?\s+)(?:daily|weekly|monthly|yearly|(?:on )?weekdays|(?:every|each) (?:other |second )?"
    rf"(?:day|week|weekday|weekend|month|year|morning|evening|night|{_DAY})s?(?:(?:,| and|, and) (?:{_DAY})s?)*)(?=\s|,|$)",
    re.IGNORECASE,
)
_CLOCK = r"\d{1,2}(?:[:.]\d{2})?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)"
_TIME = re.compile(
    rf"(?:^|,?\s+)(?:(?:at|around|about|before|after|by|from|@)\s*)?(?:{_CLOCK}|(?<=at )\d{{1,2}}(?:[:.]\d{{2}})?|noon|midnight"
    rf"|in the (?:morning|afternoon|evening)|in (?:half an hour|(?:{_COUNT}) (?:hour|minute)s?))(?=\s|,|$)",
    re.IGNORECASE,
)
_BEFORE = r"(?:,?\s*\b(?:(?:which|that) is\s+)?(?:due|by|on|for|until|till|before|at)(?:\s+(?:by|on|at|before))?(?:\s+the)?\s+|,?\s*\b)"


@dataclass(frozen=True, slots=True)
class _Form:
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], date], date | None]


class Timing(NamedTuple):
    """When something is to be done, and the text without it."""

    due: date | None
    note: str
    """What a date cannot say: the time of day, and how often."""
    rest: str


def take_timing(text: str, today: date) -> Timing:
    """The date, the time of day and the recurrence at the beginning or end of a text."""
    repeated, text = _take_edge(_REPEATED, text)
    time, text = _take_edge(_TIME, text)
    due, rest = take_date(text, today)
    if due is not None and not time:
        time, rest = _take_edge(_TIME, rest)
    if due is None and repeated:
        due = min((_next(day, today) for day in re.findall(_DAY, repeated.lower())), default=None)
    if due is None and time.startswith("in "):
        due = today
    return Timing(due, " ".join(filter(None, (repeated, time))), rest)


def _take_edge(pattern: re.Pattern[str], text: str) -> tuple[str, str]:
    for found in pattern.finditer(text):
        before, after = text[: found.start()].strip(" ,:"), text[found.end() :].strip(" ,:")
        if not before or not after:
            return found.group().strip(" ,"), before or after
    return "", text


def _next(day: str, today: date) -> date:
    return today + timedelta(days=(_DAYS.index(day) - today.weekday() - 1) % 7 + 1)


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
    day = next(name for name in _DAYS if name.startswith(match["day"].lower()[:3]))
    if (match["which"] or "").lower() == "next":
        return today - timedelta(days=today.weekday()) + timedelta(days=7 + _DAYS.index(day))
    return _next(day, today)


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


def _before_month(match: re.Match[str], today: date) -> date:
    month = next(n for n, name in enumerate(_MONTHS, start=1) if name.startswith(match["month"].lower()[:3]))
    return date(today.year + (month <= today.month), month, 1) - timedelta(days=1)


def _end_of_week(_: re.Match[str], today: date) -> date:
    return today + timedelta(days=(4 - today.weekday()) % 7)


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
    _form(rf"(?P<count>{_COUNT}) (?P<unit>days?|weeks?) from (?:now|today)", _counted),
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
    # Short names only where nothing else can be meant: "sun cream" is no Sunday.
    _form(
        r"(?:(?<=on )|(?<=by )|(?<=due )|(?P<which>this|next) )(?P<day>mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)",
        _weekday,
    ),
    _form(r"(?:the )?end of (?:the |this )?week", _end_of_week),
    _form(r"(?:the )?end of (?:the |this )?month", _end_of_month),
    _form(rf"before (?P<month>{_MONTH})", _before_month),
    _form(rf"(?:on|by|for|to|before|until|till) the (?P<number>{_NTH})", _day_of_month),
)
"""The forms of a date, the more telling ones first."""
