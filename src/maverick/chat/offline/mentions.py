"""Finds the user's own tasks in what is said: by their words, by what they have in common, or by a pronoun."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from maverick.chat.matching import BASE_FORMS, is_same_word, meaningful, plain_word
from maverick.chat.offline.dates import find_date
from maverick.chat.offline.wording import NUMBERED, begins_with_deed, listed, mentioned, pattern, places

if TYPE_CHECKING:  # the offline model does without a database
    from maverick.chat.tables import Task

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LINKS = frozenset(re.findall(r"\S+", "a an the my our to of about with for on in from re"))
"""Words that may stand between those of a title."""
_NOUNS = frozenset(
    re.findall(
        r"\S+",
        "task tasks item todo thing things stuff one ones call appointment email mail payment trip reminder",
    )
)
"""Words that say what kind of thing a task is, behind its own."""


class Mention(NamedTuple):
    """Tasks that are meant together, and the words for them."""

    tasks: Sequence[Task]
    words: str
    is_clear: bool = True
    """Whether it is certain which: several may have been meant, or a thing that only sounds like the task."""


class Marked(NamedTuple):
    """A text in which each mention is a mark: ``§0``, ``§1`` and so on."""

    text: str
    mentions: Sequence[Mention]


class _Found(NamedTuple):
    start: int
    end: int
    tasks: tuple[Task, ...]
    is_clear: bool = True


def mark(said: str, answered: str, tasks: Sequence[Task], today: date) -> Marked:
    """Find the tasks in a text; pronouns are left in it."""
    found = [*_sets(said, tasks, today), *_placed(said, answered, tasks), *_named(said, tasks)]
    text, at = "", 0
    mentions: list[Mention] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if each.start >= at:
            text += f"{said[at : each.start]}§{len(mentions)}"
            mentions.append(Mention(each.tasks, said[each.start : each.end], each.is_clear))
            at = each.end
    return _joined(_KIND.sub("", text + said[at:]), mentions)


_KIND = pattern(r"\b(?:call|e-?mail|message|trip|visit|payment) (?:to|with) (?:the |my )?(?=§)")
"""What kind of thing a task is, before its name: "the email to Anna"."""


_TOGETHER = pattern(
    r"(?:both |(?:the|my|our) )*§(\d+)((?:(?:,? and |, | & | plus )(?:the |my |also )?§\d+)+)(?: both\b| too\b)*"
)


_IS = pattern(r"'s|'re| (?:is|are|was|were|has|have|stays?|needs?|can|will)\b")


def _joined(text: str, mentions: list[Mention]) -> Marked:
    """Tasks that are enumerated are one mention."""

    def join(found: re.Match[str]) -> str:
        if text[: found.start()].strip() and "and" not in found[2] and _IS.match(text[found.end() :]):
            return found[0]  # "I bought the milk, the plants are still dry"
        each = [mentions[int(found[1])], *(mentions[int(n)] for n in re.findall(r"§(\d+)", found[2]))]
        mentions[int(found[1])] = Mention(
            [task for mention in each for task in mention.tasks],
            " and ".join(mention.words for mention in each),
            all(mention.is_clear for mention in each),
        )
        return f"§{found[1]}"

    return Marked(_TOGETHER.sub(join, text), mentions)


def _named(said: str, tasks: Sequence[Task]) -> Iterable[_Found]:
    words = list(_WORD.finditer(said))
    plain = [plain_word(word[0]) for word in words]
    names = [(meaningful(task.title), begins_with_deed(task.title)) for task in tasks]
    told = {word for name, _ in names for word in name}
    alike = {said: {word for word in told if is_same_word(said, word)} for said in set(plain)}
    at = 0
    while at < len(words):
        if not alike[plain[at]]:
            at += 1
            continue
        spans = [
            (*_span(plain, at, name, alike, is_deed=is_deed), task)
            for (name, is_deed), task in zip(names, tasks, strict=True)
        ]
        score, end = max(((score, end) for score, end, _ in spans), default=(0, at))
        if not score:
            at += 1
            continue
        meant = [task for each, last, task in spans if (each, last) == (score, end)]
        meant = [task for task in meant if not task.completed] or meant
        while end < len(words) and said[words[end - 1].end() : words[end].end()].lower().strip() in _NOUNS:
            end += 1
        is_clear = len({task.title.casefold() for task in meant}) == 1 and not _is_part(
            said, words, at, end, meant[0].title
        )
        yield _Found(
            words[at].start(), words[end - 1].end(), tuple(meant[:1] if is_clear else meant), is_clear
        )
        at = end


def _span(
    words: Sequence[str], at: int, wanted: Sequence[str], alike: Mapping[str, set[str]], *, is_deed: bool
) -> tuple[int, int]:
    """How many words of a title begin here, and where they end; 0 if they may mean anything."""
    deed = 1 if len(wanted) > 1 and is_deed else 0
    seen: set[int] = set()
    end = at
    for place in range(at, len(words)):
        match = next(
            (n for n, each in enumerate(wanted) if n not in seen and each in alike[words[place]]), None
        )
        if match is not None and words[place - 1] == "to" and match < max(seen, default=0):
            break  # "change the dentist to call the dentist …"
        if match is not None:
            seen.add(match)
            end = place + 1
        elif place == at or words[place] not in _LINKS:
            break
    is_named = any(n >= deed and wanted[n].isalpha() for n in seen)
    # "called the dentist" says what was done, and "email Anna" what to do: the verb is in the name if all of it is.
    begins_with_verb = deed and wanted[0] in alike[words[at]]
    if not is_named or (begins_with_verb and not (words[at] == wanted[0] and len(seen) == len(wanted))):
        return 0, at
    return len(seen), end


_BESIDE = pattern(
    r"(?:re-?read|\w+(?:ed|ing|ly|n't|'ve|'re|'s|'ll)|bought|paid|sent|got|did|do|does|done|made|wrote|read|took|had|has|have|is|are|was|were|needs?|says?|said|"
    r"and|or|but|so|the|my|our|that|this|these|those|some|both|all|more|another|of|with|w|to|for|on|about|at|in|until|till|by|as|not|never|no|can|could|will|"
    r"should|must|would|please|pls|also|just|then|now|mark|tick|check|cross|off|close|delete|remove|drop|move|push|make|set|put|change|bump|bring|cancel|"
    r"finish|complete|reopen|postpone|reschedule|delay|shift|rename|scrap|scratch|forget|give|take|i|we|it|you|he|she|they|be|been|if|when|after|before|from|"
    r"between|during|without|within|her|his|your|still|ok|okay|hey|oh|yes|well|snooze|undo|because|since|than|unmark|untick|uncheck|kill|bin|ditch|trash|"
    r"erase|clear|defer|flag|regarding|raise|lower|update|keep|leave|go|gone|out|up|down|back|early|late|today|tomorrow|tonight|yesterday|(?:next|last|every)|"
    r"mon|tue|tues|wed|thu|thurs|fri|sat|sun|\w+day|due|date|deadline|teh|top|highest|lowest|normal|super|instead|high|low|medium|urgent|important|prio|priority|again|first|too|away|where|which|who|again|"
    r"one|two|a|an|me|us|has|want|wait|into|onto|over|via|\d+\w*|finally|earlier|later|asap|tmrw|march|april|may|june|went|gets?|"
    r"home|bloody|damn(?:ed)?|stupid|fucking|freaking|whole|entire|boring|silly|del|prepone|moves|though|anymore|yet|already|myself|ourselves|only|there|here|thing|stuff|task|lol|haha|let's|sorry|thanks|yay|postponed|day|days|week|weeks)$"
)
"""What may stand beside the name of a task without being a part of it."""


def _is_part(said: str, words: Sequence[re.Match[str]], at: int, end: int, title: str) -> bool:
    """Whether the words are a part of another name, such as "almond milk" or "milk powder"."""
    before = said[words[at - 1].start() : words[at].start()] if at else ""
    after = said[words[end - 1].end() : words[end].end()] if end < len(words) else ""
    is_numbered = any(word.isdigit() for word in meaningful(title))
    if is_numbered and re.fullmatch(r"\s*\d+", after) and after.strip() not in title.split():
        return True
    return any(
        re.fullmatch(r"\s*[\w'’-]+\s*", each)
        and not _BESIDE.match(each.strip())
        and each.strip().lower() not in BASE_FORMS
        and not any(is_same_word(plain_word(each.strip()), word) for word in meaningful(title))
        for each in (before, after)
    )


_PLACED = pattern(
    r"(?:the )?(?:first|last) (?:two|three|four|five|[2-9])(?: ones| tasks)?\b|\b(?:the |numbers? |tasks? |items? |no\.? ?|#)+"
    rf"(?:\d{{1,2}}(?:(?:,| and|, and) \d{{1,2}})*|{NUMBERED}|last)(?:st|nd|rd|th)?(?: one| task| item)?\b(?! (?:of|week|day)|\w)"
    r"|(?:^|(?<=\bdel )|(?<=\b(?:tick|mark|move|done|make|push|bump) )|(?<=\b(?:set|put) )|(?<=\bdelete )|(?<=\bremove )|(?<=\bfinish ))\d{1,2}(?:(?:,| and|, and) \d{1,2})*\b(?=$| (?:is|are|done|high|medium|low|urgent|should|to|for|on|until|as|can|too|off|please)\b)"
)


def _placed(said: str, answered: str, tasks: Sequence[Task]) -> Iterable[_Found]:
    """The tasks that are meant by their place in the list that was just shown."""
    shown = listed(answered) or mentioned(answered)
    for found in _PLACED.finditer(said) if shown else ():
        titles = [shown[place] for place in places(found[0], shown)]
        meant = tuple(task for title in titles for task in tasks if task.title == title)
        if titles and len(meant) == len(titles):
            yield _Found(found.start(), found.end(), meant)


_SET = pattern(
    r"(?:(?P<every>everything|all(?: of)?(?: the| my)?(?: tasks| things| ones| stuff)?|(?:both|the) (?:tasks|ones|things)|every(?: task)?|whatever|anything|the)|(?P<one>the (?:task|one|thing)))"
    r"(?: (?:that(?:'s| is| are)?|which (?:is|are)|i have|with|from))*"
    r" (?P<what>overdue|late|done|finished|completed|high[ -]prio(?:rity)?|low[ -]prio(?:rity)?|urgent|(?:due|for|on) (?P<when>today|tomorrow|this week|next week|[a-z]+day(?: or [a-z]+day)?)|without (?:a )?(?:due )?date)"
    r"(?P<noun> ones?| tasks?| things?| stuff)?\b"
)


def _sets(said: str, tasks: Sequence[Task], today: date) -> Iterable[_Found]:
    """The tasks that have something in common: "everything that is overdue", "the high priority one"."""
    for found in _SET.finditer(said):
        if (found["every"] or "").lower() == "the" and not found["noun"]:
            continue
        is_done = found["what"].lower() in ("done", "finished", "completed")
        if is_done and (found["noun"] or "").strip().lower() != "one":
            continue
        fitting = [task for task in tasks if task.completed == is_done]
        meant = tuple(task for task in fitting if is_done or _is_in(task, found, today))
        is_one = bool(found["one"]) or (found["noun"] or "").strip() in ("one", "task", "thing")
        yield _Found(found.start(), found.end(), meant, bool(meant) and not (is_one and len(meant) > 1))


def _is_in(task: Task, found: re.Match[str], today: date) -> bool:
    what, when = found["what"].lower(), (found["when"] or "").lower()
    if what.startswith(("overdue", "late")):
        return task.due_date is not None and task.due_date < today
    if what.startswith("without"):
        return task.due_date is None
    if not when:
        return task.priority == ("Low" if what.startswith("low") else "High")
    if task.due_date is None:
        return False
    if when.endswith("week"):
        monday = today - timedelta(days=today.weekday()) + timedelta(days=7 * when.startswith("next"))
        return monday <= task.due_date < monday + timedelta(days=7)
    return task.due_date in [find_date(f"on {day}", today) for day in when.split(" or ")]
