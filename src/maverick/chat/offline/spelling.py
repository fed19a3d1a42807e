"""Puts right what people type in haste: short forms, slips and misspelt words."""

from __future__ import annotations

import re
from calendar import day_name, month_name
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache

from maverick.chat.offline.wording import DEED, ORDINALS, QUOTED, begins_with_deed, pattern

_FRAME = (
    *re.findall(r"\w+", "tomorrow task tasks list done completed priority urgent already finally please"),
    *map(str.lower, day_name),
)
_SHORT: dict[str, str] = dict(
    re.findall(
        r"(\w+)>(\S+)",
        "nxt>next tmrw>tomorrow tmr>tomorrow tmw>tomorrow tmrow>tomorrow tmoro>tomorrow tomoz>tomorrow 2moro>tomorrow 2day>today tdy>today tonite>tonight 2nite>tonight "
        "wknd>weekend til>till jsut>just plz>please pls>please wht>what whts>what's cuz>because dont>don't didnt>didn't havent>haven't hasnt>hasn't isnt>isn't wasnt>wasn't "
        "weds>wednesday mornin>morning teh>the rly>really abt>about em>them whens>when's wheres>where's u>you smth>something sth>something sry>sorry shld>should shd>should rmd>remind rmbr>remember arent>aren't doesnt>doesn't couldnt>couldn't cant>can't wont>won't im>i'm ive>i've thats>that's whats>what's",
    )
)
_ANY_WORD = pattern(r"(?<!')\b[a-z0-9]+\b(?!')")
_NOT_MISSPELT = frozenset(
    (
        "don",
        "lists",
        "lit",
        "pleased",
        "complete",
        "completes",
        "compete",
        *(f"{day.lower()}s" for day in day_name),
    )
)
_SLIPS: Mapping[str, str | Callable[[re.Match[str]], str]] = {
    r"\b(?:um+|uh+|erm+)\b,?\s*": "",
    r"(?<=\w),(?=[^\W\d])|\s+[/|]\s+": ", ",
    r"(?<=\w )(?-i:n)(?= \w)": "and",
    r"(?<=\w )(?-i:b4)(?= \w)": "before",
    r"(?<=\w )4(?= (?:mon|tue|wed|thu|fri|sat|sun|today|tonight|tomorrow|next|this)\w*\b)": "for",
    r"\b((?:move|push|change|postpone|shift)\b.*?) 2(?= (?:mon|tue|wed|thu|fri|sat|sun|tomorrow|next)\w*\b)": r"\1 to",
    r"(?<=\w )(?-i:r)(?= \w)": "are",
    r"\byess+\b": "yes",
    r"\bmake that (?=[\w ]+,? not \w)": "make it ",
    r",? but now (?=i (?:need|have) to\b)": " and ",
    r", (?:i )?(?:need|have|got) (?:to (?:do|get) )?(?:it|that)(?: done)? (?=(?:by|today|tomorrow|on|before|this)\b)": " ",
    r"\b(add (?:it|that)) without an? (?:due )?date\W*$": r"\1",
    r"^(?:a|one|two|three|four|\d+) (?:days?|weeks?) (?:actually|rather),? (?:so )?(?=\w+day\b)": "actually ",
    r"^(i mean \w+) with (?:an? )?\w{1,2}$": r"\1",
    r"^(?:to-?do|reminder)\s*:\s*(?=\w[^,;:]*$)": "add ",
    r"^(?:the |my )?(\w+(?: \w+)?)\s*: (?:drop|remove|clear|no) (?:the )?(?:due date|deadline|date)$": r"remove the due date of \1",
    r"^\s*ls\s*$": "list",
    r"\b((?:postpone|delay|push|snooze|defer) (?!it|that)\w+(?: (?!by\b)\w+)*?) (one|two|three|four|five|six|\d+) (days?|weeks?)\b": r"\1 by \2 \3",
    r"\s*[:;]-?[)(D](?=\s|$)": "",
    r"\bput in list\b": "add",
    r",? but (?:like|with),? (?=(?:high|low|medium|top) prio)": ", ",
    r"^(?:fix|correct) (?:the |my )?(?:spelling|typo)[,:.]? (?:its|it's|it should be|should be) ": "i mean ",
    r"^(?:its|it's) ([\w ]+? not [\w ]+?),? (?:please |pls )?(?:fix|change|correct) (?:the|that) (?:title|name|task)\W*$": r"it should be \1",
    r"\bi don't (?:have|need) to (?:do )?(.+?) any ?more,? (?:because|since|as|cause) i (?:already |just |have )*(?:finished|did|completed|done) (?:it|that)\b": r"i finished \1",
    r",? but (?=(?:please |also |still )*(?:add|remind me)\b)": ", ",
    r"^(need to|have to|must|to do)\s*:\s*": "add: ",
    r",? has to be in (?=by\b)": " ",
    r"\bought to be an? (?=(?:high|low|medium|top) prio)": "should be ",
    r"\bi (?:believe|think|feel)(?: that)? (?=(?:the|my) \w+(?: \w+)? should be\b)": "",
    r"\bugh,? typo\b": "typo",
    r"^instead of (.+?),? (?:it|that) should (?:say|be|read) ": r"rename \1 to ",
    r"^((?:rename|change) .+? to .+?),? (?:because|since|as) (?:i|we|he|she|they|it|the|my|our)\b.*$": r"\1",
    r"\btreat (it|that|this) as an? ": r"make \1 ",
    r"\b((?:high|medium|normal|low) prio(?:rity)?) (?:is|will be|would be) (?:fine|ok|okay|enough|good)(?=$|[.,!]| no\b| and\b)": r"\1",
    r"\bin ((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*),? (?:on )?the (\d{1,2}(?:st|nd|rd|th))\b": r"on \1 \2",
    r",? and (?:i|it) (?:need|have|has|needs) to (?:do (?:it|that)|be done) (?=by\b)": " ",
    r"(?<=\w) oh (?=and\b)": ", ",
    r",? it's not the end of the world\b": "",
    r"\bbe reminding me\b|\b(?:don'?t|do not) forget to remind me\b": "remind me",
    r"\b(remind me) (?=the \d)": r"\1 on ",
    r"\b(remind me) 2 (?!(?:day|week|hour|minute)s)": r"\1 to ",
    r"\bno later than\b": "by",
    r"\b(on (?:my|the) list) (?=(?:the(?! following)|my|our|it|it's|he|she|they|we|i|i'm)\b)": r"\1, ",
    r"\b(?:consider|count) (?=(?:it|that|this|them)\b)": "mark ",
    r",? \b(?:lol|lmao|hehe)\b": "",
    r"(,?) (?:like|say|let's say),? (?=(?:(?:by|on|this|next) )?(?:today|tonight|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b)": r"\1 ",
    r" right(?= and then\b)": "",
    r"\b(\w+day|\d ?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*),? (\d{1,2})\.(\d\d)\b": r"\1 at \2:\3",
    rf",? and (?:don't|do not|dont) forget (?:to )?(?={DEED})": " and ",
    r"\badd (.+?) and add (?=.+ both (?:for|by|on)\b)": r"add \1 and ",
    r"\b(?:next|this|the|coming) (\w+day)(?: after| week)?,? (?:(?:that's|that is|which is) )?the (\d{1,2}(?:st|nd|rd|th))\b": r"\1 the \2",
    r",? and (?:give (?:it|that) an? (?:due )?(?:date|deadline) (?:of|for)|(?:the|its) (?:deadline|due date)(?: for (?:that|it))? (?:is|should be)) ": " by ",
    rf"^((?:\w+ ){{0,4}}(?:two|three|four|five|a few|a couple of) (?:new )?(?:things|tasks|jobs|reminders|chores)(?: for (?:you|me)| to (?:add|do))?)\.\s+(?={DEED})": r"\1: ",
    r"\s*\(((?:due|by|on|deadline|until)\b[^()]*)\)": r", \1",
    r"\bwanna\b": "want to",
    r"\b(add|remind me)\s*(?:\.{2,}|…)[\s,]*": r"\1 ",
    r"\b1\) (?=.* 2\) )": "",
    r"^(urgent|important|asap|(?:high|low|top) prio(?:rity)?)\W*!+\s*(?:add )?": r"\1: ",
    r"\s+comma\b(?= \w)": ",",
    r"\s+(?:full stop|period|exclamation (?:mark|point))(?=$| (?:new line|thank)\b)": ".",
    r"^new line\s+": "",
    r"\s+new line\b\s*": "\n",
    r"^\s*\+\s*(?=\w)": "add ",
    r"\b(?:eod|cob|close of business|(?:the )?end of (?:the )?day)(?: on)? (?=\w+day\b|tomorrow\b)|(?:(?<=day)|(?<=row)) (?:eod|cob|end of day)\b": "",
    r"\b(need)(?= (?:make|buy|go|pay|call|send|take|get|write|do|wash|clean|book)\b)": r"\1 to",
    r"\s*[\U0001f300-\U0001faff\ufe0f]+(?= \w)": "",
    r"\beo([mw])\b": lambda end: f"end of the {'month' if end[1].lower() == 'm' else 'week'}",
    r"\b(done) w (?=\d)": r"\1 with ",
    r"^([\w ]{3,12}) rather[.! ]*$": r"actually \1",
    r"^((?:high|medium|low|top) prio(?:rity)?) (?:for|on) (?:it|that|this)(?: one)?\b": r"make it \1",
    r"^(rename) (?=(?:to|as|into)\b)": r"\1 it ",
    r"\b(must) to(?= \w)": r"\1",
    r"\b(?:remember|rem) me (?=(?:to|of|about)\b)|\brem me(?= \w)": "remind me ",
    r"^not to forget\b:?(?: to\b)?": "remind me to",
    r"\bsorry,? (?=meant\b)": "sorry, i ",
    r"\bput (?:in|on) (?:my|the) list (?=to\b)": "add ",
    r"\badd to do:": "add task:",
    r"(?<=\w )\((?=(?:mon|tue|wed|thu|fri|sat|sun)\w*\)|tomorrow\)|today\))(\w+)\)": r"on \1",
    r"^(\W*(?:\w+ )?(?:new|another|next) (?:one|task|thing|todo|reminder))\s*(?:\.+|…|-+)\s+(?=\w)": r"\1: ",
    rf"\s+[&+]\s+(?={DEED})": " and ",
    r"\bany more\b(?! \w+s\b)": "anymore",
    r"^\s*\*+ ?(\w+(?: \w+){0,3})$|^(\w+) ?\*+$|^((?:the |my )?\w+(?: \w+)?),? i meant?[.! ]*$": r"i mean \1\2\3",
    r"\b(remind|tell)(?=me\b)|^\s*(pls|plz|please|dont|don't)(?=(?:add|remind|mark|delete|remove|forget)\b)|^\s*(add|new|delete)(?=(?:task|todo|reminder)\b)": r"\1\2\3 ",
    r"(?<=\w, )its(?! own)(?= \w)|\bits(?= (?:(?:very|really|super|so|quite|kinda|rather|pretty|also|already|not|all) )?(?:urgent|important|due|done|for|on|high|low|finished|paid)\b)": "it's",
    r"\bnite\b": "night",
    r"\b(remind me) (?=(?:(?:mon|tue|tues|wed|weds|thu|thur|thurs|fri|sat|sun)(?:day)?|wednesday|saturday) to\b)": r"\1 on ",
    r"\bnot (?:the|my) [\w ]{2,25}?, i meant? (?=the |my )": "i meant ",
    r"\b(typo)[,.:]? (?:it )?should (?:be|say|read) ": r"\1, i mean ",
    r"^(add .*[a-z]) to list(?=$|[.!,])": r"\1 to my list",
    r"^((?:add|remind me to|new task:?) (?!.*\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d+\w\w$).*[a-z]) (\d{1,2}(?:st|nd|rd|th))$": r"\1 on the \2",
    r"\bby (\d{1,2})(?= (?:today|tomorrow|tonight)\b)": r"at \1",
    r"\bthe (\w+day) after, the (?=\d)": r"\1 the ",
    r"(?<=[\w.!,;])\s+(?:so |and |then |please |kindly |(?:could|can|would) you (?:please |kindly )?)*(?:correct|fix|amend|update|change) (?:that|it|this)(?: for me)?(?:,? please)?[.!?]*$": "",
    r"^((?:please |now )?)(?:change|set|update) (?:the|its) (?:title|name) to ": r"\1rename it to ",
}


