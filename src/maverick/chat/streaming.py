"""Streams a model's words to the user: whole sentences, each checked before it is sent.

What was sent stays: a reply only grows. So while a turn may still end in tool calls, only half of the room is used, to
leave the rest for what the tools did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from maverick.chat.asked import Asked
from maverick.chat.claims import (
    SMALL_WORDS,
    asks_back,
    is_advice,
    is_claim,
    is_english,
    is_polite,
    is_refusal,
    is_statement,
    tells_deed,
    tells_event,
    tells_plans,
)
from maverick.chat.matching import meaningful
from maverick.chat.phrases import DECLINED, NOTHING_DONE, RESPONSE_LENGTH, UNSEEN, UNSEEN_FOR_THIS
from maverick.chat.plain_words import words_of
from maverick.chat.sentences import readable, split_off, unmarked, visible
from maverick.chat.tables import Task
from maverick.chat.task_tools import LIST
from maverick.loop import ToolOutcome
from maverick.model import Message

_LEAD = RESPONSE_LENGTH // 2
"""How much is sent before it is known whether the turn ends with these words or with tool calls."""
_INTERJECTION = 3
"""A sentence of so few words, such as "Got it!", belongs to the next one, and is sent with it."""
_LONGEST = 2 * RESPONSE_LENGTH
"""Only so much of a longer sentence is checked; nothing after it is sent."""
_MORE = " …"
_LOOKED_UP = ""
"""Stands for the tools that only look something up: one of them makes up for another."""
_THINKS = "<think"
_THOUGHT = re.compile(rf"{_THINKS}(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
"""Thinking that some models put among their words."""
_ECHO = re.compile(
    r"\W*(?:got it|done|sure|okay|ok|great|perfect|will do|all set|all done|there you go|anything else)\W*",
    re.IGNORECASE,
)
"""Says what the task tool's own message says."""
_DIVIDER = "~~~"
"""Begins and ends code; a single one only divides the text."""


