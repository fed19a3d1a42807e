"""What a message means, given the conversation just before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from msgspec.structs import replace

from maverick.chat.offline.grammar import understand
from maverick.chat.offline.wording import ordinal, plain_request, quoted
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
    UNSUPPORTED = "unsupported"
    """Not about tasks, or not understood."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message means."""

    kind: Kind
    calls: Sequence[RequestedCall] = ()
    """The tools a request asks for."""


_LONGEST = 400
"""How long a message may be: patterns are slow on longer ones, and people do not write them."""
_ASKED_DELETE = re.compile(r"Do you really want to delete '(?P<task>.*)'\? Reply '", re.DOTALL)
_ASKED_BULK = re.compile(r"That's a big action\. Confirm with 'yes (?P<operation>[a-z ]+)'\.")
_ASKED_WHICH = re.compile(r"I found multiple tasks about '.*'\. Which one: (?P<options>.+)\?", re.DOTALL)
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
    answer = _answer_to_question(said, answered, said_before[:_LONGEST], today)
    if answer is not None:
        return answer
    remark = re.sub(r"[\s,.!?…]+", " ", said.replace("’", "'")).strip()
    for kind, pattern in _SMALL_TALK:
        if re.fullmatch(pattern, remark, re.IGNORECASE):
            return Meaning(kind)
    calls = understand(said, answered, today)
    if calls is not None:
        return Meaning(Kind.REQUEST, calls)
    if answered.endswith(_ASKED_TITLE) and len(remark.split()) < 12:
        return Meaning(Kind.REQUEST, understand(f"add {said}", "", today) or ())
    return Meaning(Kind.UNSUPPORTED)


def _answer_to_question(said: str, answered: str, said_before: str, today: date) -> Meaning | None:
    if asked := _ASKED_DELETE.search(answered):
        return _decided(said, RequestedCall("delete_task", {"task": asked["task"]}))
    if asked := _ASKED_BULK.search(answered):
        operation = asked["operation"].replace(" ", "_")
        return _decided(said, RequestedCall("change_all_tasks", {"operation": operation}))
    if asked := _ASKED_WHICH.search(answered):
        return _chosen(said, quoted(asked["options"]), said_before, today)
    if answered.endswith(_ASKED_TASK) and understand(said, "", today) is None:
        return _completed(said_before, plain_request(said), today)
    return None


def _decided(said: str, call: RequestedCall) -> Meaning | None:
    words = plain_request(said)
    if _YES.fullmatch(said.strip()):
        return Meaning(Kind.REQUEST, [call])
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
