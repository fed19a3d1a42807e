"""Small talk: what the offline model can say without any tool."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from maverick.providers.offline.phrasing import WITH_A_REAL_MODEL, offer
from maverick.providers.offline.scene import Scene
from maverick.providers.offline.sentence import LONGEST

_MY_NAME = re.compile(r"\b(?:my name is|i am called|call me)\s+([^\W\d_][\w'-]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A remark, recognised as a whole, and the answer to it."""

    remark: re.Pattern[str]
    reply: Callable[[Scene], str]


def _introduce(_: Scene) -> str:
    return (
        "I am Maverick's offline model: a small set of rules that picks tools and words, with no language "
        f"model behind it. {WITH_A_REAL_MODEL}"
    )


def _help(scene: Scene) -> str:
    return f"{offer(scene.tools)}\nJust say what you want, in one sentence. {WITH_A_REAL_MODEL}"


def _greet(scene: Scene) -> str:
    name = _name_of(scene)
    return f"Hello{', ' + name if name else ''}! What can I do for you? Say “help” to see what I can do here."


def _meet(scene: Scene) -> str:
    return f"Nice to meet you, {_name_of(scene)}."


def _recall_name(scene: Scene) -> str:
    name = _name_of(scene)
    return f"You said it is {name}." if name else "You have not told me."


def _recall_words(scene: Scene) -> str:
    return (
        f"You said: “{scene.said_before[-1]}”" if scene.said_before else "That was the first thing you said."
    )


def _name_of(scene: Scene) -> str:
    told = [found for text in (*scene.said_before, scene.said) for found in _MY_NAME.findall(text)]
    return told[-1].capitalize() if told else ""


def _says(text: str) -> Callable[[Scene], str]:
    return lambda _: text


_TABLE: tuple[tuple[str, Callable[[Scene], str]], ...] = (
    (
        r"(hi|hello|hey|howdy|greetings|good (morning|afternoon|evening|day))( there| maverick| again)?",
        _greet,
    ),
    (r"(hi|hello|hey)?\s*(my name is|i am called|call me) [\w'-]+", _meet),
    (r"(do you (know|remember) )?(what is|whats|what's)?\s*my name", _recall_name),
    (r"(what did i (just )?(say|ask)( before)?|repeat what i said)", _recall_words),
    (
        r"(who|what) are you|what('s| is) your name|are you (real|human|an? \w+)|introduce yourself",
        _introduce,
    ),
    (r"help( me)?|what can you do( for me)?( here)?|what tools do you have|how does this work", _help),
    (
        r"how are you( doing)?( today)?|how is it going|how's it going",
        _says("Fine, thank you. What can I do for you?"),
    ),
    (
        r"(many )?(thanks|thank you|thx|cheers)( a lot| very much| so much)?( maverick)?",
        _says("You are welcome."),
    ),
    (r"(good ?)?bye( bye)?|see you( later)?|good night|farewell", _says("Goodbye!")),
    (r"sorry|my apologies", _says("No harm done.")),
    (
        r"ok(ay)?|fine|great|good|nice|cool|perfect|well done|yes|no|never ?mind",
        _says("All right. What is next?"),
    ),
    (r"(tell me )?(a|another) joke", _says("Why did the agent stop? It had reached its turn limit.")),
)

EXCHANGES = tuple(Exchange(re.compile(remark, re.IGNORECASE), reply) for remark, reply in _TABLE)


class SmallTalk:
    """Answers remarks that are nothing but small talk."""

    def answer(self, scene: Scene) -> str | None:
        """The reply to a greeting, a thank-you and the like."""
        if scene.outcomes or scene.output is not None or len(scene.said) > LONGEST:
            return None
        remark = re.sub(r"[\s,.!?…]+", " ", scene.said.replace("’", "'")).strip().removesuffix(" please")
        for exchange in EXCHANGES:
            if exchange.remark.fullmatch(remark):
                return exchange.reply(scene)
        return None
