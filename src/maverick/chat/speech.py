"""The words of a model that are passed on: whole sentences, each checked before anybody hears it.

What was said once stays: an answer only grows. So as long as a turn may still come to tool calls, no more is said than
leaves room for what the tools did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec.structs import replace

from maverick.chat.phrases import RESPONSE_LENGTH
from maverick.chat.sentences import is_claim, readable, split_off, visible
from maverick.loop import ToolOutcome
from maverick.loop.events import (
    AgentActivityEvent,
    ContentChunk,
    RetryScheduled,
    RunEnd,
    RunResumed,
    ToolCallEnd,
    ToolCallStart,
)
from maverick.runtime.event_log import Listener

_LEAD = RESPONSE_LENGTH // 2
"""How much is said before it is known whether the turn ends with these words or with tool calls."""
_INTERJECTION = 3
"""A sentence of so few words, such as "Got it!", belongs to the next one, and is said with it."""
_LONGEST = 2 * RESPONSE_LENGTH
"""A sentence that is longer is looked at so far; nothing after it can be said."""
_MORE = " …"


class Speech:
    """What is said to the user of the words of one run.

    Args:
        said: What the user said.
    """

    def __init__(self, said: str) -> None:
        self.text = ""
        """All that was said."""
        self.claimed = False
        """Whether the last turn claimed something, and was cut short there."""
        self.is_held = False
        """Whether nothing is said before the run is over, since what happened before it went on is not known here."""
        self._theirs = said.casefold()
        self._tasks_called = False
        self._others_called = False
        self._acted_elsewhere = False
        self._heard = ""
        self._buffer = ""
        self._repeated: set[str] = set()
        """Sentences of an attempt that failed, which the next attempt may begin with."""
        self._begin()

    def hear(self, text: str) -> str:
        """Take in more of the model's words; returns what is said of them by now."""
        self._heard += text
        self._buffer += visible(text)
        if self.is_held:
            return ""
        while not self._is_full and (found := split_off(self._buffer[:_LONGEST])) is not None:
            self._consider(found)
            self._buffer = self._buffer[len(found) :]
        self._is_full |= len(self._buffer) >= _LONGEST
        self._buffer = self._buffer[:_LONGEST]
        return self._say(_LEAD)

    def start_over(self) -> None:
        """The model is asked again: what was said stays, and is not said a second time."""
        self._repeated |= set(self._spoken)
        self._begin()

    def call(self) -> None:
        """The model asks for tools: what it has not said by then is not said."""
        self._begin()

    def called(self, *, task: bool, acted: bool) -> None:
        """A tool has run.

        Args:
            task: Whether it is one of the task tools, which say themselves what they did.
            acted: Whether it may have changed something.
        """
        self._tasks_called |= task
        self._others_called |= not task
        self._acted_elsewhere |= acted and not task

    def close(self, whole: str, *, cut: bool = False) -> None:
        """The run is over.

        Args:
            whole: All words of its last turn.
            cut: Whether it was stopped in the middle of them.
        """
        self.is_held = False
        if whole.startswith(self._heard):
            self.hear(whole[len(self._heard) :])
        last = "" if self._is_full and self._ready else self._buffer.rstrip()
        if cut and last and last[-1].isalnum():
            last += "…"
        self._consider(last)
        if self._introduction and not self._introduction.endswith(":") and not self.claimed:
            self._ready.append(self._introduction)
        self._say(RESPONSE_LENGTH)

    def _begin(self) -> None:
        self._heard = self._buffer = ""
        self._spoken: list[str] = []
        self._ready: list[str] = []
        self._introduction = ""
        self._separator = "\n" if self.text else ""
        self._in_code = False
        self._depth = 0
        self._left_out = False
        self._is_full = False
        self.claimed = False

    def _consider(self, sentence: str) -> None:
        """Find out whether a sentence may be said."""
        separator, self._separator = self._separator, "\n" if sentence.endswith("\n") else " "
        if not sentence.strip():
            self._separator = "\n" if "\n" in (separator, self._separator) else separator
            return
        if self.claimed or (self._tasks_called and not self._others_called):
            return
        if is_claim(sentence, elsewhere=self._acted_elsewhere):
            self.claimed = not self._tasks_called
            return
        self._offer(separator, self._words_of(sentence))

    def _words_of(self, sentence: str) -> str:
        """The sentence, unless it is no words: code, or data, of which one line may look like words."""
        was_code = self._in_code or self._depth > 0
        self._in_code ^= sentence.count("```") % 2 == 1
        kept = "" if was_code else readable(sentence, self._theirs)
        if self._left_out and kept[:1].islower():
            kept = ""  # it goes on with what was left out
        self._left_out = not kept
        if not kept:
            opened = sentence.count("{") + sentence.count("[") - sentence.count("}") - sentence.count("]")
            self._depth = max(0, self._depth + opened)
        return kept

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

    def _say(self, most: int) -> str:
        before = len(self.text)
        while self._ready and len(self.text) + len(self._ready[0]) + len(_MORE) <= most:
            piece = self._ready.pop(0)
            self._spoken.append(piece.strip())
            self.text += piece if self.text else piece.lstrip()
        if self._ready and most == RESPONSE_LENGTH:
            self.text = self.text + _MORE if self.text else _shortened(self._ready[0])
        return self.text[before:]