class SentenceFilter:
    """Decides which of a run's words the user gets."""

    def __init__(
        self,
        said: str,
        history: Sequence[Message] = (),
        tasks: Sequence[Task] = (),
        *,
        trusted: bool = False,
    ) -> None:
        self.tasks = tasks
        self.text = ""
        """All that was sent."""
        self.claimed = False
        """Whether the last turn claimed something without a tool call, which was left out."""
        self.is_held = False
        """Whether nothing is sent before the end, because what happened before the run was resumed is not known here."""
        self.asked = Asked(said, history, tasks)
        """What the user wants."""
        self._trusted = trusted
        """Whether the words are our own, as the offline model's are."""
        self._theirs = words_of(said)
        self._tasks_called = False
        self._tasks_acted = False
        self._others_called = False
        self._acted_elsewhere = False
        self._not_done: dict[str, ToolOutcome] = {}
        """What became of the tools other than the task tools that did not work, and were not made up for since."""
        self._of_others = self.asked.beside
        """The words of a question about the world, of calls of other tools, and of their results."""
        self._repeated: set[str] = set()
        """Sentences of an attempt that failed, which the next attempt may begin with."""
        self._begin()

    def _begin(self) -> None:
        self._received = ""
        self._buffer = ""
        self._sent: list[str] = []
        self._ready: list[str] = []
        self._introduction = ""
        self._separator = "\n" if self.text else ""
        self._fence = ""
        self._after_divider: list[tuple[str, str]] = []
        self._depth = 0
        self._left_out = False
        self._is_full = False
        self._is_over = False
        self._has_refused = False
        """Whether it said that it cannot do what was asked, or does not understand it."""
        self._waits = False
        """Whether something may contradict what a tool will say, so that it is only sent if none is called."""
        self.claimed = False

    def _is_untold(self, words: str) -> bool:
        """Whether a sentence says what no tool has told the model, though one would have had to."""
        names = self.asked.names_task(words)
        self._has_refused |= is_refusal(words)
        if self._tasks_called or not is_statement(words, of_task=names):
            return False
        if self._others_called:
            return self.asked.changes and (names or not self._acted_elsewhere)
        is_of_tasks = self.asked.needs_tool and not self._has_refused
        return is_of_tasks or (names and tells_deed(words) and not self.asked.is_talk)

    def feed(self, text: str) -> str:
        """Take in more of the model's words; returns those that can be sent by now."""
        self._received += text
        self._buffer = _THOUGHT.sub("", self._buffer + visible(text))
        if self.is_held or _THINKS in self._buffer:
            return ""
        while not self._is_full and (found := split_off(self._buffer[:_LONGEST])) is not None:
            self._consider(found)
            self._buffer = self._buffer[len(found) :]
        self._is_full |= len(self._buffer) >= _LONGEST
        self._buffer = self._buffer[:_LONGEST]
        return "" if self._waits else self._send(_LEAD)

    def start_over(self) -> None:
        """The model is asked again: what was sent stays, and is not sent a second time."""
        self._repeated |= set(self._sent)
        self._begin()

    def drop_unsent(self) -> None:
        """The model calls tools: words that were not sent by then are dropped."""
        self._begin()

    def task_tool_ran(self, name: str) -> None:
        """A task tool has run, whose own message says what it did."""
        self._tasks_called = True
        self._tasks_acted |= name != LIST.name

    def other_tool_ran(self, name: str, about: str, outcome: ToolOutcome, *, acts: bool) -> None:
        """Another tool was called: one that only looks something up, or one that ``acts``.

        ``about`` is what it was asked, and what it said.
        """
        self._others_called = True
        if outcome is not ToolOutcome.FINISHED:
            self._not_done[name if acts else _LOOKED_UP] = outcome
            return
        for done in (name, _LOOKED_UP):
            self._not_done.pop(done, None)
        self._of_others |= {*meaningful(about.replace("_", " "))} - SMALL_WORDS
        self._acted_elsewhere |= acts

    @property
    def failed(self) -> bool:
        """Whether the reply has to say that something did not work; what was not allowed is not told so."""
        return any(outcome is not ToolOutcome.DENIED for outcome in self._not_done.values())

    def finish(self, whole: str, *, cut: bool = False) -> None:
        """The run is over, after all words of its last turn, or cut off in the middle of them."""
        self.is_held = False
        if whole.startswith(self._received):
            self.feed(whole[len(self._received) :])
        last = "" if self._is_full and self._ready else self._buffer.rstrip()
        if cut and last and last[-1].isalnum():
            last += "…"
        self._consider(last)
        if self._fence == _DIVIDER:  # nothing has ended it, so it was no code
            self._fence = ""
            for separator, sentence in self._after_divider:
                self._offer(separator, self._words_of(sentence))
        is_echo = self._tasks_called and _ECHO.fullmatch(self._introduction)
        is_left = self._is_over and (self.asked.needs_list or not is_polite(self._introduction))
        if self._introduction and not (self._introduction.endswith(":") or is_left or is_echo):
            self._ready.append(self._introduction)
        self._send(RESPONSE_LENGTH - max(len(self.disclaimer), len(UNSEEN)), last=True)

    def was_said(self, words: str) -> bool:
        """Whether the user used all of these words."""
        return all(f" {word} " in self._theirs for word in words_of(words).split())

    def may_quote(self, sought: str) -> bool:
        """Whether a reply may have what a model was looking for: plain words, or the user's, that claim nothing."""
        return self.was_said(sought) or bool(
            readable(sought, self._theirs) == sought and not is_claim(sought)
        )

    @property
    def disclaimer(self) -> str:
        """What the reply has to say after words that no tool stands behind."""
        if self._trusted or self._tasks_called:
            return ""
        if self.asked.declines:
            return DECLINED
        if self.claimed:
            return NOTHING_DONE if self.asked.needs_list or not self.text else UNSEEN
        return "" if self._says_nothing else UNSEEN

    @property
    def aside(self) -> str:
        """What is said between words that no tool stands behind and what a task tool did."""
        is_advice = self.asked.wants_advice and not self.asked.wants_invention
        is_known = self._trusted or is_advice or is_polite(self.text)
        return UNSEEN_FOR_THIS if self._tasks_called and self.text and not is_known else ""

    @property
    def _is_ours(self) -> bool:
        """Whether the words are the contract's, and not what a tool has said already."""
        return self._trusted and not self._tasks_called

    @property
    def _says_nothing(self) -> bool:
        """Whether the model only asked for a detail, or exchanged courtesies with the user."""
        return (self.asked.is_courtesy and is_polite(self.text)) or asks_back(self.text)

    def _consider(self, sentence: str) -> None:
        """Check whether a sentence may be sent."""
        sentence = unmarked(sentence)
        separator, self._separator = self._separator, "\n" if sentence.endswith("\n") else " "
        if sentence.strip() in ("", UNSEEN, UNSEEN_FOR_THIS):
            self._separator = "\n" if "\n" in (separator, self._separator) else separator
            return
        if self._is_over or (self._tasks_called and not (self._of_others or self._adds_words)):
            return
        if self._is_claim(sentence):
            self.claimed = self._is_over = not self._tasks_called
            return
        if self._fence == _DIVIDER:
            self._after_divider.append((separator, sentence))
        self._offer(separator, self._words_of(sentence))

    def _is_claim(self, sentence: str) -> bool:
        if self._is_ours:
            return False
        names = self.asked.names_task(sentence)
        elsewhere = self._acted_elsewhere and not names
        in_general = self.asked.asks_how and not names
        return is_claim(
            sentence, elsewhere=elsewhere, in_talk=self.asked.is_talk and not names, in_general=in_general
        )

    def _words_of(self, sentence: str) -> str:
        """The sentence, unless it is code or data, a line of which may look like words."""
        if self._fence:
            if sentence.lstrip().startswith(self._fence):
                self._fence = ""
                self._after_divider.clear()
            return ""
        if sentence.count("```") % 2 == 1:
            self._fence = "```"
        elif sentence.lstrip().startswith(_DIVIDER):
            self._fence = _DIVIDER
        kept = (
            "" if self._depth > 0 else readable(sentence, self._theirs, facts=self.asked.may_be_told_numbers)
        )
        if kept and not self._is_ours:
            kept = self._believed(kept)
        if self._left_out and kept[:1].islower():
            kept = ""  # it continues with what was left out
        self._left_out = not kept
        if not kept:
            opened = sentence.count("{") + sentence.count("[") - sentence.count("}") - sentence.count("]")
            self._depth = max(0, self._depth + opened)
        return kept

    def _believed(self, words: str) -> str:
        """The sentence, unless it may contradict what a tool has said, or says what only a tool can know."""
        if self._is_untold(words):
            self.claimed = True
            return ""
        if self._tasks_called:
            is_beside = self._is_added(words) if self._adds_words else self._is_explained(words)
            return words if is_beside else ""
        is_report = not is_refusal(words) and is_statement(words, of_task=True)
        if self._not_done and is_report and not self._is_explained(words):
            return ""
        tells = tells_deed(words) or tells_event(words) or tells_plans(words) or not is_english(words)
        self._waits |= tells or self.asked.mentions_task(words)
        return words

    def _is_explained(self, words: str) -> bool:
        """Whether a sentence is about what other tools were asked or said, or answers a question about the world."""
        is_told = not self._of_others.isdisjoint(meaningful(words))
        is_of_tasks = self.asked.mentions_task(words) or tells_plans(words) or not is_english(words)
        return is_told and not is_of_tasks

    @property
    def _adds_words(self) -> bool:
        """Whether the user wants words of the model's own beside what a task tool says: a joke, or advice on a list."""
        return self.asked.wants_invention or (self.asked.wants_advice and not self._tasks_acted)

    def _is_added(self, words: str) -> bool:
        if _ECHO.fullmatch(words):
            return False
        if not self.asked.wants_invention:
            return is_advice(words, self.asked.titles, are_dated=self.asked.are_dated)
        is_of_task = self.asked.names_task(words) and tells_event(words)
        return not (is_of_task or tells_deed(words) or tells_plans(words))

    def _offer(self, separator: str, words: str) -> None:
        if not words:
            if self._introduction.endswith(":"):  # it introduced what is left out
                self._introduction = ""
        elif words.endswith(":") or (len(words.split()) <= _INTERJECTION and not words.endswith("?")):
            self._introduction += separator + words
        else:
            piece = self._introduction + separator + words
            self._introduction = ""
            if piece.strip() in self._repeated:
                return
            self._ready.append(piece)
            self._is_full = len(self.text) + sum(map(len, self._ready)) > RESPONSE_LENGTH

    def _send(self, most: int, *, last: bool = False) -> str:
        before = len(self.text)
        while self._ready and len(self.text) + len(self._ready[0]) + len(_MORE) <= most:
            piece = self._ready.pop(0)
            self._sent.append(piece.strip())
            self.text += piece if self.text else piece.lstrip()
        if self._ready and last:
            self.text = self.text + _MORE if self.text else _shortened(self._ready[0], most)
        return self.text[before:]


def _shortened(text: str, most: int) -> str:
    room = text.strip()[: most - 1]
    cut = room.rfind(" ")
    return f"{room[: cut if cut > 0 else len(room)].rstrip()}…"
