"""The events of a run as the updates that an editor shows: the same for a run that is live and for one that is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

from acp import schema
from acp.helpers import (
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from pydantic import BaseModel

from maverick.cli.acp.tool_calls import (
    PLAN,
    call_key,
    content_of,
    kind_of,
    locations_of,
    plan_of,
    shown_arguments,
    text_content,
    title_of,
)
from maverick.loop import events
from maverick.model import ToolCall
from maverick.model.untrusted import unmarked, unmarked_message

Update: TypeAlias = (
    schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.UserMessageChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
    | schema.AvailableCommandsUpdate
    | schema.ConfigOptionUpdate
    | schema.CurrentModeUpdate
    | schema.SessionInfoUpdate
    | schema.UsageUpdate
)
M = TypeVar("M", bound=BaseModel)

_OF_THE_RUN_ALONE = events.ContentChunk | events.Thinking | events.TurnStart | events.UsageUpdated
"""Of a subagent, these are not told: what it says is in the result of the call."""
_MOST_OUTPUT = 20_000
"""Characters of a command's output that are kept while it runs."""


def readable(message: M) -> M:
    """A message without halves of characters, as models write them and files have them: strict readers refuse it whole."""
    try:
        message.model_dump_json()
    except ValueError:
        whole: M = type(message).model_validate(_whole(message.model_dump(by_alias=True, exclude_none=True)))
        return whole
    return message


def _whole(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value


class UpdateMapper:
    """Makes the updates of a session out of the events of its runs."""

    def __init__(self, folder: Path) -> None:
        self.context_window: int | None = None
        """How many tokens the model can read, if known."""
        self._folder = folder
        self._open: dict[str, str] = {}
        """The output so far of calls that were told and have no result yet, by key."""
        self._edits: set[str] = set()
        """Those of them that change a file, and were told with the difference."""
        self._costs: dict[str, float] = {}
        """What each run has cost."""
        self._message = ""

    @property
    def cost_usd(self) -> float:
        """What the runs have cost, as far as that is known."""
        return sum(self._costs.values())

    def updates_of(self, event: events.AgentActivityEvent, *, replayed: bool = False) -> Iterator[Update]:
        """What an editor is told of an event; if it is replayed from a journal, the user's words are told, too."""
        if len(event.agent) > 1 and isinstance(event, _OF_THE_RUN_ALONE):
            return
        match event:
            case events.ContentChunk():
                update = update_agent_message_text(event.content)
                update.message_id = self._message or None
                yield update
            case events.Thinking():
                yield update_agent_thought_text(event.content)
            case events.ToolCallStart():
                yield from self._began(event, event.tool_call, status="in_progress")
            case events.ApprovalRequested():
                yield from self._began(event, event.tool_call, status="pending")
            case events.ToolCallEnd():
                yield from self._ended(event)
            case events.ServerToolUsed():
                yield from self._used(event)
            case events.UsageUpdated():
                yield from self._usage(event)
            case events.MessageAdded() if replayed:
                yield update_user_message_text(unmarked_message(event.content))
            case _:
                yield from self._remark(event)

    def output(self, key: str, text: str) -> None:
        """Take in some output of a command that is running."""
        if key in self._open:
            self._open[key] = (self._open[key] + text)[-_MOST_OUTPUT:]

    def shown_output(self, key: str) -> Update | None:
        """The output so far of a command, if it is running."""
        return update_tool_call(key, content=text_content(self._open[key])) if key in self._open else None

    def closed(self) -> Iterator[Update]:
        """Tell that calls which have no result never will: the run was interrupted."""
        for key in self._open:
            yield update_tool_call(key, status="failed")
        self._open.clear()

    def _began(
        self, event: events.AgentActivityEvent, call: ToolCall, *, status: schema.ToolCallStatus
    ) -> Iterator[Update]:
        if call.tool_name == PLAN:
            if (entries := plan_of(call.arguments)) is not None:
                yield update_plan(entries)
            return
        key = call_key(event.run_id, call.id)
        if key in self._open:
            yield update_tool_call(key, status="in_progress")
            return
        self._open[key] = ""
        if kind_of(call) == "edit":
            self._edits.add(key)
        yield start_tool_call(
            key,
            title_of(call, event.agent),
            kind=kind_of(call),
            status=status,
            content=content_of(call, self._folder),
            locations=locations_of(call, self._folder),
            raw_input=shown_arguments(call.arguments),
        )

    def _ended(self, event: events.ToolCallEnd) -> Iterator[Update]:
        key = call_key(event.run_id, event.tool_call_id)
        if self._open.pop(key, None) is None:
            return  # the plan is no tool call to an editor
        result = unmarked(event.result)
        yield update_tool_call(
            key,
            status="failed" if event.is_error else "completed",
            # The difference that was told when it began says more than the words of the result.
            content=None if key in self._edits and not event.is_error else text_content(result),
            raw_output=result if event.data is None else event.data,
        )

    def _used(self, event: events.ServerToolUsed) -> Iterator[Update]:
        use = event.use
        kind: schema.ToolKind = "search" if "search" in use.name else "fetch"
        yield start_tool_call(
            call_key(event.run_id, f"{use.name}:{event.at}"),
            f"{use.name} {use.detail}".strip(),
            kind=kind,
            status="failed" if use.error else "completed",
        )

    def _usage(self, event: events.UsageUpdated) -> Iterator[Update]:
        if event.total.cost_usd is not None:
            self._costs[event.run_id] = event.total.cost_usd
        if self.context_window:
            cost = schema.Cost(amount=round(self.cost_usd, 6), currency="USD") if self._costs else None
            yield schema.UsageUpdate(
                session_update="usage_update", used=event.context_tokens, size=self.context_window, cost=cost
            )

    def _remark(self, event: events.AgentActivityEvent) -> Iterator[Update]:
        match event:
            case events.TurnStart():
                self._message = f"{event.run_id}:{event.turn_number}"
            case events.RetryScheduled():
                # What was streamed cannot be taken back; the answer begins again as another message.
                self._message = f"{self._message}:{event.attempt}"
                yield update_agent_thought_text(
                    f"The model did not answer. Trying again in {event.delay:.0f} s.\n"
                )
            case events.Compacted():
                yield update_agent_thought_text("The conversation was compacted.\n")
            case events.RunEnd() if len(event.agent) == 1:
                yield from self.closed()