def _shortened(text: str) -> str:
    room = text.strip()[: RESPONSE_LENGTH - 1]
    cut = room.rfind(" ")
    return f"{room[: cut if cut > 0 else len(room)].rstrip()}…"


class LiveSpeech:
    """Passes the events of a run on, with what is said in place of what the model writes.

    Args:
        speech: What is said.
        is_task_tool: Whether a tool is one of those for tasks.
        pure: The tools that change nothing.
        tell: Whom to tell, if anybody watches.
    """

    def __init__(
        self,
        speech: Speech,
        is_task_tool: Callable[[str], bool],
        pure: AbstractSet[str],
        tell: Listener | None,
    ) -> None:
        self._speech = speech
        self._is_task_tool = is_task_tool
        self._pure = pure
        self._tell = tell
        self._said = ""
        self._names: dict[str, str] = {}
        self._end: RunEnd | None = None

    def hear(self, event: AgentActivityEvent) -> None:
        """Take in what happens in the run."""
        if len(event.agent) == 1:
            match event:
                case ContentChunk(content=content):
                    self._say(event, self._speech.hear(content))
                    return
                case RunEnd():  # what is left to say comes before it
                    self._end = event
                    return
                case RunResumed():
                    self._speech.is_held = True
                case RetryScheduled():
                    self._speech.start_over()
                case ToolCallStart(tool_call=call):
                    self._names[call.id] = call.tool_name
                    self._speech.call()
                case ToolCallEnd(tool_call_id=call_id, outcome=outcome) if outcome is not ToolOutcome.DENIED:
                    self.recall([self._names.get(call_id, "")])
        self._pass_on(event)

    def recall(self, tool_names: Iterable[str]) -> None:
        """Take in which tools have run, perhaps before anybody listened."""
        for name in tool_names:
            self._speech.called(task=self._is_task_tool(name), acted=name not in self._pure)

    def conclude(self, response: str) -> None:
        """Say what is left of the reply, and that the run is over."""
        if self._end is None:
            return
        rest = response.removeprefix(self._said)
        self._say(ContentChunk(**self._who(self._end), content=rest), rest)
        self._pass_on(self._end)

    def _say(self, event: ContentChunk, words: str) -> None:
        if words:
            self._said += words
            self._pass_on(replace(event, content=words))

    def _pass_on(self, event: AgentActivityEvent) -> None:
        if self._tell is not None:
            self._tell(event)

    @staticmethod
    def _who(event: AgentActivityEvent) -> dict[str, Any]:
        return {"run_id": event.run_id, "trace_id": event.trace_id, "at": event.at, "agent": event.agent}
