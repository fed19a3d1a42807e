"""``maverick fleet`` and ``schedule``: the workers of a fleet, its runs, and those it starts at certain times."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime

from maverick.cli.fleet.connection import with_fleet
from maverick.cli.fleet.run import remote_agent
from maverick.cli.formatting import age, columns_of, counted
from maverick.cli.runs.console import Console
from maverick.cli.settings import load_settings
from maverick.fleet import Fleet
from maverick.fleet.request import DEFAULT_PRIORITY
from maverick.fleet.schedules import ScheduleRecord, Schedules
from maverick.fleet.status import Overview, fleet_overview

_WORKERS = columns_of("WORKER…", "VERSION", ">RUNS", ">UP", "AGENTS…")
_RUNS = columns_of("RUN", "AGENT…", "USER…", "STATE", ">AGE", "WHERE…")
_SCHEDULES = columns_of("NAME", "TIMES", "ZONE", "AGENT…", "NEXT")


def show_status(options: argparse.Namespace) -> int:
    """Show the workers and the newest runs that have not ended."""

    async def show(fleet: Fleet, console: Console) -> None:
        found = await fleet_overview(fleet, options.limit)
        if console.as_json:
            console.write(found)
        else:
            _show_overview(console, found)

    return with_fleet(options, show)


def adopt_runs(options: argparse.Namespace) -> int:
    """Give each run and each schedule that Temporal has lost back to it."""

    async def adopt(fleet: Fleet, console: Console) -> None:
        adopted = await fleet.adopt()
        await Schedules(fleet).restore()
        console.report(adopted, f"{counted(len(adopted), 'run')} given back to Temporal.", *adopted)

    return with_fleet(options, adopt)


def add_schedule(options: argparse.Namespace) -> int:
    """Add a schedule."""
    agent, inputs = remote_agent(options, load_settings())

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
        _show_schedules(console, [found for found in await schedules.all() if found.name == record.name])

    return with_fleet(options, add)


def list_schedules(options: argparse.Namespace) -> int:
    """List the schedules."""

    async def show(fleet: Fleet, console: Console) -> None:
        _show_schedules(console, await Schedules(fleet).all())

    return with_fleet(options, show)


def remove_schedule(options: argparse.Namespace) -> int:
    """Remove a schedule."""

    async def remove(fleet: Fleet, console: Console) -> None:
        await Schedules(fleet).remove(options.name)
        console.report({"removed": options.name}, f"The schedule {options.name} is removed.")

    return with_fleet(options, remove)


def _show_overview(console: Console, found: Overview) -> None:
    now = time.time()
    workers = [
        (
            worker.name,
            worker.version,
            f"{worker.runs}/{worker.capacity}",
            age(now - worker.began_at),
            ", ".join(worker.agents),
        )
        for worker in found.workers
    ]
    if workers:
        console.tabulate(_WORKERS, workers)
    else:
        console.say(["No worker is running. Start one with: maverick worker"])
    states = ", ".join(f"{count:,} {state}" for state, count in found.states.items())
    console.say(["", f"Runs: {states or 'none'}"])
    runs = [
        (
            run.run_id,
            run.agent,
            run.user_id or "",
            run.state.value,
            age(now - run.created_at),
            f"on {run.worker}" if run.worker else f"waits for {run.waits_for or 'a worker'}",
        )
        for run in found.runs
    ]
    if runs:
        console.tabulate(_RUNS, runs)


def _show_schedules(console: Console, found: list[ScheduleRecord]) -> None:
    if console.as_json:
        console.write(found)
    elif found:
        rows = [
            (record.name, record.cron, record.time_zone or "UTC", record.agent, _time(record.next_at))
            for record in found
        ]
        console.tabulate(_SCHEDULES, rows)
    else:
        console.screen.remark("There are no schedules yet.")


def _time(at: float | None) -> str:
    return "" if at is None else f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d %H:%M %Z}"
