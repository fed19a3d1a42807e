"""What a message means, given the conversation just before it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from msgspec.structs import replace

from maverick.chat.offline.dates import take_date
from maverick.chat.offline.grammar import is_question, understand
from maverick.chat.offline.wording import (
    begins_with_deed,
    ordinal,
    plain_end,
    plain_request,
    quoted,
    take_priority,
)
from maverick.providers.offline import RequestedCall


class Kind(StrEnum):
    """What kind of message it is."""

    REQUEST = "request"
    """Something to do with the tasks."""
    GREETING = "greeting"
    HELP = "help"
    THANKS = "thanks"
    GOODBYE = "bye"
    DECLINED = "declined"
    """No to a question."""
    UNSURE = "unsure"
    """Perhaps something to do with the tasks: it is asked back."""
    UNSUPPORTED = "unsupported"
    """Not about tasks, or not understood."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message means."""

    kind: Kind
    calls: Sequence[RequestedCall] = ()
    """The tools a request asks for."""
    words: str = ""
    """What is asked back."""


_LONGEST = 400
"""How long a message may be: patterns are slow on longer ones, and people do not write them."""
_ASKED_DELETE = re.compile(r"Do you really want to delete '(?P<task>.*)'\? Reply '", re.DOTALL)
_ASKED_BULK = re.compile(r"That's a big action\. Confirm with 'yes (?P<operation>[a-z ]+)'\.")
_ASKED_WHICH = re.compile(r"I found multiple tasks about '.*'\. Which one: (?P<options>.+)\?", re.DOTALL)
_ASKED_IF_MEANT = re.compile(r"\bDid you mean '(?P<task>.*)'\?$", re.DOTALL)
_ASKED_WHETHER = re.compile(r"Shall I (?:add|mark|delete|change) '.*\?$", re.DOTALL)
_ABOUT = re.compile(
    r"(?:Got it! Added|Updated!|Great! I've marked|Which day shall I move) '(?P<task>[^']+|.+?)' (?:to|now|as)\b"
)
"""Answers that were about one task."""
_TO_WHAT = re.compile(
    r"^(?:(?:make|change|set|move|push) (?:it|that|this|them)(?: to| for| on| by)? |(?:for|on|by|to|due|until) )",
    re.IGNORECASE,
)
_TIME_OF_DAY = re.compile(r" at \d{1,2}(?:[:.]\d{2})?(?: ?[ap]m)?$", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"(?=.*\b(?:oops|wrong|mistake|not yet|not that one|wait)\b)(?:(?:oops|no|wait|sorry|ah|oh|actually|not yet|not that one|"
    r"the wrong one|that(?:'s| is| was) (?:wrong|a mistake)|my mistake)[,.! ]*)+",
    re.IGNORECASE,
)
_MOVE_BY = re.compile(
    r"(?:move|postpone|push|delay|shift|defer|put off|bring) (?P<task>.+?)(?: (?:back|out|forward|off))?(?: by)? "
    r"(?:a|an|one|two|three|\d+)(?: more)? (?:day|week|month)s?",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"(?:(?:maybe|perhaps|probably|i (?:think|guess|believe|suppose)|i might|i may|not sure(?: if| whether)?)[, ]+(?:that )?)+",
    re.IGNORECASE,
)
_INTENT = re.compile(
    r"i(?:'ll| will|'m going to| am going to|'m gonna| plan to| might| may| wanna| still (?:need|have) to)\s+",
    re.IGNORECASE,
)
_QUESTIONS: Mapping[str, str] = {
    "add_task": "Shall I add '{title}' to your list?",
    "complete_task": "Shall I mark '{task}' as complete?",
    "delete_task": "Shall I delete '{task}'?",
    "update_task": "Shall I change '{task}'?",
}
_ASKED_TITLE = "Could you provide more details about what the task is?"
_ASKED_TASK = "Could you provide more details about which task you mean?"
_YES = re.compile(
    r"(?:yes|yeah|yep|yup|sure|ok|okay|confirm(?:ed)?|do it|go ahead|absolutely|of course)\b.*", re.IGNORECASE
)
_NO = re.compile(
    r"(?:no|nope|nah|not now|keep (?:it|them)|cancel|stop|don't|do not|never ?mind|wait|forget it|leave (?:it|them))\b.*",
    re.IGNORECASE,
)
_SMALL_TALK = (
    (
        Kind.GREETING,
        r"(?:hi|hiya|hello|hey|yo|howdy|hola|greetings|(?:good )?(?:morning|evening)|good (?:morning|afternoon|evening|day))(?: there| again| maverick| you)*",
    ),
    (
        Kind.HELP,
        r"(?:i need |can you |could you |please )*help(?: me)?(?: please)?|what (?:can|could|do) (?:you|i) (?:do|say|ask)(?: here| for me)?",
    ),
    (Kind.HELP, r"how (?:does|do) (?:this|it|you|i use this) ?(?:work)?|how do i (?:use|start).*"),
    (Kind.HELP, r"what are you(?: able to do)?|who are you|what is this|examples?|commands?"),
    (Kind.THANKS, r"(?:many |ok |okay |great |no )*(?:thanks|thank you|thx|cheers)(?: .*)?"),
    (Kind.THANKS, r"great|perfect|nice|cool|good|awesome|ok|okay|well done|all right|alright"),
    (Kind.THANKS, r"(?:no )?(?:that's|that is|that will be) (?:all|it|everything)(?: for now| thanks)?"),
    (Kind.THANKS, r"nothing(?: else)?|no"),
    (
        Kind.GOODBYE,
        r"(?:good ?)?bye(?: bye| for now)?|see (?:you|ya)(?: later| soon| tomorrow| around)?|good night|farewell|quit|exit",
    ),
)
"""Messages that are only small talk, recognised as a whole."""


