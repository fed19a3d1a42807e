"""Tells what a user's message asks of the assistant: something of their tasks, or words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from maverick.chat.claims import SMALL_WORDS, greets, is_english
from maverick.chat.matching import KNOWN_TASKS, meaningful, plain_word
from maverick.chat.offline import Kind, Meaning, meaning_of
from maverick.chat.offline.grammar import is_question
from maverick.chat.offline.mentions import mark
from maverick.chat.offline.wording import begins_with_deed
from maverick.chat.phrases import OPEN_QUESTION
from maverick.chat.plain_words import normalized
from maverick.chat.tables import Task, now
from maverick.chat.task_tools import ADD, COMPLETE, LIST
from maverick.model import Message, Role

_ALIKE = 3
"""Words that are taken for each other have so many letters at their head in common."""
_UNMARKED = re.compile(r"\b(what|who|where|how|when|that|here)s\b")
"""Words that are typed without their apostrophe."""
_ASKED_LAST = re.compile(
    r"[.!,;:] *(?:how|what|what's|who|why|where|when|which)\b[^.!]*$|^(?:[\d.,%$€£ ]+(?:[-+*/x×÷^=]|in|to|of|split|times)\b|.*\bideas?\W*$"
    r"|(?:can|could|do|does|did|is|are|was|were|will|would|has|should) (?!you\b|u\b|i\b|we\b)\w+"
    r"|(?:another|a|one) (?:word|synonym|name) for\b)"
)
"""A question after what it is about, or a sum without a question."""
_FOR_WORDS = re.compile(
    r"(?:please |can you |could you |would you |just )*(?:tell|say something|explain|describe|summari[sz]e|translate|write|draft|sing|recommend|suggest"
    r"|compare|define|spell|calculate|convert|imagine|help|teach|give me|plan an?|let's (?:plan|talk|think|chat))\b"
    r"|(?:so |and |but )*(?:how (?!many|much|about|am|are)|why|who|should|is it|can i)\b"
    r"|(?:what|which|is|are|do|does|any)\b.*\b(?:good|best|better|healthy|worth|recommend\w*|usual\w*|mean|tips|difference)\b"
    r"|what should i (?:ask|bring|buy|cook|eat|pack|read|say|watch|wear|write)\b|how much\b.*\b(?:too much|should|can|costs?)\b|how many\b.*\b(?:should|can)\b"
)
_OF_SELF = re.compile(
    r"(?:so |and |but )*(?:what about|well\b|(?:so|and|but)\W*$|how's my\b|anything else\b|(?:did|have) (?:you|it|that)\b|are you sure|where (?:were|are) we|(?:is|are) (?:it|that|they|you) (?:done|gone|finished|ready)\b|(?:am|did|do|have|had|was|will|what (?:did|have|am)|what do(?= (?:i|we)(?: have| need| still| got| do\b|\W*$))|when (?:did|do|am)|how many (?:do|did|have)"
    r"|anything|what's|what is) (?:i|we|left|next|for|due|on)\b(?! need))"
)
_REMARK = re.compile(
    r"(?!.*\b(?:please|instead|go$|off|out of|any ?more|rid|need|too(?: please)?$|want|list|tasks?)\b)"
    r"(?:(?:i|i'm|im|i've|i'd|we|we're|we've|my|our|your|it|it's|this|those|he|she|they|today|you're|you are)\b|(?:the )?\w+ (?:is|was|are|were)\b"
    r"|(?:that's|that makes|go on|another one|one more|tell me|keep going|wow|cool|nice|lol|ha+|guess what|never ?mind|wait)\b|(?:and|more)\W*$)"
)
_FONDNESS = re.compile(
    r"(?:i|we) (?:\w+ )?(?:love|like|hate|enjoy|miss|had an?)\b|(?:my|our) \w+ (?:is|are|was|were|looks?)\b"
)
"""Begins a remark about what tasks are about, rather than about tasks."""
_PAST = re.compile(r"\S+(?: \S+)? (?:was|were)\b")
_CONSENT = re.compile(
    r"(?:(?:oh|well|and|hm+|please)[, ]+)*(?:yes|yep|yeah|yup|sure|ok(?:ay)?|do (?:it|that|so|them)|go ahead|please do|both|all of|that one|the (?:first|second|third|last) one|confirm)\b"
)
_NO_QUESTION = re.compile(
    r"what an? (?!.*(?:\?|\b(?:is|are|means?|does)\b))|(?:who|what|how) are you\W*$|what's (?:up|new)\W*$|how's it going\b"
    r"|(?:another|one more|more)\b"
)
"""Begins an exclamation, or a question that only asks for the assistant's own name."""
_OF_LIST = re.compile(
    r"\b(?:my|the|your) (?:\w+ ){0,2}(?:list|tasks?|to-?dos?|reminders?|agenda|schedule)\b|\bleft to do\b|\b(?:over)?due\b"
    r"|\b(?:is|are|was|were) (?:it|they|that) (?:all )?(?:saved|added|done|deleted|gone|removed)\b|^(?:any )?plans\b"
    r"|\byou (?:added|deleted|removed|saved|moved)\b|\bthe (?:first|second|next|last) one\b|\bwhat i wanted\b|\bi added\b"
    r"|\bstill (?:there|open|on)\b|\bon it\W*$|^to do\b|\bwhat should i do\b|\w too(?: please)?\W*$"
)
"""Says of a question that it is about the list."""
_IN_GENERAL = re.compile(r"how (?:do|to|can)\b|what(?:'s| is) (?:the best|a)\b")
_BESIDE = re.compile(
    r"(?:[.!?;,]\s*|\s)(?:(?:and|also|plus|btw|by the way|oh)\b[, ]*)*"
    r"((?:what|what's|who|who's|why|how|where|where's|which|is|are|does|tell me|explain)\b[^.!?]*)[.!?\s]*$"
)
"""A question behind something else."""
_BESIDE_FIRST = re.compile(
    r"((?:what|what's|who|who's|why|how|where|where's|which|tell me|explain)\b[^.!?]*?)(?:[.!?;,]|\s+and)\s+"
    r"(?:(?:and|then|also|please)\s+)*(?:add|delete|remove|mark|complete|move|rename|remind|show|list|put|tick)\b"
)
"""A question before something else."""
_INVENTED = re.compile(
    r"\b(?:tell|give|write|sing|say|share|know|with)\b[^.!?]*\b(?:jokes?|poem|story|riddle|facts?|recipe|quote|song|haiku|limerick|compliment"
    r"|pun|rhyme|something (?:nice|funny|motivating|inspiring|encouraging|kind|interesting))\b"
)
"""Asks for words that are made up, or known by heart."""
_ADVICE = re.compile(
    r"\b(?:which|what) (?:\w+ ){0,3}(?:should|shall|would|could|can|do you (?:think|suggest|recommend))\b"
    r"|\b(?:which|what)(?: one| task| of \w+)?(?:'s| is| are) (?:the )?(?:\w+ )?(?:quick|easi|hard|most|least|best|urgent|important|fast|short|long)\w*"
    r"|\b(?:plan|organi[sz]e|group|sort|rank|prioriti[sz]e|summari[sz]e|categori[sz]e) (?:my|the|these|those|them|this)\b"
    r"|\b(?:advice|suggest\w*|recommend\w*|motivat\w*|overwhelm\w*|what's next|related|help me (?:decide|choose|plan|pick)|where (?:do|should) i (?:start|begin)|can i do"
    r"|how (?:should|long|would)|tell me (?:which|what|how|why))\b"
)
"""Asks what to do about the tasks."""
_SHOW = re.compile(
    r"\b(?:show|list|see|display|read)\b(?: me)?(?:(?: \w+){0,2} (?:list|tasks|to-?dos)\b| what(?:'s| is) (?:open|left|remaining)\b)"
)
_WHOLE_LIST = re.compile(
    r"(?:please |can you |could you )*(?:what's|what is|show|list|see|display|read|give)(?: me)?(?: on)?(?: all)?(?: of)?(?: my| the)?"
    r"(?: whole| full| entire)?(?: to-?do)? (?:list|tasks|to-?dos)(?: please| again| now)*\W*"
)
_VAGUE = frozenset(("else", "going", "left", "new", "next", "now"))
"""Words of a question that is about nothing in particular."""
_HOW = re.compile(
    r"(?:so |and |but )*(?:how (?:do|does|can|to|would)|what(?:'s| is) the difference|what happens|what if|can i|do i have to)\b"
)
_FOR_ACTION = re.compile(r"(?:can|could|would|will) (?:you|u)\b")
_FEW = 3
_EXCEPTS = re.compile(
    r"\b(?:but|except\w*|besides|apart from|other than|save for|without|not the|keep|leave|spare)\b"
)
_SHORT = 7
_SMALL_TALK = (Kind.GREETING, Kind.THANKS, Kind.GOODBYE, Kind.HELP)


