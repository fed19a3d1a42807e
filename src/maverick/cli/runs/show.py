"""``maverick runs show`` and ``diff``: a run as a timeline of turns and tools, and where two runs differ."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import takewhile, zip_longest
from textwrap import wrap
from typing import Any

from msgspec import UNSET, Struct

from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.formatting import Column, columns_of, fitted, terminal_width
from maverick.cli.runs.console import Console, pending_in, pending_lines
from maverick.cli.runs.list import MOST_SUBAGENTS, reason_of, status_of, task_of
from maverick.cli.screen import shown_call
from maverick.journal import Journal, RunRecord
from maverick.journal.compare import Divergence, compare_runs
from maverick.journal.damage import damaged_run
from maverick.journal.records import ENDED
from maverick.journal.timeline import FAILED, Timeline, ToolLine, TurnLine
from maverick.loop.entries import RunStarted
from maverick.model import Usage
from maverick.model.untrusted import unmarked
from maverick.tui.figures import age, counted, duration, money
from maverick.tui.plain_text import one_line, printable

_COLUMNS = columns_of(">TURN", "WHAT HAPPENED…", ">TIME", ">TOKENS", ">COST")
_FINISHED, _UNFINISHED = "finished", "unfinished"
_SHOWN_WHOLE = 60
_SHOWN_BEFORE = 20
"""How many characters that are still the same are shown before those that are not."""


class Story(Struct, frozen=True):
    """A run and its subagents' runs, read from the journal."""

    record: RunRecord
    model: str
    task: str
    """What it was asked, as its last message before the first turn."""
    timeline: Timeline
    subagents: dict[str, Story]
    """By the id of their run, which names the turn and the call that made them."""


async def show_run(console: Console, *, run_id: str) -> None:
    """Show a run, with its subagents in their places."""
    story = await _read_story(console.journal, run_id)
    waiting = await pending_in(console.journal, run_id)
    if console.as_json:
        console.write({**_fields(story), "approvals": waiting})
        return
    console.say(fitted(line, terminal_width()) for line in _head(story))
    console.say([""])
    console.tabulate(_COLUMNS, list(_rows(story)))
    notes = [note for turn in story.timeline.turns[-1:] for note in turn.notes if note.startswith(FAILED)]
    if notes and reason_of(story.record) == "error":  # which the table may have cut off
        console.say(["", *wrap(one_line(notes[-1]), terminal_width())])
    if waiting:
        console.say(["", *pending_lines(console, waiting)])


async def _read_story(journal: Journal, run_id: str) -> Story:
    """Read a run, entry by entry, and those of its subagents."""
    record = await journal.get(run_id)
    timeline, model, task = Timeline(), "", ""
    async for stored in journal.read(run_id):
        entry = stored.entry
        try:
            timeline.add(entry)
        except IndexError as error:
            why = f"entry {stored.seq} does not follow from those before it"
            raise damaged_run(run_id, stored.seq - 1, why, error) from error
        if isinstance(entry, RunStarted):
            model, task = "" if entry.fingerprint is None else entry.fingerprint.model, task_of(entry)
    children = await journal.list_runs(parent=run_id, limit=MOST_SUBAGENTS)
    subagents = {child.run_id: await _read_story(journal, child.run_id) for child in reversed(children)}
    return Story(record, model, task, timeline, subagents)


def _head(story: Story) -> Iterator[str]:
    record, usage = story.record, story.timeline.usage
    tools = sum(len(turn.tools) for turn in story.timeline.turns)
    fields = {
        "run": record.run_id,
        "agent": f"{record.agent}, on {story.model}" if story.model else record.agent,
        "status": status_of(record),
        "user": record.user_id,
        "fork of": record.forked_from,
        "part of": record.parent,
        "began": _times(record),
        "used": f"{counted(len(story.timeline.turns), 'turn')}, {counted(tools, 'tool call')}, "
        f"cost {money(usage.cost_usd)}",
        "tokens": f"{usage.total_tokens:,} ({usage.input_tokens:,} in{_cached(usage)}, {usage.output_tokens:,} out)",
        "asked": story.task,
    }
    return (f"{name:<8} {one_line(value)}" for name, value in fields.items() if value)


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
            yield ("", f"{indent}  {_tool_line(tool)}", took, "", "")
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


