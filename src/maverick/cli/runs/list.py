"""``maverick runs list`` and ``prune``: the newest runs with where each of them stands, and removing old ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise, takewhile

from maverick.cli.formatting import columns_of, is_fitted
from maverick.cli.parser import name_lines
from maverick.cli.runs.console import LOOKED_AT, Console
from maverick.exceptions import InvalidInputError, JournalError, describe_unknown
from maverick.journal import Journal, RunRecord, RunStatus
from maverick.loop.entries import ModelReplied, RunStarted
from maverick.model import Usage
from maverick.model.message import describe_part
from maverick.tui.figures import age, counted, money
from maverick.tui.plain_text import one_line

_COLUMNS = columns_of("RUN", "AGENT…", "STATUS", ">COST", ">AGE", "TASK…")
MOST_SUBAGENTS = 10_000
"""How many subagents of one run are looked for."""
_SHORT = 12
"""How many characters of an id are shown in a terminal, if they are enough."""
_ADDED_UP = 5_000
"""How many entries a run may have for its cost to be added up in a list."""


async def list_runs(
    console: Console, *, status: str | None, limit: int, with_subagents: bool, names: bool
) -> None:
    """List runs, newest first."""
    found = await console.journal.list_runs(status=_status(status), limit=limit + 1)
    records = found[:limit]
    if with_subagents:
        records = [relative for record in records for relative in await family(console.journal, record)]
    if names:
        console.screen.say(name_lines(record.run_id for record in records))
    elif console.as_json:
        console.write(records)
    elif records:
        await show_records(console, records)
        if len(found) > limit:
            console.screen.remark(f"The newest {limit:,} are shown. More: --limit {2 * limit}")
    else:
        console.screen.remark("No runs match." if status else "There are no runs yet.")


async def family(journal: Journal, record: RunRecord) -> list[RunRecord]:
    """A run and, after it, the runs of its subagents and theirs, oldest first."""
    found = [record]
    for child in reversed(await journal.list_runs(parent=record.run_id, limit=MOST_SUBAGENTS)):
        found += await family(journal, child)
    return found


async def show_records(console: Console, records: Sequence[RunRecord]) -> None:
    """Show a table of runs, subagents indented below those that called them."""
    now = time.time()
    rows = []
    names = await _short_names(console.journal, records) if is_fitted() else {}
    for record in records:
        task, cost = await _summary(console.journal, record)
        rows.append(
            (
                "  " * record.agent.count("/") * (record.parent is not None)
                + names.get(record.run_id, record.run_id),
                record.agent,
                status_of(record),
                cost,
                age(now - record.created_at),
                one_line(task),
            )
        )
    console.tabulate(_COLUMNS, rows)


async def _short_names(journal: Journal, records: Sequence[RunRecord]) -> dict[str, str]:
    """The beginning of each long id, as long as it takes to tell the run from others; a subagent's id is not shortened."""
    long = [one.run_id for one in records if one.parent is None and len(one.run_id) > _SHORT]
    if not long:
        return {}
    ids = sorted({record.run_id for record in await journal.list_runs(limit=LOOKED_AT)}.union(long))
    enough = dict.fromkeys(ids, _SHORT)
    for one, next_one in pairwise(ids):
        told_apart = 1 + sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, next_one, strict=False))
        )
        enough[one], enough[next_one] = max(enough[one], told_apart), max(enough[next_one], told_apart)
    return {one: one[: enough[one]] for one in long}


async def _summary(journal: Journal, record: RunRecord) -> tuple[str, str]:
    """What a run was asked, and what it cost; of a long run nothing is added up."""
    task, usage = "", Usage()
    try:
        async for stored in journal.read(record.run_id):
            entry = stored.entry
            if isinstance(entry, RunStarted):
                task = task_of(entry)
                if record.entries > _ADDED_UP:
                    return task, ""
            elif isinstance(entry, ModelReplied):
                usage += entry.response.usage
    except JournalError:  # `runs check` says what is damaged
        return task, ""
    return task, money(usage.cost_usd)


def task_of(start: RunStarted) -> str:
    """What a run was asked: its last message before the first turn."""
    return " ".join(map(describe_part, start.messages[-1].parts)) if start.messages else ""


def status_of(record: RunRecord) -> str:
    """Where a run stands, and why."""
    reason = reason_of(record)
    return f"{record.status.value}: {reason}" if reason else record.status.value


def reason_of(record: RunRecord) -> str:
    """Why a run stands where it does, if there is more to say than its status."""
    if record.status is RunStatus.WAITING:
        return "awaiting approval"
    return "" if record.reason == record.status.value else record.reason


def _status(name: str | None) -> RunStatus | None:
    if name is None:
        return None
    known = [status.value for status in RunStatus]
    if name not in known:
        raise InvalidInputError(f"--status: {describe_unknown('status', name, known)}", field="status")
    return RunStatus(name)


async def prune_runs(console: Console, *, older_than: int, unfinished: bool, yes: bool) -> None:
    """Remove old runs, or say which they would be."""
    before = time.time() - older_than
    found = await console.journal.old_runs(before, unfinished=unfinished)
    removed = await console.journal.prune(before, unfinished=unfinished) if yes else 0
    if console.as_json:
        console.write({"runs": found, "removed": removed})
    elif yes:
        console.say([f"Removed {counted(removed, 'run')}, subagents included."])
    elif found:
        await show_records(console, found)
        console.screen.remark(f"{counted(len(found), 'run')} would be removed. Add --yes to do it.")
    else:
        console.screen.remark("No run is that old.")