def corrected(text: str, commands: Sequence[str]) -> str:
    """A text whose first word is put right if it is a misspelt command."""
    first, _, rest = text.partition(" ")
    if begins_with_deed(first):
        return text
    meant = next((command for command in commands if _is_slip(first.lower(), command)), None)
    return f"{meant} {rest}" if meant else text


@lru_cache(maxsize=256)  # each message is read more than once, also as the one before the next
def spelt(text: str) -> str:
    """A text without short forms and slips, except in what it quotes.

    Misspelt days, and words such as "task", are put right: a letter too few, too many or swapped.
    """
    held = [found[0] for found in QUOTED.finditer(text)]
    text = _dated(QUOTED.sub("\0", text).replace("’", "'"))
    for slip, right in _SLIPS.items():
        text = re.sub(slip, right, text, flags=re.IGNORECASE)
    text = _ANY_WORD.sub(
        lambda word: _spelt(word[0], may_be_name=word.start() > 0 and word[0].istitle()), text
    )
    return re.sub("\0", lambda _: held.pop(0), text)


_TEENS = (
    "eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TWENTIES = (f"twenty {nth}" for nth in ORDINALS[:9])
_NTHS = (*_TEENS.split(), *_TWENTIES, "thirtieth", "thirty first")
_NTH = pattern(
    rf"(?<=\w )(?:{'|'.join(nth.replace(' ', '[ -]') for nth in reversed(_NTHS))})\b(?! (?:floor|century|birthday|time)\b)"
)
_DOTTED = re.compile(r"(?<!at )(?<![\d.])\b(\d{1,2})\.(0?[1-9]|1[0-2])\.(?: ?(\d{4})\b)?(?!\d)")


def _dated(text: str) -> str:
    """A text with "the sixteenth" as "the 16th", and "16.03." as "16 March"."""
    text = _NTH.sub(lambda nth: f"{_NTHS.index(nth[0].lower().replace('-', ' ')) + 11}th", text)
    return _DOTTED.sub(lambda day: f"{day[1]} {month_name[int(day[2])]} {day[3] or ''}".rstrip(), text)


@lru_cache(maxsize=4096)
def _spelt(word: str, *, may_be_name: bool) -> str:
    said = word.lower()
    if said in _SHORT:
        return _SHORT[said]
    if len(said) < 3 or said in _FRAME or said in _NOT_MISSPELT:
        return word
    meant = [*map(str.lower, day_name)] if may_be_name else _FRAME
    return next((right for right in meant if _is_slip(said, right)), word)


def _is_slip(said: str, right: str) -> bool:
    if len(said) > 5 and get_close_matches(said, (right,), cutoff=0.85):
        return True
    if len(said) == len(right):
        return said[0] == right[0] and sorted(said) == sorted(right)
    longer, shorter = sorted((said, right), key=len, reverse=True)
    one_more = len(longer) == len(shorter) + 1 and said[0] == right[0]
    return one_more and any(longer[:n] + longer[n + 1 :] == shorter for n in range(len(longer)))
