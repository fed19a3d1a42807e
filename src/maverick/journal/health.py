"""Checks runs: which can be read, and how far."""

from __future__ import annotations

from msgspec import Struct

from maverick.exceptions import JournalError
from maverick.journal.codec import blobs_in
from maverick.journal.store import Journal
from maverick.loop.entries import RunStarted


class RunHealth(Struct, frozen=True, kw_only=True):
    """What a check found of a run."""

    run_id: str
    entries: int
    """How many of its entries can be read, from the first on."""
    problem: str = ""
    """What is wrong with it; nothing if all of it can be read."""


async def check_runs(journal: Journal) -> list[RunHealth]:
    """Check all runs, including those of subagents, oldest first.

    Raises:
        JournalDamagedError: The list of runs cannot be read.
    """
    return [await check_run(journal, run_id) for run_id in await journal.run_ids()]


async def check_run(journal: Journal, run_id: str) -> RunHealth:
    """Check a run."""
    entries, problem = 0, ""
    try:
        async for stored in journal.read(run_id):
            if stored.seq == 1 and not _begins(run_id, stored.entry):
                problem = "It does not begin with its start."
                break
            for blob in blobs_in(stored.entry):
                await journal.load_blob(blob)
            entries = stored.seq
        record = await journal.get(run_id)
        if not problem and record.entries != entries:
            problem = f"Its record counts {record.entries} entries."
    except JournalError as error:
        problem = error.message
    return RunHealth(run_id=run_id, entries=entries, problem=problem)


def _begins(run_id: str, entry: object) -> bool:
    return isinstance(entry, RunStarted) and entry.run_id == run_id
