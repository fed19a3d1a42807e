"""A run as a person reads it: turn by turn, with its tools, tokens, cost and durations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from msgspec import Struct, field

from maverick.exceptions import InvalidInputError
from maverick.journal.playback import bare_loop
from maverick.loop.entries import (
    ApprovalDecided,
    CallRuled,
    CallsReviewed,
    Edited,
    Entry,
    Interrupted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    OutputChecked,
    RequestReviewed,
    Resumed,
    Said,
    ToolFinished,
)
from maverick.loop.event_mapper import EventMapper
from maverick.loop.events import AgentActivityEvent, PrefixChanged
from maverick.loop.tool_round import unwrapped
from maverick.model import Usage

FAILED = "the model failed:"
"""How the note of a model call that failed begins."""


class ToolLine(Struct, kw_only=True):
    """A tool call."""

    tool_name: str
    arguments: dict[str, Any]
    outcome: str = "unfinished"
    result: str = ""
    duration_ms: int = 0


class TurnLine(Struct, kw_only=True):
    """A turn: what the model was asked, and what came of it."""

    number: int
    at: float
    model_ms: int = 0
    usage: Usage = Usage()
    text: str = ""
    tools: list[ToolLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What else happened: retries, decisions, interruptions."""


class Timeline:
    """Reads entries one by one and makes the turns of them; it keeps no entry."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.turns: list[TurnLine] = []
        self.usage = Usage()
        self._loop = bare_loop()
        self._mapper: EventMapper | None = EventMapper(self._loop, "", "", ())
        """Works out where requests do not extend the one before; ``None`` once entries need the agent to be followed."""
        self._called_at = 0.0
        self._compacting = self._native = False
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Take in the next entry."""
        if (handle := self._HANDLERS.get(type(entry))) is not None:
            handle(self, entry)
        elif (said := NOTES.get(type(entry))) is not None:
            self._note(said(entry))
        if self._mapper is not None:
            try:
                self._loop.feed(entry)
            except InvalidInputError:
                self._mapper = None
            else:
                self._note_changes(self._mapper.events_of(entry))

    def _note_changes(self, events: Iterable[AgentActivityEvent]) -> None:
        for event in events:
            if isinstance(event, PrefixChanged):
                self._note(f"{event.reason}: about {event.tokens:,} tokens not cached")

    def _called(self, entry: ModelCalled) -> None:
        self._called_at, self._compacting, self._native = entry.at, entry.compaction, entry.native
        if entry.attempt == 1 and not entry.compaction:
            self.turns.append(TurnLine(number=entry.turn, at=entry.at))

    def _replied(self, entry: ModelReplied) -> None:
        self.usage += entry.response.usage
        if self._compacting:
            self._note(f"the conversation was compacted{' by the provider' if self._native else ''}")
            return
        turn = self.turns[-1]
        turn.model_ms = round((entry.at - self._called_at) * 1000)
        turn.usage = entry.response.usage
        turn.text = entry.response.content
        turn.tools = [
            ToolLine(tool_name=call.tool_name, arguments=call.arguments)
            for call in map(unwrapped, entry.response.tool_calls)
        ]

    def _finished(self, entry: ToolFinished) -> None:
        self.usage += entry.usage
        line = self.turns[-1].tools[entry.index]
        line.outcome, line.result, line.duration_ms = entry.outcome.value, entry.content, entry.duration_ms

    def _ruled(self, entry: CallRuled) -> None:
        self._note(f"{self.turns[-1].tools[entry.index].tool_name}: {entry.verdict.value}, {entry.reason}")

    def _reviewed(self, entry: CallsReviewed) -> None:
        for review in entry.calls:
            line = self.turns[-1].tools[review.index]
            if review.call is None:
                self._note(f"{line.tool_name}: refused by the hook {review.by}, {review.refusal}")
            else:
                line.arguments = review.call.arguments
                self._note(f"{line.tool_name}: arguments changed by the hook {review.by}")

    def _decided(self, entry: ApprovalDecided) -> None:
        verb, line = "approved" if entry.approved else "denied", self.turns[-1].tools[entry.index]
        why = f": {entry.reason}" if entry.reason else ""
        if entry.arguments is not None:
            line.arguments, why = entry.arguments, f" with other arguments{why}"
        self._note(f"{line.tool_name} was {verb} by {entry.by or 'the user'}{why}")

    def _note(self, text: str) -> None:
        if text and self.turns:
            self.turns[-1].notes.append(text)

    _HANDLERS: ClassVar[dict[type[Any], Any]] = {
        ModelCalled: _called,
        ModelReplied: _replied,
        ToolFinished: _finished,
        CallRuled: _ruled,
        CallsReviewed: _reviewed,
        ApprovalDecided: _decided,
    }


NOTES: Mapping[type, Callable[[Any], str]] = {
    ModelFailed: lambda entry: f"{FAILED} {entry.error}",
    RequestReviewed: lambda entry: f"the hook {entry.by} {entry.decision}",
    OutputChecked: lambda entry: entry.retry and f"the output was not accepted: {entry.retry}",
    Interrupted: lambda entry: (
        f"stopped ({entry.reason.value}){': ' if entry.message else ''}{entry.message}"
    ),
    Resumed: lambda _: "resumed",
    Edited: lambda entry: f"a person wrote: {entry.content}",
    Said: lambda entry: f"a person wrote: {entry.content}",
}
"""What is said of an entry that needs nothing but itself to be told; empty for nothing."""
