"""What is different about runs that a fleet has: it goes on with them by itself, and can stop them."""

from __future__ import annotations

from collections.abc import Sequence

from maverick.cli.event_printer import EventPrinter
from maverick.cli.exit_codes import SUCCESS
from maverick.cli.run_options import RunOptions
from maverick.cli.runs.console import Console
from maverick.cli.settings import load_settings
from maverick.exceptions import InvalidInputError
from maverick.journal import Journal, SqliteJournal
from maverick.model import ToolCall


async def state_in_fleet(journal: Journal, run_id: str) -> str | None:
    """What a fleet has made of a run, or of the run that called it; ``None`` if no fleet has it."""
    if isinstance(journal, SqliteJournal):
        return None
    from maverick.journal import PostgresJournal  # here, since its driver is an extra

    assert isinstance(journal, PostgresJournal)  # noqa: S101 - there are no others that can be named
    found = await journal.database.fetch(
        "SELECT state FROM maverick.fleet_runs WHERE run_id = $1", run_id.partition("/")[0]
    )
    return str(found[0]["state"]) if found else None


async def abort_run(console: Console, *, run_id: str, reason: str) -> int:
    """Stop a run of a fleet.

    Raises:
        RunNotFoundError: There is no such run.
        InvalidInputError: No fleet has it, or it has ended.
        MaverickError: The fleet cannot be reached.
    """
    state = await state_in_fleet(console.journal, run_id)
    if state is None:
        await console.journal.get(run_id)
        raise InvalidInputError(
            f"The run {run_id!r} is not in a fleet. Stop it with Ctrl-C where it runs.", field="run_id"
        )
    if state == "ended":
        raise InvalidInputError(f"The run {run_id!r} has ended.", field="run_id")
    from maverick.cli.fleet.connection import open_fleet  # here, since Temporal's client is an extra

    async with await open_fleet(load_settings(), None, console.named_journal) as fleet:
        await fleet.run(run_id).abort(reason)
    if console.as_json:
        console.write({"aborted": run_id})
    else:
        console.say([f"The run {run_id} is stopping. Resume it with: {console.command('resume', run_id)}"])
    return SUCCESS


async def resume_in_fleet(console: Console, run_id: str, *, accept_changes: bool, changes: RunOptions) -> int:
    """Have a fleet go on with a run that was stopped, and show it.

    Raises:
        InvalidInputError: The run is to be different, or cannot be resumed.
        MaverickError: The fleet cannot be reached.
    """
    if different := changes.words():
        raise InvalidInputError(
            f"{different[0]} does not apply to a run in a fleet: its workers' settings do. Leave the option out.",
            field="run_id",
        )
    from maverick.cli.fleet.connection import open_fleet  # here, since Temporal's client is an extra
    from maverick.cli.fleet.watching import watch_in_fleet

    seen = (await console.journal.get(run_id)).entries
    async with await open_fleet(load_settings(), None, console.named_journal) as fleet:
        run = await fleet.resume(run_id, accept_changes=accept_changes)
        return await watch_in_fleet(console, fleet, run, after=f"{seen}-0")


async def follow_words(console: Console, run_id: str, seen: int, calls: Sequence[ToolCall]) -> None:
    """Show a run of a fleet as it goes on, with the words of an answer while it is made, until it ends.

    Args:
        console: The terminal and the journal.
        run_id: The run.
        seen: How many of its entries were shown.
        calls: The tool calls of the last turn among them, which may still be running.
    """
    from maverick.fleet.events import RunEvents  # here, since Temporal's client is an extra
    from maverick.fleet.store import FleetStore
    from maverick.fleet.watching import Feed
    from maverick.journal import PostgresJournal

    assert isinstance(console.journal, PostgresJournal)  # noqa: S101 - else no fleet has it
    running = {(run_id, call.id): call.tool_name for call in calls}
    printer, feed = EventPrinter(console.screen, running), Feed(FleetStore(console.journal))
    try:
        async for event in RunEvents(feed, console.journal, run_id, f"{seen}-0"):
            printer.show(event)
    finally:
        await feed.aclose()
        console.screen.end_line()
