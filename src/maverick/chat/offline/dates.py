"""Finds dates in a sentence, as people say them, and removes them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import NamedTuple

from maverick.chat.offline.wording import COUNTS, DEED, ORDINALS, pattern

_DAYS = [day.lower() for day in calendar.day_name]
_MONTHS = [month.lower() for month in calendar.month_name[1:]]
_DAY = "|".join(_DAYS)
_MONTH = "|".join(rf"{month}|{month[:3]}" for month in _MONTHS)
_COUNT = "|".join((r"\d{1,3}", "an?", "another", "a couple of", *COUNTS))
_SHORT_DAY = r"mon|tues?|wed|thu(?:rs?)?|fri|(?!(?-i:SAT))sat|sun"  # SAT is an exam
_NO_ARTICLE = r"(?<!\bthe )(?<!\bsome )(?<!\ba )(?<!\bof )(?<!\bin )"
_NO_NAME = (
    r"(?=\s*(?:$|[,.!?;]|at \d|\d+ ?[ap]m|instead|please|morning|afternoon|evening|night|am|pm|lunchtime))"
)
_NAMED = rf"(?:(?:(?:next|this|coming) )?(?P<day>{_DAY}|{_SHORT_DAY}),? (?:the )?)?"
_UNIT = r"(?:day|week|month|fortnight)s?"
_NTH = rf"\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(ORDINALS)}"
_REPEATED = pattern(
    rf"(?:^|,?\s+)(?:daily|(?:bi-?)?weekly|monthly|yearly|annually|(?:on )?(?:weekdays|weekends|(?:{_DAY})s)|(?:once|twice|{_COUNT} times) an? \w+"
    rf"|(?:every|each) (?:{_NTH})(?: (?:day )?of (?:the|each|every) month)?(?=\s*(?:$|[,.]|\bto\b))"
    rf"|(?:on )?(?:the (?:{_NTH}) of )?(?:every|each) (?:other |single |(?:{_NTH}) |(?:{_COUNT}) )?"
    rf"(?:day|week|weekday|weekend|month|year|hour|morning|afternoon|evening|night|{_DAY}|{_SHORT_DAY})s?(?:(?:,| and|, and) (?:{_DAY}|{_SHORT_DAY})s?)*(?: (?:morning|afternoon|evening|night)s?)?)(?=\s|,|$)"
)
_MONTHLY = pattern(rf"(?:the|every|each) (?P<number>{_NTH})\b(?! (?:{_DAY}|day(?! of)|week|month|year))")
_NUMBER = rf"(?:{'|'.join(COUNTS)}|\d{{1,2}})"
_HOUR = rf"(?:\d{{1,2}}[:.]\d{{2}}|(?:(?:half|quarter|five|ten|twenty)(?: past| to)? )?{_NUMBER}(?: (?:fifteen|thirty|forty-?five))?)(?:ish)?"
_CLOCK = r"(?:\d{1,2}(?:[:.]\d{2})?\s*(?:-|–|to)\s*)?(?:(?:\d{1,2}(?:[:.]\d{2})?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)|\d{1,2}:\d{2})"
_ADDRESS = rf"\s+(?!(?:on|by|and|or|with|for|from|to|about|in|at|so|but|because|if|then|please|sharp|every|each|this|next|the|to(?:day|morrow|night)|daily|{_DAY}|{_SHORT_DAY}|{_MONTH})\b)[a-z]"
"""What follows a number that is no hour: "at 12 Elm Street"."""
_TIME = pattern(
    rf"(?:^|,?\s+)(?:(?:at|around|about|before|after|by|from|for|between|at around|at about)\s+|@\s*)?(?:{_CLOCK}|(?:(?<=\bat )|(?<=@)|(?<=\bat around )|(?<=\bat about )){_HOUR}(?!{_ADDRESS})|{_NUMBER}ish|(?:half|quarter) (?:past|to) {_NUMBER}|noon(?:ish)?|midnight|first thing"
    r"|(?:(?<=\bat )|(?<=before )|(?<=after ))(?:lunch(?:time)?|dinner(?:time)?|breakfast)|(?:(?<=before )|(?<=after ))(?:work|school)"
    rf"|in the (?:morning|afternoon|evening)|in (?:half an hour|(?:{_COUNT}) (?:hour|minute)s?)(?: or so)?)(?=\s|,|$)"
)
_VAGUE = pattern(
    rf"(?:^|,?\s+)(?:(?:sometime |at some point )?(?:in (?:{_MONTH}|spring|summer|autumn|winter)|(?:this|next) (?:month|year|spring|summer|autumn|winter))"
    r"|(?:on |by )?\d{1,2}/\d{1,2}(?:/\d{2,4})?|sometime|someday|soon|eventually|at some point|later|no (?:rush|hurry)|(?:with )?no (?:particular |specific |fixed )?(?:due )?(?:date|deadline)(?: yet)?|whenever(?: i can| you can| possible)?)(?=\s|,|$)"
)
"""Times that are no date."""
_BEFORE = r"(?:,?\s*\b(?:(?:which|that) is\s+)?(?:due|deadline(?: is|:)?|by|on|for|until|till|before|at|starting|beginning|from)(?:\s+(?:by|on|at|before|from))?(?:\s+the)?\s+|,?\s*\bin\s+(?=(?:next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)|,?\s*\b(?:the\s+(?=\w+day\b|\d))?)"


class Timing(NamedTuple):
    """When something is to be done, and the text without it."""

    due: date | None
    note: str
    """What a date cannot say: the time of day, and how often."""
    rest: str


def take_timing(text: str, today: date) -> Timing:
    """The date, the time of day and the recurrence at the beginning or end of a text."""
    due: date | None = None
    notes: list[str] = []
    left = ""
    is_week = re.search(r"\bnext week\b", text, re.IGNORECASE) is not None
    while left != text:  # one may stand behind another
        left = text
        for kind in (_REPEATED, _TIME, _REPEATED):
            note, text = _take_edge(kind, text)
            notes += [note] if note else []
        if due is None:
            due, text = take_date(text, today)
        note, text = _take_edge(_VAGUE, text)
        is_nothing = re.search(r"\bno\b.*\bda|\bno deadline", note) or (
            due and note in ("sometime", "later", "soon")
        )
        notes += [note] if note and not is_nothing else []
    said = " ".join(notes)
    if due is None and _REPEATED.search(said):
        every_day = re.search(
            r"daily|(?:every|each) (?:single )?(?:day|morning|afternoon|evening|night)", said, re.IGNORECASE
        )
        days = [
            _next(_whole(day), today)
            for day in re.findall(rf"\b(?:{_DAY}|{_SHORT_DAY})(?=s?\b)", said.lower())
        ]
        days += filter(None, (_day_of_month(monthly, today) for monthly in _MONTHLY.finditer(said)))
        due = today if every_day else min(days, default=None)
    elif due and (named := re.findall(rf"(?:every|each) ({_DAY}|{_SHORT_DAY})s?\b", said.lower())):
        # Starting next week is on that day of the week, and starting on a date is on the first such day from then.
        start = due - timedelta(days=due.weekday() + 1 if is_week else 1)
        due = min(_next(_whole(day), start) for day in named)
    if due is None and re.match(r"in .+(?:hour|minute)", said):
        due = today
    return Timing(due, said, text)


def take_all(text: str, today: date) -> tuple[list[date], str, str]:
    """The dates in a text, the time of day and how often, and the text with a ``D`` for each date."""
    text = without_old_date(text)
    notes = [found[0].strip(" ,") for kind in (_REPEATED, _TIME) for found in kind.finditer(text)]
    for note in notes:
        text = text.replace(note, " ", 1)
    days: list[date] = []
    while len(days) < 4 and (found := _first(text, today)) is not None:
        days.append(found[0])
        start, end = found[1]
        text = f"{text[:start]} D {text[end:]}"
    return days, " ".join(notes), text


def without_old_date(text: str) -> str:
    """A text without the date that another one replaces: "Friday, not Thursday"."""
    return _OLD_DATE.sub(" ", _FROM_DATE.sub(" ", text) if _MOVES.search(text) else text)


_SOME_DAY = rf"(?:the |on )*(?:(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?|{_DAY}|{_SHORT_DAY}|today|tomorrow|(?:{_NTH})|\d{{1,2}}(?= (?:of )?(?:{_MONTH})))(?: (?:of )?(?:{_MONTH}))?\b"
_OLD_DATE = pattern(
    rf"(?:(?<=\w),? (?:and )?(?:not|instead of|rather than) (?:for |by )?{_SOME_DAY}|\bnot {_SOME_DAY},? (?:but )?(?=\w))"
)
_FROM_DATE = pattern(rf"(?<=\w) from {_SOME_DAY}(?= (?:to|until|till)\b)")
_MOVES = pattern(r"\b(?:move|push|shift|reschedule|change|postpone|bring|bump|put)\b")


class Span(NamedTuple):
    """How much later something is to be, and the text without it."""

    days: int
    rest: str


def find_span(text: str) -> Span | None:
    """How many days later, or earlier, a text moves something: "back by one day", "a week earlier"."""
    found = _MOVED_BY.search(text)
    is_forward = re.search(r"\bforward\b", text, re.IGNORECASE) and not re.search(
        r"\b(?:bring|pull)\b", text, re.IGNORECASE
    )
    if found is None or is_forward:
        return None  # "push it forward" is earlier for some, and later for others
    days = (_counted(found, date.min) - date.min).days
    is_earlier = re.search(r"\b(?:earlier|sooner|ahead|before)\b|\b(?:bring|pull)\b", text, re.IGNORECASE)
    return Span(-days if is_earlier else days, f"{text[: found.start()]} {text[found.end() :]}")


_MOVED_BY = pattern(
    rf"(?<!§)\b(?:by )?(?P<count>{_COUNT})(?: more| extra)? (?P<unit>{_UNIT})\b(?! (?:ago|early|late|old)\b)(?: (?:later|earlier|sooner|back|ahead))?"
)


def when_last(text: str, today: date) -> str:
    """A text with a date before what is asked for, as in "tomorrow I need to …", behind it."""
    found = _WHEN_FIRST.fullmatch(text)
    if found is None:
        return text
    timing, nth = (take_timing(when, today) for when in (found["when"], f"on {found['when']}"))
    if not timing.due and nth.due and not nth.rest:
        return f"{found['rest']} by {nth.due}"
    is_timing = not timing.rest and (timing.due or timing.note)
    return f"{found['rest']} {found['when']}" if is_timing else text


_WHEN_FIRST = pattern(
    rf"(?P<when>\w.{{2,30}}?),? (?P<rest>(?:i|we|please|remind|add|don't|(?:can|could) you|put|is(?! (?:it|that|this|the|there)\b))\b.+|{DEED}.+)"
)


def _take_edge(kind: re.Pattern[str], text: str) -> tuple[str, str]:
    for found in kind.finditer(text):
        before, after = text[: found.start()].strip(" ,:"), text[found.end() :].strip(" ,:")
        if not before or not after or _CERTAIN_TIME.match(found.group()):
            return found.group().strip(" ,"), f"{before} {after}".strip()
    return "", text


_CERTAIN_TIME = pattern(r",?\s*(?:at\s+\d|@)")
_CERTAIN_DATE = pattern(r",?\s*(?:(?:due|by|on|until|till|before)\b|(?:for )?(?:today|tomorrow|tonight)\b)")
"""What is no part of a title, wherever it stands."""
_GOES_ON = pattern(r"(?:with|and|priority|as|to|in|at|from|for|because|so|if)\b|,")


def _whole(day: str) -> str:
    """The whole name of a day of the week."""
    return next(name for name in _DAYS if name.startswith(day.lower()[:3]))


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
    is_inside = before and after and not _GOES_ON.match(text[end:].strip())
    if is_inside and not _CERTAIN_DATE.match(text[start:end]):
        return None, text  # in the middle of a title it belongs to the title
    mark = "," if before and text[end:].lstrip().startswith(",") else ""
    return day, f"{before}{mark} {after}".strip(" ,")


@lru_cache(maxsize=256)  # each reading of a message asks for it again
def _first(text: str, today: date) -> tuple[date, tuple[int, int]] | None:
    if not _MAY_BE_DATE.search(text):
        return None
    for form, read in _FORMS.items():
        for match in _compiled(form).finditer(text):
            day = read(match, today)
            if day is not None:
                return day, match.span()
    return None


@cache  # compiled on use, since a chat is to be at its prompt before
def _compiled(form: str) -> re.Pattern[str]:
    return pattern(rf"{_BEFORE}{form}\b(?!['’]s)")


def _exact(match: re.Match[str], _: date) -> date | None:
    try:
        return date.fromisoformat(match["iso"])
    except ValueError:
        return None


def _counted(match: re.Match[str], today: date) -> date:
    word = match["count"].lower()
    number = int(word) if word.isdigit() else 2 if word.endswith("of") else 1
    number = COUNTS.index(word) + 1 if word in COUNTS else number
    unit = match["unit"].lower().rstrip("s")
    if unit == "month":
        return _months_on(today, number)
    return today + timedelta(days=number * {"day": 1, "week": 7, "fortnight": 14}[unit])


def _counted_from(match: re.Match[str], today: date) -> date:
    day = match["day"].lower()
    return _counted(match, today + timedelta(days=1) if day == "tomorrow" else _next(day, today))


def _months_on(today: date, number: int) -> date:
    years, month = divmod(today.month - 1 + number, 12)
    year = today.year + years
    return date(year, month + 1, min(today.day, calendar.monthrange(year, month + 1)[1]))


def _number(nth: str) -> int:
    """Which day of a month "the 3rd" or "the third" is."""
    return ORDINALS.index(nth.lower()) + 1 if nth.lower() in ORDINALS else int(re.sub(r"\D", "", nth))


def _numeric(match: re.Match[str], today: date) -> date | None:
    """A date in numbers, if only one of them can be the month."""
    one, two = int(match["one"]), int(match["two"])
    day, month = max(one, two), min(one, two)
    return None if day <= 12 and one != two else _coming(day, month, match["year"], today)


def _coming(day: int, month: int, year: str | None, today: date) -> date | None:
    """The date in that year, or else the next one."""
    try:
        found = date(int(year) if year else today.year, month, day)
    except ValueError:
        return None
    return found if year or found >= today else found.replace(year=found.year + 1)


def _month(match: re.Match[str]) -> int:
    return next(n for n, name in enumerate(_MONTHS, start=1) if name.startswith(match["month"].lower()[:3]))


def _weekday(match: re.Match[str], today: date) -> date:
    said = match["day"] or match.groupdict().get("last", "")
    day = _whole(said)
    if (match["which"] or "").lower() == "next":
        return today - timedelta(days=today.weekday()) + timedelta(days=7 + _DAYS.index(day))
    return _next(day, today)


def _weekend(match: re.Match[str], today: date) -> date:
    saturday = today + timedelta(days=(5 - today.weekday()) % 7)
    return saturday + timedelta(days=7) if match["which"].lower() == "next" else saturday


def _month_day(match: re.Match[str], today: date) -> date | None:
    return _if_named(match, _coming(_number(match["number"]), _month(match), match["year"], today))


def _if_named(match: re.Match[str], found: date | None) -> date | None:
    """A date, if it is on the day of the week that is said with it."""
    named = (match["day"] or "").lower()[:3]
    return found if found and _DAYS[found.weekday()].startswith(named) else None


def _day_of_month(match: re.Match[str], today: date) -> date | None:
    day = _number(match["number"])
    for month in (today.month, today.month % 12 + 1):
        year = today.year + (month < today.month)
        if day <= calendar.monthrange(year, month)[1] and date(year, month, day) >= today:
            return date(year, month, day)
    return None


def _nth_weekday(match: re.Match[str], today: date) -> date | None:
    """The first Monday in April, or the last one."""
    month, which = _month(match), match["which"].lower()
    year = today.year + (month < today.month)
    days = [
        day
        for number in range(1, calendar.monthrange(year, month)[1] + 1)
        if (day := date(year, month, number)).weekday() == _DAYS.index(_whole(match["day"]))
    ]
    found = days[-1 if which == "last" else ORDINALS.index(which)]
    return found if found >= today else None


def _before_month(match: re.Match[str], today: date) -> date:
    month = _month(match)
    return date(today.year + (month <= today.month), month, 1) - timedelta(days=1)


def _last_of_month(match: re.Match[str], today: date) -> date:
    month = _month(match)
    year = today.year + (month < today.month)
    return date(year, month, calendar.monthrange(year, month)[1])


def _end_of_week(match: re.Match[str], today: date) -> date:
    friday = today + timedelta(days=(4 - today.weekday()) % 7)
    return friday + timedelta(days=7) if match["next"] else friday


def _end_of_month(match: re.Match[str], today: date) -> date:
    month = _months_on(today.replace(day=1), 1 if match["next"] else 0)
    return month.replace(day=calendar.monthrange(month.year, month.month)[1])


_FORMS: Mapping[str, Callable[[re.Match[str], date], date | None]] = {
    r"(?P<iso>\d{4}-\d{2}-\d{2})": _exact,
    r"(?P<one>\d{1,2})(?P<mark>[/.])(?P<two>\d{1,2})(?:(?P=mark)(?P<year>\d{4})|(?<!\.)(?<!\.\d)(?<!\.\d\d))(?!/?\d)": _numeric,
    rf"{_NAMED}(?P<number>\d{{1,2}}|{_NTH}) (?:of )?(?P<month>{_MONTH})(?:,? (?P<year>\d{{4}}))?": _month_day,
    rf"{_NAMED}(?P<month>{_MONTH}) (?:the )?(?P<number>\d{{1,2}}(?:st|nd|rd|th)?)(?:,? (?P<year>\d{{4}}))?": _month_day,
    rf"(?P<day>{_DAY}|{_SHORT_DAY}),? (?:the )?(?P<number>{_NTH}|\d{{1,2}})(?!\s*(?:[ap]m|o'clock|[:.-]\d))": lambda match, today: (
        _if_named(match, _day_of_month(match, today))
    ),
    rf"(?:the )?(?P<which>first|second|third|fourth|last) (?P<day>{_DAY}) (?:in|of) (?P<month>{_MONTH})": _nth_weekday,
    rf"(?P<count>{_COUNT}) (?P<unit>{_UNIT}) from (?:now|today)": _counted,
    rf"(?P<count>{_COUNT}) (?P<unit>{_UNIT}) (?:from|after|on) (?P<day>{_DAY}|tomorrow)": _counted_from,
    rf"(?P<day>{_DAY}) week": lambda match, today: _next(match["day"].lower(), today) + timedelta(days=7),
    rf"(?P<day>{_DAY}) (?:of )?(?P<which>next) week": _weekday,
    rf"(?P<which>next) week,? (?:on )?(?P<day>{_DAY})": _weekday,
    r"(?:the )?day after tomorrow": lambda _, today: today + timedelta(days=2),
    r"tomorrow(?: (?:morning|afternoon|evening|night|eod|am|pm|lunchtime))?": lambda _, today: (
        today + timedelta(days=1)
    ),
    rf"(?:(?:later )?today|tonight|this (?:morning|afternoon|evening)|(?:(?:the )?end of (?:the )?day|eod|cob)(?! (?:on )?(?:{_DAY})))": lambda _, today: (
        today + timedelta(days=0)
    ),
    rf"(?:with)?in (?P<count>{_COUNT}) (?P<unit>{_UNIT})(?:['’]?s?['’]? time)?": _counted,
    r"(?:the )?end of (?:the |this |(?P<next>next ))?week": _end_of_week,
    r"(?:the )?(?:end|last day) of (?:the |this |(?P<next>next ))?month": _end_of_month,
    rf"(?:the )?(?P<number>{_NTH}) (?:day )?of next month": lambda match, today: _day_of_month(
        match, _months_on(today.replace(day=1), 1)
    ),
    rf"next month,? (?:on )?(?:the )?(?P<number>{_NTH})": lambda match, today: _day_of_month(
        match, _months_on(today.replace(day=1), 1)
    ),
    r"(?:the )?(?:beginning|start) of next week": lambda _, today: _next("monday", today),
    r"(?:sometime )?next week": lambda _, today: today + timedelta(days=7),
    r"(?P<which>this|next|the) weekend": _weekend,
    rf"(?:(?:eod|cob|end of day)(?: on)? )?(?:(?P<which>this coming|this|next|coming) )?(?<!every )(?<!each )(?P<day>{_DAY})(?: (?:morning|afternoon|evening|night|eod|am|pm|lunchtime))?": _weekday,
    # Short names only where nothing else can be meant: "sun cream" is no Sunday.
    rf"(?:(?:(?<=on )|(?<=by )|(?<=due )|(?<=to )|(?<=until )|(?<=for )|(?P<which>this|next) )(?P<day>{_SHORT_DAY})|{_NO_ARTICLE}(?P<last>{_SHORT_DAY}){_NO_NAME})(?: (?:morning|afternoon|evening|night|am|pm|lunchtime))?": _weekday,
    rf"before (?P<month>{_MONTH})": _before_month,
    rf"(?:the )?(?:end|last day) of (?P<month>{_MONTH})": _last_of_month,
    # Without "on the" only where nothing else can be meant: "for 5th graders" is no date.
    r"(?:(?:on|by|for|to|before|until|till) |(?<=is )|(?<=be )|(?<=now )|(?<=due ))(?:the )?(?P<number>\d{1,2}(?:st|nd|rd|th))(?=\s*(?:$|[,.!?;]|(?:please|and|now|instead|not)\b))": _day_of_month,
    rf"(?:on|by|for|to|before|until|till|make (?:it|that)) the (?P<number>{_NTH})(?: of (?:the|this) month)?": _day_of_month,
}
"""The forms of a date, the more telling ones first."""
_MAY_BE_DATE = pattern(
    rf"\d|\b(?:{_DAY}|{_SHORT_DAY}|{_MONTH}|{'|'.join(ORDINALS)}|today|tonight|tomorrow|morning|afternoon|evening|eod|cob|weekend|week|{_UNIT})\b"
)
"""What every form of a date has a word of: most texts have none."""
