"""``maverick runs check``: which runs can be read, and saving those of a damaged journal."""

from __future__ import annotations

import asyncio

from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.formatting import columns_of
from maverick.cli.runs.console import Console
from maverick.exceptions import InvalidInputError
from maverick.journal.repair import RunHealth, check_run, check_runs, repair
from maverick.journal.sqlite.journal import SqliteJournal
from maverick.tui.figures import counted
from maverick.tui.plain_text import printable

_COLUMNS = columns_of("RUN", ">READABLE", "PROBLEM…")


async def check_journal(console: Console, *, run_id: str | None, copy: str | None) -> int:
    """Say which runs can be read, or save what can be read of them; the exit code is 0 when all of it can."""
    if copy is not None:
        return await _save(console, copy)
    if run_id is None:
        found = await check_runs(console.journal)
    else:
        await console.journal.get(run_id)
        found = [await check_run(console.journal, run_id)]
    faults = await console.journal.faults()
    damaged = [run for run in found if run.problem]
    if console.as_json:
        console.write({"runs": found, "faults": faults})
    else:
        _show(console, damaged)
        console.say(printable(f"The file: {fault}") for fault in faults)
        console.say([f"{counted(len(found) - len(damaged), 'run')} whole, {len(damaged)} damaged."])
    if damaged or faults:
        console.screen.remark(f"Save what can be read with: {console.command('check', '--repair', 'COPY')}")
        return FAILURE
    return SUCCESS


async def _save(console: Console, copy: str) -> int:
    if not isinstance(console.journal, SqliteJournal):
        problem = "--repair: only a journal in a file can be copied. Restore the database from a backup."
        raise InvalidInputError(problem, field="repair")
    saved = await asyncio.to_thread(repair, console.journal.path, copy)
    if console.as_json:
        console.write(saved)
    else:
        _show(console, saved.damaged)
        parts = counted(sum(run.entries > 0 for run in saved.damaged), "run")
        console.say([f"Saved {counted(saved.whole, 'whole run')} to {printable(copy)}, and {parts} in part."])
        if saved.lost_tables:
            console.say([f"Some rows are lost of: {printable(', '.join(saved.lost_tables))}."])
    return FAILURE if saved.damaged or saved.lost_tables else SUCCESS


def _show(console: Console, damaged: list[RunHealth]) -> None:
    if damaged:
        console.tabulate(_COLUMNS, [(run.run_id, f"{run.entries:,}", run.problem) for run in damaged])
