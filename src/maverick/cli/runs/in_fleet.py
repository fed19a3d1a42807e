"""What is different about runs that a fleet has: it continues them by itself, can stop them, and can give them back.

Temporal's client is an extra, and is loaded by what needs it.
"""

from __future__ import annotations

import platform
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from maverick.cli.event_printer import EventPrinter
from maverick.cli.run_options import RunOptions, refuse_in_fleet
from maverick.cli.runs.console import Console
from maverick.cli.settings import load_settings
from maverick.exceptions import InvalidInputError
from maverick.journal import Journal, SqliteJournal
from maverick.loop.events import AgentActivityEvent
from maverick.model import ModelInfo, Part, ToolCall
from maverick.tui.plain_text import printable

_LOCAL = "local"


async def state_in_fleet(journal: Journal, run_id: str) -> str | None:
    """What a fleet has made of a run, or of the run that called it; ``None`` if no fleet has it."""
    return (await _found_in_fleet(journal, run_id))[0]


async def is_driven_in_fleet(journal: Journal, run_id: str) -> bool:
    """Whether a fleet has a run itself, under the name of its agent: it can begin another like it."""
    record = await journal.get(run_id)
    return record.parent is None and (await _found_in_fleet(journal, run_id))[1] == record.agent


async def _found_in_fleet(journal: Journal, run_id: str) -> tuple[str, str] | tuple[None, None]:
    """A run's state and agent in a fleet, or those of the run that called it."""
    if isinstance(journal, SqliteJournal):
        return None, None
    from maverick.journal import PostgresJournal  # here, since its driver is an extra

    assert isinstance(journal, PostgresJournal)  # noqa: S101 - there are no others that can be named
    found = await journal.database.fetch(
        "SELECT state, agent FROM maverick.fleet_runs WHERE run_id = $1", run_id.partition("/")[0]
    )
    return (str(found[0]["state"]), str(found[0]["agent"])) if found else (None, None)


async def abort_run(console: Console, *, run_id: str, reason: str) -> None:
    """Stop a run of a fleet."""
    state = await state_in_fleet(console.journal, run_id)
    if state is None:
        await console.journal.get(run_id)
        raise InvalidInputError(
            f"The run {run_id!r} is not in a fleet. Stop it with Ctrl-C where it runs.", field="run_id"
        )
    if state == "ended":
        raise InvalidInputError(f"The run {run_id!r} has ended.", field="run_id")
    from maverick.cli.fleet.connection import open_fleet

    async with await open_fleet(load_settings(), None, console.named_journal) as fleet:
        await fleet.run(run_id).abort(reason)
    again = console.command("resume", run_id)
    console.report({"aborted": run_id}, f"The run {run_id} is stopping. Resume it with: {again}")


async def resume_in_fleet(console: Console, run_id: str, *, accept_changes: bool, changes: RunOptions) -> int:
    """Have a fleet continue a run that was stopped, and show it."""
    refuse_in_fleet(changes.words())
    from maverick.cli.fleet.connection import open_fleet
    from maverick.cli.fleet.run import watch_in_fleet

    seen = (await console.journal.get(run_id)).entries
    async with await open_fleet(load_settings(), None, console.named_journal) as fleet:
        run = await fleet.resume(run_id, accept_changes=accept_changes)
        return await watch_in_fleet(console, fleet, run, after=f"{seen}-0")


async def fork_in_fleet(
    console: Console, run_id: str, turn: int, edit: str | Sequence[str | Part] | None, new_id: str | None
) -> int:
    """Have a fleet run again from a turn of a run on, and show what is new."""
    from maverick.cli.fleet.connection import open_fleet
    from maverick.cli.fleet.run import watch_in_fleet
    from maverick.runtime.replay import forked, load

    entries = await load(console.journal, run_id, with_blobs=False)
    known = forked(run_id, entries, turn, edit, run_id="", trace_id="", fingerprint=None, info=ModelInfo())
    async with await open_fleet(load_settings(), None, console.named_journal) as fleet:
        run = await fleet.fork(run_id, turn=turn, edit=edit, new_run_id=new_id)
        return await watch_in_fleet(console, fleet, run, after=f"{len(known)}-0")


async def events_in_fleet(
    journal: Journal, run_id: str, seen: int
) -> AsyncGenerator[AgentActivityEvent, None]:
    """What a fleet does with a run after so many entries, with the words of an answer while it is made, until it ends.

    If the fleet has given the run up, the error says why.
    """
    from maverick.fleet.events import RunEvents
    from maverick.fleet.store import FleetStore
    from maverick.fleet.watching import Feed
    from maverick.journal import PostgresJournal

    assert isinstance(journal, PostgresJournal)  # noqa: S101 - else no fleet has it
    feed = Feed(FleetStore(journal))
    try:
        async for event in RunEvents(feed, journal, run_id, f"{seen}-0"):
            yield event
    finally:
        await feed.aclose()


async def follow_words(console: Console, run_id: str, seen: int, calls: Sequence[ToolCall]) -> None:
    """Show a run of a fleet as it continues.

    ``seen`` of its entries were shown; the tool calls of the last turn among them may still be running.
    """
    printer = EventPrinter(console.screen, {(run_id, call.id): call.tool_name for call in calls})
    try:
        async with aclosing(events_in_fleet(console.journal, run_id, seen)) as events:
            async for event in events:
                printer.show(event)
    finally:
        console.screen.end_line()


async def move_run(
    console: Console, *, run_id: str, to: str, temporal: str | None, db: str | None, tls: bool
) -> None:
    """Have a fleet continue a run, or take it back to this machine."""
    from maverick.cli.fleet.connection import open_fleet
    from maverick.fleet.client import move_in, move_out, place_of
    from maverick.journal import PostgresJournal

    here = console.journal
    async with await open_fleet(load_settings(), temporal if to == _LOCAL else to, db, tls=tls) as fleet:
        is_same = (
            isinstance(here, PostgresJournal) and await here.identity() == await fleet.journal.identity()
        )
        other = None if is_same else here
        if to == _LOCAL:
            place = here.name if isinstance(here, PostgresJournal) else _file(here)
            await move_out(fleet, run_id, other, place)
        else:
            place = place_of(fleet)
            await move_in(fleet, run_id, other)
    then = f" Continue it with: {console.command('resume', run_id)}" if to == _LOCAL else ""
    console.report(
        {"run_id": run_id, "moved_to": place}, printable(f"The run {run_id} is now in {place}.{then}")
    )


def _file(journal: Journal) -> str:
    """What a journal is called where a run is looked for that was moved to it."""
    assert isinstance(journal, SqliteJournal)  # noqa: S101 - what an address can name
    return f"{platform.node()}:{journal.path}"
