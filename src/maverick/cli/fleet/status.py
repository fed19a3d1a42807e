"""``maverick fleet`` and ``schedule``: the workers of a fleet, its runs, and those it starts at certain times."""

from __future__ import annotations

import argparse
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from maverick.cli.fleet.connection import named_fleet
from maverick.cli.fleet.run import remote_agent
from maverick.cli.formatting import columns_of
from maverick.cli.runs.console import Console
from maverick.cli.settings import load_settings
from maverick.fleet.request import DEFAULT_PRIORITY
from maverick.fleet.schedules import ScheduleRecord, Schedules
from maverick.fleet.status import Overview, fleet_overview
from maverick.tui.figures import age, counted

_WORKERS = columns_of("WORKER…", "VERSION", ">RUNS", ">UP", "AGENTS…")
_RUNS = columns_of("RUN", "AGENT…", "USER…", "STATE", ">AGE", "WHERE…")
_SCHEDULES = columns_of("NAME", "TIMES", "ZONE", "AGENT…", "NEXT")


async def show_status(options: argparse.Namespace) -> None:
    """Show the workers and the newest runs that have not ended."""
    async with named_fleet(options) as (fleet, console):
        found = await fleet_overview(fleet, options.limit)
        if console.as_json:
            console.write(found)
        else:
            _show_overview(console, found)


async def adopt_runs(options: argparse.Namespace) -> None:
    """Give each run and each schedule that Temporal has lost back to it."""
    async with named_fleet(options) as (fleet, console):
        adopted = await fleet.adopt()
        await Schedules(fleet).restore()
        console.report(adopted, f"{counted(len(adopted), 'run')} given back to Temporal.", *adopted)


def add_schedule(options: argparse.Namespace) -> Coroutine[Any, Any, None]:
    """Add a schedule."""
    # Before there is an event loop, which the agent's file may want to run itself.
    return _add_schedule(options, *remote_agent(options, load_settings()))


async def _add_schedule(options: argparse.Namespace, agent: str, inputs: dict[str, Any]) -> None:
    async with named_fleet(options) as (fleet, console):
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


async def list_schedules(options: argparse.Namespace) -> None:
    """List the schedules."""
    async with named_fleet(options) as (fleet, console):
        _show_schedules(console, await Schedules(fleet).all())


async def remove_schedule(options: argparse.Namespace) -> None:
    """Remove a schedule."""
    async with named_fleet(options) as (fleet, console):
        await Schedules(fleet).remove(options.name)
        console.report({"removed": options.name}, f"The schedule {options.name} is removed.")


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