class Asked:
    """What a user's message asks for, as far as it can be told without a model."""

    def __init__(self, said: str, history: Sequence[Message], tasks: Sequence[Task]) -> None:
        self._said = said
        self._plain = _UNMARKED.sub(r"\1's", normalized(said).casefold().replace("’", "'").strip())
        self._history = history
        self._tasks = [task for task in tasks if not task.completed]
        self._all = tasks

    @cached_property
    def needs_tool(self) -> bool:
        """Whether only a task tool can do or know what the user wants."""
        if self._is_request:
            return not _FOR_WORDS.match(self._plain)
        is_short = len(self._plain.split()) < _SHORT and self._meaning.kind not in _SMALL_TALK
        is_consent = bool(is_short and _CONSENT.match(self._plain))
        is_asked = self.is_of_world and not _FOR_ACTION.match(self._plain)
        wants_words = is_asked or self._is_remark or self.is_courtesy
        return is_consent or (not wants_words and self.names_task(self._said))

    @cached_property
    def changes(self) -> bool:
        """Whether it asks for a change of the tasks."""
        return any(call.tool_name != LIST.name for call in self._meaning.calls)

    @cached_property
    def makes_exception(self) -> bool:
        """Whether it excepts something from what it asks for."""
        return _EXCEPTS.search(self._plain) is not None

    @cached_property
    def declines(self) -> bool:
        """Whether it says no to what the assistant asked, or that nothing is to be done."""
        return self._meaning.kind is Kind.DECLINED

    @cached_property
    def wants_list(self) -> bool:
        """Whether it asks to see tasks."""
        is_read = any(call.tool_name == LIST.name for call in self._meaning.calls)
        return is_read or _SHOW.search(self._plain) is not None

    @cached_property
    def wants_whole_list(self) -> bool:
        """Whether it asks for all tasks, and nothing else."""
        return _WHOLE_LIST.fullmatch(self._plain) is not None

    @cached_property
    def wants_invention(self) -> bool:
        """Whether it asks for words such as a joke, perhaps beside something else."""
        return _INVENTED.search(self._plain) is not None

    @cached_property
    def wants_advice(self) -> bool:
        """Whether it asks what to do about the tasks."""
        return _ADVICE.search(self._plain) is not None

    @cached_property
    def titles(self) -> set[str]:
        """The titles of the open tasks, in small letters."""
        return {task.title.casefold() for task in self._tasks}

    @cached_property
    def are_dated(self) -> bool:
        """Whether any open task has a due date."""
        return any(task.due_date for task in self._tasks)

    @cached_property
    def is_of_world(self) -> bool:
        """Whether it asks for words, or about something that is not the list."""
        if _NO_QUESTION.match(self._plain):
            return False
        if _FOR_WORDS.match(self._plain) or _ASKED_LAST.search(self._plain):
            return True
        return is_question(self._plain) and not _OF_SELF.match(self._plain) and is_english(self._said)

    @cached_property
    def is_talk(self) -> bool:
        """Whether it says something, and neither wants anything of the list nor is only a courtesy."""
        may_ask = _FOR_ACTION.match(self._plain) and self._title_words(self._said)
        return bool(self._plain) and not (may_ask or self.needs_list or self.is_courtesy or self.declines)

    @cached_property
    def asks_how(self) -> bool:
        """Whether it asks how something works in general."""
        return _HOW.match(self._plain) is not None

    @cached_property
    def may_be_told_numbers(self) -> bool:
        """Whether a number by itself may answer it."""
        return self.is_talk or bool(self.beside) or self.wants_invention

    @cached_property
    def is_courtesy(self) -> bool:
        """Whether it is only a greeting, thanks or a goodbye, and not the answer to a question that is open."""
        answered = next((each.content for each in reversed(self._history) if each.role is Role.ASSISTANT), "")
        return greets(self._plain) and not OPEN_QUESTION.search(answered)

    def names_task(self, text: str) -> bool:
        """Whether a text names an open task, and it is clear which."""
        # Nearly all sentences end here.
        if self._beginnings.isdisjoint(plain_word(word)[:_ALIKE] for word in text.split()):
            return False
        return any(each.is_clear for each in mark(text, "", self._tasks, now().date()).mentions)

    @cached_property
    def needs_list(self) -> bool:
        """Whether any answer, even "yes", tells something of the list, or may, in another language."""
        is_of_list = _OF_LIST.search(self._plain) and not _IN_GENERAL.match(self._plain)
        is_of_tasks = self.needs_tool or is_of_list or _OF_SELF.match(self._plain)
        may_be = len(self._plain.split()) >= _FEW and not is_english(self._said)  # in another language
        return bool(is_of_tasks) or (may_be and not self.is_courtesy)

    @cached_property
    def beside(self) -> set[str]:
        """The words of a question about the world that is asked behind something else."""
        found = _BESIDE.search(self._plain) or _BESIDE_FIRST.match(self._plain)
        if found is None:
            return set()
        other = Asked(found[1], (), self._all)
        is_of_world = other.is_of_world and not other.is_about_tasks
        return {*meaningful(found[1])} - self._subjects - SMALL_WORDS - _VAGUE if is_of_world else set()

    @cached_property
    def is_about_tasks(self) -> bool:
        """Whether it asks for something of the tasks or names one, or may, in another language."""
        return self.needs_list or self.names_task(self._said)

    def mentions_task(self, sentence: str) -> bool:
        """Whether a sentence has words of a task's title."""
        return bool(self._title_words(sentence))

    def _title_words(self, text: str) -> set[str]:
        return {_singular(word) for word in text.split()} & self._subjects

    @cached_property
    def _subjects(self) -> set[str]:
        """What the open tasks are about; what is to be done about it is said of anything."""
        return {
            _singular(word)
            for task in self._tasks
            for word in meaningful(task.title)[begins_with_deed(task.title) :]
            if len(word) >= _ALIKE
        }

    @cached_property
    def _beginnings(self) -> set[str]:
        return {word[:_ALIKE] for task in self._tasks for word in meaningful(task.title)}

    @cached_property
    def _is_remark(self) -> bool:
        is_remark = _FONDNESS if self._title_words(self._said) else _REMARK
        return bool(is_remark.match(self._plain)) and not self._is_request

    @cached_property
    def _is_request(self) -> bool:
        """Whether it asks for a tool, as far as the grammar of the offline model can tell."""
        if self._meaning.kind is not Kind.REQUEST:
            return False
        # What a question is about is a task, or anything in the world; so is what someone has finished.
        is_loose = bool(_REMARK.match(self._plain)) and not self.names_task(self._said)
        loose = (
            (ADD.name, COMPLETE.name, LIST.name) if _PAST.match(self._plain) else (COMPLETE.name, LIST.name)
        )
        return any(
            "about" not in call.arguments and not (is_loose and call.tool_name in loose)
            for call in self._meaning.calls
        )

    @cached_property
    def _meaning(self) -> Meaning:
        said, answered = (
            next((each.content for each in reversed(self._history) if each.role is role), "")
            for role in (Role.USER, Role.ASSISTANT)
        )
        known = KNOWN_TASKS.set(self._all)
        try:
            return meaning_of(self._said, answered, said, now().date())
        finally:
            KNOWN_TASKS.reset(known)


def _singular(word: str) -> str:
    return plain_word(word).removesuffix("s")
