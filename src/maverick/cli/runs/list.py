"""``maverick runs list``: the newest runs, and where each of them stands."""

from __future__ import annotations

import time
from collections.abc import Sequence

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.formatting import Column, age
from maverick.cli.runs.console import Console
from maverick.exceptions import InvalidInputError, describe_unknown
from maverick.journal import Journal, RunRecord, RunStatus

_COLUMNS = (
    Column("RUN"),
    Column("AGENT", shrinks=True),
    Column("STATUS"),
    Column("ENTRIES", right=True),
    Column("AGE", right=True),
    Column("REASON", shrinks=True),
)
MOST_SUBAGENTS = 10_000
"""How many subagents of one run are looked for."""


async def list_runs(console: Console, *, status: str | None, limit: int, with_subagents: bool) -> int:
    """List runs, newest first.

    Raises:
        InvalidInputError: There is no such status.
    """
    records = await console.journal.list_runs(status=_status(status), limit=limit)
    if with_subagents:
        records = [relative for record in records for relative in await family(console.journal, record)]
    if console.as_json:
        console.write(records)
    elif records:
        show_records(console, records)
    else:
        console.screen.remark("No runs match." if status else "There are no runs yet.")
    return SUCCESS


async def family(journal: Journal, record: RunRecord) -> list[RunRecord]:
    """A run and, after it, the runs of its subagents and theirs, oldest first."""
    found = [record]
    for child in reversed(await journal.list_runs(parent=record.run_id, limit=MOST_SUBAGENTS)):
        found += await family(journal, child)
    return found


def show_records(console: Console, records: Sequence[RunRecord]) -> None:
    """Show a table of runs, subagents indented below those that called them."""
    now = time.time()
    console.tabulate(
        _COLUMNS,
        [
            (
                "  " * record.agent.count("/") * (record.parent is not None) + record.run_id,
                record.agent,
                record.status.value,
                f"{record.entries:,}",
                age(now - record.created_at),
                reason_of(record),
            )
            for record in records
        ],
    )


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