def _tool_line(tool: ToolLine) -> str:
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


async def show_difference(console: Console, *, run_id: str, other_id: str) -> int:
    """Say in what two runs first differ, times and ids aside; the exit code is 0 when they are the same."""
    found = await compare_runs(console.journal, run_id, other_id)
    if found is None:
        same = printable(f"{run_id} and {other_id} are the same, ignoring times and ids.")
        console.report({"same": True}, same)
        return SUCCESS
    if console.as_json:
        values = {"one": found.one, "other": found.other}
        there = {name: value for name, value in values.items() if value is not UNSET}
        console.write({"same": False, "number": found.number, "path": found.path, **there})
    else:
        _show_difference(
            console, found, *[await _read_story(console.journal, each) for each in (run_id, other_id)]
        )
    return FAILURE


def _show_difference(console: Console, found: Divergence, one: Story, other: Story) -> None:
    columns = (Column(""), Column(one.record.run_id, shrinks=True), Column(other.record.run_id, shrinks=True))
    facts = zip(_facts(one).items(), _facts(other).values(), strict=True)
    if rows := [(name, said, others) for (name, said), others in facts if said != others]:
        console.tabulate(columns, rows)
    where, *values = _parting(one.timeline.turns, other.timeline.turns) or (
        f"They differ at entry {found.number}{found.path and f', {found.path}'}:",
        found.one,
        found.other,
    )
    ids = (one.record.run_id, other.record.run_id)
    shown = zip(ids, _around_the_difference(*values), strict=True)
    lines = (one_line(where), *(f"  {run_id:<{max(map(len, ids))}}  {said}" for run_id, said in shown))
    console.say(fitted(printable(line), terminal_width()) for line in lines)


def _facts(story: Story) -> dict[str, str]:
    """What a run was, and came to."""
    usage = story.timeline.usage
    return {
        "agent": story.record.agent,
        "model": story.model,
        "asked": story.task,
        "status": status_of(story.record),
        "turns": str(len(story.timeline.turns)),
        "tokens": f"{usage.total_tokens:,}",
        "cost": money(usage.cost_usd),
    }


def _parting(ours: Sequence[TurnLine], theirs: Sequence[TurnLine]) -> tuple[str, object, object] | None:
    """Where the turns first differ, and what each run has there; ``None`` if the difference is in something else."""
    for one, other in zip_longest(_happened(ours), _happened(theirs), fillvalue=("", UNSET)):
        if one != other:
            where = one[0] or other[0]
            return f"{where}:", one[1], other[1] if other[0] == where else UNSET
    return None


def _happened(turns: Sequence[TurnLine]) -> Iterator[tuple[str, object]]:
    """What happened in the turns, one thing after the other."""
    for turn in turns:
        yield f"In turn {turn.number} the model wrote", turn.text or UNSET
        for tool in turn.tools:
            call = shown_call(tool.tool_name, tool.arguments)
            yield f"In turn {turn.number} the model called", call
            yield f"In turn {turn.number} {call} came back", f"{tool.outcome}: {unmarked(tool.result)}"
        if turn.notes:
            yield f"In turn {turn.number} this happened", "; ".join(turn.notes)


def _around_the_difference(*values: object) -> list[str]:
    """Both values in words; of two texts, what comes from shortly before the place where they differ."""
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == 2 and max(map(len, texts)) > _SHOWN_WHOLE:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
        if same > _SHOWN_BEFORE:
            return [f"…{text[same - _SHOWN_BEFORE :]!r}" for text in texts]
    return ["(nothing)" if value is UNSET else repr(value) for value in values]
