"""Passes the events of a chat's run on, with the words that the user gets in place of the model's."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec.structs import replace

from maverick.chat.sentences import readable, split_off, unmarked, visible
from maverick.chat.streaming import SentenceFilter
from maverick.chat.task_tools import TASK_TOOL_NAMES
from maverick.loop import ToolOutcome, events
from maverick.model import ToolCall
from maverick.runtime.event_log import Listener

_LONGEST = 1000
"""Nothing is shown of a longer sentence of a thought."""


class _ThoughtFilter:
    """Keeps the sentences of a model's thinking that are plain words, and leaves out code and data."""

    def __init__(self) -> None:
        self._buffer = ""
        self._is_code = False

    def feed(self, text: str) -> str:
        """Take in more of it; returns the whole sentences that can be shown by now."""
        self._buffer += visible(text)
        shown = ""
        while (sentence := split_off(self._buffer)) is not None:
            self._buffer = self._buffer[len(sentence) :]
            shown += self._readable(sentence)
        if len(self._buffer) > _LONGEST:
            self._buffer = ""
        return shown

    def finish(self) -> str:
        """The thought is over; returns what can be shown of its rest."""
        rest, self._buffer = self._readable(self._buffer), ""
        self._is_code = False
        return rest

    def _readable(self, sentence: str) -> str:
        is_code = self._is_code
        if sentence.count("```") % 2 == 1:
            self._is_code = not is_code
        words = "" if is_code else readable(unmarked(sentence), "")
        return words and words + ("\n" if sentence.endswith("\n") else " ")


class FilteredEvents:
    """Passes the events of a run on, with the filtered text and thinking in place of the model's.

    Args:
        text: The filter.
        pure: The tools that change nothing.
        listener: Receives the events, if anyone follows.
        filtered: Whether it receives only the words that the user gets, or all of the model's.
    """

    def __init__(
        self,
        text: SentenceFilter,
        pure: AbstractSet[str],
        listener: Listener | None,
        *,
        filtered: bool = True,
    ) -> None:
        self._text = text
        self._pure = pure
        self._listener = listener if filtered else None
        self._observer = None if filtered else listener
        self._thoughts = _ThoughtFilter()
        self._sent = ""
        self._calls: dict[str, ToolCall] = {}
        self._end: events.RunEnd | None = None

    def put(self, event: events.AgentActivityEvent) -> None:
        """Take in an event of the run."""
        if self._observer is not None:
            self._observer(event)
        if len(event.agent) == 1:
            if isinstance(event, events.Thinking):
                self._pass_on_thought(event, self._thoughts.feed(event.content))
                return
            self._pass_on_thought(event, self._thoughts.finish())
            match event:
                case events.ContentChunk(content=content):
                    self._send(event, self._text.feed(content))
                    return
                case events.RunEnd():  # the rest of the reply comes before it
                    self._end = event
                    return
                case events.RunResumed():
                    self._text.is_held = True
                case events.RetryScheduled():
                    self._text.start_over()
                case events.ToolCallStart(tool_call=call):
                    self._calls[call.id] = call
                    self._text.drop_unsent()
                case events.ToolCallEnd(tool_call_id=call_id, outcome=outcome, result=result) if (
                    ended := self._calls.get(call_id)
                ) is not None:
                    self.tool_ran(ended.tool_name, ended.arguments, result, outcome)
        self._pass_on(event)

    def tool_ran(self, name: str, arguments: Mapping[str, Any], result: str, outcome: ToolOutcome) -> None:
        """Take in that a tool was called, perhaps before the run was resumed here."""
        if name not in TASK_TOOL_NAMES:
            about = " ".join([name, *map(str, arguments.values()), result])
            self._text.other_tool_ran(name, about, outcome, acts=name not in self._pure)
        elif outcome is not ToolOutcome.DENIED:
            self._text.task_tool_ran(name)

    def finish(self, response: str) -> None:
        """Send the rest of the reply, and the end of the run."""
        if self._end is None:
            return
        end, rest = self._end, response.removeprefix(self._sent)
        chunk = events.ContentChunk(
            run_id=end.run_id, trace_id=end.trace_id, at=end.at, agent=end.agent, content=rest
        )
        self._send(chunk, rest)
        self._pass_on(end)

    def _send(self, event: events.ContentChunk, words: str) -> None:
        if words:
            self._sent += words
            self._pass_on(replace(event, content=words))

    def _pass_on_thought(self, event: events.AgentActivityEvent, words: str) -> None:
        if words:
            self._pass_on(
                events.Thinking(
                    run_id=event.run_id,
                    trace_id=event.trace_id,
                    at=event.at,
                    agent=event.agent,
                    content=words,
                )
            )

    def _pass_on(self, event: events.AgentActivityEvent) -> None:
        if self._listener is not None:
            self._listener(event)
