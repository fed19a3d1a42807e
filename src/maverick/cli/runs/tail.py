"""``maverick runs tail``: the last entries of a run, and new ones as they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from maverick.cli.formatting import fitted, json_text, terminal_width
from maverick.cli.runs.console import Console
from maverick.cli.runs.in_fleet import follow_words, state_in_fleet
from maverick.cli.screen import shown_call
from maverick.journal.records import ENDED, StoredEntry
from maverick.journal.timeline import NOTES
from maverick.loop import entries
from maverick.model import ToolCall
from maverick.tui.figures import counted, duration
from maverick.tui.plain_text import one_line

_BEFORE = 100
"""How many entries before the first that is shown are read, for the names of the tools that were called there."""
_BETWEEN_LOOKS = 0.3
"""Seconds from one look at a run that is followed to the next."""


async def show_tail(console: Console, *, run_id: str, lines: int, follow: bool) -> None:
    """Show the last entries of a run, without reading the others."""
    record = await console.journal.get(run_id)
    shown = max(record.entries - lines, 0)
    seen = max(shown - _BEFORE, 0)
    calls: Sequence[ToolCall] = ()
    while True:
        async for stored in console.journal.read(run_id, after=seen):
            seen = stored.seq
            if isinstance(stored.entry, entries.ModelReplied):
                calls = stored.entry.response.tool_calls
            if seen > shown:
                _show(console, stored, calls)
        if not follow or record.status in ENDED:
            return
        if not console.as_json and await state_in_fleet(console.journal, run_id) is not None:
            await follow_words(console, run_id, seen, calls)
            return
        await asyncio.sleep(_BETWEEN_LOOKS)
        record = await console.journal.get(run_id)  # before its entries: when it has ended, none is missed


def _show(console: Console, stored: StoredEntry, calls: Sequence[ToolCall]) -> None:
    if console.as_json:  # also of an entry whose time cannot be shown
        console.write(stored)
        return
    at = datetime.fromtimestamp(stored.entry.at, UTC).astimezone()
    console.say([fitted(f"{stored.seq:>5}  {at:%H:%M:%S}  {_line(stored.entry, calls)}", terminal_width())])


def _line(entry: entries.Entry, calls: Sequence[ToolCall]) -> str:
    """What an entry says happened; it names a tool call of the turn by its place among them."""
    said = _WORDS[type(entry)](entry)
    if isinstance(entry, entries.ToolFinished | entries.CallRuled | entries.ApprovalDecided):
        named = calls[entry.index].tool_name if entry.index < len(calls) else f"tool {entry.index}"
        said = f"{named} {said}"
    elif isinstance(entry, entries.ToolsStarted) and calls:
        said += f": {', '.join(call.tool_name for call in calls)}"
    return one_line(said)


def _called(entry: entries.ModelCalled) -> str:
    what = "to compact the conversation" if entry.compaction else f"turn {entry.turn}"
    return f"model called, {what}" + (f", attempt {entry.attempt}" if entry.attempt > 1 else "")


def _replied(entry: entries.ModelReplied) -> str:
    response = entry.response
    said = [response.content, *(shown_call(call.tool_name, call.arguments) for call in response.tool_calls)]
    return f"model replied, {counted(response.usage.total_tokens, 'token')}: {' '.join(filter(None, said))}"


def _reviewed(entry: entries.CallsReviewed) -> str:
    decided = [
        f"tool {review.index} refused by {review.by}: {review.refusal}"
        if review.call is None
        else f"tool {review.index} changed by {review.by}: {shown_call(review.call.tool_name, review.call.arguments)}"
        for review in entry.calls
    ]
    return f"the hooks reviewed the tool calls. {'; '.join(decided)}".rstrip(". ")


def _decided(entry: entries.ApprovalDecided) -> str:
    verb = "approved" if entry.approved else "denied"
    edited = "" if entry.arguments is None else f" with {json_text(entry.arguments)}"
    return f"was {verb} by {entry.by or 'the user'}{edited}. {entry.reason}"


_WORDS: Mapping[type, Callable[[Any], str]] = {
    **NOTES,
    entries.RunStarted: lambda entry: f"started {'/'.join(entry.agent)}",
    entries.ModelCalled: _called,
    entries.ModelReplied: _replied,
    entries.ToolsStarted: lambda entry: f"tools started, turn {entry.turn}",
    entries.ToolFinished: lambda entry: (
        f"{entry.outcome.value} in {duration(entry.duration_ms / 1000)}: {entry.content}"
    ),
    entries.CallsReviewed: _reviewed,
    entries.OutputChecked: lambda entry: NOTES[entries.OutputChecked](entry) or "the output was accepted",
    entries.CallRuled: lambda entry: (
        f"was ruled on by the permissions, {entry.verdict.value}: {entry.reason}"
    ),
    entries.ApprovalDecided: _decided,
}
