"""``maverick runs show``: a run as a timeline of turns and tools, with its subagents in their places."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any

from msgspec import Struct

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.formatting import Column, age, counted, duration, fitted, money
from maverick.cli.runs.console import Console
from maverick.cli.runs.list import MOST_SUBAGENTS, reason_of
from maverick.cli.runs.pending import pending_in, pending_lines
from maverick.cli.screen import one_line, printable, shown_call
from maverick.journal import Journal, RunRecord
from maverick.journal.damage import damaged_run
from maverick.journal.records import ENDED
from maverick.journal.timeline import FAILED, Timeline, ToolLine, TurnLine
from maverick.loop.entries import RunStarted
from maverick.model import Usage
from maverick.model.message import describe_part
from maverick.model.untrusted import unmarked

_COLUMNS = (
    Column("TURN", right=True),
    Column("WHAT HAPPENED", shrinks=True),
    Column("TIME", right=True),
    Column("TOKENS", right=True),
    Column("COST", right=True),
)
_FINISHED, _UNFINISHED = "finished", "unfinished"


class Story(Struct, frozen=True):
    """A run and its subagents' runs, read from the journal."""

    record: RunRecord
    model: str
    task: str
    """What it was asked, as its last message before the first turn."""
    timeline: Timeline
    subagents: dict[str, Story]
    """By the id of their run, which names the turn and the call that made them."""


async def show_run(console: Console, *, run_id: str) -> int:
    """Show a run.

    Raises:
        RunNotFoundError: There is no such run.
    """
    story = await read_story(console.journal, await console.journal.get(run_id))
    waiting = await pending_in(console.journal, run_id)
    if console.as_json:
        console.write({**_fields(story), "approvals": waiting})
        return SUCCESS
    console.say(fitted(line, console.width) for line in _head(story))
    console.say([""])
    console.tabulate(_COLUMNS, list(_rows(story)))
    if failure := _failure(story):
        console.say(["", *wrap(printable(one_line(failure)), console.width)])
    if waiting:
        console.say(["", *pending_lines(console, waiting)])
    return SUCCESS


async def read_story(journal: Journal, record: RunRecord) -> Story:
    """Read a run, entry by entry, and those of its subagents."""
    timeline, model, task = Timeline(), "", ""
    async for stored in journal.read(record.run_id):
        entry = stored.entry
        try:
            timeline.add(entry)
        except IndexError as error:
            why = f"entry {stored.seq} does not follow from those before it"
            raise damaged_run(record.run_id, stored.seq - 1, why, error) from error
        if isinstance(entry, RunStarted):
            model = "" if entry.fingerprint is None else entry.fingerprint.model
            task = " ".join(map(describe_part, entry.messages[-1].parts)) if entry.messages else ""
    children = await journal.list_runs(parent=record.run_id, limit=MOST_SUBAGENTS)
    subagents = {child.run_id: await read_story(journal, child) for child in reversed(children)}
    return Story(record, model, task, timeline, subagents)


def _failure(story: Story) -> str:
    """What ended the run, if it was an error: the table may have cut it off."""
    notes = [note for turn in story.timeline.turns[-1:] for note in turn.notes if note.startswith(FAILED)]
    return notes[-1] if notes and reason_of(story.record) == "error" else ""


def _head(story: Story) -> Iterator[str]:
    record, usage = story.record, story.timeline.usage
    tools = sum(len(turn.tools) for turn in story.timeline.turns)
    reason = reason_of(record)
    fields = {
        "run": record.run_id,
        "agent": f"{record.agent}, on {story.model}" if story.model else record.agent,
        "status": f"{record.status.value}: {reason}" if reason else record.status.value,
        "user": record.user_id,
        "fork of": record.forked_from,
        "part of": record.parent,
        "began": _times(record),
        "used": f"{counted(len(story.timeline.turns), 'turn')}, {counted(tools, 'tool call')}, "
        f"cost {money(usage.cost_usd)}",
        "tokens": f"{usage.total_tokens:,} ({usage.input_tokens:,} in{_cached(usage)}, {usage.output_tokens:,} out)",
        "asked": story.task,
    }
    for name, value in fields.items():
        if value:
            yield f"{name:<8} {printable(one_line(value))}"


def _times(record: RunRecord) -> str:
    began = datetime.fromtimestamp(record.created_at, UTC).astimezone()
    if record.status in ENDED:
        since = f"took {duration(record.updated_at - record.created_at)}"
    else:
        since = f"last entry {age(time.time() - record.updated_at)} ago"
    return f"{began:%Y-%m-%d %H:%M:%S}, {since}"


def _rows(story: Story, indent: str = "") -> Iterator[tuple[str, ...]]:
    for turn in story.timeline.turns:
        yield _turn_row(turn, indent)
        for index, tool in enumerate(turn.tools):
            took = "" if tool.outcome == _UNFINISHED else duration(tool.duration_ms / 1000)
            yield ("", f"{indent}  {_told(tool)}", took, "", "")
            child = story.subagents.get(f"{story.record.run_id}/{turn.number}/{index}")
            if child is not None:
                yield from _rows(child, f"{indent}    ")
        for note in turn.notes:
            yield ("", f"{indent}  ({note})", "", "", "")


def _turn_row(turn: TurnLine, indent: str) -> tuple[str, ...]:
    usage = turn.usage
    said = turn.text or (counted(len(turn.tools), "tool call") if turn.tools else "(no answer)")
    return (
        "" if indent else str(turn.number),
        f"{indent}{turn.number}: {said}" if indent else said,
        duration(turn.model_ms / 1000),
        f"{usage.total_tokens:,}{_cached(usage)}",
        money(usage.cost_usd),
    )


def _cached(usage: Usage) -> str:
    """How many of the tokens were read from the provider's cache, if any."""
    return f", {usage.cache_read_tokens:,} cached" if usage.cache_read_tokens else ""


def _told(tool: ToolLine) -> str:
    call = shown_call(tool.tool_name, tool.arguments)
    if tool.outcome == _FINISHED:
        return f"· {call} → {unmarked(tool.result)}"
    return f"· {call} {tool.outcome}{': ' if tool.result else ''}{tool.result}"


def _fields(story: Story) -> dict[str, Any]:
    return {
        "run": story.record,
        "model": story.model,
        "task": story.task,
        "turns": story.timeline.turns,
        "usage": story.timeline.usage,
        "subagents": [_fields(child) for child in story.subagents.values()],
    }
