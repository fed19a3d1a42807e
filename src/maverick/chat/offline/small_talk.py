"""Messages that ask for nothing: greetings, thanks, and changes of mind."""

from __future__ import annotations

import re
from enum import StrEnum

from maverick.chat.offline.wording import pattern


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


_VERBS = "add|delete|remove|complete|mark|tick|check|cross|rename|move|change|finish|touch|do (?:that|it|anything)|clear"
_SMALL_TALK = (
    (
        Kind.GREETING,
        r"(?:hi|hiya|hello|hey|yo|howdy|hola|greetings|(?:good )?(?:morning|evening)|good (?:morning|afternoon|evening|day))(?: there| again| maverick| you| everyone)*(?: how are you(?: doing)?(?: today)?)?",
    ),
    (Kind.GREETING, r"how are you(?: doing)?(?: today)?"),
    (
        Kind.HELP,
        r"(?:i need |can you |could you |please )*help(?: me)?(?: please)?|what (?:can|could|do|else can) (?:you|i) (?:do|say|ask)(?: here| for me)?",
    ),
    (Kind.HELP, r"how (?:does|do) (?:this|it|you|i use this) ?(?:work)?"),
    (Kind.HELP, rf"how (?:do|can|would|should) i (?:use|start|{_VERBS}|undo|postpone|list)\b.*"),
    (Kind.HELP, r"what are you(?: able to do)?|who are you|what is this|examples?|commands?"),
    (
        Kind.THANKS,
        r"(?:many |ok |okay |great |cool |no |nice |perfect |awesome )*(?:thanks|thank you|thx|ty|cheers)(?: (?:a lot|so much|very much|again|a bunch|for .*|mate|maverick|that's .*|you.*|bye))*",
    ),
    (
        Kind.THANKS,
        r"(?:(?:great|perfect|nice|cool|good|awesome|ok|okay|well done|all right|alright|lol|haha|wow|sorry|got it|sounds good|great job|good job) ?)+",
    ),
    (Kind.THANKS, r"(?:no )?(?:that's|that is|that will be) (?:all|it|everything)(?: for now| thanks)?"),
    (Kind.THANKS, r"nothing(?: else)?|no"),
    (
        Kind.GOODBYE,
        r"(?:good ?)?bye(?: bye| for now)?|see (?:you|ya)(?: later| soon| tomorrow| around)?|good night|farewell|quit|exit",
    ),
    (Kind.DECLINED, rf"(?:please |wait |no |and |but |oh )*(?:don't|do not|never) (?:{_VERBS})\b.*"),
    (Kind.DECLINED, r"(?:never ?mind|forget it|leave it|keep it|scratch that)(?: please| thanks)?"),
)
_CHANGED_MIND = pattern(
    r"(?:(?:(?:oh|hmm+|no|nope|wait|actually|sorry|well|on second thoughts?|or|please|ah)[,.! ]*)*)"
    r"(?:no|wait|don't|do not|never ?mind|forget (?:it|that|about it)|scratch that|cancel that|just kidding|leave it(?: as is)?|keep it|not)"
    r"(?:[,.! ]+(?:please|thanks|actually|sorry|yet))*[.! ]*"
)


def small_talk(said: str) -> Kind | None:
    """What kind of small talk a message is, if it is nothing else."""
    remark = re.sub(r"[\s,.!?…]+", " ", said.replace("’", "'")).strip()
    return next((kind for kind, pattern in _SMALL_TALK if re.fullmatch(pattern, remark, re.IGNORECASE)), None)


def is_taken_back(said: str) -> bool:
    """Whether something that was said just before is taken back: "no, forget it"."""
    return _CHANGED_MIND.fullmatch(said.replace("’", "'").strip()) is not None
