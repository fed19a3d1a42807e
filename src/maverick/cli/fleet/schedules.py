"""``maverick schedule``: runs that a fleet starts at certain times."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from maverick.cli.fleet.connection import with_fleet
from maverick.cli.fleet.inputs import remote_agent
from maverick.cli.formatting import Column
from maverick.cli.runs.console import Console
from maverick.cli.settings import load_settings
from maverick.fleet import Fleet
from maverick.fleet.request import DEFAULT_PRIORITY
from maverick.fleet.schedules import ScheduleRecord, Schedules

_COLUMNS = (Column("NAME"), Column("TIMES"), Column("ZONE"), Column("AGENT", shrinks=True), Column("NEXT"))


def add_schedule(options: argparse.Namespace) -> int:
    """Add a schedule."""
    agent, inputs = remote_agent(options.agent, options.inputs, options.prompt, load_settings())

    async def add(fleet: Fleet, console: Console) -> None:
        schedules = Schedules(fleet)
        record = await schedules.add(
            options.cron,
            agent,
            name=options.name,
            inputs=inputs,
            time_zone=options.timezone,
            user_id=options.user,
            priority=options.priority or DEFAULT_PRIORITY,
        )
        _show(console, [found for found in await schedules.all() if found.name == record.name])

    return with_fleet(options, add)


def list_schedules(options: argparse.Namespace) -> int:
    """List the schedules."""

    async def show(fleet: Fleet, console: Console) -> None:
        _show(console, await Schedules(fleet).all())

    return with_fleet(options, show)


def remove_schedule(options: argparse.Namespace) -> int:
    """Remove a schedule."""

    async def remove(fleet: Fleet, console: Console) -> None:
        await Schedules(fleet).remove(options.name)
        if console.as_json:
            console.write({"removed": options.name})
        else:
            console.say([f"The schedule {options.name} is removed."])

    return with_fleet(options, remove)


def _show(console: Console, found: list[ScheduleRecord]) -> None:
    if console.as_json:
        console.write(found)
    elif found:
        rows = [
            (record.name, record.cron, record.time_zone or "UTC", record.agent, _time(record.next_at))
            for record in found
        ]
        console.tabulate(_COLUMNS, rows)
    else:
        console.screen.remark("There are no schedules yet.")


def _time(at: float | None) -> str:
    return "" if at is None else f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d %H:%M %Z}"
