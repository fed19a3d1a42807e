"""``maverick runs prune``: removing runs that ended long ago."""

from __future__ import annotations

import time

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.figures import counted
from maverick.cli.runs.console import Console
from maverick.cli.runs.listing import ENDED, show_records
from maverick.journal import Journal, RunRecord

_ALL = 1_000_000


async def prune_runs(console: Console, *, older_than: int, yes: bool) -> int:
    """Remove runs that ended long ago, or say which they would be.

    Args:
        console: Where.
        older_than: How many seconds ago they ended, at least.
        yes: Whether to do it.
    """
    before = time.time() - older_than
    found = await _ended_before(console.journal, before)
    removed = await console.journal.prune(before) if yes else 0
    if console.as_json:
        console.write({"runs": found, "removed": removed})
    elif yes:
        console.say([f"Removed {counted(removed, 'run')}, subagents included."])
    elif found:
        show_records(console, found)
        console.screen.remark(f"{counted(len(found), 'run')} would be removed. Add --yes to do it.")
    else:
        console.screen.remark("No run ended that long ago.")
    return SUCCESS


async def _ended_before(journal: Journal, before: float) -> list[RunRecord]:
    return [
        record
        for status in ENDED
        for record in await journal.list_runs(status=status, limit=_ALL)
        if record.updated_at < before
    ]