def meaning_of(said: str, answered: str, said_before: str, today: date) -> Meaning:
    """What a message means.

    Args:
        said: The message.
        answered: The answer before it.
        said_before: The message before that.
        today: Today's date.
    """
    if len(said) > _LONGEST:
        return Meaning(Kind.UNSUPPORTED)
    return (
        _answer_to_question(said, answered, said_before[:_LONGEST], today)
        or _small_talk(said)
        or _request(said, answered, today)
        or _asked_back(said, answered, today)
        or Meaning(Kind.UNSUPPORTED)
    )


def _small_talk(said: str) -> Meaning | None:
    remark = re.sub(r"[\s,.!?…]+", " ", said.replace("’", "'")).strip()
    kinds = (kind for kind, pattern in _SMALL_TALK if re.fullmatch(pattern, remark, re.IGNORECASE))
    kind = next(kinds, None)
    return None if kind is None else Meaning(kind)


def _request(said: str, answered: str, today: date) -> Meaning | None:
    calls = _follow_up(said, answered, today) or understand(said, answered, today)
    if calls is None and answered.endswith(_ASKED_TITLE) and len(said.split()) < 12:
        calls = understand(f"add {said}", "", today) or []
    return None if calls is None else Meaning(Kind.REQUEST, calls)


def _asked_back(said: str, answered: str, today: date) -> Meaning | None:
    if moved := _MOVE_BY.fullmatch(plain_request(said)):  # from a day that only the list knows
        return Meaning(Kind.UNSURE, words=f"Which day shall I move '{moved['task']}' to?")
    guess = _guess(said, answered, today)
    question = _QUESTIONS.get(guess[0].tool_name) if len(guess) == 1 else None
    if question is None:
        return None
    named = {"title": "", "task": "", **guess[0].arguments}
    return Meaning(Kind.UNSURE, words=question.format_map(named)) if named["title"] or named["task"] else None


