"""``maverick runs move``: has a fleet continue a run, or takes it back to this machine."""

from __future__ import annotations

import platform

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.fleet.connection import open_fleet
from maverick.cli.runs.console import Console
from maverick.cli.screen import printable
from maverick.cli.settings import load_settings
from maverick.fleet.moving import move_in, move_out, place_of
from maverick.journal import Journal, PostgresJournal, SqliteJournal

LOCAL = "local"


async def move(
    console: Console, *, run_id: str, to: str, temporal: str | None, db: str | None, tls: bool
) -> int:
    """Move a run.

    Raises:
        RunNotFoundError: There is no such run.
        RunMovedError: It was moved to another place before.
        RunExistsError: There is another run of this id where it is to go.
        InvalidInputError: It cannot be moved, or it is not said which fleet is meant.
    """
    here = console.journal
    async with await open_fleet(load_settings(), temporal if to == LOCAL else to, db, tls=tls) as fleet:
        other = None if await _are_same(here, fleet.journal) else here
        if to == LOCAL:
            place = _place(here)
            await move_out(fleet, run_id, other, place)
        else:
            place = place_of(fleet)
            await move_in(fleet, run_id, other)
    if console.as_json:
        console.write({"run_id": run_id, "moved_to": place})
    else:
        then = f" Continue it with: {console.command('resume', run_id)}" if to == LOCAL else ""
        console.say([printable(f"The run {run_id} is now in {place}.{then}")])
    return SUCCESS


async def _are_same(here: Journal, there: PostgresJournal) -> bool:
    return isinstance(here, PostgresJournal) and await here.identity() == await there.identity()


def _place(journal: Journal) -> str:
    """What a journal is called where a run is looked for that was moved to it."""
    if isinstance(journal, PostgresJournal):
        return journal.name
    assert isinstance(journal, SqliteJournal)  # noqa: S101 - what an address can name
    return f"{platform.node()}:{journal.path}"
