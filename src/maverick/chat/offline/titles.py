"""New titles for tasks: a whole one, or a part of one in place of another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from maverick.chat.offline import cues
from maverick.chat.offline.dates import take_all
from maverick.chat.offline.mentions import Marked
from maverick.chat.offline.wording import begins_with_deed, pattern, quoted, reference, take_priority

if TYPE_CHECKING:  # the offline model does without a database
    from maverick.chat.tables import Task

_RENAME = pattern(
    r"\W*(?:rename|change|edit|update|retitle|reword|turn)(?:(?: the)? (?:title|name) of)?(?: the| my)? (?P<which>§\d+|it|that|this) (?:to|into|as|so (?:that )?it (?:says|reads)) (?P<title>.+)"
    r"|\W*(?:the |my )?(?P<task>§\d+|it|that|this) (?:should (?:just |rather |really )?(?:say|read|be(?: called| named)?)|->|→) (?P<says>.+)"
    r"|\W*(?:call|(?:re)?name)(?: the)? (?P<named>§\d+|(?:it|that|this)(?! done)) (?P<called>['\"“‘].+['\"”’]|.+(?= instead\b)|(?<=it ).+)(?: instead.*)?"
)
_RENAMES = pattern(r"\b(?:rename|retitle|reword|called?|named?|title)\b")
_MORE = pattern(r"['\"”’] \w|\band (?:make|mark|set|move|reopen|change|delete)\b")
_EDITS = pattern(r"\b(?:change|rename|should|make|call|update|edit)\b")
_SWAP = pattern(
    r"(?:.*\b(?:to|be|say|it|make|is|for|mean|meant)\b )?(?P<new>\w+(?: \w+)?),? (?:not|instead of|rather than) (?P<old>\w+(?: \w+)?)\W*"
)


class Renaming(NamedTuple):
    """A task by its title, and its new one."""

    task: str
    title: str
    is_certain: bool = True


def renamed(marked: Marked, said: str, answered: str, tasks: Sequence[Task], today: date) -> Renaming | None:
    """A new title, or a part of one in place of another: "to Lisbon instead of Rome"."""
    swap = _SWAP.fullmatch(said)
    if swap and not begins_with_deed(swap["new"]) and _EDITS.search(said) and not take_all(said, today)[0]:
        fitting = [
            task for task in tasks if re.search(rf"\b{re.escape(swap['old'])}\b", task.title, re.IGNORECASE)
        ]
        if len(fitting) == 1 and not take_priority(said)[0]:
            return Renaming(fitting[0].title, _with(fitting[0].title, swap["old"], swap["new"]))
    if (found := _RENAME.fullmatch(marked.text)) is None or _MORE.search(marked.text):
        return None
    new = found["title"] or found["says"] or found["called"]
    title = re.sub(r"§(\d+)", lambda at: marked.mentions[int(at[1])].words, new).strip(" .!'\"“”‘’")
    which = found["which"] or found["task"] or found["named"]
    name = marked.mentions[int(which[1:])] if which[0] == "§" else None
    task = reference("it", answered) if name is None else ""
    if name and name.is_clear and len(name.tasks) == 1:
        task = name.tasks[0].title
    is_value = (
        take_all(f"to {title}", today)[0]
        or take_priority(cues.LEVEL.sub(r"\1 priority", title))[0]
        or not re.search(r"[^\W\d]{3}", title)
    )
    is_exact = bool(quoted(said) or _RENAMES.search(said) or begins_with_deed(title))
    if not is_exact and begins_with_deed(task):
        part = re.sub(r"^(?:the|my) ", "", name.words if name else task, flags=re.IGNORECASE)
        new = replaced(task.split(), title.split()) or _with(task, part, title)
        is_exact, title = new != task, new
    is_other = (is_value and not re.match(r"\W*rename", said, re.IGNORECASE)) or cues.STATED.fullmatch(title)
    return Renaming(task, title, is_exact) if task and not is_other else None


def _with(title: str, old: str, new: str) -> str:
    """A title with a part of it in place of another."""
    article = r"(?:the |my )?" if re.match(r"(?:the|my) ", new, re.IGNORECASE) else ""
    return re.sub(rf"\b{article}{re.escape(old)}\b", lambda _: new, title, flags=re.IGNORECASE)


_OTHER_PART = pattern(
    r"(?P<link>for|to|with|from|about|at|in) (?!(?:me|now|sure|real|example|it|that|this|them|say)\b)(?P<part>[\w']+(?: [\w']+){0,2})"
)
_FOR_WHOM = pattern(
    r"(?:at|in) (?-i:[A-Z])\w+|(?:for|from|with) (?!(?:ever|good|nothing|once|sure|what|which|whom?|you)\b)[\w']+(?: [\w']+)?"
)
_NOT_THAT = pattern(
    r"(?:(?:it's|its|it is|that's|with|make it|make that) )?(?P<part>[\w' ]+?),? not (?P<wrong>[\w' ]+)|not (?P<old>[\w']+(?: [\w']+)?)(?:,| but|, but|(?= (?:the|my) )) (?P<new>(?!.* (?:is|are|was|has|will)\b)[\w' ]+)"
)
MEANT = pattern(
    r"(?:(?:no|oh|sorry|oops|wait|actually)[, ]+)*(?:not (?P<wrong>[\w' ]+), )?i mean(?:t)?(?: to say)? (?:[\w' ]+, (?:change|make) it to )?"
    r"(?P<new>[\w' ]+?)(?:, not (?P<old>[\w' ]+))?[.! ]*"
)
"""Says what was meant in place of what was said before."""
_MADE = pattern(r"(?:make|change|rename) (?:it|that)(?: (?:to|into))? ")
_I_MEAN = pattern(r",? (?:i (?:mean|meant)|sorry)$")
_COUNTED = pattern(r"\d\S*(?: (?!more\b|extra\b|other\b|less\b|fewer\b)[a-z]+){0,3}|[a-z]+ \d+")
_ARTICLE = pattern(r"^(?:an?|the|my) ")
_LINK = pattern(r"(?:for|to|with|from|about|at|in|of|on|the|my|a|an|and)")


def retitled(title: str, said: str, correction: str, *, is_correction: bool) -> str | None:
    """A title with the part that is corrected, as "for Clara" or "page 33"; ``None`` if that is not clear."""
    if (meant := MEANT.fullmatch(said)) and begins_with_deed(meant["new"]) and begins_with_deed(title):
        wrong = (meant["wrong"] or meant["old"] or "").lower().split()
        return meant["new"] if {*wrong} <= {*title.lower().split()} else None
    if found := _NOT_THAT.fullmatch(correction):
        wrong, part = (found["wrong"] or found["old"]).strip(), found["part"] or found["new"]
        link, _, bare = part.partition(" ")
        part = bare if f" {link} {wrong} ".lower() in f" {title} ".lower() else part
        for old, new in ((wrong, part), (_ARTICLE.sub("", wrong), _ARTICLE.sub("", part))):
            swapped = re.sub(rf"\b{re.escape(old)}\b", new.replace("\\", r"\\"), title, flags=re.IGNORECASE)
            if swapped != title:
                return swapped
        return None
    other = _OTHER_PART.fullmatch(correction)
    is_correction = is_correction or bool(_MADE.match(said) or _I_MEAN.search(said))
    is_addition = _FOR_WHOM.fullmatch(correction) and other and f" {other['link']} " not in title
    if other and (is_correction or is_addition):
        before, link, _ = title.rpartition(f" {other['link']} ")
        return f"{before}{link}{other['part']}" if link else f"{title} {correction}"
    is_certain = is_correction or _is_certain(title.split(), correction)
    new = _I_MEAN.sub("", _MADE.sub("", correction)).strip("'\"“”‘’").split() if is_certain else []
    return replaced(title.split(), new) if 0 < len(new) < 6 else None


def _is_certain(title: Sequence[str], part: str) -> bool:
    """Whether a few words that do not say so can only correct a title: another number, or a word that was misspelt."""
    if _COUNTED.fullmatch(part):
        return " " in part or any(word[0].isdigit() for word in title)
    words = [word.lower() for word in title[1:]]
    is_new = " " not in part and part.lower() not in words
    return is_new and bool(get_close_matches(part.lower(), words, cutoff=0.7))


def replaced(title: Sequence[str], new: Sequence[str]) -> str | None:
    """A title with these words in place of those that they resemble: "oat milk" in "buy milk"."""
    if begins_with_deed(" ".join(new)) and begins_with_deed(" ".join(title)) and len(new) > 1:
        return " ".join(new)
    low, said = [word.lower() for word in title], [word.lower() for word in new]
    first = 1 if begins_with_deed(" ".join(title)) else 0
    for word, step in ((said[-1], -1), (said[0], 1)):
        if word in low[first:] and not _LINK.fullmatch(word):
            place = edge = low.index(word, first)
            while first <= edge + step < len(low) and (
                low[edge + step] in said or not _LINK.fullmatch(low[edge + step])
            ):
                edge += step
            return " ".join((*title[: min(place, edge)], *new, *title[max(place, edge) + 1 :]))
    alike = [n for n, word in enumerate(title) if n and _are_alike(word, new[0])] if len(new) == 1 else []
    return " ".join((*title[: alike[0]], *new, *title[alike[0] + 1 :])) if len(alike) == 1 else None


def _are_alike(one: str, other: str) -> bool:
    """Whether two words are both numbers, or names, or nearly the same."""
    are_both = one[0].isupper() and other[0].isupper()
    is_near = SequenceMatcher(None, one.lower(), other.lower()).ratio() > 0.7
    return one[0].isdigit() == other[0].isdigit() and (one[0].isdigit() or are_both or is_near)
