"""``maverick runs tail``: the last entries of a run, and new ones as they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.formatting import counted, duration, fitted
from maverick.cli.json_text import json_text
from maverick.cli.runs.console import Console
from maverick.cli.runs.in_fleet import follow_words, state_in_fleet
from maverick.cli.screen import one_line, printable, shown_call
from maverick.journal.records import ENDED, StoredEntry
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
    RunStarted,
    Said,
    ToolFinished,
    ToolsStarted,
)
from maverick.model import ToolCall


def _line(entry: Entry, calls: Sequence[ToolCall]) -> str:
    """What an entry says happened; it names a tool call of the turn by its place among them."""
    said = _WORDS[type(entry)](entry)
    if isinstance(entry, ToolFinished | CallRuled | ApprovalDecided):
        named = calls[entry.index].tool_name if entry.index < len(calls) else f"tool {entry.index}"
        said = f"{named} {said}"
    elif isinstance(entry, ToolsStarted) and calls:
        said += f": {', '.join(call.tool_name for call in calls)}"
    return printable(one_line(said))


def _started(entry: RunStarted) -> str:
    return f"started {'/'.join(entry.agent)}"


def _called(entry: ModelCalled) -> str:
    what = "to condense the conversation" if entry.compaction else f"turn {entry.turn}"
    return f"model called, {what}" + (f", attempt {entry.attempt}" if entry.attempt > 1 else "")


def _replied(entry: ModelReplied) -> str:
    response = entry.response
    said = [response.content, *(shown_call(call.tool_name, call.arguments) for call in response.tool_calls)]
    return f"model replied, {counted(response.usage.total_tokens, 'token')}: {' '.join(filter(None, said))}"


def _failed(entry: ModelFailed) -> str:
    return f"model failed: {entry.error}"


def _tools_started(entry: ToolsStarted) -> str:
    return f"tools started, turn {entry.turn}"


def _finished(entry: ToolFinished) -> str:
    took = duration(entry.duration_ms / 1000)
    return f"{entry.outcome.value} in {took}: {entry.content}"


def _ruled(entry: CallRuled) -> str:
    return f"was ruled on by the permissions, {entry.verdict.value}: {entry.reason}"


def _request_reviewed(entry: RequestReviewed) -> str:
    return f"the hook {entry.by} {entry.decision}"


def _calls_reviewed(entry: CallsReviewed) -> str:
    decided = [
        f"tool {review.index} refused by {review.by}: {review.refusal}"
        if review.call is None
        else f"tool {review.index} changed by {review.by}: {shown_call(review.call.tool_name, review.call.arguments)}"
        for review in entry.calls
    ]
    return f"the hooks reviewed the tool calls. {'; '.join(decided)}".rstrip(". ")


def _output_checked(entry: OutputChecked) -> str:
    return f"the output was not accepted: {entry.retry}" if entry.retry else "the output was accepted"


def _decided(entry: ApprovalDecided) -> str:
    verb = "approved" if entry.approved else "denied"
    edited = "" if entry.arguments is None else f" with {json_text(entry.arguments)}"
    return f"was {verb} by {entry.by or 'the user'}{edited}. {entry.reason}"


def _interrupted(entry: Interrupted) -> str:
    return f"stopped, {entry.reason.value}: {entry.message}".rstrip(": ")


def _resumed(_: Resumed) -> str:
    return "resumed"


def _edited(entry: Edited | Said) -> str:
    return f"a person wrote: {entry.content}"


_WORDS: Mapping[type, Callable[[Any], str]] = {
    RunStarted: _started,
    ModelCalled: _called,
    ModelReplied: _replied,
    ModelFailed: _failed,
    ToolsStarted: _tools_started,
    ToolFinished: _finished,
    RequestReviewed: _request_reviewed,
    CallsReviewed: _calls_reviewed,
    OutputChecked: _output_checked,
    CallRuled: _ruled,
    ApprovalDecided: _decided,
    Interrupted: _interrupted,
    Resumed: _resumed,
    Edited: _edited,
    Said: _edited,
}


_BEFORE = 100
"""How many entries before the first that is shown are read, for the names of the tools that were called there."""
_BETWEEN_LOOKS = 0.3
"""Seconds from one look at a run that is followed to the next."""


async def show_tail(console: Console, *, run_id: str, lines: int, follow: bool) -> int:
    """Show the last entries of a run, without reading the others.

    Raises:
        RunNotFoundError: There is no such run.
    """
    record = await console.journal.get(run_id)
    shown = max(record.entries - lines, 0)
    seen = max(shown - _BEFORE, 0)
    calls: Sequence[ToolCall] = ()
    while True:
        async for stored in console.journal.read(run_id, after=seen):
            seen = stored.seq
            if isinstance(stored.entry, ModelReplied):
                calls = stored.entry.response.tool_calls
            if seen > shown:
                _show(console, stored, calls)
        if not follow or record.status in ENDED:
            return SUCCESS
        if not console.as_json and await state_in_fleet(console.journal, run_id) is not None:
            await follow_words(console, run_id, seen, calls)
            return SUCCESS
        await asyncio.sleep(_BETWEEN_LOOKS)
        record = await console.journal.get(run_id)  # before its entries: when it has ended, none is missed


def _show(console: Console, stored: StoredEntry, calls: Sequence[ToolCall]) -> None:
    if console.as_json:
        console.write(stored)
        return
    at = datetime.fromtimestamp(stored.entry.at, UTC).astimezone()
    console.say([fitted(f"{stored.seq:>5}  {at:%H:%M:%S}  {_line(stored.entry, calls)}", console.width)])
