"""``maverick runs prune``: removing runs that ended, or were left, long ago."""

from __future__ import annotations

import time

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.formatting import counted
from maverick.cli.runs.console import Console
from maverick.cli.runs.list import show_records


async def prune_runs(console: Console, *, older_than: int, unfinished: bool, yes: bool) -> int:
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
    return SUCCESS