def _guess(said: str, answered: str, today: date) -> Sequence[RequestedCall]:
    """What a message may ask for: it is asked back before anything is done."""
    text = plain_request(said).rstrip("?")
    certain = _INTENT.sub("", _HEDGE.sub("", text))
    if certain != text and (calls := understand(certain, answered, today)):
        return calls
    if not begins_with_deed(certain):
        return understand(certain, answered, today) or () if certain != plain_request(said) else ()
    return understand(f"add {certain}", "", today) or ()


def _follow_up(said: str, answered: str, today: date) -> list[RequestedCall] | None:
    """What is said of the task that the answer before was about."""
    about = _ABOUT.match(answered)
    if about is None or is_question(said):
        return None
    if _TAKEN_BACK.fullmatch(said.strip()):
        return [RequestedCall("undo_last_change", {})]
    more = re.fullmatch(r"(?:and|also|plus|and also) (?P<what>.+)", plain_end(said), re.IGNORECASE)
    if (
        more is not None
        and answered.startswith("Got it!")
        and understand(more["what"], answered, today) is None
    ):
        return understand(f"add {more['what']}", "", today)
    wanted = _TO_WHAT.sub("", plain_request(said))
    due, rest = take_date(_TIME_OF_DAY.sub("", f"on {wanted}"), today)
    change: dict[str, str] = {"due_date": due.isoformat()} if due is not None and not rest else {}
    priority, rest = take_priority(wanted)
    if priority is not None and not rest:
        change = {"priority": priority}
    return [RequestedCall("update_task", {"task": about["task"], **change})] if change else None


def _answer_to_question(said: str, answered: str, said_before: str, today: date) -> Meaning | None:
    if asked := _ASKED_WHICH.search(answered):
        return _chosen(said, quoted(asked["options"]), said_before, today)
    if answered.endswith(_ASKED_TASK) and understand(said, "", today) is None:
        return _completed(said_before, plain_request(said), today)
    offered: Sequence[RequestedCall] = ()
    if asked := _ASKED_DELETE.search(answered):
        offered = [RequestedCall("delete_task", {"task": asked["task"]})]
    elif asked := _ASKED_BULK.search(answered):
        operation = asked["operation"].replace(" ", "_")
        offered = [RequestedCall("change_all_tasks", {"operation": operation})]
    elif asked := _ASKED_IF_MEANT.search(answered):
        meant = _completed(said_before, asked["task"], today)
        offered = meant.calls if meant else ()
    elif _ASKED_WHETHER.search(answered):
        offered = _guess(said_before, "", today)
    return _decided(said, offered) if offered else None


def _decided(said: str, calls: Sequence[RequestedCall]) -> Meaning | None:
    words = plain_request(said)
    if _YES.fullmatch(said.strip()):
        return Meaning(Kind.REQUEST, calls)
    return Meaning(Kind.DECLINED) if _NO.fullmatch(words) else None


def _chosen(said: str, options: Sequence[str], said_before: str, today: date) -> Meaning | None:
    """The ambiguous request, with the task that was chosen."""
    words = plain_request(said).strip("'\"“”").casefold()
    place = ordinal(words, options)
    if place is None:
        found = [n for n, option in enumerate(options) if words in option.casefold()]
        exact = [
            n for n, option in enumerate(options) if re.sub(r" \([^()]*\)$", "", option).casefold() == words
        ]
        place = exact[0] if len(exact) == 1 else found[0] if len(found) == 1 else None
    if place is None:
        return Meaning(Kind.DECLINED) if _NO.fullmatch(words) else None
    return _completed(said_before, options[place], today)


def _completed(said_before: str, task: str, today: date) -> Meaning | None:
    """The ambiguous request, about this task."""
    calls = understand(said_before, "", today)
    if not calls:
        return None
    return Meaning(Kind.REQUEST, [replace(calls[0], arguments={**calls[0].arguments, "task": task})])
