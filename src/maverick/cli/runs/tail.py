"""``maverick runs tail``: the last entries of a run, and new ones as they are written."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.runs.console import Console
from maverick.cli.runs.entry_line import entry_line
from maverick.cli.table import fitted
from maverick.journal.records import StoredEntry
from maverick.journal.store import ENDED

_BETWEEN_LOOKS = 0.3
"""Seconds from one look at a run that is followed to the next."""


async def show_tail(console: Console, *, run_id: str, lines: int, follow: bool) -> int:
    """Show the last entries of a run, without reading the others.

    Args:
        console: Where.
        run_id: The run.
        lines: How many entries.
        follow: Whether to go on until the run has ended.

    Raises:
        RunNotFoundError: There is no such run.
    """
    record = await console.journal.get(run_id)
    seen = max(record.entries - lines, 0)
    while True:
        async for stored in console.journal.read(run_id, after=seen):
            seen = stored.seq
            _show(console, stored)
        if not follow or record.status in ENDED:
            return SUCCESS
        await asyncio.sleep(_BETWEEN_LOOKS)
        record = await console.journal.get(run_id)  # before its entries: when it has ended, none is missed


def _show(console: Console, stored: StoredEntry) -> None:
    if console.as_json:
        console.write(stored)
        return
    at = datetime.fromtimestamp(stored.entry.at, UTC).astimezone()
    console.say([fitted(f"{stored.seq:>5}  {at:%H:%M:%S}  {entry_line(stored.entry)}", console.width)])
